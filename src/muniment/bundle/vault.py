"""Floor 2, `bundle`: what a vault is to whoever stores snapshots in it: one protocol and its values.

The vault room has one implementation beside the disk and one over HTTP; the backup room knows only
this.  Errors are those of the room that implements it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from muniment.bundle.index import Index
from muniment.bundle.model import Extent, Row
from muniment.digest import Digest

PUT_BYTES = 16 << 20
"""Bytes of pieces that are well handed in at once."""


class Soundness(StrEnum):
    """What the vault knows of a snapshot's extents."""

    SOUND = "sound"
    DAMAGED = "damaged"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A stored snapshot: `size` is the tar.gz's in bytes, `root` the index's.

    `sha256` is the tar.gz's, once somebody asked for it; a whole upload has it at once.  `whole` says
    that the tar.gz was made elsewhere and is kept as it came: its index tells nothing of its files.
    `scheduled` says that nobody was asked for it: it was taken on a standing consent.
    """

    id: str
    label: str
    created_at: datetime
    size: int
    sections: tuple[str, ...]
    root: Digest
    sha256: Digest | None = None
    soundness: Soundness = Soundness.SOUND
    whole: bool = False
    scheduled: bool = False


def is_scheduled(facts: Mapping[str, object]) -> bool:
    """Whether the creator's facts mark a snapshot as scheduled.

    >>> is_scheduled({"scheduled": True}), is_scheduled({"scheduled": 1}), is_scheduled({})
    (True, False, False)
    """
    return facts.get("scheduled") is True


@dataclass(frozen=True, slots=True)
class Limits:
    """What a tenant may keep; None is no limit.  `size` is bytes of one tar.gz, `sessions` are
    uploads under way at once."""

    snapshots: int | None = None
    size: int | None = None
    label: int = 64
    sessions: int | None = None


@dataclass(frozen=True, slots=True)
class Listing:
    """A tenant's snapshots, newest first, and uploads that hold a slot."""

    snapshots: tuple[Snapshot, ...]
    limits: Limits
    uploading: int = 0

    @property
    def remaining(self) -> int | None:
        """Free slots; None without a limit."""
        if self.limits.snapshots is None:
            return None
        return max(0, self.limits.snapshots - len(self.snapshots) - self.uploading)


@dataclass(frozen=True, slots=True)
class Reservation:
    """An upload that was begun: the ids named so far are pinned until it ends.

    `missing` are those that the vault does not have.
    """

    upload_id: str
    missing: frozenset[bytes]


@dataclass(frozen=True, slots=True)
class Stored:
    """What creation answers, read back from where it lies."""

    snapshot: Snapshot
    remaining: int | None


class Vault(Protocol):
    """Keeps snapshots of one tenant; safe from several threads.

    Nothing of an upload is lost between two calls: what `put` took is durable when it returns.
    """

    @property
    def in_process(self) -> bool:
        """Whether it works in this process, and need not check again what was proven here."""
        ...

    @property
    def identity(self) -> str:
        """Names the vault, whatever its address: what a client's cache is kept under."""
        ...

    def close(self) -> None:
        """Let it go."""
        ...

    def list(self) -> Listing:
        """Everything there is."""
        ...

    def show(self, snapshot_id: str) -> Snapshot:
        """One snapshot."""
        ...

    def facts(self, snapshot_id: str) -> Mapping[str, object]:
        """What the creator said of a snapshot beside its label and sections."""
        ...

    def reserve(self, ids: Iterable[bytes] = (), *, replace: str | None = None) -> Reservation:
        """Begin an upload, naming extents that are meant to be used again."""
        ...

    def ask(self, upload_id: str, ids: Sequence[bytes]) -> frozenset[bytes]:
        """Which of further ids are missing; the others are pinned."""
        ...

    def put(self, upload_id: str, extents: Iterable[Extent], *, proven: bool = False) -> None:
        """Hand in extents with their pieces; each is checked before anything may name it, unless it is
        `proven`: made and checked in this process.  A vault elsewhere checks all the same.

        They are taken one at a time and are durable at the end.  Each call makes a file of its own
        (several beyond `PUT_BYTES`), so hand in as much as can be waited for.
        """
        ...

    def finish(
        self,
        upload_id: str,
        index: Index,
        *,
        label: str,
        sections: Sequence[str],
        facts: Mapping[str, object],
    ) -> Stored:
        """End an upload: durable and read back, then acknowledged; a replaced snapshot goes after."""
        ...

    def abort(self, upload_id: str) -> None:
        """Give an upload up; what it pinned is let go."""
        ...

    def index(self, snapshot_id: str) -> Index:
        """A snapshot's index."""
        ...

    def fetch(self, row: Row) -> bytes:
        """The stored piece of an extent; safe from several threads."""
        ...

    def download(self, snapshot_id: str, start: int = 0) -> Iterator[bytes]:
        """The bytes of the tar.gz from an offset on."""
        ...

    def delete(self, snapshot_id: str) -> Snapshot:
        """Remove one snapshot and tell what it was."""
        ...
