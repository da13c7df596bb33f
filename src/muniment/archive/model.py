"""Floor 3, `archive`: what is asked, where it goes, and what is reported."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from muniment.canonical import Json
from muniment.digest import Digest
from muniment.evidence import Kind
from muniment.hosts.session import SessionSource
from muniment.path import RelPath, printable

ARCHIVES = "archives"
PLAN_NAME = "PLAN.md"


class Track(StrEnum):
    """The two tracks, never mixed: the one plan of a session, and everything else."""

    PLAN = "plan"
    FILE = "file"


@dataclass(frozen=True, slots=True)
class Request:
    """One path to archive; the track is told by its name when it is not given."""

    source: RelPath
    track: Track | None = None
    display_name: str | None = None


@dataclass(frozen=True, slots=True)
class Address:
    """Where a deliverable lies: `archives/{archive_id}/[{timestamp}/]{name}`."""

    archive_id: str
    timestamp: str | None
    name: str

    @property
    def root(self) -> RelPath:
        """`archives/{archive_id}`."""
        return RelPath((ARCHIVES, self.archive_id))

    @property
    def folder(self) -> RelPath:
        """The folder that holds the deliverable."""
        return self.root if self.timestamp is None else self.root / self.timestamp

    @property
    def path(self) -> RelPath:
        """The whole address, below the workspace."""
        return self.folder / self.name

    @property
    def subpath(self) -> str:
        """The address below `archives/{archive_id}`."""
        return self.name if self.timestamp is None else f"{self.timestamp}/{self.name}"


@dataclass(frozen=True, slots=True)
class Card:
    """What a chat shows of a deliverable; only ever made from what was read back."""

    kind: Kind
    archive_root: str
    subpath: str
    name: str

    def to_json(self) -> dict[str, Json]:
        """The card object, its members in the order in which they are printed."""
        shown = "directory" if self.kind is Kind.DIRECTORY else "file"
        data: dict[str, Json] = {
            "type": shown,
            "archive_root": self.archive_root,
            "subpath": self.subpath,
            "name": self.name,
        }
        return {"type": "archive_grid", "data": data}


@dataclass(frozen=True, slots=True)
class ReadBack:
    """The points of the read-back, each as it was found (spec 1, read-back)."""

    exists: bool
    path_right: bool
    not_empty: bool
    key_fields: str
    identical: bool
    task: str

    def to_json(self) -> dict[str, Json]:
        """The points as receipts and events carry them."""
        return {
            "exists": self.exists,
            "path_right": self.path_right,
            "not_empty": self.not_empty,
            "key_fields": self.key_fields,
            "content_identical": self.identical,
            "task": self.task,
        }


@dataclass(frozen=True, slots=True)
class Receipt:
    """What one archived deliverable is known by."""

    reference: str
    source: RelPath
    address: Address
    card: Card
    tree: Digest
    count: int
    size: int
    read_back: ReadBack
    id_source: SessionSource
    workspace_rule: str
    at: str
    copied: bool
    mirrored: Address | None = None
    event_id: str = ""
    warnings: tuple[str, ...] = ()

    def recorded(self, event_id: str) -> Receipt:
        """The receipt once the ledger holds its event."""
        return replace(self, event_id=event_id)

    def to_json(self) -> dict[str, Json]:
        """The receipt for programs."""
        mirror: dict[str, Json] = {}
        if self.mirrored is not None:
            root = self.card.archive_root.rpartition("/")[0]
            mirror["mirrored_archive_root"] = f"{root}/{self.mirrored.archive_id}"
            mirror["mirrored_subpath"] = self.mirrored.subpath
        return {
            **mirror,
            "reference": self.reference,
            "event_id": self.event_id,
            "from": self.source.posix,
            "to": self.address.path.posix,
            "archive_id": self.address.archive_id,
            "archive_id_source": self.id_source.value,
            "workspace_rule": self.workspace_rule,
            "at": self.at,
            "sha256": self.tree.hex,
            "files": self.count,
            "bytes": self.size,
            "copied": self.copied,
            "read_back": self.read_back.to_json(),
            "warnings": list(self.warnings),
            "card": self.card.to_json(),
        }


class Standing(StrEnum):
    """How an archived deliverable stands now."""

    INTACT = "intact"
    EDITED = "edited"
    CHANGED = "changed"
    MISSING = "missing"
    UNKNOWN = "unknown"

    @property
    def good(self) -> bool:
        """Whether nothing contradicts the record."""
        return self in (Standing.INTACT, Standing.EDITED)


@dataclass(frozen=True, slots=True)
class Entry:
    """A deliverable as the ledger knows it."""

    reference: str
    origin: RelPath
    path: RelPath
    archive_id: str
    name: str
    track: Track
    kind: Kind
    tree: Digest
    count: int
    size: int
    at: str
    event_id: str
    undone: bool = False
    sealed: bool = False

    def to_json(self) -> dict[str, Json]:
        """The entry for programs."""
        return {
            "reference": self.reference,
            "from": self.origin.posix,
            "path": self.path.posix,
            "archive_id": self.archive_id,
            "name": self.name,
            "track": self.track.value,
            "kind": self.kind.value,
            "sha256": self.tree.hex,
            "files": self.count,
            "bytes": self.size,
            "at": self.at,
            "event_id": self.event_id,
            "undone": self.undone,
            "sealed": self.sealed,
        }


@dataclass(frozen=True, slots=True)
class Checked:
    """An entry with how it stands, where it was looked for, what digest was found, and the first
    path that differs."""

    entry: Entry
    standing: Standing
    place: RelPath
    found: Digest | None = None
    differs: str = ""

    def to_json(self) -> dict[str, Json]:
        """The finding for programs."""
        return {
            "reference": self.entry.reference,
            "path": self.place.posix,
            "standing": self.standing.value,
            "recorded_sha256": self.entry.tree.hex,
            "found_sha256": self.found.hex if self.found else None,
            "differs": printable(self.differs),
        }
