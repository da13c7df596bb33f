"""Handoff room: what must hold of a worker's own text; a closed list (spec 3, contract).

Every check but `command` is pure.  A command's argv comes from the parent's settings under the
name that the contract gives; its exit code reaches the rules as a fact.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from muniment.canonical import NotJson, canonical, read_json
from muniment.handoff.headings import bare, headings
from muniment.message import Message, say

MIN_BYTES = 40
"""Bytes that the work must have when the contract does not say."""
_ABSENT = object()


@dataclass(frozen=True, slots=True)
class Check:
    """One condition: its kind and what it compares with."""

    kind: str
    size: int = 0
    text: str = ""
    equals: object = _ABSENT

    def to_json(self) -> dict[str, Any]:
        """The check as it stands in a contract."""
        match self.kind:
            case "min_bytes":
                return {"check": "min_bytes", "bytes": self.size}
            case "json_pointer":
                found: dict[str, Any] = {"check": "json_pointer", "pointer": self.text}
                return found if self.equals is _ABSENT else {**found, "equals": self.equals}
            case "sha256":
                return {"check": "sha256", "sha256": self.text}
            case "command":
                return {"check": "command", "name": self.text}
            case _:
                return {"check": self.kind, "text": self.text}


def read_checks(value: Sequence[Mapping[str, Any]]) -> tuple[Check, ...]:
    """Read checks whose shape was checked; `min_bytes` joins them where it is not said.

    >>> [check.to_json() for check in read_checks([])]
    [{'check': 'min_bytes', 'bytes': 40}]
    """
    found: list[Check] = []
    for entry in value:
        kind = entry["check"]
        words = entry.get("text", entry.get("pointer", entry.get("sha256", entry.get("name", ""))))
        found.append(Check(kind, entry.get("bytes", 0), words, entry.get("equals", _ABSENT)))
    if not any(check.kind == "min_bytes" for check in found):
        found.insert(0, Check("min_bytes", MIN_BYTES))
    return tuple(found)


def failing(checks: Sequence[Check], work: bytes, commands: Mapping[str, int | None]) -> Message | None:
    """Why the work does not hold, or none when every check does.

    `work` is what the worker added, less anchors; `commands` gives each named command's exit
    code, none for one that could not be run or that no setting names.
    """
    for check in checks:
        why = _why(check, work, commands)
        if why is not None:
            return why
    return None


def _why(check: Check, work: bytes, commands: Mapping[str, int | None]) -> Message | None:
    match check.kind:
        case "min_bytes":
            size = len(work.strip())
            if size < check.size:
                return say("{size} bytes of work; at least {least} are owed", size=size, least=check.size)
        case "heading":
            if bare(check.text) not in (each.words for each in headings(work)):
                return say("the heading {heading} does not stand there", heading=check.text)
        case "contains":
            if check.text.encode() not in work:
                return say("the text {text} does not stand there", text=check.text)
        case "sha256":
            if hashlib.sha256(work).hexdigest() != check.text:
                return say("the work has another SHA-256 than the contract says")
        case "json_pointer":
            return _pointer(check, work)
        case "command":
            code = commands.get(check.text)
            if code is None:
                return say(
                    "the command {name} is not among the parent's settings or did not run", name=check.text
                )
            if code != 0:
                return say("the command {name} ended with {code}", name=check.text, code=code)
        case _:
            return say("the check {name} is not known", name=check.kind)
    return None


def _pointer(check: Check, work: bytes) -> Message | None:
    try:
        value = read_json(work)
        for token in pointer_tokens(check.text):
            value = step(value, token)
    except NotJson as error:
        return say("the work is not one JSON value: {finding}", finding=error)
    except LookupError:
        return say("nothing stands at {pointer}", pointer=check.text)
    if check.equals is not _ABSENT and not equal(value, check.equals):
        return say("another value than agreed stands at {pointer}", pointer=check.text)
    return None


def pointer_tokens(pointer: str) -> list[str]:
    """The names of a JSON pointer (RFC 6901).

    >>> pointer_tokens("/a~1b/0")
    ['a/b', '0']
    """
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


def step(value: Any, token: str) -> Any:
    """One step of a JSON pointer; a `LookupError` when nothing stands there."""
    if isinstance(value, dict):
        return value[token]
    if isinstance(value, list) and re.fullmatch("0|[1-9][0-9]{0,8}", token):
        return value[int(token)]
    raise LookupError(token)


def equal(one: Any, other: Any) -> bool:
    """Whether two JSON values are the same value; true is not 1, as it is to Python."""
    try:
        return bool(one == other) and canonical(one) == canonical(other)
    except (NotJson, RecursionError):
        return False
