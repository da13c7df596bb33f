"""Floor 3, `vault`: what the parts of an answer have to be; a `TypeError` tells which one is not."""

from __future__ import annotations

from typing import Any

from muniment.path import printable
from muniment.vault.description import is_snapshot_id
from muniment.vault.errors import UnknownSnapshot


def require_id(snapshot_id: str) -> None:
    """Refuse what no snapshot is called, before it becomes part of an address."""
    if not is_snapshot_id(snapshot_id):
        raise UnknownSnapshot(where=printable(snapshot_id[:64]))


def text(value: Any) -> str:
    """A text that can be shown."""
    if not isinstance(value, str) or not (value.isprintable() or value == ""):
        raise TypeError("a text was expected")
    return value


def text_or_none(value: Any) -> str | None:
    """The same, or nothing."""
    return None if value is None else text(value)


def number(value: Any) -> int:
    """A whole number from zero on."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise TypeError("a number was expected")
    return value


def number_or_none(value: Any) -> int | None:
    """The same, or nothing."""
    return None if value is None else number(value)
