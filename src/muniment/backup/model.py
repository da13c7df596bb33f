"""Floor 3, `backup`: what is planned, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from muniment.bundle.model import Fault
from muniment.bundle.vault import Snapshot
from muniment.canonical import Json
from muniment.evidence import spell, unspell
from muniment.message import Message

OK = "ok"
ABSENT = "absent"
MISSING = "missing"

API_FILES = ("profile.json", "settings.json", "scheduled_tasks.json")


@dataclass(frozen=True, slots=True)
class Item:
    """One entry at the top of a section, as planned.

    `kind` is `workspace_dir`, `workspace_file`, `data_dir` or `data_file`; `status` is `ok`, `absent`
    or why it is left out; sizes are bytes of what goes in (of all of it when it is left out).
    """

    section: str
    kind: str
    src: str
    bundle: str
    rel: str
    status: str
    size_bytes: int
    files: int

    def to_json(self) -> dict[str, Json]:
        """The item as plans show it."""
        return {
            "section": self.section,
            "kind": self.kind,
            "src": spell(self.src),
            "bundle": spell(self.bundle),
            "rel": spell(self.rel),
            "status": self.status,
            "size_bytes": self.size_bytes,
            "files": self.files,
        }


@dataclass(frozen=True, slots=True)
class ApiFile:
    """A file of the host's settings, as planned."""

    file: str
    status: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class ExtraPath:
    """A path outside both sections that the rules name."""

    src: str
    bundle: str
    status: str
    size_bytes: int
    files: int


@dataclass(frozen=True, slots=True)
class Plan:
    """What a snapshot would hold (spec 4, plan).

    The id is the digest of the rules, the mode, the label, and which things at the top are in or
    out; sizes are shown, not hashed.
    """

    plan_id: str
    label: str
    mode: str
    workspace_dir: str
    data_dir: str
    created_at_unix: int
    items: tuple[Item, ...]
    api: tuple[ApiFile, ...]
    extra_paths: tuple[ExtraPath, ...]
    warnings: tuple[Message, ...] = ()

    @property
    def total_files(self) -> int:
        """Files that would go in."""
        kept = sum(item.files for item in self.items if item.status == OK)
        kept += sum(path.files for path in self.extra_paths if path.status == OK)
        return kept + sum(file.status == OK for file in self.api)

    @property
    def total_size_bytes(self) -> int:
        """Bytes that would go in, before deflating."""
        kept = sum(item.size_bytes for item in self.items if item.status == OK)
        kept += sum(path.size_bytes for path in self.extra_paths if path.status == OK)
        return kept + sum(file.size_bytes for file in self.api if file.status == OK)

    def to_json(self) -> dict[str, Json]:
        """The plan for programs, and as it is kept."""
        return {
            "plan_id": self.plan_id,
            "label": self.label,
            "mode": self.mode,
            "workspace_dir": spell(self.workspace_dir),
            "data_dir": spell(self.data_dir),
            "created_at_unix": self.created_at_unix,
            "items": [item.to_json() for item in self.items],
            "api": [
                {"file": one.file, "status": one.status, "size_bytes": one.size_bytes} for one in self.api
            ],
            "extra_paths": [
                {
                    "src": spell(one.src),
                    "bundle": spell(one.bundle),
                    "status": one.status,
                    "size_bytes": one.size_bytes,
                    "files": one.files,
                }
                for one in self.extra_paths
            ],
            "warnings": [str(warning) for warning in self.warnings],
            "total_files": self.total_files,
            "total_size_bytes": self.total_size_bytes,
        }


@dataclass(frozen=True, slots=True)
class Request:
    """What a call asks for beside the rules file, for this snapshot only.

    `include` are absolute paths that are saved too, or places that no rule shall leave out.
    """

    mode: str | None = None
    exclude: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    label: str | None = None
    api_dir: str | None = None
    keep_outside_links: bool = False

    def to_json(self) -> dict[str, Json]:
        """The request as it is kept with its plan."""
        return {
            "mode": self.mode,
            "exclude": list(map(spell, self.exclude)),
            "include": list(map(spell, self.include)),
            "label": self.label,
            "api_dir": None if self.api_dir is None else spell(self.api_dir),
            "keep_outside_links": self.keep_outside_links,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Request:
        """Read a kept request; a `ValueError` or `KeyError` when it is none."""
        api = value["api_dir"]
        return cls(
            value["mode"],
            tuple(map(unspell, value["exclude"])),
            tuple(map(unspell, value["include"])),
            value["label"],
            None if api is None else unspell(api),
            bool(value["keep_outside_links"]),
        )


@dataclass(frozen=True, slots=True)
class Receipt:
    """A snapshot that was stored and read back.

    `sent` are stored bytes handed to the vault in this run; `faults` name what is not in it as it
    was planned; with any that is missing the snapshot is partial.
    """

    snapshot: Snapshot
    remaining: int | None
    files: int
    size: int
    sent: int
    partial: bool
    faults: tuple[Fault, ...]
    warnings: tuple[Message, ...]
    witness: str
    event_id: str

    @property
    def lacking(self) -> tuple[Fault, ...]:
        """What is not in it: not what only changed while it was read, and was read again."""
        return tuple(fault for fault in self.faults if fault.kind != "changed")

    def to_json(self) -> dict[str, Json]:
        """The receipt for programs."""
        return {
            **snapshot_json(self.snapshot),
            "remaining_slots": self.remaining,
            "files": self.files,
            "content_bytes": self.size,
            "sent_bytes": self.sent,
            "partial": self.partial,
            "faults": [
                {"path": spell(fault.path), "kind": fault.kind, "finding": str(fault.finding)}
                for fault in self.faults
            ],
            "warnings": [str(warning) for warning in self.warnings],
            "witness": self.witness,
            "event_id": self.event_id,
        }


def deleted_json(one: Snapshot, remaining: int | None) -> dict[str, Json]:
    """A snapshot that was deleted, and how many slots are free now."""
    told = snapshot_json(one)
    names = ("user_label", "created_at", "size_bytes", "sections")
    return {
        "deleted_backup_id": one.id,
        **{name: told[name] for name in names},
        "remaining_slots": remaining,
    }


def snapshot_json(one: Snapshot) -> dict[str, Json]:
    """A snapshot for programs, with the names of the vault's wire."""
    return {
        "backup_id": one.id,
        "user_label": one.label,
        "created_at": int(one.created_at.timestamp()),
        "size_bytes": one.size,
        "sections": list(one.sections),
        "root": str(one.root),
        "sha256": None if one.sha256 is None else one.sha256.hex,
        "soundness": one.soundness.value,
        "scheduled": one.scheduled,
    }
