"""Handoff room: packets, contracts, targets and roots, as values (spec 3, shapes)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from muniment.canonical import Json
from muniment.handoff import shapes
from muniment.handoff.anchors import nonce_digest
from muniment.handoff.documents import fit, parse
from muniment.handoff.verification import Check, read_checks
from muniment.message import say


class Target(StrEnum):
    """The four places that delegated work can owe, in contract order."""

    EMPLOYEE_MEMORY = "employee_memory"
    EMPLOYEE_WORKLOG = "employee_worklog"
    TEAM_JOURNAL = "team_journal"
    CENTRAL_BOARD = "central_board"


OWN = (Target.EMPLOYEE_MEMORY, Target.EMPLOYEE_WORKLOG)
"""The targets that the recipient writes itself, in its own area."""
JOURNAL_WRITER = "team_journal"
"""The only writer a journal can name: its adapter."""


class Mode(StrEnum):
    """How the delegated work runs."""

    BOUNDED = "bounded_subagent"
    INDEPENDENT = "independent_task"


@dataclass(frozen=True, slots=True)
class Root:
    """Facts that tell one root folder from every other one, as they were found.

    `device` and `inode` and `mount_id` hold within one boot; `mount_root` is the folder of its file
    system that is mounted there, and tells a bind mount from its source.
    """

    root_id: str
    real_path: str
    device: int
    inode: int
    boot_id: str
    mount_id: int
    fs_type: str
    mount_root: str
    found_by: str

    def to_json(self) -> dict[str, Json]:
        """The root as it stands in contracts and receipts; numbers are texts."""
        return {
            "root_id": self.root_id,
            "real_path": self.real_path,
            "resolution_evidence": {
                "device": str(self.device),
                "inode": str(self.inode),
                "boot_id": self.boot_id,
                "mount_id": str(self.mount_id),
                "fs_type": self.fs_type,
                "mount_root": self.mount_root,
                "found_by": self.found_by,
            },
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Root:
        """Read a root whose shape was checked."""
        found = value["resolution_evidence"]
        return cls(
            value["root_id"],
            value["real_path"],
            int(found["device"]),
            int(found["inode"]),
            found["boot_id"],
            int(found["mount_id"]),
            found["fs_type"],
            found["mount_root"],
            found["found_by"],
        )


@dataclass(frozen=True, slots=True)
class Required:
    """A target that must be durable: a path below the root, its one writer, and what must hold.

    `nonce` is known to the issuer alone; everybody knows `nonce_sha256`.
    """

    path: str
    writer: str
    verification: tuple[Check, ...]
    nonce_sha256: str
    nonce: bytes | None = None


@dataclass(frozen=True, slots=True)
class NotApplicable:
    """A target that is not owed, and why."""

    reason: str


@dataclass(frozen=True, slots=True)
class Contract:
    """What must be durable afterwards, and where."""

    contract_id: str
    handoff_id: str
    root: Root
    targets: Mapping[Target, Required | NotApplicable]

    @property
    def required(self) -> dict[Target, Required]:
        """The targets that are owed, in contract order."""
        found = {target: self.targets[target] for target in Target}
        return {target: entry for target, entry in found.items() if isinstance(entry, Required)}

    def with_nonces(self, nonces: Mapping[Target, bytes]) -> Contract:
        """The same contract as its issuer knows it."""
        known: dict[Target, Required | NotApplicable] = {}
        for target, entry in self.targets.items():
            known[target] = replace(entry, nonce=nonces.get(target)) if isinstance(entry, Required) else entry
        return replace(self, targets=known)

    def to_json(self) -> dict[str, Json]:
        """The recipient's view: digests of the nonces only."""
        targets: dict[str, Json] = {}
        for target in Target:
            entry = self.targets[target]
            if isinstance(entry, NotApplicable):
                targets[target.value] = {"state": "not_applicable", "reason": entry.reason}
            else:
                targets[target.value] = {
                    "state": "required",
                    "path": entry.path,
                    "writer": entry.writer,
                    "verification": [check.to_json() for check in entry.verification],
                    "nonce_sha256": entry.nonce_sha256,
                }
        return {
            "contract_id": self.contract_id,
            "handoff_id": self.handoff_id,
            "authoritative_root": self.root.to_json(),
            "targets": targets,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Contract:
        """Read a contract, either the issuer's or the recipient's view, whose shape was checked."""
        targets: dict[Target, Required | NotApplicable] = {}
        for target in Target:
            entry = value["targets"][target.value]
            if entry["state"] == "not_applicable":
                targets[target] = NotApplicable(entry["reason"])
                continue
            nonce = bytes.fromhex(entry["evidence_nonce"]) if "evidence_nonce" in entry else None
            digest = nonce_digest(nonce) if nonce is not None else entry["nonce_sha256"]
            checks = read_checks(entry["verification"])
            targets[target] = Required(entry["path"], entry["writer"], checks, digest, nonce)
        return cls(
            value["contract_id"], value["handoff_id"], Root.from_json(value["authoritative_root"]), targets
        )


@dataclass(frozen=True, slots=True)
class Packet:
    """One bounded piece of work, as the recipient is asked for it.

    A packet without mode and ids is one of protocol 1.2 and gets the defaults: a bounded sub-agent,
    no continuity, no degradation.
    """

    goal: str
    context_constraints: tuple[str, ...]
    acceptance_criteria: tuple[str, ...]
    known_pitfalls: tuple[str, ...]
    mode: Mode = Mode.BOUNDED
    continuity_required: bool = False
    allow_mode_degradation: bool = False
    handoff_id: str | None = None
    contract: Contract | None = None
    version: str = "1.3"

    @classmethod
    def read(cls, data: bytes, where: str = "") -> Packet:
        """Read an issued packet from its bytes."""
        return cls.from_json(parse(say("packet"), shapes.PACKET, data, where))

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Packet:
        """Read a packet whose shape was checked."""
        contract = value.get("persistence_contract")
        old = not any(name in value for name in _SINCE_1_3)
        return cls(
            value["goal"],
            tuple(value["context_constraints"]),
            tuple(value["acceptance_criteria"]),
            tuple(value["known_pitfalls"]),
            Mode(value.get("execution_mode", Mode.BOUNDED)),
            value.get("continuity_required", False),
            value.get("allow_mode_degradation", False),
            value.get("handoff_id"),
            Contract.from_json(contract) if contract is not None else None,
            "1.2" if old else "1.3",
        )

    def to_json(self) -> dict[str, Json]:
        """The packet as it is kept and handed out; a packet of 1.2 stays one."""
        packet: dict[str, Json] = {
            "goal": self.goal,
            "context_constraints": list(self.context_constraints),
            "acceptance_criteria": list(self.acceptance_criteria),
            "known_pitfalls": list(self.known_pitfalls),
        }
        if self.version != "1.2":
            packet["execution_mode"] = self.mode.value
            packet["continuity_required"] = self.continuity_required
            packet["allow_mode_degradation"] = self.allow_mode_degradation
        if self.handoff_id is not None:
            packet["handoff_id"] = self.handoff_id
        if self.contract is not None:
            packet["persistence_contract"] = self.contract.to_json()
        return packet


_SINCE_1_3 = ("execution_mode", "handoff_id", "continuity_required", "allow_mode_degradation")


@dataclass(frozen=True, slots=True)
class DraftTarget:
    """A target before its contract is issued; a nonce given here must never have been used."""

    path: str
    writer: str
    verification: tuple[Check, ...]
    nonce: bytes | None = None


@dataclass(frozen=True, slots=True)
class Draft:
    """A packet before it is issued: the parent's wish, without ids."""

    packet: Packet
    targets: Mapping[Target, DraftTarget | NotApplicable] | None = None

    @classmethod
    def read(cls, data: bytes, where: str = "") -> Draft:
        """Read a draft from its bytes."""
        return cls.from_json(parse(say("packet"), shapes.PACKET_DRAFT, data, where))

    @classmethod
    def of(cls, value: object) -> Draft:
        """Check a value and read it."""
        return cls.from_json(fit(say("packet"), shapes.PACKET_DRAFT, value))

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Draft:
        """Read a draft whose shape was checked."""
        contract = value.get("persistence_contract")
        packet = Packet.from_json(
            {name: item for name, item in value.items() if name != "persistence_contract"}
        )
        if contract is None:
            return cls(packet)
        targets: dict[Target, DraftTarget | NotApplicable] = {}
        for target in Target:
            entry = contract["targets"][target.value]
            if entry["state"] == "not_applicable":
                targets[target] = NotApplicable(entry["reason"])
            else:
                nonce = entry.get("evidence_nonce")
                targets[target] = DraftTarget(
                    entry["path"],
                    entry["writer"],
                    read_checks(entry.get("verification", [])),
                    bytes.fromhex(nonce) if nonce is not None else None,
                )
        return cls(packet, targets)
