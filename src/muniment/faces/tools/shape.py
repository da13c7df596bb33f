"""Faces, tools: what a tool is called, what it takes and what it gives, as JSON schemas.

The schemas are closed: a member that stands in none of them is an error (spec 6, MCP).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Schema = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Shape:
    """A tool as clients see it; the hints are MCP's annotations."""

    name: str
    title: str
    about: str
    takes: Schema
    gives: Schema
    reads_only: bool = True
    destructive: bool = False
    idempotent: bool = True
    reaches_out: bool = False

    @property
    def room(self) -> str:
        """The room that it belongs to, by the first word of its name."""
        return self.name.partition("_")[0]

    @property
    def required(self) -> tuple[str, ...]:
        """The arguments without which it can not be called."""
        return tuple(self.takes["required"])


def closed(properties: Schema, optional: str = "") -> Schema:
    """An object of these members and no others; `optional` names those that may be left out."""
    left_out = optional.split()
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name not in left_out],
        "additionalProperties": False,
    }


def text(about: str = "", **more: Any) -> Schema:
    """A text; without `maxLength`, of at most 65,536 characters."""
    return {"type": "string", **({"description": about} if about else {}), **more}


def path(about: str) -> Schema:
    """A path of this machine: from the top of the workspace, or absolute."""
    return text(about, minLength=1, maxLength=4096, pattern=r"^[^\u0000]+$")


def flag(about: str) -> Schema:
    """Yes or no, and no when it is left out."""
    return {"type": "boolean", "description": about}


def word(about: str, *words: str) -> Schema:
    """One of a closed list of words."""
    return {"enum": list(words), "description": about}


def items(item: Schema, about: str = "") -> Schema:
    """A list."""
    return {"type": "array", "items": item, **({"description": about} if about else {})}


def table(member: Schema, about: str) -> Schema:
    """An object of free names, each with such a member."""
    return {"type": "object", "additionalProperties": member, "description": about}


def maybe(schema: Schema) -> Schema:
    """This or null."""
    return {"anyOf": [schema, {"type": "null"}]}


WHOLE: Schema = {"type": "integer", "minimum": 0}
FLAG: Schema = {"type": "boolean"}
DIGEST: Schema = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
