"""Room `job`: reads block YAML that a person wrote, once: YAML 1.2, JSON's types, nothing else.

The text is read as events, not as values: no constructor runs, and an anchor, an alias, a tag
or a second document is refused where it stands.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from muniment.canonical import NotJson, read_json
from muniment.job.errors import ImportRefused
from muniment.job.finding import shown, spell_place
from muniment.job.reader import LARGEST_FILE
from muniment.job.strict import DEEPEST
from muniment.message import Message, say

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ruamel.yaml.events import Event

# The core schema of YAML 1.2, less what JSON can not hold (0x1F, .inf, .nan).
_NULL = ("", "~", "null", "Null", "NULL")
_TRUE = ("true", "True", "TRUE")
_FALSE = ("false", "False", "FALSE")
_INTEGER = re.compile(r"[-+]?[0-9]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_JSON_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_NOT_JSON = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)|0x[0-9a-fA-F]+|0o[0-7]+")


def read_yaml(data: bytes, *, where: str = "") -> Any:
    """The JSON value that a YAML text says; `ImportRefused` names what it can not say.

    >>> read_yaml(b"a: no\\nb: [1, true, null]\\n")
    {'a': 'no', 'b': [1, True, None]}
    """
    if len(data) > LARGEST_FILE:
        raise _refused(where, say("it has more than {count} bytes", count=LARGEST_FILE))
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _refused(where, say("it is not UTF-8 at byte {at}", at=error.start)) from error
    if "\0" in text:
        # The YAML reader takes a NUL for the end and would not even look at the rest.
        raise _refused(where, say("it is no YAML: a NUL stands at {at}", at=text.index("\0")))
    try:
        return read_json(text)
    except NotJson:
        pass  # No JSON: then it must be block YAML.
    return _Composer(_events(text, where), where).document()


def _events(text: str, where: str) -> Iterator[Event]:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    reader = YAML(typ="safe", pure=True)
    reader.version = (1, 2)
    try:
        yield from reader.parse(text)
    except YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        line = mark.line + 1 if mark is not None else 0
        raise _refused(where, say("line {line}: {problem}", line=line, problem=shown(problem))) from error
    except (ValueError, RecursionError) as error:
        raise _refused(where, say("it is no YAML: {problem}", problem=shown(str(error)))) from error


class _Composer:
    """Turns events into values, and stops at whatever JSON does not know."""

    def __init__(self, events: Iterator[Event], where: str) -> None:
        self.events = events
        self.where = where

    def document(self) -> Any:
        from ruamel.yaml import events as e

        for event in self.events:
            if isinstance(event, e.DocumentStartEvent):
                if event.tags or event.version not in (None, (1, 2), "1.2"):
                    raise self.stop(event, (), say("a directive stands before it"))
                value = self.value(next(self.events), ())
                self.end()
                return value
        raise _refused(self.where, say("it is empty"))

    def end(self) -> None:
        from ruamel.yaml import events as e

        for event in self.events:
            if isinstance(event, e.DocumentStartEvent):
                raise self.stop(event, (), say("a second document follows"))

    def value(self, event: Event, place: tuple[str | int, ...]) -> Any:
        from ruamel.yaml import events as e

        if isinstance(event, e.AliasEvent):
            raise self.stop(event, place, say("an alias stands there"))
        if getattr(event, "anchor", None) is not None:
            raise self.stop(event, place, say("an anchor stands there"))
        if getattr(event, "tag", None) is not None:
            raise self.stop(event, place, say("a tag stands there"))
        if len(place) > DEEPEST:
            raise self.stop(event, place, say("it is nested too deep"))
        if isinstance(event, e.ScalarEvent):
            return self.scalar(event, place)
        if isinstance(event, e.SequenceStartEvent):
            return self.sequence(place)
        return self.mapping(place)

    def sequence(self, place: tuple[str | int, ...]) -> list[Any]:
        from ruamel.yaml import events as e

        found: list[Any] = []
        for event in self.events:
            if isinstance(event, e.SequenceEndEvent):
                break
            found.append(self.value(event, (*place, len(found))))
        return found

    def mapping(self, place: tuple[str | int, ...]) -> dict[str, Any]:
        from ruamel.yaml import events as e

        found: dict[str, Any] = {}
        for event in self.events:
            if isinstance(event, e.MappingEndEvent):
                break
            key = self.value(event, place)
            if not isinstance(key, str) or key == "<<":
                raise self.stop(event, place, say("a field name must be a text"))
            if key in found:
                raise self.stop(event, (*place, key), say("the field stands twice"))
            found[key] = self.value(next(self.events), (*place, key))
        return found

    def scalar(self, event: Any, place: tuple[str | int, ...]) -> Any:
        text: str = event.value
        if not text.isascii() and any("\ud800" <= sign <= "\udfff" for sign in text):
            raise self.stop(event, place, say("half of a surrogate pair stands there"))
        if event.style is not None:
            return text
        if text in _NULL:
            return None
        if text in _TRUE or text in _FALSE:
            return text in _TRUE
        if _NOT_JSON.fullmatch(text):
            raise self.stop(event, place, say("JSON has no number {text}", text=shown(text)))
        if _INTEGER.fullmatch(text) or _FLOAT.fullmatch(text):
            return self.number(event, text, place)
        return text

    def number(self, event: Any, text: str, place: tuple[str | int, ...]) -> int | float:
        if not _JSON_NUMBER.fullmatch(text):
            # 01 is an octal eight to one reader, one to another: nobody may guess.
            raise self.stop(event, place, say("JSON has no number {text}", text=shown(text)))
        try:
            value: int | float = int(text) if _INTEGER.fullmatch(text) else float(text)
        except ValueError as error:
            raise self.stop(event, place, say("the number is too long")) from error
        if isinstance(value, float) and not math.isfinite(value):
            raise self.stop(event, place, say("JSON has no number {text}", text=shown(text)))
        return value

    def stop(self, event: Any, place: tuple[str | int, ...], problem: Message) -> ImportRefused:
        line = event.start_mark.line + 1
        finding = say("line {line}, {path}: {problem}", line=line, path=spell_place(place), problem=problem)
        return _refused(self.where, finding)


def _refused(where: str, finding: Message) -> ImportRefused:
    return ImportRefused(where=where, finding=finding)
