"""Handoff room: what was said at dispatch and at the end, as values (spec 3, shapes)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from muniment.canonical import Json, NotJson, read_json
from muniment.handoff import shapes
from muniment.handoff.documents import parse
from muniment.handoff.errors import UndeliveredClaims
from muniment.handoff.model import Mode, Root, Target
from muniment.message import Message, say


@dataclass(frozen=True, slots=True)
class Dispatch:
    """A dispatch receipt: nothing was dispatched without the provider's own acknowledgement."""

    dispatch_id: str
    recipient_id: str
    dispatched_at: str
    requested_mode: Mode
    effective_mode: Mode
    provider_receipt: Mapping[str, Any]
    handoff_id: str
    contract_id: str | None = None
    degradation_reason: str | None = None
    task_id: str | None = None
    workspace: Root | None = None

    @classmethod
    def read(cls, data: bytes, where: str = "") -> Dispatch:
        """Read a receipt from its bytes."""
        return cls.from_json(parse(say("dispatch receipt"), shapes.DISPATCH, data, where))

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Dispatch:
        """Read a receipt whose shape was checked."""
        task, workspace = value.get("task_receipt"), value.get("workspace_receipt")
        return cls(
            value["dispatch_id"],
            value["recipient_id"],
            value["dispatched_at"],
            Mode(value["requested_mode"]),
            Mode(value["effective_mode"]),
            value["provider_receipt"],
            value["handoff_id"],
            value.get("contract_id"),
            value.get("degradation_reason"),
            task["task_id"] if task is not None else None,
            Root.from_json(workspace) if workspace is not None else None,
        )

    def to_json(self) -> dict[str, Json]:
        """The receipt as it is kept."""
        receipt: dict[str, Json] = {
            "dispatch_id": self.dispatch_id,
            "recipient_id": self.recipient_id,
            "dispatched_at": self.dispatched_at,
            "requested_mode": self.requested_mode.value,
            "effective_mode": self.effective_mode.value,
            "provider_receipt": dict(self.provider_receipt),
            "handoff_id": self.handoff_id,
        }
        if self.contract_id is not None:
            receipt["contract_id"] = self.contract_id
        if self.degradation_reason is not None:
            receipt["degradation_reason"] = self.degradation_reason
        if self.task_id is not None:
            receipt["task_receipt"] = {"task_id": self.task_id, "resumable": True}
        if self.workspace is not None:
            receipt["workspace_receipt"] = self.workspace.to_json()
        return receipt


@dataclass(frozen=True, slots=True)
class Undelivered:
    """A dispatch that did not happen; `delivery_unknown` says that nobody knows.

    `why` is the adapter's finding for the person who just tried; it is no part of the record.
    """

    recipient_id: str
    at: str
    requested_mode: Mode
    reason: str
    why: Message | None = field(default=None, compare=False)

    @property
    def unknown(self) -> bool:
        """Whether the work may be running all the same."""
        return self.reason == "delivery_unknown"

    @classmethod
    def read(cls, data: bytes, where: str = "") -> Undelivered:
        """Read a record; one that carries what only a delivery has is `UndeliveredClaims`."""
        try:
            value = read_json(data) if len(data) <= shapes.DOCUMENT_MAX else None
        except NotJson:
            value = None  # the reader below says what is wrong with the bytes
        if isinstance(value, dict):
            for name in shapes.UNDELIVERED_NEVER:
                if name in value:
                    raise UndeliveredClaims(field=name, where=name)
        found = parse(say("undelivered record"), shapes.UNDELIVERED, data, where)
        return cls(found["recipient_id"], found["at"], Mode(found["requested_mode"]), found["reason"])

    def to_json(self) -> dict[str, Json]:
        """The record as it is kept."""
        return {
            "recipient_id": self.recipient_id,
            "at": self.at,
            "requested_mode": self.requested_mode.value,
            "reason": self.reason,
        }


def read_outcome(data: bytes, where: str = "") -> Dispatch | Undelivered:
    """Read what became of a launch; in JSON a name inside of a text would have its quotes escaped."""
    kind = Dispatch if b'"dispatch_id"' in data else Undelivered
    return kind.read(data, where)


@dataclass(frozen=True, slots=True)
class Closure:
    """What the worker says of one target; fields that its state does not have are none."""

    target: Target
    state: str
    handoff_id: str
    contract_id: str
    dispatch_id: str
    anchor: str | None = None
    path: str | None = None
    offset: int | None = None
    length: int | None = None
    sha256: str | None = None
    event_id: str | None = None
    position: int | None = None
    version: int | None = None
    proposal: Mapping[str, Any] | None = None
    reason: str | None = None

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Closure:
        """Read a closure receipt whose shape was checked."""
        return cls(
            Target(value["target"]),
            value["state"],
            value["handoff_id"],
            value["contract_id"],
            value["dispatch_id"],
            value.get("evidence_anchor"),
            value.get("path"),
            value.get("offset"),
            value.get("length"),
            value.get("sha256"),
            value.get("event_id"),
            value.get("position"),
            value.get("version"),
            value.get("proposal"),
            value.get("reason"),
        )


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim that the parent can check: `committed`, `pushed` or `verified`."""

    kind: str
    repository: str = ""
    commit: str = ""
    paths: tuple[str, ...] = ()
    remote: str = ""
    path: str = ""
    size: int = 0
    sha256: str = ""

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Claim:
        """Read a claim whose shape was checked."""
        return cls(
            value["claim"],
            value.get("repository", ""),
            value.get("commit", ""),
            tuple(value.get("paths", ())),
            value.get("remote", ""),
            value.get("path", ""),
            value.get("size", 0),
            value.get("sha256", ""),
        )


@dataclass(frozen=True, slots=True)
class Return:
    """What the worker says at the end: a claim, until it was read back."""

    handoff_id: str
    dispatch_id: str
    contract_id: str | None
    mode: Mode | None
    conclusion: str
    evidence: tuple[str, ...] = ()
    claims: tuple[Claim, ...] = ()
    gaps: tuple[str, ...] = ()
    artifact_paths: tuple[str, ...] = ()
    closures: tuple[Closure, ...] = field(default_factory=tuple)

    @classmethod
    def read(cls, data: bytes, where: str = "") -> Return:
        """Read a return from its bytes."""
        return cls.from_json(parse(say("return"), shapes.RETURN, data, where))

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Return:
        """Read a return whose shape was checked."""
        mode = value.get("execution_mode")
        return cls(
            value["handoff_id"],
            value["dispatch_id"],
            value.get("contract_id"),
            Mode(mode) if mode is not None else None,
            value["conclusion"],
            tuple(item for item in value["evidence"] if isinstance(item, str)),
            tuple(Claim.from_json(item) for item in value["evidence"] if not isinstance(item, str)),
            tuple(value["gaps"]),
            tuple(value["artifact_paths"]),
            tuple(Closure.from_json(item) for item in value.get("closures", ())),
        )
