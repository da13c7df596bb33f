"""Room `job`: where a text stops being strict JSON, by field path.

Python's own reader is fast but says only a line and a column.  When it (or a check after it)
refuses, this one reads the same text again, slowly, and names the field.
"""

from __future__ import annotations

import re

from muniment.job.finding import Finding, Place, Rule, shown
from muniment.message import Message, say

DEEPEST = 64
"""Objects and lists within each other; a registry needs seven."""

_SPACE = re.compile(r"[ \t\n\r]*")
_STRING = re.compile(r'"((?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*)"')
_PIECE = re.compile(r'\\(u[0-9a-fA-F]{4}|["\\/bfnrt])|([^\\]+)')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_WORD = re.compile(r"[^\s,:\[\]{}\"]+")
_CONSTANTS = ("NaN", "Infinity", "-Infinity")
_SIGNS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


class _Stopped(Exception):
    """Carries the first finding out of the recursion."""

    def __init__(self, finding: Finding) -> None:
        self.finding = finding
        super().__init__(finding.path)


def locate(text: str) -> Finding | None:
    """The first place where the text is not strict JSON; None when it is.

    >>> locate('{"workflow": {"phase": NaN}}').path
    'workflow.phase'
    >>> locate('{"a": {"b": 1, "b": 2}}').rule
    <Rule.DUPLICATE_KEY: 'duplicate_key'>
    """
    walk = _Walk(text)
    try:
        walk.value(_space(text, 0), ())
    except _Stopped as stopped:
        return stopped.finding
    return None


def _space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


class _Walk:
    def __init__(self, text: str) -> None:
        self.text = text

    def value(self, at: int, place: Place) -> None:
        end = _space(self.text, self.item(at, place))
        if end != len(self.text):
            raise self.stop(end, (), say("the end of the text"))

    def item(self, at: int, place: Place) -> int:
        if len(place) > DEEPEST:
            raise _Stopped(
                Finding(place, Rule.SYNTAX, say("at most {count} levels", count=DEEPEST), say("more"))
            )
        sign = self.text[at : at + 1]
        if sign == "{":
            return self.object(at + 1, place)
        if sign == "[":
            return self.list(at + 1, place)
        if sign == '"':
            return self.string(at, place)[1]
        return self.word(at, place)

    def object(self, at: int, place: Place) -> int:
        seen: set[str] = set()
        at = _space(self.text, at)
        if self.text[at : at + 1] == "}":
            return at + 1
        while True:
            if self.text[at : at + 1] != '"':
                raise self.stop(at, place, say("a field name in double quotes"))
            key, at = self.string(at, place)
            inner = (*place, key)
            if key in seen:
                raise _Stopped(
                    Finding(inner, Rule.DUPLICATE_KEY, say("each field once"), say("the field again"))
                )
            seen.add(key)
            at = _space(self.text, at)
            if self.text[at : at + 1] != ":":
                raise self.stop(at, inner, say("a colon"))
            at = _space(self.text, self.item(_space(self.text, at + 1), inner))
            if self.text[at : at + 1] == "}":
                return at + 1
            if self.text[at : at + 1] != ",":
                raise self.stop(at, inner, say("a comma or a closing brace"))
            at = _space(self.text, at + 1)

    def list(self, at: int, place: Place) -> int:
        at = _space(self.text, at)
        if self.text[at : at + 1] == "]":
            return at + 1
        number = 0
        while True:
            inner = (*place, number)
            at = _space(self.text, self.item(at, inner))
            if self.text[at : at + 1] == "]":
                return at + 1
            if self.text[at : at + 1] != ",":
                raise self.stop(at, inner, say("a comma or a closing bracket"))
            at, number = _space(self.text, at + 1), number + 1

    def string(self, at: int, place: Place) -> tuple[str, int]:
        found = _STRING.match(self.text, at)
        if found is None:
            raise self.stop(at, place, say("a text that is closed and whose control characters are escaped"))
        # Two escaped halves make one character, as every JSON reader joins them.
        halves = "".join(_sign(escape) if escape else raw for escape, raw in _PIECE.findall(found[1]))
        try:
            whole = halves.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
        except UnicodeDecodeError as error:
            raise _Stopped(
                Finding(place, Rule.LONE_SURROGATE, say("whole characters"), say("half of a surrogate pair"))
            ) from error
        return whole, found.end()

    def word(self, at: int, place: Place) -> int:
        found = _WORD.match(self.text, at)
        word = found[0] if found else ""
        if word in ("true", "false", "null") or _NUMBER.fullmatch(word):
            return at + len(word)
        if word in _CONSTANTS:
            raise _Stopped(Finding(place, Rule.NOT_A_NUMBER, say("a JSON number"), word))
        raise self.stop(at, place, say("a JSON value"))

    def stop(self, at: int, place: Place, wanted: Message) -> _Stopped:
        found = _WORD.match(self.text, at)
        rest = found[0] if found else self.text[at : at + 1]
        return _Stopped(
            Finding(place, Rule.SYNTAX, wanted, shown(rest) if rest else say("the end of the text"))
        )


def _sign(escape: str) -> str:
    if escape[0] == "u" and len(escape) == 5:
        return chr(int(escape[1:], 16))
    return _SIGNS.get(escape, escape)
