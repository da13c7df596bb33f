"""Floor 1, `record`: what each room tells the desk of itself, and the form in which it does.

A room of floor 3 exports one `Subject`; the desk knows no more of a room than this (design, the
house).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from muniment.canonical import Json
from muniment.clock import read_instant
from muniment.message import Message
from muniment.record.event import Event


@dataclass(frozen=True, slots=True)
class Unfinished:
    """Something that was begun and has not ended: its reference (or its path, where it has none
    yet), one word for how it stands, and the command line that looks after it.

    What is `half` done keeps the like from being begun.  `fault` says why it can not be read, if it
    can not; the word for how it stands is then the error's code.
    """

    reference: str
    state: str
    step: str
    half: bool = False
    fault: Message | None = None

    def to_json(self) -> dict[str, Json]:
        """What programs get."""
        return {"reference": self.reference, "state": self.state, "next": self.step}


@dataclass(frozen=True, slots=True)
class Newest:
    """The newest thing of a room, when it came, and the id of the place that keeps it, if that is
    another than the workspace."""

    reference: str
    at: datetime
    kept_in: str = ""


def newest_of(event: Event | None, kept_in: str = "") -> Newest | None:
    """The subject of an event, and when it was; None without one, or when nobody can tell its time."""
    if event is None:
        return None
    try:
        return Newest(event.subject, read_instant(event.at), kept_in)
    except ValueError:
        return None


class Subject(Protocol):
    """One room, as the desk knows it.  To look makes nothing and changes nothing."""

    @property
    def prefix(self) -> str:
        """How references of this room begin."""

    def unfinished(self) -> Sequence[Unfinished]:
        """What somebody still has to look after, oldest first; what can not be read is among it."""

    def newest(self) -> Newest | None:
        """The newest thing that is still there, as far as the record says."""
