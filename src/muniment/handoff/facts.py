"""Handoff room: what was read of the world, as values: the only thing the rules ever see."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from muniment.canonical import Json
from muniment.handoff.model import Contract, Packet, Root, Target
from muniment.handoff.receipts import Dispatch, Return, Undelivered
from muniment.message import Message


@dataclass(frozen=True, slots=True)
class Baseline:
    """A target as it was at dispatch: its size in bytes and the SHA-256 of its bytes."""

    exists: bool
    size: int = 0
    sha256: str | None = None

    def to_json(self) -> dict[str, Json]:
        """The baseline as it is kept."""
        found: dict[str, Json] = {"exists": self.exists, "size": self.size}
        return found if self.sha256 is None else {**found, "sha256": self.sha256}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Baseline:
        """Read a baseline whose shape was checked."""
        return cls(value["exists"], value["size"], value.get("sha256"))


@dataclass(frozen=True, slots=True)
class TargetRead:
    """A target as the parent read it again.

    `state` is `file`, `missing` or `unreadable` (then `why` says more).  `prefix_sha256` is the
    digest of as many bytes as the baseline had, none when fewer are there; `prefix_lines` counts
    their lines; `added` is what follows them (of a board: all of it).  `commands` holds the exit
    code of each command that the contract names, none where it could not be run.
    """

    state: str
    size: int = 0
    sha256: str = ""
    prefix_sha256: str | None = None
    prefix_lines: int = 0
    added: bytes = b""
    commands: Mapping[str, int | None] = field(default_factory=dict)
    why: Message | None = None


@dataclass(frozen=True, slots=True)
class FileRead:
    """An artifact or a file that a claim names, as the parent read it.

    `state` is `read`, `missing`, `outside` or `unreadable`.  Of a folder, `sha256` is its tree
    digest and `files` counts its files.  `now` is the present path when the file was moved since.
    """

    path: str
    state: str
    size: int = 0
    files: int = 0
    sha256: str = ""
    now: str | None = None
    why: Message | None = None


@dataclass(frozen=True, slots=True)
class RepositoryRead:
    """A git repository as the parent asked it.

    `commits` says which hashes resolve to a commit; `blobs` holds git's name for a file's bytes at a commit,
    none where the commit lacks it; `working` the same of the file on disk; `remotes` says of a
    (remote, commit) `holds`, `lacks` or `unknown`.  `head` is the present commit; `targets` are the
    paths of contract targets that lie in it and are not ignored there.
    """

    path: str
    found: bool = True
    head: str | None = None
    commits: Mapping[str, bool] = field(default_factory=dict)
    blobs: Mapping[tuple[str, str], str | None] = field(default_factory=dict)
    working: Mapping[str, str | None] = field(default_factory=dict)
    remotes: Mapping[tuple[str, str], str] = field(default_factory=dict)
    targets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Recorded:
    """An entry that was appended for the worker: by Muniment on its word, or by the parent."""

    target: Target
    offset: int
    length: int
    sha256: str
    by: str = "muniment"

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Recorded:
        """Read a record whose shape was checked."""
        by = value.get("by", "muniment")
        return cls(Target(value["target"]), value["offset"], value["length"], value["sha256"], by)


@dataclass(frozen=True, slots=True)
class Applied:
    """A board proposal that a writer applied, as its receipt says."""

    writer: str
    path: str
    proposal_sha256: str
    version: int


@dataclass(frozen=True, slots=True)
class Intent:
    """What was written down before a launch, and what is known of it since.

    `answered` is true once the adapter came back with an answer, whatever it was.
    """

    at: str
    recipient_id: str
    answered: bool = False


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything the gate judges.

    `contract` is the issuer's, with nonces.  `altered` names stored documents whose bytes are not
    those that the ledger recorded.  `task_adapter` says whether the receipt came through an adapter
    that creates independent tasks.  `root` is the root as it is now, none when it can not be opened.
    """

    at: str
    packet: Packet
    contract: Contract | None = None
    altered: tuple[str, ...] = ()
    intent: Intent | None = None
    receipt: Dispatch | Undelivered | None = None
    task_adapter: bool = False
    answer: Return | None = None
    return_sha256: str | None = None
    root: Root | None = None
    baselines: Mapping[Target, Baseline] = field(default_factory=dict)
    reads: Mapping[Target, TargetRead] = field(default_factory=dict)
    recorded: tuple[Recorded, ...] = ()
    applied: tuple[Applied, ...] = ()
    artifacts: tuple[FileRead, ...] = ()
    claimed: Mapping[str, FileRead] = field(default_factory=dict)
    repositories: tuple[RepositoryRead, ...] = ()
    worker_alive: bool = False
    worker_exit: int | None = None
