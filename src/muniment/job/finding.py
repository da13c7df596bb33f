"""Room `job`: what is wrong with a registry, and at which field."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from enum import StrEnum

from muniment.message import Message, say, say_count
from muniment.path import printable

Place = tuple[str | int, ...]
"""The way from the top of a registry to one field: names and list positions."""

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SHOWN = 80


class Rule(StrEnum):
    """The rules a registry is held to, by the word a program sees."""

    SYNTAX = "syntax"
    DUPLICATE_KEY = "duplicate_key"
    NOT_A_NUMBER = "not_a_number"
    LONE_SURROGATE = "lone_surrogate"
    TOO_LARGE = "too_large"
    UNKNOWN_FIELD = "unknown_field"
    MISSING_FIELD = "missing_field"
    TYPE = "type"
    CONSTANT = "constant"
    CHOICE = "choice"
    FORM = "form"
    RANGE = "range"
    AUTHORING = "authoring"
    GAP = "gap"
    PHASE = "phase"
    DOWNSTREAM = "downstream"
    BINDING = "binding"
    DEFAULT = "default"
    TOOL = "tool"
    IMAGE = "image"


@dataclass(frozen=True, slots=True)
class Finding:
    """One field, the rule it breaks, what the rule wants, and what stands there.

    >>> one = Finding(("execution", "bindings", 0, "type"), Rule.CHOICE, say("FILE or DIR"), '"LINK"')
    >>> one.path
    'execution.bindings[0].type'
    """

    place: Place
    rule: Rule
    wanted: Message
    found: Message | str

    @property
    def path(self) -> str:
        """The field's path as people and programs read it; `$` is the whole record."""
        return spell_place(self.place)


def spell_place(place: Place) -> str:
    """Spell a place; a name that is no plain word is quoted, so that no name can pass for a path.

    >>> spell_place(("a", 0, "b.c"))
    'a[0]["b.c"]'
    """
    out = ""
    for step in place:
        if isinstance(step, int):
            out += f"[{step}]"
        elif _PLAIN.fullmatch(step):
            out += f".{step}" if out else step
        else:
            out += f"[{json.dumps(step, ensure_ascii=True)}]"
    return out or "$"


def shown(value: object) -> Message | str:
    """A value as an error may show it: one line, nothing that moves a cursor, never long.

    >>> str(shown({"a": 1})), str(shown("x" * 200))[-4:]
    ('an object with 1 field', 'xxx…')
    """
    if isinstance(value, dict):
        return say_count("an object with {count} field", "an object with {count} fields", len(value))
    if isinstance(value, (list, tuple)):
        return say_count("a list of {count} item", "a list of {count} items", len(value))
    if value is None or isinstance(value, (bool, float)):
        text = json.dumps(value)
    elif isinstance(value, int):
        if abs(value) >= 10**_SHOWN:
            return say("a very long number")
        text = str(value)
    else:
        text = json.dumps(str(value)[: _SHOWN * 2], ensure_ascii=False)
    text = printable(text)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def quoted(answer: bytes | bytearray) -> str:
    """What a program or a server answered, as an error may quote it: its beginning, harmless.

    >>> quoted(b" not \\x1b[2J found ")
    'not \\\\x1b[2J found'
    """
    return printable(answer.decode("utf-8", "replace").strip())[:300]
