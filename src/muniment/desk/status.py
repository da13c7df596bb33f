"""Floor 3½, `desk`: what stands where, in ten lines, with one suggestion."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from muniment.canonical import Json
from muniment.clock import instant
from muniment.errors import MunimentError
from muniment.hosts.session import Session
from muniment.hosts.workspace import Found
from muniment.message import Message
from muniment.path import printable
from muniment.record.errors import LedgerDamaged
from muniment.record.event import FIRST
from muniment.record.state import Workspace
from muniment.record.subject import Newest, Subject, Unfinished
from muniment.record.witness import Witness, bear_witness
from muniment.vault.place import Whereabouts

if TYPE_CHECKING:
    from muniment.backup.schedule import Scheduled

LOOSE, HANDOFFS, JOBS, SNAPSHOTS = "arc_", "ho_", "job:", "bk_"
"""How the references of the four rooms begin."""


@dataclass(frozen=True, slots=True)
class Overview:
    """The facts of `muniment status`.

    `unfinished` is by the prefix of the room, `half_done` are acts with a journal, `snapshot` is the
    newest one, `schedule` how daily runs stand, or why that can not be told, and `next_step` a command
    line.
    """

    found: Found
    host: str
    session: Session | None
    unfinished: Mapping[str, Sequence[Unfinished]]
    vault: Whereabouts
    root_id: str | None = None
    head: Witness | None = None
    damage: Message | None = None
    half_done: tuple[str, ...] = ()
    snapshot: Newest | None = None
    schedule: Scheduled | MunimentError | None = None
    next_step: str = field(default="muniment init")

    def of(self, prefix: str) -> Sequence[Unfinished]:
        """What is unfinished in one room."""
        return self.unfinished.get(prefix, ())

    @property
    def elsewhere(self) -> bool:
        """Whether the newest snapshot is kept by another vault than the one that is set.

        Of one that is not a folder of this machine nobody knows without asking it.
        """
        if self.snapshot is None or self.vault.folder is None:
            return False
        return self.snapshot.kept_in != self.vault.identity

    def to_json(self) -> dict[str, Json]:
        """The facts for programs."""
        return {
            "workspace": str(self.found.path),
            "workspace_rule": self.found.rule.value,
            "workspace_found_by": self.found.by,
            "host": self.host,
            "session": self.session.archive_id if self.session else None,
            "session_source": self.session.source.value if self.session else None,
            "root_id": self.root_id,
            "ledger": {
                "events": self.head.count if self.head else 0,
                "head": self.head.head if self.head else FIRST,
                "damage": str(self.damage) if self.damage else None,
            },
            "not_archived": [one.reference for one in self.of(LOOSE)],
            "half_done": list(self.half_done),
            "handoffs": [one.to_json() for one in self.of(HANDOFFS)],
            "jobs": [one.to_json() for one in self.of(JOBS)],
            "backup": [one.to_json() for one in self.of(SNAPSHOTS)],
            "last_snapshot": self._snapshot(),
            "schedule": self._schedule(),
            "vault": {"url": self.vault.address, "shares_device": self.vault.shares_device},
            "next": self.next_step,
        }

    def _schedule(self) -> Json:
        if isinstance(self.schedule, MunimentError):
            return {"code": self.schedule.code, "where": self.schedule.where}
        return None if self.schedule is None else self.schedule.to_json()

    def _snapshot(self) -> Json:
        if self.snapshot is None:
            return None
        at = instant(self.snapshot.at)
        return {"backup_id": self.snapshot.reference, "at": at, "in_this_vault": not self.elsewhere}


def overview(
    found: Found,
    workspace: Callable[[], Workspace] | None,
    subjects: Sequence[Subject],
    vault: Whereabouts,
    *,
    host: str,
    session: Session | None,
    schedule: Callable[[], Scheduled | None] = lambda: None,
) -> Overview:
    """Look at everything; nothing is made, not even `.muniment/`.

    `workspace` is None while there is no record; `subjects` are the rooms that there is something of.
    """
    unfinished = {one.prefix: one.unfinished() for one in subjects}
    if workspace is None:
        return Overview(found, host, session, unfinished, vault)
    opened = workspace()
    head, damage = None, None
    try:
        head = bear_witness(opened.ledger, opened.identity.root_id)
    except LedgerDamaged as error:
        damage = error.why or error.message
    half_done = tuple(_half_done(opened, name) for name in opened.journal.names())
    (snapshot,) = [one.newest() for one in subjects if one.prefix == SNAPSHOTS] or [None]
    return Overview(
        found,
        host,
        session,
        unfinished,
        vault,
        root_id=opened.identity.root_id,
        head=head,
        damage=damage,
        half_done=half_done,
        snapshot=snapshot,
        schedule=_looked(schedule),
        next_step=_next(unfinished, head, damage, half_done),
    )


def _looked(schedule: Callable[[], Scheduled | None]) -> Scheduled | MunimentError | None:
    """The schedule, or why it can not be read: that is a finding here, not the end."""
    try:
        return schedule()
    except MunimentError as error:
        return error


def _half_done(opened: Workspace, name: str) -> str:
    try:
        act = opened.journal.read(name)
    except MunimentError:
        # `doctor` says what is wrong with it.
        return printable(name)
    return printable(f"{act.kind} {act.act_id}")


def _next(
    unfinished: Mapping[str, Sequence[Unfinished]],
    head: Witness | None,
    damage: Message | None,
    half_done: Sequence[str],
) -> str:
    """The most pressing thing: damage, what is half done, what is not archived, what is open."""
    if damage is not None:
        return "muniment ledger verify"
    if half_done:
        return "muniment doctor"
    every = [one for found in unfinished.values() for one in found]
    for one in (*(one for one in every if one.half), *unfinished.get(LOOSE, ()), *every):
        return one.step
    return "muniment archive verify --all" if head and head.count > 1 else "muniment archive FILE"
