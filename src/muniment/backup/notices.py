"""Floor 3, `backup`: what a person is told of who was not watching: one JSON object on the input of
the program set as `notify.command` (spec 4, list, delete, keep)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from muniment.backup.service import NO_SLOT
from muniment.canonical import Json, canonical
from muniment.clock import instant
from muniment.errors import ExitCode, MunimentError
from muniment.hosts.launch import Attend, LaunchFailed
from muniment.message import Message, say

SCHEMA = "muniment.notice/1"
LIMIT = 4096
"""So many characters of a text are told at most: all of it has to fit into a pipe at once."""


class Happened(StrEnum):
    """What a notice is about."""

    FAILED = "run_failed"
    STOPPED = "run_stopped"
    PARTIAL = "run_partial"
    FULL = "slots_full"
    DAMAGED = "damage_found"


@dataclass(frozen=True, slots=True)
class Notice:
    """One notice.  `code` and `exit_code` are those of the error, `where` and `why` its finding."""

    event: Happened
    at: datetime
    workspace: str
    root_id: str
    code: str
    exit_code: int
    message: str
    where: str
    why: str
    next_step: str
    backup_id: str | None = None

    def to_json(self) -> dict[str, Json]:
        """The object that the program is given."""
        return {
            "schema": SCHEMA,
            "event": self.event.value,
            "at": instant(self.at),
            "workspace": self.workspace[:LIMIT],
            "root_id": self.root_id,
            "code": self.code,
            "exit_code": self.exit_code,
            "message": self.message[:LIMIT],
            "where": self.where[:LIMIT],
            "why": self.why[:LIMIT],
            "next": self.next_step[:LIMIT],
            "backup_id": self.backup_id,
        }


def event_of(error: MunimentError) -> Happened:
    """What an error that ended a scheduled run is to whoever is told."""
    return {
        "SCHEDULE_STOPPED": Happened.STOPPED,
        "SNAPSHOT_PARTIAL": Happened.PARTIAL,
        NO_SLOT: Happened.FULL,
    }.get(error.code, Happened.FAILED)


def notice_of(
    error: BaseException,
    *,
    at: datetime,
    workspace: str,
    root_id: str,
    event: Happened | None = None,
    backup_id: str | None = None,
) -> Notice:
    """The notice of an error; one that nobody foresaw is told by its kind alone."""
    if not isinstance(error, MunimentError):
        known = MunimentError(where=type(error).__name__)
        return notice_of(known, at=at, workspace=workspace, root_id=root_id, event=event)
    return Notice(
        event_of(error) if event is None else event,
        at,
        workspace,
        root_id,
        error.code,
        int(error.exit_code),
        str(error.message),
        error.where,
        "" if error.why is None else str(error.why),
        str(error.next_step),
        backup_id,
    )


def damage(
    where: str, why: Message, *, at: datetime, workspace: str, root_id: str, backup_id: str | None = None
) -> Notice:
    """The notice of damage that was found without an error."""
    return Notice(
        Happened.DAMAGED,
        at,
        workspace,
        root_id,
        "NOT_VERIFIED",
        int(ExitCode.NOT_VERIFIED),
        "Damage was found.",
        where,
        str(why),
        "Run `muniment vault fsck --repair`.",
        backup_id,
    )


def tell(command: Sequence[str], notice: Notice, attend: Attend) -> Message | None:
    """Hand a notice to the program; why it did not take it, if it did not.  Never an error: what was
    done is not worse for it."""
    try:
        ended = attend(command, canonical(notice.to_json()) + b"\n")
    except (LaunchFailed, ValueError) as error:
        return say("{finding}", finding=error)
    if ended.code != 0:
        return say("{program}: exit code {code}", program=command[0], code=ended.code)
    return None
