"""Floor 3, `backup`: snapshots that are taken every day on a person's standing consent.

The consent lies in `.muniment/schedule.json` and binds to what was shown: the rules, what goes in at
the top, the most bytes, the vault.  A run that finds anything else stops, says so, and saves nothing
(spec 4, list, delete, keep).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from muniment.backup import prune
from muniment.backup.errors import ScheduleMissing, ScheduleRunning, ScheduleStopped
from muniment.backup.model import Plan, Receipt, Request
from muniment.backup.schedule_rules import (
    Instant,
    Local,
    Policy,
    Terms,
    due_after,
    stop,
    terms_of,
    was_missed,
)
from muniment.backup.service import Backups
from muniment.backup.subject import CREATED, FAILED, SCHEDULED, UNSCHEDULED
from muniment.backup.taking import Progress, no_progress
from muniment.canonical import Json, NotJson, canonical, read_json
from muniment.clock import instant, read_instant
from muniment.digest import Digest, sha256
from muniment.disk.errors import Locked, NotThere
from muniment.disk.locks import locked
from muniment.disk.write import write_verified
from muniment.errors import MunimentError
from muniment.evidence import spell
from muniment.message import say
from muniment.record.consent import Confirmation, WitnessKind
from muniment.record.errors import StateDamaged
from muniment.record.event import Draft, Event
from muniment.record.state import FOLDER, Workspace

PLACE = FOLDER / "schedule.json"
_LOCK = FOLDER / "schedule.lock"
_LIMIT = 16 << 20


@dataclass(frozen=True, slots=True)
class Standing:
    """A standing consent: its terms, who confirmed them and how, and which timer was set for it."""

    terms: Terms
    confirmation: Confirmation
    timer: str | None = None

    def to_json(self) -> dict[str, Json]:
        """The consent as it is kept."""
        return {
            "v": 1,
            "terms": self.terms.to_json(),
            "confirmation": self.confirmation.to_json(),
            "timer": self.timer,
        }


@dataclass(frozen=True, slots=True)
class LastRun:
    """How the last scheduled run ended: when, the snapshot, or the code of what kept it from one.

    `reason` and `item` say why it stopped, if the consent did not cover what there was.
    """

    at: datetime
    snapshot: str | None
    partial: bool = False
    code: str | None = None
    reason: str = ""
    item: str = ""

    def to_json(self) -> dict[str, Json]:
        """The run for programs."""
        return {
            "at": instant(self.at),
            "backup_id": self.snapshot,
            "partial": self.partial,
            "code": self.code,
            "reason": self.reason or None,
            "item": self.item or None,
        }


@dataclass(frozen=True, slots=True)
class Scheduled:
    """What `status` shows of a schedule: when the next run is due, how the last one ended, and
    whether the one that was due last never came."""

    standing: Standing
    last: LastRun | None
    next: datetime
    missed: bool

    def to_json(self) -> dict[str, Json]:
        """The schedule for programs."""
        policy = self.standing.terms.policy
        return {
            "daily": self.standing.terms.daily,
            "timer": self.standing.timer,
            "witness": self.standing.confirmation.witness.value,
            "consented_at": self.standing.confirmation.at,
            "max_bytes": self.standing.terms.most_bytes,
            "policy": None if policy is None else policy.to_json(),
            "last_run": None if self.last is None else self.last.to_json(),
            "next_run": instant(self.next),
            "missed": self.missed,
        }


def standing_of(workspace: Workspace) -> Standing | None:
    """The standing consent that holds; None when nobody gave one.

    One whose terms are not those that were confirmed, or that the ledger does not know, is
    `StateDamaged`: an edited file consents to nothing.
    """
    try:
        data = workspace.root.read(PLACE, _LIMIT)
    except NotThere:
        return None
    try:
        value: Any = read_json(data)
        told = value["confirmation"]
        if value["v"] != 1 or told["act"] != "schedule" or not isinstance(value["timer"], str | None):
            raise ValueError("it is of another version or act")
        read_instant(told["at"])
        shown = Digest(told["shown"])
        confirmation = Confirmation("schedule", shown, WitnessKind(told["witness"]), told["at"])
        terms = Terms.from_json(value["terms"])
        if sha256(terms.shown) != shown:
            raise ValueError("its terms are not those that were confirmed")
        if confirmation.to_json() not in _consented(workspace):
            raise ValueError("the ledger does not know this consent")
    except (NotJson, KeyError, TypeError, ValueError, AttributeError) as error:
        raise StateDamaged(where=PLACE.posix, why=say("{finding}", finding=error)) from error
    return Standing(terms, confirmation, value["timer"])


def _consented(workspace: Workspace) -> list[object]:
    """The confirmations that the ledger tells of since a consent was last taken back.  All of them: a
    newer one whose file was never written has not taken the place of the former."""
    found: list[object] = []
    for event in workspace.ledger.events(containing=b'"kind":"backup.'):
        if event.kind == UNSCHEDULED:
            found.clear()
        elif event.kind == SCHEDULED:
            found.append(event.evidence.get("confirmation"))
    return found


def look(workspace: Workspace, local: Local, instant_of: Instant) -> Scheduled | None:
    """How the schedule stands; None when there is none.  Nothing is made and no vault is asked."""
    standing = standing_of(workspace)
    if standing is None:
        return None
    now, daily = workspace.clock(), standing.terms.daily
    last = _last_run(workspace)
    consented = read_instant(standing.confirmation.at)
    missed = was_missed(daily, consented, None if last is None else last.at, now, local, instant_of)
    return Scheduled(standing, last, due_after(daily, now, local, instant_of), missed)


def _last_run(workspace: Workspace) -> LastRun | None:
    found: Event | None = None
    for event in workspace.ledger.events(containing=b'"kind":"backup.'):
        if event.kind == FAILED or (event.kind == CREATED and event.evidence.get("scheduled") is True):
            found = event
    if found is None:
        return None
    told = found.evidence
    at = read_instant(found.at)
    if found.kind == CREATED:
        return LastRun(at, found.subject, told.get("partial") is True)
    return LastRun(
        at,
        None,
        code=str(told.get("code", "")),
        reason=str(told.get("reason", "")),
        item=str(told.get("item", "")),
    )


class Schedules:
    """The scheduled runs of one workspace."""

    def __init__(self, backups: Backups, local: Local) -> None:
        self._backups = backups
        self._local = local

    @property
    def workspace(self) -> Workspace:
        """The workspace that is saved."""
        return self._backups.workspace

    def propose(
        self, daily: str, *, most_bytes: int | None, policy: Policy | None, api_dir: str | None = None
    ) -> tuple[Terms, Plan]:
        """What a person would consent to now, and the plan it stands for; nothing is kept.

        Without `most_bytes` it is twice of what there is now, and at least a GiB.
        """
        plan, digest = self._backups.plan_unasked(Request(api_dir=api_dir))
        most = max(2 * plan.total_size_bytes, 1 << 30) if most_bytes is None else most_bytes
        return self._terms(plan, digest, daily, api_dir, most, policy), plan

    def _terms(
        self,
        plan: Plan,
        digest: str,
        daily: str,
        api_dir: str | None,
        most_bytes: int,
        policy: Policy | None,
    ) -> Terms:
        return terms_of(
            plan,
            daily=daily,
            layout=self._backups.places.name,
            rules_sha256=digest,
            api_dir=api_dir,
            most_bytes=most_bytes,
            vault=self._backups.open_vault().identity,
            policy=policy,
        )

    def begin(self, terms: Terms) -> Standing:
        """Keep a consent that was just confirmed (`NotConfirmed`), in place of any former one."""
        workspace = self.workspace
        confirmation = workspace.consents.spend("schedule", terms.shown, self._backups.options.relayed)
        with locked(workspace.root, _LOCK):
            former = self._former()
            standing = Standing(terms, confirmation, former)
            told: dict[str, Json] = {
                "confirmation": confirmation.to_json(),
                "daily": terms.daily,
                "max_bytes": terms.most_bytes,
                "vault": terms.vault,
                "policy": None if terms.policy is None else terms.policy.to_json(),
            }
            # The event first: a file that the ledger does not know consents to nothing.
            workspace.ledger.append(Draft(SCHEDULED, workspace.identity.root_id, told))
            self._write(standing)
        return standing

    def _former(self) -> str | None:
        """The timer that is set already, whatever became of the consent it was set for."""
        try:
            value: Any = read_json(self.workspace.root.read(PLACE, _LIMIT))
            timer = value["timer"]
        except (NotThere, NotJson, KeyError, TypeError):
            return None
        return timer if isinstance(timer, str) else None

    @property
    def timer(self) -> str | None:
        """Which timer is set, as far as it was noted."""
        return self._former()

    def note_timer(self, timer: str | None) -> None:
        """Write down which timer was set for the consent, or that there is none any more."""
        with locked(self.workspace.root, _LOCK):
            standing = standing_of(self.workspace)
            if standing is not None:
                self._write(replace(standing, timer=timer))

    def _write(self, standing: Standing) -> None:
        data = canonical(standing.to_json()) + b"\n"
        write_verified(self.workspace.root, PLACE, data, replace=True, mode=0o600)

    def end(self) -> bool:
        """Take the consent back; whether there was one."""
        workspace = self.workspace
        with locked(workspace.root, _LOCK):
            if not workspace.root.exists(PLACE):
                return False
            workspace.root.unlink(PLACE, missing_ok=True)
            workspace.ledger.append(Draft(UNSCHEDULED, workspace.identity.root_id, {}))
        return True

    def run(
        self, *, progress: Progress = no_progress, removed: Callable[[str], object] = lambda one: None
    ) -> Receipt:
        """One scheduled run: `ScheduleMissing`, `ScheduleStopped`, `ScheduleRunning`, or what `create`
        raises.  What kept it from a snapshot stands in the ledger.

        By a policy that was consented to, older scheduled snapshots go after it, and before it where all
        slots are taken; `removed` is told each id.
        """
        workspace = self.workspace
        try:
            with locked(workspace.root, _LOCK, wait=False):
                return self._run(progress, removed)
        except Locked as error:
            if error.where == _LOCK.posix:
                raise ScheduleRunning(where=error.where) from error
            self._note_failure(error)
            raise
        except MunimentError as error:
            self._note_failure(error)
            raise

    def _run(self, progress: Progress, removed: Callable[[str], object]) -> Receipt:
        standing = standing_of(self.workspace)
        if standing is None:
            raise ScheduleMissing(where=PLACE.posix)
        terms = standing.terms

        def tidy() -> bool:
            if terms.policy is None:
                return False
            pruning = prune.Pruning(self._backups, self._local)
            chosen = pruning.choose(terms.policy)
            gone = pruning.carry_out(chosen, standing.confirmation)
            for one in gone:
                removed(one.id)
            return bool(gone)

        def consent(plan: Plan, digest: str) -> Confirmation:
            now = self._terms(plan, digest, terms.daily, terms.api_dir, terms.most_bytes, terms.policy)
            found = stop(terms, now, plan.total_size_bytes)
            if found is not None:
                raise ScheduleStopped(
                    where=spell(found.item), why=found.why, reason=found.reason, item=spell(found.item)
                )
            return standing.confirmation

        receipt = self._backups.create_unasked(
            Request(api_dir=terms.api_dir), consent, make_room=tidy, progress=progress
        )
        try:
            tidy()
        except MunimentError as error:
            # The snapshot is stored all the same; what should have gone goes after the next run.
            warning = say("older scheduled snapshots could not be deleted: {error}", error=error.reason)
            return replace(receipt, warnings=(*receipt.warnings, warning))
        return receipt

    def _note_failure(self, error: MunimentError) -> None:
        told: dict[str, Json] = {"code": error.code}
        for name in ("reason", "item"):
            if error.facts.get(name):
                told[name] = str(error.facts[name])
        self.workspace.ledger.append(Draft(FAILED, self.workspace.identity.root_id, told))
