"""Floor 1, `record`: what each room tells the desk of itself, and the form in which it does.

A room of floor 3 exports one `Subject`; the desk knows no more of a room than this (design, the
house).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from muniment.canonical import Json
from muniment.clock import read_instant
from muniment.errors import MunimentError, NotVerified
from muniment.message import Message, say
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


class Standing(StrEnum):
    """How something stands after it was read again.

    `open` is what nobody claims to be done yet; of what is `unknown` nobody can say, since it could
    not be read.
    """

    GOOD = "good"
    OPEN = "open"
    BAD = "bad"
    UNKNOWN = "unknown"

    @property
    def fine(self) -> bool:
        """Whether nothing contradicts the record, and everything was read."""
        return self in (Standing.GOOD, Standing.OPEN)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of reading one thing again: its reference, how it stands, and the finding.

    `details` name each part that is not as it should be, and `step` is the command that looks
    closer.
    """

    reference: str
    standing: Standing
    finding: Message
    details: tuple[Message, ...] = ()
    step: str = ""

    def to_json(self) -> dict[str, Json]:
        """What programs get."""
        return {
            "reference": self.reference,
            "standing": self.standing.value,
            "finding": str(self.finding),
            "details": [str(one) for one in self.details],
            "next": self.step,
        }


def unread(reference: str, error: MunimentError, step: str = "") -> Verdict:
    """The verdict where reading again ended in an error: bad when what was read contradicts the record,
    unknown when it could not be read."""
    standing = Standing.BAD if isinstance(error, NotVerified) else Standing.UNKNOWN
    details: tuple[Message, ...] = (error.why,) if error.why is not None else ()
    if error.where and error.where != reference:
        details = (say("{where}: {why}", where=error.where, why=error.why or error.message),)
    return Verdict(reference, standing, error.message, details, step)


@dataclass(frozen=True, slots=True)
class Sought:
    """What somebody looks for: the text as given, and the digits of a sha256 when it is one, whole or
    shortened."""

    text: str
    digest: str = ""

    def is_in(self, *texts: str) -> bool:
        """Whether one of the texts holds it, large or small."""
        wanted = self.text.casefold()
        return any(wanted in text.casefold() for text in texts)

    def is_digest(self, digest: str | None) -> bool:
        """Whether these digits are the ones that are looked for."""
        return bool(self.digest) and digest is not None and digest.startswith(self.digest)


@dataclass(frozen=True, slots=True)
class Hit:
    """Something that was found: its reference, what it is there, its path, and how it stands when it
    was read again just now (None: as the record says)."""

    reference: str
    role: Message
    path: str = ""
    standing: Standing | None = None
    digest: str = ""

    def to_json(self) -> dict[str, Json]:
        """What programs get."""
        return {
            "reference": self.reference,
            "role": str(self.role),
            "path": self.path,
            "standing": self.standing.value if self.standing is not None else None,
            "sha256": self.digest or None,
        }


def unsearched(reference: str, why: Message, path: str = "") -> Hit:
    """A hit of unknown standing, so that nobody takes for searched what could not be."""
    return Hit(reference, say("can not be searched: {why}", why=why), path, Standing.UNKNOWN)


@dataclass(frozen=True, slots=True)
class Shown:
    """One thing as people and as programs see it, and the command that looks closer."""

    reference: str
    lines: Sequence[tuple[Message, object]]
    value: Mapping[str, Json]
    step: str = ""


class Weight(StrEnum):
    """What an event is worth: somebody says so, it was read back, or reading back showed that it is
    not so."""

    CLAIMED = "claimed"
    PROVED = "proved"
    REFUTED = "refuted"


@dataclass(frozen=True, slots=True)
class Weighed:
    """The weight of an event, and what it is about: a later proof about the same answers a claim."""

    weight: Weight
    about: str


Watch = Callable[[int, int, str], None]
"""Told of bytes, files and the path at work since the last time."""


def unwatched(size: int, files: int = 0, path: str = "") -> None:
    """Nobody looks."""


class Subject(Protocol):
    """One room, as the desk knows it.  To look makes nothing and changes nothing.

    References are whole; errors of a single thing that is asked for are those of the room.
    """

    @property
    def prefix(self) -> str:
        """How references of this room begin."""

    def references(self) -> Iterable[str]:
        """Everything that the record, or the place where it lies, says there is; oldest first."""

    def show(self, reference: str) -> Shown:
        """One thing, by what is kept of it."""

    def find(self, sought: Sought) -> Iterator[Hit]:
        """Everything of this room that holds the text, or bytes of the digest.

        What can not be searched is a hit of unknown standing, so that nobody takes it for searched.
        """

    def verify(self, references: Iterable[str], watch: Watch = unwatched) -> Iterator[Verdict]:
        """Read each thing again where it lies and compare it with the record, one after the other.

        What is not there, or can not be read, is a verdict, never an error.
        """

    def weigh(self, event: Event) -> Weighed | None:
        """What an event of this room is worth; None for one that neither claims nor proves."""

    def unfinished(self) -> Sequence[Unfinished]:
        """What somebody still has to look after, oldest first; what can not be read is among it."""

    def newest(self) -> Newest | None:
        """The newest thing that is still there, as far as the record says."""
