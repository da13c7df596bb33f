"""Floor 5, the wiring: settings and adapters become rooms; the only place that knows every class."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from muniment.faces.cli.main import run
from muniment.faces.house import Note
from muniment.message import say
from muniment.settings import BadSetting, Settings, environment_layer

if TYPE_CHECKING:
    from muniment.archive.service import Archive
    from muniment.desk.status import Overview
    from muniment.disk.root import Root
    from muniment.hosts.generic.session import WorkingSession
    from muniment.hosts.workspace import Found
    from muniment.path import RelPath
    from muniment.record.state import Workspace
    from muniment.settings import Setting


def declared() -> tuple[Setting[Any], ...]:
    """Every setting that a room declares."""
    from muniment.archive.settings import SETTINGS as ARCHIVE
    from muniment.job.settings import SETTINGS as JOB
    from muniment.record.consent import RELAYED

    return (*ARCHIVE, *JOB, RELAYED)


class House:
    """The rooms of one call, each built when first asked for."""

    def __init__(
        self, *, workspace: str | None, environment: Mapping[str, str], note: Note, actor: str = "cli"
    ) -> None:
        self._flag = workspace
        self._environment = environment
        self._note = note
        self._actor = actor
        self._session_key: str | None = None
        self._session_status: bytes | None = None

    @cached_property
    def found(self) -> Found:
        """The workspace and the rule by which it was found; the last resort is said."""
        from muniment.hosts.workspace import Rule, find_workspace

        found = find_workspace(self._flag, self._environment, Path.cwd())
        if found.rule is Rule.CURRENT:
            self._note(
                say(
                    "No workspace was named or found; the current folder {path} is taken.",
                    path=str(found.path),
                )
            )
        return found

    @cached_property
    def root(self) -> Root:
        """The workspace, confined."""
        from muniment.disk.platform import require_supported
        from muniment.disk.root import Root

        require_supported()
        return Root.open(self.found.path)

    @cached_property
    def workspace(self) -> Workspace:
        """The record of the workspace; made when it is missing."""
        from muniment.clock import system_clock
        from muniment.record.event import Context
        from muniment.record.state import open_workspace

        text = self._environment.get("MUNIMENT_CONTEXT")
        try:
            context = Context.read(text) if text else Context()
        except ValueError as error:
            raise BadSetting(
                name="MUNIMENT_CONTEXT", where="environment", why=say("{finding}", finding=error)
            ) from error
        return open_workspace(self.root, clock=system_clock, actor=self._actor, context=context)

    def settings(self) -> Settings:
        """All declared settings over environment, the workspace's file and the user's file."""
        from platformdirs import user_config_dir

        from muniment.disk.root import Root
        from muniment.path import RelPath
        from muniment.record.config import read_layer
        from muniment.record.state import FOLDER

        known = declared()
        layers = [environment_layer(known, self._environment)]
        layers.append(read_layer(self.root, FOLDER / "config.toml", known))
        # People keep this file elsewhere and link to it; what they link to is what they mean.
        user = Path(os.path.realpath(Path(user_config_dir("muniment"), "config.toml")))
        if user.parent.is_dir():
            with Root.open(user.parent) as own:
                layers.append(read_layer(own, RelPath((user.name,)), known))
        return Settings(known, layers)

    @cached_property
    def working_session(self) -> WorkingSession:
        """The session that stands in where no host tells one."""
        from muniment.clock import system_clock
        from muniment.hosts.generic.session import WorkingSession
        from muniment.hosts.git import short_head
        from muniment.record.state import FOLDER

        return WorkingSession(
            self.root,
            FOLDER,
            clock=system_clock,
            short_hash=lambda: short_head(self.found.path),
            local=_local_time,
        )

    def use_session(self, key: str | None, status: bytes | None) -> None:
        """What the caller handed on of the host's session."""
        self._session_key, self._session_status = key, status

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
            self.working_session.use,
            options=options,
            local=_local_time,
            workspace_rule=self.found.rule.value,
        )

    def loose(self) -> list[RelPath]:
        """What was made in the workspace and is not archived."""
        from muniment.archive.outstanding import outstanding
        from muniment.hosts.git import ask_git

        return outstanding(self.root, ask_git, self.working_session.started_ns())

    def overview(self) -> Overview:
        """What `muniment status` shows."""
        from muniment.desk.status import overview

        return overview(self.found, self.root, lambda: self.workspace, self.working_session)


def _local_time(moment: datetime) -> datetime:
    return moment.astimezone()


def main() -> int:
    """The command line, with the real machine around it."""
    return run(sys.argv[1:], House, os.environ, sys.stdin, sys.stdout, sys.stderr)
