"""Room `job`: closed shapes.  A frozen dataclass is the schema of its JSON object, field for
field and in that order; this module reads, writes and publishes what the annotations say.

Known are `str`, `bool`, enumerations of words, `X | None`, `tuple[X, ...]`, dataclasses,
and `Annotated` with one of the marks below (`Whole` for integers).  Nothing is
ever converted: `1.0` is not `1`.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import NoneType, UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

from muniment.canonical import Json
from muniment.job.finding import Finding, Place, Rule, shown
from muniment.message import Message, say

T = TypeVar("T")
LARGEST = 2**53 - 1
"""The largest integer that every JSON reader takes exactly."""


@dataclass(frozen=True, slots=True)
class Constant:
    """The field has this one value."""

    value: str | bool


@dataclass(frozen=True, slots=True, eq=False)
class Form:
    """The whole text matches `pattern`, which reads the same in Python and in ECMA 262;
    `wanted` says it in words.  (Compared as itself: annotations must be hashable.)"""

    pattern: str
    wanted: Message
    rule: Rule = Rule.FORM


@dataclass(frozen=True, slots=True)
class Whole:
    """An integer from `least` up to the largest exact one."""

    least: int


Reader = Callable[[object, Place, list[Finding]], Any]


def reader_of(kind: type[T]) -> Callable[[object, list[Finding]], T | None]:
    """A function that builds a `kind` from a JSON value, or adds what is wrong to the list.

    >>> @dataclass(frozen=True)
    ... class Dot:
    ...     x: bool
    >>> faults: list[Finding] = []
    >>> reader_of(Dot)({"x": 1}, faults) is None, faults[0].path
    (True, 'x')
    """
    read = _object(kind)

    def whole(value: object, faults: list[Finding]) -> T | None:
        before = len(faults)
        built = read(value, (), faults)
        return built if len(faults) == before else None

    return whole


def _reader(kind: Any) -> Reader:
    kind, *marks = _with_marks(kind)
    for mark in marks:
        if isinstance(mark, Constant):
            return _constant(mark)
        if isinstance(mark, Form):
            return _form(mark)
        if isinstance(mark, Whole):
            return _whole(mark)
    if get_origin(kind) in (Union, UnionType):
        (inner,) = (part for part in get_args(kind) if part is not NoneType)
        return _or_null(_reader(inner))
    if get_origin(kind) is tuple:
        return _list(_reader(get_args(kind)[0]))
    if dataclasses.is_dataclass(kind):
        return _object(kind)
    if issubclass(kind, StrEnum):
        return _choice(kind)
    return _plain(kind, {str: say("a text"), bool: say("true or false")}[kind])


def _with_marks(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) if get_origin(kind) is Annotated else (kind,)


def _plain(kind: type, wanted: Message) -> Reader:
    def read(value: object, place: Place, faults: list[Finding]) -> object:
        if type(value) is not kind:
            faults.append(Finding(place, Rule.TYPE, wanted, shown(value)))
        return value

    return read


def _constant(mark: Constant) -> Reader:
    wanted = say("the fixed value {value}", value=shown(mark.value))

    def read(value: object, place: Place, faults: list[Finding]) -> object:
        if type(value) is not type(mark.value):
            faults.append(Finding(place, Rule.TYPE, wanted, shown(value)))
        elif value != mark.value:
            faults.append(Finding(place, Rule.CONSTANT, wanted, shown(value)))
        return value

    return read


def _form(mark: Form) -> Reader:
    match = re.compile(mark.pattern).fullmatch

    def read(value: object, place: Place, faults: list[Finding]) -> object:
        if type(value) is not str:
            faults.append(Finding(place, Rule.TYPE, mark.wanted, shown(value)))
        elif match(value) is None:
            faults.append(Finding(place, mark.rule, mark.wanted, shown(value)))
        return value

    return read


def _whole(mark: Whole) -> Reader:
    wanted = say("a whole number from {least} to {most}", least=mark.least, most=LARGEST)

    def read(value: object, place: Place, faults: list[Finding]) -> object:
        if type(value) is not int:
            faults.append(Finding(place, Rule.TYPE, wanted, shown(value)))
        elif not mark.least <= value <= LARGEST:
            faults.append(Finding(place, Rule.RANGE, wanted, shown(value)))
        return value

    return read


def _choice(kind: type[StrEnum]) -> Reader:
    words = {member.value: member for member in kind}
    wanted = say("one of {words}", words=tuple(words))

    def read(value: object, place: Place, faults: list[Finding]) -> object:
        if type(value) is not str:
            faults.append(Finding(place, Rule.TYPE, wanted, shown(value)))
        elif value not in words:
            faults.append(Finding(place, Rule.CHOICE, wanted, shown(value)))
        else:
            return words[value]
        return value

    return read


def _or_null(inner: Reader) -> Reader:
    def read(value: object, place: Place, faults: list[Finding]) -> object:
        return None if value is None else inner(value, place, faults)

    return read


def _list(inner: Reader) -> Reader:
    wanted = say("a list")

    def read(value: object, place: Place, faults: list[Finding]) -> object:
        if type(value) is not list:
            faults.append(Finding(place, Rule.TYPE, wanted, shown(value)))
            return ()
        return tuple(inner(item, (*place, number), faults) for number, item in enumerate(value))

    return read


_KNOWN: dict[Any, Reader] = {}


def _object(kind: Any) -> Reader:
    """The reader of a dataclass, made once: looking its annotations up takes longer than reading."""
    if kind not in _KNOWN:
        _KNOWN[kind] = _members(kind)
    return _KNOWN[kind]


def _members(kind: Any) -> Reader:
    hints = get_type_hints(kind, include_extras=True)
    readers = [(field.name, _reader(hints[field.name])) for field in dataclasses.fields(kind)]
    names = {name for name, _ in readers}
    wanted = say("an object")

    def read(value: object, place: Place, faults: list[Finding]) -> object:
        if type(value) is not dict:
            faults.append(Finding(place, Rule.TYPE, wanted, shown(value)))
            return None
        before = len(faults)
        if value.keys() != names:
            _closure(value, names, place, faults)
        built = [
            read_field(value[name], (*place, name), faults) for name, read_field in readers if name in value
        ]
        return kind(*built) if len(faults) == before else None

    return read


def _closure(value: Mapping[Any, object], names: set[str], place: Place, faults: list[Finding]) -> None:
    for key in value:
        if key not in names:
            wanted = say("no field of this name")
            faults.append(Finding((*place, str(key)), Rule.UNKNOWN_FIELD, wanted, shown(value[key])))
    for name in sorted(names - value.keys()):
        faults.append(Finding((*place, name), Rule.MISSING_FIELD, say("this field"), say("nothing")))


def plain(value: Any) -> Any:
    """A value of a closed shape as plain JSON, keys in the template's order."""
    if dataclasses.is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, tuple):
        return [plain(item) for item in value]
    return value.value if isinstance(value, StrEnum) else value


class Evidence:
    """A closed shape that stands in the journal as the evidence of an event."""

    __slots__ = ()

    def to_json(self) -> dict[str, Json]:
        """The evidence."""
        found: dict[str, Json] = plain(self)
        return found


def json_schema(kind: Any) -> dict[str, Json]:
    """The JSON Schema (2020-12) of a kind.  It can not tell `1.0` from `1`: JSON Schema counts
    both as integers."""
    kind, *marks = _with_marks(kind)
    for mark in marks:
        if isinstance(mark, Constant):
            return {"const": mark.value}
        if isinstance(mark, Form):
            # Python's `$` also stands before a last line feed; ECMA's does not.
            return {"type": "string", "pattern": f"^(?:{mark.pattern})$(?!\\n)"}
        if isinstance(mark, Whole):
            return {"type": "integer", "minimum": mark.least, "maximum": LARGEST}
    if get_origin(kind) in (Union, UnionType):
        (inner,) = (part for part in get_args(kind) if part is not NoneType)
        return {"anyOf": [json_schema(inner), {"type": "null"}]}
    if get_origin(kind) is tuple:
        return {"type": "array", "items": json_schema(get_args(kind)[0])}
    if dataclasses.is_dataclass(kind):
        hints = get_type_hints(kind, include_extras=True)
        names = [field.name for field in dataclasses.fields(kind)]
        return {
            "type": "object",
            "properties": {name: json_schema(hints[name]) for name in names},
            "required": list(names),
            "additionalProperties": False,
        }
    if issubclass(kind, StrEnum):
        return {"enum": [member.value for member in kind]}
    return {"type": {str: "string", bool: "boolean"}[kind]}
