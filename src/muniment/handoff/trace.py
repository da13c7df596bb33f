"""Handoff room: the verdict of the parent, as values: what was read, where, when, and what it proves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from muniment.canonical import Json
from muniment.handoff import shapes
from muniment.handoff.codes import Finding
from muniment.handoff.documents import parse
from muniment.handoff.model import Target
from muniment.message import say


class Status(StrEnum):
    """How a target stands."""

    VERIFIED = "verified"
    PARENT_VERIFIED = "parent_verified"
    FAILED = "failed"
    NOT_APPLICABLE = "not_applicable"
    PENDING = "pending"


@dataclass(frozen=True, slots=True)
class Read:
    """The bytes that were read: where, how many, their SHA-256, and when."""

    path: str
    size: int
    sha256: str
    at: str
    offset: int | None = None
    length: int | None = None

    def to_json(self) -> dict[str, Json]:
        """As it stands in a trace."""
        found: dict[str, Json] = {"path": self.path, "size": self.size, "sha256": self.sha256, "at": self.at}
        if self.offset is not None and self.length is not None:
            found |= {"offset": self.offset, "length": self.length}
        return found


@dataclass(frozen=True, slots=True)
class Row:
    """One target: *verified* means verified at the instant that `read` names."""

    target: Target
    status: Status
    read: Read | None = None
    reason: str | None = None
    code: str | None = None
    written_by: str | None = None
    durability: str | None = None

    def to_json(self) -> dict[str, Json]:
        """As it stands in a trace; what is not known is left out."""
        row: dict[str, Json] = {"target": self.target.value, "status": self.status.value}
        if self.read is not None:
            row["read"] = self.read.to_json()
        for name in ("reason", "code", "written_by", "durability"):
            value = getattr(self, name)
            if value is not None:
                row[name] = value
        return row


@dataclass(frozen=True, slots=True)
class ArtifactRow:
    """An artifact as it was read: its present path, bytes, files, SHA-256, and when."""

    path: str
    size: int
    sha256: str
    files: int
    at: str

    def to_json(self) -> dict[str, Json]:
        """As it stands in a trace."""
        return {
            "path": self.path,
            "size": self.size,
            "sha256": self.sha256,
            "files": self.files,
            "at": self.at,
        }


@dataclass(frozen=True, slots=True)
class Trace:
    """The verdict over one return."""

    handoff_id: str
    contract_id: str | None
    dispatch_id: str | None
    return_sha256: str | None
    at: str
    complete: bool
    worker_alive: bool
    rows: tuple[Row, ...]
    artifacts: tuple[ArtifactRow, ...]
    findings: tuple[Finding, ...]

    def to_json(self) -> dict[str, Json]:
        """The trace as it is kept."""
        trace: dict[str, Json] = {
            "handoff_id": self.handoff_id,
            "at": self.at,
            "complete": self.complete,
            "worker_alive": self.worker_alive,
            "rows": [row.to_json() for row in self.rows],
            "artifacts": [row.to_json() for row in self.artifacts],
            "findings": [finding.to_json() for finding in self.findings],
        }
        for name in ("contract_id", "dispatch_id", "return_sha256"):
            value = getattr(self, name)
            if value is not None:
                trace[name] = value
        return trace


def read_trace(data: bytes, where: str = "") -> Mapping[str, Any]:
    """Read a kept trace: a checked document, for comparing and for showing."""
    return parse(say("trace"), shapes.TRACE, data, where)
