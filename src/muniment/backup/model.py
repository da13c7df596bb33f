"""Floor 3, `backup`: what is planned, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from muniment.canonical import Json
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
            "src": self.src,
            "bundle": self.bundle,
            "rel": self.rel,
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

    `basis` is what the id is the digest of: the rules, the mode, the label, and which things at
    the top are in or out; sizes are shown, not hashed.
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
    basis: Mapping[str, Any] = field(default_factory=dict)

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
            "workspace_dir": self.workspace_dir,
            "data_dir": self.data_dir,
            "created_at_unix": self.created_at_unix,
            "items": [item.to_json() for item in self.items],
            "api": [
                {"file": one.file, "status": one.status, "size_bytes": one.size_bytes} for one in self.api
            ],
            "extra_paths": [
                {
                    "src": one.src,
                    "bundle": one.bundle,
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
