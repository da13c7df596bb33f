"""Faces: what a face may ask of the wiring.

A face knows this protocol and no class that builds a room; `muniment.app` builds the real
house.  It grows by one member a room.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from muniment.message import Message
from muniment.settings import Settings

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from muniment.archive.service import Archive
    from muniment.backup.restore import Restores
    from muniment.backup.schedule import Scheduled, Schedules
    from muniment.backup.service import Backups
    from muniment.backup.timers import Timer
    from muniment.backup.whole_snapshots import WholeSnapshots
    from muniment.bundle.vault import Vault
    from muniment.desk.desk import Desk
    from muniment.desk.status import Overview
    from muniment.disk.root import Root
    from muniment.handoff.dispatch import Dispatcher
    from muniment.handoff.sending import Agent
    from muniment.handoff.service import Handoffs
    from muniment.hosts.generic.session import WorkingSession
    from muniment.hosts.installation import Installation
    from muniment.hosts.session import Session
    from muniment.hosts.setup import Outcome, Setup
    from muniment.hosts.workspace import Found
    from muniment.job.containers import Containers
    from muniment.job.service import JobService
    from muniment.path import RelPath
    from muniment.record.state import Workspace
    from muniment.record.subject import Subject
    from muniment.vault.place import Whereabouts
    from muniment.vault.remote import RemoteVault
    from muniment.vault.served import Parts
    from muniment.vault.store import VaultStore

Note = Callable[[Message], None]
"""Tells the person something beside the result."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls over HTTP: the user's name, and the digits that stand for the user (spec 5, tenant)."""

    name: str
    tenant: str


class House(Protocol):
    """The rooms, built for one workspace and one environment.

    Every member builds its room when first asked, so that a command pays for what it uses.
    """

    @property
    def found(self) -> Found:
        """The workspace and the rule by which it was found."""

    @property
    def root(self) -> Root:
        """The workspace, confined."""

    @property
    def workspace(self) -> Workspace:
        """The record of the workspace; made when it is missing."""

    @property
    def working_session(self) -> WorkingSession:
        """The session that stands in where no host tells one."""

    def settings(self) -> Settings:
        """All declared settings over the layers in force; a bad file is a `BadSetting`."""

    def own_settings(self) -> Settings:
        """The settings of the environment and the user's file alone: a server is of no workspace."""

    def use_session(
        self,
        key: str | None = None,
        status: bytes | None = None,
        meta_key: object = None,
        host_session_id: str | None = None,
    ) -> None:
        """Take what this call told of its session: `--session`, a raw `session_status` answer, the
        `_meta.sessionKey` of a request, and the host's session id (which names a scheduled job's run).
        """

    def session(self) -> Session:
        """The session that the host tells; where none is owed, the one that stands in."""

    def current_session(self) -> Session | None:
        """The session as far as it is known: no command is run for it, and none is minted."""

    def card_root(self) -> str:
        """What cards with an absolute path show before the archive id."""

    def for_client(self, root: str | None, *, one_session: bool, caller: Caller | None = None) -> House:
        """A house of its own for one call of an MCP client; the caller closes it.

        `root` is the folder that the client says it works in.  Only with `one_session` do the
        session variables of the environment count: a shared server's belong to its first session.
        A `caller` is named in the record, and has a working session of its own.
        """

    def close(self) -> None:
        """Let go of what was opened."""

    def archive(self, require: Mapping[str, tuple[str, ...]]) -> Archive:
        """The room that keeps deliverables; `require` adds to what the settings require."""

    @property
    def vault_folder(self) -> Path:
        """The folder in which the vault lies, whether there is one yet or not."""

    @property
    def vault(self) -> VaultStore:
        """The vault, opened; made when it is missing."""

    @property
    def remote(self) -> RemoteVault | None:
        """The vault that a server keeps, if one is set."""

    def served(self, *, loopback: bool) -> Parts:
        """What a server of vaults needs, opened; elsewhere than on loopback there have to be keys."""

    def loose(self) -> list[RelPath]:
        """What was made in the workspace and is not archived."""

    def handoffs(self) -> Handoffs:
        """The room of delegated work."""

    def dispatcher(self, via: str, *, argv: Sequence[str] = (), address: str = "") -> Dispatcher:
        """What hands work out: `process` runs `argv` here, `a2a` asks the agent at `address`."""

    def agent(self, address: str) -> Agent:
        """An agent elsewhere, to ask how a task of it stands; `ExtraMissing` without the extra."""

    def agent_named(self, name: str) -> Dispatcher:
        """The agent that the person has set under a name; `AgentUnknown` when there is none."""

    def overview(self) -> Overview:
        """What `muniment status` shows."""

    def subjects(self) -> list[Subject]:
        """The rooms as the desk knows them, as far as there is anything of them."""

    @property
    def desk(self) -> Desk:
        """The desk over all rooms; `NothingRecorded` while there is no record."""

    def any_vault(self) -> Vault | None:
        """The vault that is set, of this machine or a server's; none is made."""

    @property
    def whereabouts(self) -> Whereabouts:
        """Where the vault lies, found without opening or making it."""

    @property
    def restores(self) -> Restores:
        """What brings snapshots back."""

    @property
    def backups(self) -> Backups:
        """The room that keeps the whole agent."""

    @property
    def schedules(self) -> Schedules:
        """What takes snapshots every day on one consent."""

    def scheduled(self) -> Scheduled | None:
        """How the schedule stands; None when there is none, and nothing is made."""

    def timer(self, kind: str | None, daily: str) -> Timer:
        """What calls a scheduled run: of the kind named, else of the first that there is here."""

    def local_time(self, moment: datetime) -> datetime:
        """An instant in the person's own time."""

    @property
    def whole_snapshots(self) -> WholeSnapshots:
        """The snapshots of a server's vault by the calls that every such vault knows."""

    def installation(self, host: str) -> Installation:
        """What a host's agents are given, in the workspace."""

    def host_setup(self, host: str) -> Setup:
        """What a host is given in the user's own folders."""

    def host_removal(self, host: str, *, act: bool) -> list[Outcome]:
        """Take it away again; without `act` only say what would be done."""

    def installed_hosts(self) -> tuple[str, ...]:
        """The hosts for which something was installed: for this user, or in this workspace."""

    @property
    def jobs(self) -> JobService:
        """The room that keeps the record of executions."""

    @property
    def containers(self) -> Containers:
        """What runs the tools of jobs, as it is set; nothing is opened or made."""


class BuildHouse(Protocol):
    """Makes the house of one call.

    `workspace` is what the person named, or None; `note` takes what has to be said on the way,
    such as that the current directory was taken for want of a better one.
    """

    def __call__(self, *, workspace: str | None, environment: Mapping[str, str], note: Note) -> House: ...
