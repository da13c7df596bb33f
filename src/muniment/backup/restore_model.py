"""Floor 3, `backup`: restoring as values: what lies fetched, what stands there, what would be done."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any, NamedTuple

from muniment.canonical import Json, canonical
from muniment.digest import sha256
from muniment.evidence import Kind, spell, unspell
from muniment.message import Message


class Stored(NamedTuple):
    """One thing of a snapshot as it lies fetched; `path` is its place in the bundle."""

    path: str
    kind: Kind
    mode: int
    mtime_ns: int
    size: int = 0
    sha256: str = ""
    target: str = ""

    def to_json(self) -> dict[str, Json]:
        """The row of an inventory; nanoseconds go beyond what JSON numbers hold and are texts."""
        return {
            "path": spell(self.path),
            "kind": self.kind.value,
            "mode": self.mode,
            "mtime_ns": str(self.mtime_ns),
            "size": self.size,
            "sha256": self.sha256,
            "target": spell(self.target),
        }

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Stored:
        """Read a row; a `ValueError`, `KeyError` or `TypeError` when it is none."""
        return cls(
            unspell(row["path"]),
            Kind(row["kind"]),
            int(row["mode"]),
            int(row["mtime_ns"]),
            int(row["size"]),
            str(row["sha256"]),
            unspell(row["target"]),
        )


class Face(NamedTuple):
    """What stands at a path: content only, since that is what is compared.

    Of a file size in bytes and sha256, of a link its target.  Nothing at all is None instead.
    """

    kind: Kind
    size: int = 0
    sha256: str = ""
    target: str = ""

    def to_json(self) -> dict[str, Json]:
        """The face as journals keep it."""
        return {
            "kind": self.kind.value,
            "size": self.size,
            "sha256": self.sha256,
            "target": spell(self.target),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Face:
        """Read a kept face; a `ValueError`, `KeyError` or `TypeError` when it is none."""
        return cls(
            Kind(value["kind"]), int(value["size"]), str(value["sha256"]), unspell(str(value["target"]))
        )


class Status(StrEnum):
    """How a thing of the snapshot stands to what is in its place.

    `surplus` is in place and not in the snapshot; `blocked` can not be put there; `aside` belongs to
    a machine and is laid beside, `by_hand` is never put anywhere by itself.
    """

    NEW = "new"
    UNCHANGED = "unchanged"
    MODIFIED = "modified"
    SURPLUS = "surplus"
    BLOCKED = "blocked"
    ASIDE = "aside"
    BY_HAND = "by_hand"


class Step(NamedTuple):
    """One thing to do: at `rel` of `section`, what is there (`before`) becomes `after`.

    No `after` takes it away; no `before` makes it.  `source` is where it lies in the fetched snapshot,
    `mode` and `mtime_ns` what it gets.  `group` ties a database to what lies beside it: such steps
    are done together or not at all.
    """

    section: str
    rel: str
    before: Face | None
    after: Face | None
    source: str = ""
    mode: int = 0
    mtime_ns: int = 0
    group: str = ""

    def to_json(self) -> dict[str, Json]:
        """The line of a journal."""
        return {
            "section": self.section,
            "rel": spell(self.rel),
            "before": self.before.to_json() if self.before else None,
            "after": self.after.to_json() if self.after else None,
            "source": spell(self.source),
            "mode": self.mode,
            "mtime_ns": str(self.mtime_ns),
            "group": spell(self.group),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Step:
        """Read a line of a journal; a `ValueError`, `KeyError` or `TypeError` when it is none."""
        return cls(
            str(value["section"]),
            unspell(value["rel"]),
            Face.from_json(value["before"]) if value["before"] is not None else None,
            Face.from_json(value["after"]) if value["after"] is not None else None,
            unspell(value["source"]),
            int(value["mode"]),
            int(value["mtime_ns"]),
            unspell(value["group"]),
        )


@dataclass(frozen=True, slots=True)
class Item:
    """One thing of a restore plan.

    `runs` says that it would run by itself once it is there; `why` what blocks it.
    """

    status: Status
    step: Step
    runs: bool = False
    why: Message | None = None

    def to_json(self) -> dict[str, Json]:
        """The item as plans show it."""
        step = self.step
        face = step.after or step.before
        return {
            "status": self.status.value,
            "section": step.section,
            "path": spell(step.rel),
            "kind": face.kind.value if face else Kind.FILE.value,
            "size": face.size if face else 0,
            "before": step.before.to_json() if step.before else None,
            "after": step.after.to_json() if step.after else None,
            "runs": self.runs,
            "why": None if self.why is None else str(self.why),
        }


@dataclass(frozen=True)
class RestorePlan:
    """What a restore would do, item by item in the bundle's order (spec 4, restore).

    `files` were verified before; `sections` are those that the restore log will name.
    """

    backup_id: str
    root: str
    workspace_dir: str
    data_dir: str
    files: int
    items: tuple[Item, ...]
    sections: tuple[str, ...]
    api: tuple[str, ...] = ()
    partial: bool = False
    warnings: tuple[Message, ...] = ()

    def of(self, *status: Status) -> list[Item]:
        """The items of some kinds."""
        return [item for item in self.items if item.status in status]

    def count(self, status: Status) -> int:
        """How many files and links have a status; folders are not counted."""
        return sum(1 for item in self.of(status) if is_counted(item))

    @cached_property
    def plan_id(self) -> str:
        """The sha256 of everything that the plan says."""
        return sha256(canonical(self._facts())).hex

    def _facts(self) -> dict[str, Json]:
        return {
            "backup_id": self.backup_id,
            "root": self.root,
            "workspace_dir": spell(self.workspace_dir),
            "data_dir": spell(self.data_dir),
            "items": [item.to_json() for item in self.items],
            "sections": list(self.sections),
        }

    def to_json(self) -> dict[str, Json]:
        """The plan for programs: what is unchanged is only counted."""
        shown = [item for item in self.items if item.status is not Status.UNCHANGED]
        return {
            **self._facts(),
            "restore_plan_id": self.plan_id,
            "verified_files": self.files,
            "items": [item.to_json() for item in shown],
            "counts": {status.value: self.count(status) for status in Status},
            "api": list(self.api),
            "partial": self.partial,
            "warnings": [str(warning) for warning in self.warnings],
        }


def is_counted(item: Item) -> bool:
    """Whether an item is a file or a link."""
    face = item.step.after or item.step.before
    return face is not None and face.kind is not Kind.DIRECTORY


@dataclass(frozen=True, slots=True)
class Order:
    """What was chosen of a plan, and is to be done; `skipped` counts modified files that stay."""

    plan: RestorePlan
    steps: tuple[Step, ...]
    skipped: int
    runs: int
    replaces: int

    @property
    def shown(self) -> bytes:
        """The bytes that a confirmation binds to: every step, with the bytes it ends in."""
        return order_bytes(self.plan.backup_id, self.plan.root, self.steps)


def order_bytes(backup_id: str, root: str, steps: Iterable[Step]) -> bytes:
    """The canonical form of the steps of a restore."""
    return canonical(
        {
            "act": "restore",
            "backup_id": backup_id,
            "root": root,
            "steps": [step.to_json() for step in steps],
        }
    )


@dataclass(frozen=True, slots=True)
class Trouble:
    """A step that was not done, and why."""

    section: str
    rel: str
    code: str
    why: Message

    def to_json(self) -> dict[str, Json]:
        """The trouble for programs."""
        return {"section": self.section, "path": spell(self.rel), "code": self.code, "why": str(self.why)}


@dataclass(frozen=True, slots=True)
class Applied:
    """What a restore did; `open` are sections that the host's own tools have still to restore."""

    restore: str
    backup_id: str
    wrote: int
    skipped: int
    troubles: tuple[Trouble, ...]
    open: tuple[str, ...]
    aside: str | None
    event_id: str | None

    def to_json(self) -> dict[str, Json]:
        """The outcome for programs."""
        return {
            "restore": self.restore,
            "backup_id": self.backup_id,
            "wrote": self.wrote,
            "skipped_modified": self.skipped,
            "errors": [trouble.to_json() for trouble in self.troubles],
            "open_sections": list(self.open),
            "machine_state": self.aside,
            "event_id": self.event_id,
        }


@dataclass(frozen=True, slots=True)
class Undone:
    """What undoing a restore did; `kept` changed since, and stays."""

    restore: str
    put_back: int
    removed: int
    kept: tuple[Trouble, ...]
    event_id: str | None

    def to_json(self) -> dict[str, Json]:
        """The outcome for programs."""
        return {
            "restore": self.restore,
            "put_back": self.put_back,
            "removed": self.removed,
            "kept": [trouble.to_json() for trouble in self.kept],
            "event_id": self.event_id,
        }
