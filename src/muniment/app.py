"""Floor 5, the wiring: settings and adapters become rooms; the only place that knows every class."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from muniment.faces.cli.main import run
from muniment.faces.house import Caller, Note
from muniment.message import say
from muniment.path import printable
from muniment.settings import BadSetting, Settings, environment_layer

if TYPE_CHECKING:
    from muniment.archive.service import Archive
    from muniment.backup.restore import Restores
    from muniment.backup.schedule import Scheduled, Schedules
    from muniment.backup.service import Backups
    from muniment.backup.timers import Timer
    from muniment.backup.whole_snapshots import WholeSnapshots
    from muniment.bundle.vault import Vault
    from muniment.desk.desk import Desk
    from muniment.desk.status import Overview
    from muniment.desk.vault import Whole
    from muniment.disk.root import Root
    from muniment.handoff.a2a import A2aDispatcher
    from muniment.handoff.dispatch import Dispatcher
    from muniment.handoff.service import Handoffs
    from muniment.hosts.chain import Told
    from muniment.hosts.generic.session import WorkingSession
    from muniment.hosts.installation import Installation
    from muniment.hosts.openclaw.layout import Hosted
    from muniment.hosts.places import Places
    from muniment.hosts.session import Session
    from muniment.hosts.setup import Outcome, Setup
    from muniment.hosts.workspace import Found
    from muniment.job.containers import Containers
    from muniment.job.service import JobService
    from muniment.path import RelPath
    from muniment.record.event import Context
    from muniment.record.state import Workspace
    from muniment.record.subject import Subject
    from muniment.settings import Setting
    from muniment.vault.line import Line
    from muniment.vault.place import Whereabouts
    from muniment.vault.remote import RemoteVault
    from muniment.vault.served import Parts
    from muniment.vault.store import VaultStore


SESSION_VARIABLE = "MUNIMENT_SESSION_KEY"
"""In which the host's plugin hands its session key to the one process that it starts."""

SESSION_ID_VARIABLE = "MUNIMENT_SESSION_ID"
"""In which it hands on the session's id, which names the run of a scheduled job."""


def _own_program() -> tuple[str, ...]:
    """How another process calls this very program: by its own path, since hosts have other search paths."""
    own = os.path.abspath(sys.argv[0])
    if os.path.basename(own) == "muniment" and os.access(own, os.X_OK):
        return (own,)
    # Not from the folder that a host happens to work in, where anybody may have put a module.
    return (sys.executable, "-P", "-m", "muniment")


def declared() -> tuple[Setting[Any], ...]:
    """Every setting that a room declares."""
    from muniment.archive.settings import SETTINGS as ARCHIVE
    from muniment.backup.settings import SETTINGS as BACKUP
    from muniment.faces.tools.settings import SETTINGS as TOOLS
    from muniment.handoff.settings import SETTINGS as HANDOFF
    from muniment.hosts.settings import SETTINGS as HOSTS
    from muniment.job.settings import SETTINGS as JOB
    from muniment.record.consent import RELAYED
    from muniment.vault.serve_settings import SETTINGS as SERVED
    from muniment.vault.settings import SETTINGS as VAULT

    return (*ARCHIVE, *BACKUP, *HANDOFF, *HOSTS, *JOB, RELAYED, *SERVED, *TOOLS, *VAULT)


class House:
    """The rooms of one call, each built when first asked for."""

    def __init__(
        self,
        *,
        workspace: str | None,
        environment: Mapping[str, str],
        note: Note,
        actor: str = "cli",
        client_root: str | None = None,
        one_session: bool = True,
        caller: Caller | None = None,
    ) -> None:
        self._flag = workspace
        self._environment = environment
        self._note = note
        self._actor = actor if caller is None else f"{actor}:{caller.name}"
        self._caller = caller
        self._client_root = client_root
        self._one_session = one_session
        self._told: list[Told] = []
        self._host_session_id: str | None = None
        self._held = ExitStack()

    def for_client(self, root: str | None, *, one_session: bool, caller: Caller | None = None) -> House:
        """A house of its own for one call of an MCP client; see `faces.house`."""
        return House(
            workspace=self._flag,
            environment=self._environment,
            note=self._note,
            actor="mcp",
            client_root=root,
            one_session=one_session,
            caller=caller,
        )

    def close(self) -> None:
        """Let go of every folder and vault that was opened, the last first."""
        self._held.close()

    @cached_property
    def found(self) -> Found:
        """The workspace and the rule by which it was found; the last resort is said."""
        from muniment.hosts.workspace import Rule, find_workspace

        found = find_workspace(self._flag, self._environment, Path.cwd(), self._client_root)
        if found.rule is Rule.CURRENT:
            self._note(
                say(
                    "No workspace was named or found; the current folder {path} is taken.",
                    path=str(found.path),
                )
            )
        return found

    @cached_property
    def hosted(self) -> Hosted | None:
        """The hosted OpenClaw workspace, if the host gives one; a flag that differs is refused."""
        from muniment.hosts.openclaw.layout import given_paths, hosted

        flag = None if self._flag is None else os.path.abspath(self._flag)
        return hosted(given_paths(self._environment, self._client_root), flag)

    @cached_property
    def root(self) -> Root:
        """The workspace, confined."""
        from muniment.disk.platform import require_supported
        from muniment.disk.root import Root

        require_supported()
        _ = self.hosted  # a workspace that contradicts the host is refused before it is opened
        return self._held.enter_context(Root.open(self.found.path))

    @cached_property
    def workspace(self) -> Workspace:
        """The record of the workspace; made when it is missing."""
        from muniment.clock import system_clock
        from muniment.record.state import open_workspace

        return open_workspace(self.root, clock=system_clock, actor=self._actor, context=self._context)

    @cached_property
    def _context(self) -> Context:
        """Within what this process runs, as its starter said."""
        from muniment.record.event import Context

        text = self._environment.get("MUNIMENT_CONTEXT")
        try:
            return Context.read(text) if text else Context()
        except ValueError as error:
            raise BadSetting(
                name="MUNIMENT_CONTEXT", where="environment", why=say("{finding}", finding=error)
            ) from error

    def settings(self) -> Settings:
        """All declared settings over environment, the workspace's file and the user's file."""
        return self._settings

    @cached_property
    def _settings(self) -> Settings:
        from muniment.record.config import own_layers, read_layer
        from muniment.record.state import FOLDER

        known = declared()
        workspace = read_layer(self.root, FOLDER / "config.toml", known, of_workspace=True)
        return Settings(known, [environment_layer(known, self._environment), workspace, *own_layers(known)])

    def own_settings(self) -> Settings:
        """The settings of whoever calls, where no workspace has a say; see `faces.house`."""
        from muniment.record.config import own_layers

        known = declared()
        return Settings(known, [environment_layer(known, self._environment), *own_layers(known)])

    @cached_property
    def working_session(self) -> WorkingSession:
        """The session that stands in where no host tells one; who calls over HTTP has one of their own,
        and begins its id with their own digits, so that no two callers have the same."""
        from muniment.clock import system_clock
        from muniment.hosts.generic.session import WorkingSession
        from muniment.hosts.git import short_head
        from muniment.record.state import FOLDER

        caller = self._caller
        return WorkingSession(
            self.root,
            FOLDER if caller is None else FOLDER / "callers" / caller.tenant[:16],
            clock=system_clock,
            short_hash=lambda: short_head(self.found.path) if caller is None else caller.tenant[:8],
            local=_local_time,
        )

    def use_session(
        self,
        key: str | None = None,
        status: bytes | None = None,
        meta_key: object = None,
        host_session_id: str | None = None,
    ) -> None:
        """Take what this call told of its session; see `faces.house`."""
        from muniment.hosts.chain import told_by_flag, told_by_host, told_by_status

        told = [told_by_host("_meta.sessionKey", meta_key)] if meta_key is not None else []
        told += [told_by_status(status)] if status is not None else []
        told += [told_by_flag(key)] if key is not None else []
        self._told = told
        self._host_session_id = host_session_id

    def session(self) -> Session:
        """The session that the host tells; where none is owed, the one that stands in."""
        from muniment.hosts.chain import resolve_session, told_by_command
        from muniment.hosts.launch import launch
        from muniment.hosts.openclaw.cron import mirror_id
        from muniment.hosts.settings import SESSION_COMMAND

        told, session_id = self._spoken()
        # A command tells the session of this machine's host, which is not that of a caller from elsewhere.
        command = self.settings().get(SESSION_COMMAND) if self._caller is None else ()
        return resolve_session(
            told,
            command=(lambda: told_by_command(command, launch)) if command else None,
            fallback=None if self._openclaw else self.working_session.use,
            host_session_id=session_id,
            mirror=lambda cron: mirror_id(cron, self._environment),
        )

    def current_session(self) -> Session | None:
        """The session as far as it is known: no command is run for it, and none is minted."""
        from muniment.hosts.chain import resolve_session
        from muniment.hosts.openclaw.cron import mirror_id

        told, session_id = self._spoken()
        if not told:
            return None if self._openclaw else self.working_session.current()
        return resolve_session(
            told, host_session_id=session_id, mirror=lambda cron: mirror_id(cron, self._environment)
        )

    def _spoken(self) -> tuple[list[Told], str | None]:
        """What was told of the session, strongest first, and the host's id of it."""
        from muniment.hosts.chain import told_by_host

        told, session_id = list(self._told), self._host_session_id
        if self._one_session:
            key = self._environment.get(SESSION_VARIABLE)
            told[:0] = [told_by_host(SESSION_VARIABLE, key)] if key else []
            session_id = session_id or self._environment.get(SESSION_ID_VARIABLE)
        return told, session_id

    @cached_property
    def _openclaw(self) -> bool:
        """Whether the workspace is OpenClaw's, so that a host's session is owed."""
        from muniment.hosts.openclaw.folders import state_folder
        from muniment.hosts.openclaw.layout import is_openclaw

        return is_openclaw(self.found.path, self.hosted, self._environment, state_folder(self._environment))

    def card_root(self) -> str:
        """What cards with an absolute path show before the archive id."""
        from muniment.archive.model import ARCHIVES
        from muniment.archive.settings import CARD_PREFIX
        from muniment.hosts.openclaw.layout import card_prefix

        prefix = card_prefix(self.settings().get(CARD_PREFIX), self.hosted, self.root.path)
        return f"{prefix}/{ARCHIVES}"

    def archive(self, require: Mapping[str, tuple[str, ...]]) -> Archive:
        """The room that keeps deliverables; `require` adds to what the settings require."""
        from muniment.archive import settings as known
        from muniment.archive.service import Archive, Options

        settings = self.settings()
        demands = dict(settings.get(known.REQUIRE).items())
        for pattern, more in require.items():
            demands[pattern] = (*demands.get(pattern, ()), *more)
        options = Options(settings.get(known.NAMES), settings.get(known.MUTABLE), demands)
        return Archive(
            self.workspace,
            self.session,
            options=options,
            local=_local_time,
            workspace_rule=self.found.rule.value,
        )

    @cached_property
    def vault_folder(self) -> Path:
        """The folder in which the vault lies, whether there is one yet or not; `KeptElsewhere` when a
        server keeps it."""
        from muniment.path import printable
        from muniment.vault.errors import KeptElsewhere
        from muniment.vault.place import default_folder, folder_of, is_remote
        from muniment.vault.settings import VAULT_URL

        address = self.settings().get(VAULT_URL)
        if is_remote(address):
            raise KeptElsewhere(where=printable(address))
        return folder_of(address) if address else default_folder()

    @cached_property
    def vault(self) -> VaultStore:
        """The vault, opened; made when it is missing."""
        from muniment.clock import system_clock
        from muniment.disk.platform import require_supported
        from muniment.vault.collect import tidy
        from muniment.vault.open import open_directory
        from muniment.vault.settings import limits_of

        require_supported()
        limits = limits_of(self.settings())
        vault = open_directory(self.vault_folder, clock=system_clock, limits=limits, after=tidy)
        self._held.callback(vault.close)
        return vault

    @cached_property
    def remote(self) -> RemoteVault | None:
        """The vault that a server keeps, if one is set."""
        from muniment.vault.place import is_remote
        from muniment.vault.settings import VAULT_URL

        url = self.settings().get(VAULT_URL)
        if not is_remote(url):
            return None
        from muniment.vault.line import KEPT
        from muniment.vault.remote import RemoteVault

        remote = RemoteVault(self._line(url, kept=KEPT))
        self._held.callback(remote.close)
        return remote

    @cached_property
    def whole_snapshots(self) -> WholeSnapshots:
        """The snapshots of a server's vault by the calls that every such vault knows."""
        from muniment.backup.whole_snapshots import WholeSnapshots
        from muniment.record.consent import RELAYED
        from muniment.vault.place import is_remote
        from muniment.vault.plain import PlainVault
        from muniment.vault.settings import VAULT_URL

        settings = self.settings()
        url = settings.get(VAULT_URL)
        if not is_remote(url):
            why = say(
                "an http:// or https:// address was expected, found {value}", value=printable(repr(url))
            )
            raise BadSetting(name=VAULT_URL.name, where=settings.find(VAULT_URL).origin, why=why)
        vault = PlainVault(self._line(url))
        return WholeSnapshots(self.workspace, self._places, vault, settings.get(RELAYED), self._note)

    def _line(self, url: str, *, kept: int = 0) -> Line:
        """The line to a vault's server, with this caller's token."""
        from muniment.clock import system_clock
        from muniment.vault.bearing import token_source
        from muniment.vault.line import Line
        from muniment.vault.place import Address

        address = Address.of(url)
        source = token_source(address, self.settings(), self._environment, system_clock)
        return Line(address, source, note=self._note, kept=kept)

    def served(self, *, loopback: bool) -> Parts:
        """What a server of vaults needs, opened."""
        from muniment.clock import system_clock
        from muniment.disk.platform import require_supported
        from muniment.vault.served import open_served

        require_supported()
        return open_served(self.own_settings(), loopback=loopback, clock=system_clock)

    def loose(self) -> list[RelPath]:
        """What was made in the workspace and is not archived."""
        from muniment.archive.outstanding import outstanding
        from muniment.hosts.git import ask_git

        return outstanding(self.root, ask_git, self.working_session.started_ns())

    def handoffs(self) -> Handoffs:
        """The room of delegated work; its nonces lie in the user's own data folder."""
        from platformdirs import user_data_dir

        from muniment.handoff import settings as known
        from muniment.handoff.command import runner
        from muniment.handoff.gather import Options
        from muniment.handoff.nonces import Nonces
        from muniment.handoff.service import Handoffs
        from muniment.hosts.git import ask_git

        settings = self.settings()
        options = Options(
            area=settings.get(known.AREA),
            found_by=self.found.rule.value,
            run=runner(settings.get(known.COMMANDS), self.found.path),
            ask_git=ask_git,
            context=self._context,
        )
        folder = Path(settings.get(known.NONCES) or user_data_dir("muniment"))
        return Handoffs(self.workspace, Nonces(folder, self.root), options)

    def dispatcher(self, via: str, *, argv: Sequence[str] = (), address: str = "") -> Dispatcher:
        """What hands work out; see `faces.house`."""
        from muniment.handoff.process import ProcessDispatcher

        return self.agent(address) if via == "a2a" else ProcessDispatcher(tuple(argv))

    def agent_named(self, name: str) -> Dispatcher:
        """The agent that the person has set under a name; a workspace can name none."""
        from muniment.handoff.errors import AgentUnknown
        from muniment.handoff.settings import AGENTS
        from muniment.path import printable

        words = self.settings().get(AGENTS).get(name)
        if words is None:
            raise AgentUnknown(agent=printable(name), where=AGENTS.name)
        if words[0].startswith(("http://", "https://")):
            return self.dispatcher("a2a", address=words[0])
        return self.dispatcher("process", argv=words)

    def agent(self, address: str) -> A2aDispatcher:
        """An agent elsewhere; what speaks with it is installed on request."""
        from muniment.faces.errors import ExtraMissing

        try:
            from muniment.handoff.a2a import A2aDispatcher
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] == "muniment":
                raise
            raise ExtraMissing(feature="--via a2a", extra="a2a", where=error.name or "") from error
        return A2aDispatcher(address)

    def overview(self) -> Overview:
        """What `muniment status` shows."""
        from muniment.desk.status import overview
        from muniment.record.state import is_initialised

        begun = is_initialised(self.root)
        return overview(
            self.found,
            (lambda: self.workspace) if begun else None,
            self.subjects(),
            self.whereabouts,
            host=self._host,
            session=self.current_session(),
            schedule=self.scheduled,
        )

    @cached_property
    def _host(self) -> str:
        """Whose workspace it is, else who started this process."""
        from muniment.hosts.claude import places as claude
        from muniment.hosts.starchild import places as starchild

        if starchild.recognises(Path(self.root.path), self._environment):
            return "starchild"
        if self._openclaw:
            return "openclaw"
        return "claude" if claude.starts(self._environment) else "generic"

    def subjects(self) -> list[Subject]:
        """The rooms as the desk knows them, as far as there is anything of them: one that was never
        used is not even imported, and nothing is made."""
        from muniment.archive.settings import MUTABLE
        from muniment.archive.subject import ArchiveSubject
        from muniment.backup.subject import BackupSubject
        from muniment.disk.root import Root
        from muniment.job.settings import ROOT
        from muniment.record.state import FOLDER, is_initialised

        begun = is_initialised(self.root)
        workspace = self.workspace if begun else None
        ledger = workspace.ledger if workspace else None
        archive = ArchiveSubject(self.loose, workspace, lambda: self.settings().get(MUTABLE))
        backup = BackupSubject(self._places, ledger, self.any_vault, lambda: self._whole.lost())
        found: list[Subject] = [archive]
        if workspace and (self.root.exists(FOLDER / "handoff") or workspace.ledger.subjects("ho_")):
            from muniment.handoff.subject import HandoffSubject

            found.append(HandoffSubject(self.handoffs()))
        place = self.settings().get(ROOT)
        if workspace is not None and (jobs := workspace.ledger.subjects("job:")):
            from muniment.job.store import JobStore
            from muniment.job.subject import JobSubject

            store = None
            if os.path.isdir(place):
                folder = self._held.enter_context(Root.open(place))
                store = JobStore(folder, clock=workspace.clock, entropy=workspace.entropy)
            found.append(JobSubject(store, workspace.ledger, jobs, lambda: self.jobs))
        return [*found, backup]

    @cached_property
    def desk(self) -> Desk:
        """The desk over all rooms; `NothingRecorded` while there is no record."""
        from muniment.desk.desk import Desk
        from muniment.desk.errors import NothingRecorded
        from muniment.path import printable
        from muniment.record.state import is_initialised

        if not is_initialised(self.root):
            raise NothingRecorded(where=printable(self.root.path))
        return Desk(self.workspace, self.subjects(), self.any_vault, self._whole)

    @cached_property
    def _whole(self) -> Whole:
        from muniment.desk.vault import Whole

        return Whole(lambda: None if self.remote is not None else self._own_vault)

    def any_vault(self) -> Vault | None:
        """The vault that is set, of this machine or a server's; none is made."""
        return self.remote or self._own_vault

    @cached_property
    def whereabouts(self) -> Whereabouts:
        """Where the vault lies, found without opening or making it."""
        from muniment.vault.place import whereabouts
        from muniment.vault.settings import VAULT_URL

        places = self._places
        saved = [places.workspace, *([places.data] if places.data else [])]
        return whereabouts(self.settings().get(VAULT_URL), saved)

    @property
    def _own_vault(self) -> VaultStore | None:
        """The vault of this machine, if there is one; none is made."""
        from muniment.vault.mark import MARK

        folder = self.whereabouts.folder
        if folder is not None and not os.path.lexists(folder / MARK.name):
            return None
        return self.vault

    @cached_property
    def backups(self) -> Backups:
        """The room that keeps the whole agent."""
        from platformdirs import user_cache_dir

        from muniment.backup.service import Backups, Options
        from muniment.record.consent import RELAYED
        from muniment.vault.place import refuse_inside
        from muniment.vault.settings import limits_of

        options = Options(
            cache=Path(user_cache_dir("muniment"), "backup"),
            relayed=self.settings().get(RELAYED),
            refuse_inside=lambda saved: None if self.remote else refuse_inside(self.vault_folder, saved),
            most=None if self.remote else limits_of(self.settings()).size,
        )
        self._tell_of_claude()
        return Backups(self.workspace, self._places, lambda: self.remote or self.vault, options)

    @cached_property
    def schedules(self) -> Schedules:
        """What takes snapshots every day on one consent."""
        from muniment.backup.schedule import Schedules

        return Schedules(self.backups, _local_time)

    def scheduled(self) -> Scheduled | None:
        """How the schedule stands; None when there is none, and nothing is made."""
        from muniment.record.state import FOLDER, is_initialised

        # The room is not imported for nothing: `status` asks this every time.
        if not is_initialised(self.root) or not self.root.exists(FOLDER / "schedule.json"):
            return None
        from muniment.backup.schedule import look

        return look(self.workspace, _local_time, _instant)

    def timer(self, kind: str | None, daily: str) -> Timer:
        """What calls a scheduled run: of the kind named, else of the first that there is here."""
        import shutil

        from platformdirs import user_config_dir

        from muniment.backup.timers import Cron, Job, OpenClaw, Systemd
        from muniment.hosts.launch import attend

        workspace = self.root.path
        command = (sys.executable, "-m", "muniment", "-q", "-w", workspace, "backup", "create", "--scheduled")
        job = Job(self.workspace.identity.root_id, workspace, daily, command)
        systemd = Systemd(job, Path(user_config_dir("systemd"), "user"), attend)
        if kind == "openclaw" or (kind is None and self._places.name == "openclaw"):
            return OpenClaw(job)
        if kind == "systemd" or (kind is None and shutil.which("crontab") is None):
            return systemd
        return Cron(job, attend)

    def local_time(self, moment: datetime) -> datetime:
        """An instant in the person's own time."""
        return _local_time(moment)

    def _tell_of_claude(self) -> None:
        """Claude Code's folder holds what all projects said, so it is saved only for whoever says so;
        whoever works in Claude Code and has not decided is told."""
        from muniment.backup.settings import LAYOUT
        from muniment.hosts.claude import places as claude

        undecided = self.settings().get(LAYOUT) == "auto" and self._host == "claude"
        folder = claude.found(Path(self.root.path), self._environment).data
        if undecided and folder is not None and folder.is_dir():
            self._note(
                say(
                    "What Claude Code keeps in {folder} is not saved, for it is of every project. With "
                    "backup.layout = claude it is; generic leaves it out and says no more.",
                    folder=printable(str(folder)),
                )
            )

    @cached_property
    def restores(self) -> Restores:
        """What brings snapshots back."""
        from muniment.backup.restore import Restores
        from muniment.record.consent import RELAYED

        relayed = self.settings().get(RELAYED)
        return Restores(self.workspace, self._places, self.backups.reading, relayed)

    @cached_property
    def _places(self) -> Places:
        """The layout that is saved: the one set, else the one of the host that is recognised."""
        from muniment.backup.settings import LAYOUT
        from muniment.hosts.claude import places as claude
        from muniment.hosts.generic import places as generic
        from muniment.hosts.openclaw import places as openclaw
        from muniment.hosts.openclaw.folders import state_folder
        from muniment.hosts.starchild import places as starchild

        workspace = Path(self.root.path)
        layout = self.settings().get(LAYOUT)
        if layout == "auto":
            # Claude Code's folder is of every project; it has to be asked for.
            layout = self._host if self._host != "claude" else "generic"
        if layout == "starchild":
            return starchild.found(workspace, self._environment)
        if layout == "openclaw":
            return openclaw.places(workspace, state_folder(self._environment))
        if layout == "claude":
            return claude.found(workspace, self._environment)
        return generic.places(workspace)

    def installation(self, host: str) -> Installation:
        """What a host's agents are given, in the workspace."""
        from muniment.hosts.installation import Installation
        from muniment.hosts.starchild.scripts import files

        return Installation(self.root, host, files(sys.executable), lambda: self.workspace)

    def host_setup(self, host: str) -> Setup:
        """What a host is given in the user's own folders."""
        from muniment.hosts.claude.setup import setup as claude
        from muniment.hosts.codex.setup import setup as codex
        from muniment.hosts.cursor.setup import setup as cursor
        from muniment.hosts.openclaw.setup import setup as openclaw

        known = {"claude": claude, "codex": codex, "cursor": cursor, "openclaw": openclaw}
        return known[host](self._home, self._environment, _own_program(), self._host_receipts)

    def host_removal(self, host: str, *, act: bool) -> list[Outcome]:
        """Take it away again; without `act` only say what would be done."""
        from muniment.hosts.setup import removal, uninstall

        return (uninstall if act else removal)(self._host_receipts, host)

    def installed_hosts(self) -> tuple[str, ...]:
        """The hosts for which something was installed: for this user, or in this workspace."""
        from muniment.disk.root import Root
        from muniment.hosts.installation import PLACE
        from muniment.hosts.setup import installed
        from muniment.hosts.workspace import find_workspace

        found = installed(self._host_receipts)
        here = find_workspace(self._flag, self._environment, Path.cwd(), self._client_root)
        with Root.open(here.path) as root:
            found += ["starchild"] if root.exists(PLACE / "starchild.json") else []
        return tuple(found)

    @property
    def _home(self) -> Path:
        return Path(self._environment.get("HOME") or os.path.expanduser("~"))

    @property
    def _host_receipts(self) -> Path:
        """Where it is written down what was installed for this user."""
        from platformdirs import user_data_dir

        return Path(user_data_dir("muniment"), "hosts")

    @cached_property
    def jobs(self) -> JobService:
        """The room that keeps the record of executions."""
        from muniment.job.opening import jobs_folder, service_of

        folder = self._held.enter_context(jobs_folder(self.settings()))
        return service_of(self.workspace, folder, self.settings(), actor=self._actor)

    @property
    def containers(self) -> Containers:
        """What runs the tools of jobs, as it is set."""
        from muniment.job.opening import containers_of

        return containers_of(self.settings())


def _local_time(moment: datetime) -> datetime:
    return moment.astimezone()


def _instant(here: datetime) -> datetime:
    """A local time of day without a zone, as an instant."""
    return here.astimezone()


def script(name: str) -> int:
    """One of the original scripts, such as `pack`, with the real machine around it."""
    from muniment.faces.scripts.running import run as run_script

    return run_script(name, sys.argv[1:], House, os.environ, sys.stdin, sys.stdout, sys.stderr)


def main() -> int:
    """The command line, with the real machine around it."""
    return run(sys.argv[1:], House, os.environ, sys.stdin, sys.stdout, sys.stderr)
