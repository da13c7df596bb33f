"""Handoff room: closed shapes, declared once: they read hostile JSON and print its JSON Schema.

A shape refuses what it does not name, and says at which field.  Structure alone is judged here;
what the fields mean to each other is judged by the rules.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from muniment.canonical import NotJson, canonical
from muniment.message import Message, say

DIALECT = "https://json-schema.org/draft/2020-12/schema"
WHOLE_MAX = 2**53 - 1
"""The greatest whole number that canonical JSON can hold exactly."""


class Misfit(ValueError):
    """A value that does not fit: at which field, and why."""

    def __init__(self, at: str, why: Message) -> None:
        self.at = at
        self.why = why
        super().__init__(at, why)

    def __str__(self) -> str:
        return f"{self.at or 'the whole'}: {self.why}"


class Shape(Protocol):
    """What a value may look like."""

    def check(self, value: object, at: str = "") -> None:
        """Raise `Misfit` unless the value fits."""

    def schema(self) -> dict[str, Any]:
        """The same in JSON Schema 2020-12."""


_TEXT = say("a text")


@dataclass(frozen=True, slots=True)
class Text:
    """A text of `least` to `most` characters, not blank unless `blank`, and of a pattern if given.

    >>> Text(pattern="ho_[0-9]+", name=say("a handoff id")).check("ho_1")
    """

    most: int = 65_536
    blank: bool = False
    pattern: str = ""
    name: Message = _TEXT

    def check(self, value: object, at: str = "") -> None:
        if not isinstance(value, str):
            raise Misfit(
                at, say("{expected} was expected, found {found}", expected=self.name, found=kind(value))
            )
        if len(value) > self.most:
            raise Misfit(at, say("{size} characters; {most} is the most", size=len(value), most=self.most))
        if self.pattern and not re.fullmatch(self.pattern, value):
            raise Misfit(at, say("this is not {expected}", expected=self.name))
        if not self.blank and not re.search(r"\S", value):
            raise Misfit(at, say("the text is empty"))

    def schema(self) -> dict[str, Any]:
        found: dict[str, Any] = {"type": "string", "maxLength": self.most}
        if self.pattern:
            found["pattern"] = (
                rf"^(?:{self.pattern})$(?!\n)"  # some engines let $ stand before a last newline
            )
        elif not self.blank:
            found["pattern"] = r"\S"
        return found


@dataclass(frozen=True, slots=True)
class Word:
    """One of a closed list of words."""

    words: tuple[str, ...]

    def check(self, value: object, at: str = "") -> None:
        if not isinstance(value, str) or value not in self.words:
            raise Misfit(at, say("one of {words} was expected", words=self.words))

    def schema(self) -> dict[str, Any]:
        return {"const": self.words[0]} if len(self.words) == 1 else {"enum": list(self.words)}


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole number within bounds, written without a fraction."""

    least: int = 0
    most: int = WHOLE_MAX

    def check(self, value: object, at: str = "") -> None:
        if not isinstance(value, int) or isinstance(value, bool):
            raise Misfit(at, say("a whole number was expected, found {found}", found=kind(value)))
        if not self.least <= value <= self.most:
            raise Misfit(
                at, say("a number from {least} to {most} was expected", least=self.least, most=self.most)
            )

    def schema(self) -> dict[str, Any]:
        if self.least == self.most:
            return {"type": "integer", "const": self.least}
        return {"type": "integer", "minimum": self.least, "maximum": self.most}


@dataclass(frozen=True, slots=True)
class Flag:
    """True or false; with `only`, that one alone."""

    only: bool | None = None

    def check(self, value: object, at: str = "") -> None:
        if not isinstance(value, bool):
            raise Misfit(at, say("true or false was expected, found {found}", found=kind(value)))
        if self.only is not None and value is not self.only:
            raise Misfit(at, say("only {word} can stand here", word=str(self.only).lower()))

    def schema(self) -> dict[str, Any]:
        return {"type": "boolean"} if self.only is None else {"type": "boolean", "const": self.only}


@dataclass(frozen=True, slots=True)
class Items:
    """A list of `least` to `most` things of one shape."""

    of: Shape
    least: int = 0
    most: int = 1_000

    def check(self, value: object, at: str = "") -> None:
        if not isinstance(value, list):
            raise Misfit(at, say("a list was expected, found {found}", found=kind(value)))
        if len(value) < self.least:
            raise Misfit(
                at,
                say("the list is too short: {size} of at least {least}", size=len(value), least=self.least),
            )
        if len(value) > self.most:
            raise Misfit(
                at, say("the list is too long: {size} of at most {most}", size=len(value), most=self.most)
            )
        for number, item in enumerate(value):
            self.of.check(item, f"{at}[{number}]")

    def schema(self) -> dict[str, Any]:
        return {"type": "array", "items": self.of.schema(), "minItems": self.least, "maxItems": self.most}


@dataclass(frozen=True, slots=True)
class Closed:
    """An object of these fields and no others; all are required but the `optional` ones."""

    fields: Mapping[str, Shape]
    optional: frozenset[str] = field(default_factory=frozenset)

    def check(self, value: object, at: str = "") -> None:
        if not isinstance(value, Mapping):
            raise Misfit(at, say("an object was expected, found {found}", found=kind(value)))
        for name in value:
            if name not in self.fields:
                raise Misfit(below(at, str(name)), say("this field is not known here"))
        for name, shape in self.fields.items():
            if name in value:
                shape.check(value[name], f"{at}.{name}" if at else name)
            elif name not in self.optional:
                raise Misfit(below(at, name), say("this field is missing"))

    def schema(self) -> dict[str, Any]:
        return {
            "type": "object",
            "properties": {name: shape.schema() for name, shape in self.fields.items()},
            "required": [name for name in self.fields if name not in self.optional],
            "additionalProperties": False,
        }


@dataclass(frozen=True, slots=True)
class Either:
    """One of several closed objects, told apart by the word in the field `tag`."""

    tag: str
    variants: Mapping[str, Closed]

    def check(self, value: object, at: str = "") -> None:
        if not isinstance(value, Mapping):
            raise Misfit(at, say("an object was expected, found {found}", found=kind(value)))
        if self.tag not in value:
            raise Misfit(below(at, self.tag), say("this field is missing"))
        Word(tuple(self.variants)).check(value[self.tag], below(at, self.tag))
        self.variants[value[self.tag]].check(value, at)

    def schema(self) -> dict[str, Any]:
        return {"oneOf": [variant.schema() for variant in self.variants.values()]}


@dataclass(frozen=True, slots=True)
class TextOr:
    """A text, or else something of another shape that is no text."""

    text: Text
    other: Shape

    def check(self, value: object, at: str = "") -> None:
        (self.text if isinstance(value, str) else self.other).check(value, at)

    def schema(self) -> dict[str, Any]:
        return {"oneOf": [self.text.schema(), self.other.schema()]}


@dataclass(frozen=True, slots=True)
class Anything:
    """Any JSON that canonical JSON can hold; with `named`, an object that is not empty.

    That a number must have an exact canonical form is the one thing JSON Schema can not say.
    """

    named: bool = False

    def check(self, value: object, at: str = "") -> None:
        if self.named and not isinstance(value, Mapping):
            raise Misfit(at, say("an object was expected, found {found}", found=kind(value)))
        if self.named and not value:
            raise Misfit(at, say("the object is empty"))
        try:
            canonical(value)  # type: ignore[arg-type]
        except NotJson as error:
            raise Misfit(at, say("this can not be kept exactly: {finding}", finding=error)) from error

    def schema(self) -> dict[str, Any]:
        return {"type": "object", "minProperties": 1} if self.named else {}


def closed(optional: str = "", /, **fields: Shape) -> Closed:
    """A closed object; `optional` names the fields that may be left out, split at blanks.

    >>> closed("b", a=Flag(), b=Flag()).check({"a": True})
    """
    return Closed(fields, frozenset(optional.split()))


def below(at: str, name: str) -> str:
    """The path of a field: `targets.team_journal.path`; odd names are quoted.

    >>> below("a", "b"), below("", "x y")
    ('a.b', "'x y'")
    """
    shown = name if re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name) else repr(name[:64])
    return f"{at}.{shown}" if at else shown


def kind(value: object) -> Message:
    """The JSON name of a value's kind.

    >>> str(kind([])), str(kind(None))
    ('a list', 'null')
    """
    if value is None:
        return Message("null")
    if isinstance(value, bool):
        return say("true or false")
    if isinstance(value, str):
        return _TEXT
    if isinstance(value, int | float):
        return say("a number")
    return say("a list") if isinstance(value, list | tuple) else say("an object")
