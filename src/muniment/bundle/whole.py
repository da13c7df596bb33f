"""Floor 2, `bundle`: the narrow port: a vault that takes and gives snapshots as whole tar.gz files.

It is what every vault on the wire can do, and the only thing that the original scripts ask for
(spec 5, HTTP).  What goes beyond its table (`sha256`, `root`, the vault's id) is taken where it is told.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from muniment.canonical import Json

ONE_SHOT_BELOW = 10 << 20
"""Bytes from which on a file goes by offsets (spec 5, HTTP)."""

CHUNK = 10 << 20
"""Bytes that go at once then."""


@dataclass(frozen=True, slots=True)
class Description:
    """What the sender says of a snapshot."""

    label: str
    sections: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Listed:
    """A snapshot as a list shows it; `size` in bytes."""

    id: str
    label: str
    created_at: datetime
    size: int
    sections: tuple[str, ...]
    sha256: str | None = None
    root: str | None = None

    def to_json(self) -> dict[str, Json]:
        """The members that every vault tells."""
        return {
            "backup_id": self.id,
            "user_label": self.label,
            "created_at": int(self.created_at.timestamp()),
            "size_bytes": self.size,
            "sections": list(self.sections),
        }


@dataclass(frozen=True, slots=True)
class Shelf:
    """Everything that a tenant keeps, newest first; `cap` and `remaining` where they are told."""

    listed: tuple[Listed, ...]
    quota: Json
    limits: Json
    cap: int | None = None
    remaining: int | None = None
    identity: str = ""


@dataclass(frozen=True, slots=True)
class Kept:
    """What was stored, as the vault answered; `size` in bytes."""

    id: str
    size: int
    sha256: str
    remaining: int | None
    root: str | None = None


@dataclass(frozen=True, slots=True)
class Full:
    """No slot is free: `current` holds them, as the vault said it."""

    current: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Begun:
    """An upload by offsets, and where it stands."""

    upload_id: str
    offset: int


class WholeVault(Protocol):
    """One tenant's vault.  Whatever is not there is a `NotFound`, a lost call an `Unreachable`."""

    @property
    def url(self) -> str:
        """Its address, as a person may read it."""
        ...

    def shelf(self) -> Shelf:
        """Everything there is."""
        ...

    def show(self, backup_id: str) -> Listed:
        """One snapshot."""
        ...

    def create(self, data: bytes, said: Description, *, replace: str | None = None) -> Kept | Full:
        """Send a small file at once."""
        ...

    def reserve(self, total: int, said: Description, *, replace: str | None = None) -> Begun | Full:
        """Begin an upload by offsets, of so many bytes."""
        ...

    def offset(self, upload_id: str) -> int:
        """Where an upload stands."""
        ...

    def send(self, upload_id: str, start: int, data: bytes, total: int) -> int | Kept | Full:
        """Send the bytes from an offset on: where the upload stands then, or what was stored."""
        ...

    def abort(self, upload_id: str) -> None:
        """Give an upload up."""
        ...

    def download(self, backup_id: str) -> Iterator[bytes]:
        """The bytes of the tar.gz, held to the digest that is told with them; without one they are
        refused before the first."""
        ...

    def delete(self, backup_id: str) -> None:
        """Remove one snapshot; that it is gone already is no error."""
        ...
