"""What a policy deletes: scheduled snapshots of this workspace, announced one by one, and no other."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.backup.world import NOON, World, put

from muniment.backup.errors import NotGone
from muniment.backup.model import Receipt, Request
from muniment.backup.prune import Pruning
from muniment.backup.schedule import Schedules, standing_of
from muniment.backup.schedule_rules import Policy
from muniment.backup.subject import DELETED, DELETING
from muniment.bundle.vault import Limits, Snapshot
from muniment.disk.errors import Locked
from muniment.errors import Unreachable
from muniment.record.consent import WitnessKind
from muniment.record.errors import NotConfirmed

Worlds = Callable[..., World]


def utc(when: datetime) -> datetime:
    return when.astimezone(UTC)


class Daily:
    """A world whose snapshots are taken on a standing consent."""

    def __init__(self, world: World, policy: Policy | None = None) -> None:
        self.world = world
        world.write("memory/day.md", "before")
        self.schedules = Schedules(world.backups, utc)
        terms, _ = self.schedules.propose("03:30", most_bytes=None, policy=policy)
        world.record.consents.give("schedule", terms.shown, WitnessKind.TERMINAL)
        self.schedules.begin(terms)

    def on(self, day: int) -> Receipt:
        """The run of so many days after the first."""
        self.world.now = NOON + timedelta(days=day)
        self.world.write("memory/day.md", f"day {day}")
        return self.schedules.run()

    def prune(self, daily: int, weekly: int = 0) -> list[Snapshot]:
        pruning = Pruning(self.world.backups, utc)
        choice = pruning.choose(Policy(daily, weekly))
        self.world.record.consents.give("prune", choice.shown, WitnessKind.TERMINAL)
        return pruning.confirmed(choice)

    @property
    def left(self) -> set[str]:
        return {one.id for one in self.world.vault.list().snapshots}


@pytest.fixture
def daily(world: World) -> Daily:
    return Daily(world)


def test_only_scheduled_ones_go(daily: Daily) -> None:
    asked_for = daily.world.snapshot().snapshot
    runs = [daily.on(day).snapshot for day in range(1, 5)]
    assert not asked_for.scheduled
    assert all(one.scheduled for one in runs)
    gone = daily.prune(2)
    assert [one.id for one in gone] == [runs[0].id, runs[1].id], "oldest first"
    assert daily.left == {asked_for.id, runs[2].id, runs[3].id}


def test_those_of_another_workspace_stay(daily: Daily, make_world: Worlds) -> None:
    """Two agents share a vault; each prunes what is its own."""
    other = make_world()
    other.rules()
    other.vault.close()
    other.vault = daily.world.vault
    theirs = [Daily(other).on(day).snapshot.id for day in range(3)]
    ours = [daily.on(day).snapshot.id for day in range(3)]
    other.vault = World(daily.world.place / "unused").vault
    assert [one.id for one in daily.prune(1)] == ours[:2]
    assert daily.left == {*theirs, ours[2]}


def test_each_deletion_is_announced_and_told(daily: Daily) -> None:
    for day in range(3):
        daily.on(day)
    gone = [one.id for one in daily.prune(1)]
    told = [
        (event.kind, event.subject, event.evidence["pruned"])
        for event in daily.world.record.ledger.events()
        if event.kind in (DELETING, DELETED)
    ]
    assert told == [(kind, one, True) for one in gone for kind in (DELETING, DELETED)]


class Breaks:
    """The real vault, whose answer to one deletion is lost: before it is done, or after."""

    def __init__(self, vault: Any, *, at: int, done: bool) -> None:
        self._vault, self._at, self._done, self._count = vault, at, done, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._vault, name)

    def delete(self, snapshot_id: str) -> Snapshot:
        self._count += 1
        if self._count == self._at:
            if self._done:
                self._vault.delete(snapshot_id)
            raise Unreachable(where="vault")
        gone = self._vault.delete(snapshot_id)
        assert isinstance(gone, Snapshot)
        return gone


@pytest.mark.parametrize("done", [False, True])
@pytest.mark.parametrize("at", [1, 2, 3])
def test_one_that_is_cut_off_is_gone_on_with(daily: Daily, at: int, done: bool) -> None:
    runs = [daily.on(day).snapshot.id for day in range(4)]
    honest = daily.world.vault
    daily.world.vault = Breaks(honest, at=at, done=done)  # type: ignore[assignment]
    with pytest.raises(Unreachable):
        daily.prune(1)
    daily.world.vault = honest
    daily.world.backups.list()
    daily.prune(1)
    assert daily.left == {runs[3]}
    events = list(daily.world.record.ledger.events(containing=b'"kind":"backup.'))
    assert {event.subject for event in events if event.kind == DELETED} == set(runs[:3])


def test_a_vault_that_keeps_what_it_says_it_deleted(daily: Daily) -> None:
    class Lies(Breaks):
        def delete(self, snapshot_id: str) -> Snapshot:
            found = self._vault.show(snapshot_id)
            assert isinstance(found, Snapshot)
            return found

    for day in range(2):
        daily.on(day)
    daily.world.vault = Lies(daily.world.vault, at=0, done=False)  # type: ignore[assignment]
    with pytest.raises(NotGone):
        daily.prune(1)


def test_a_confirmation_is_for_what_was_shown(daily: Daily) -> None:
    for day in range(3):
        daily.on(day)
    pruning = Pruning(daily.world.backups, utc)
    shown = pruning.choose(Policy(2, 0))
    daily.world.record.consents.give("prune", shown.shown, WitnessKind.TERMINAL)
    with pytest.raises(NotConfirmed):
        pruning.confirmed(pruning.choose(Policy(1, 0)))
    daily.world.record.consents.give("prune", shown.shown, WitnessKind.RELAYED)
    with pytest.raises(NotConfirmed):
        pruning.confirmed(shown)
    assert len(daily.left) == 3


def test_what_came_after_it_was_shown_stays(daily: Daily) -> None:
    for day in range(3):
        daily.on(day)
    pruning = Pruning(daily.world.backups, utc)
    choice = pruning.choose(Policy(2, 0))
    daily.world.record.consents.give("prune", choice.shown, WitnessKind.TERMINAL)
    later = daily.on(3).snapshot.id
    gone = [one.id for one in pruning.confirmed(choice)]
    assert gone == [one.id for one in choice.go], "the policy would let another one go, but it was not shown"
    assert later in daily.left


def test_not_while_a_restore_goes_on(daily: Daily) -> None:
    for day in range(3):
        daily.on(day)
    with daily.world.record.working(alone=True), pytest.raises(Locked):
        daily.prune(1)
    assert len(daily.left) == 3


def test_the_snapshot_of_a_half_done_restore_stays(daily: Daily) -> None:
    runs = [daily.on(day).snapshot.id for day in range(3)]
    line = f'{{"ts":"2026-11-30T12:00:00Z","backup_id":"{runs[0]}","section":"restore","status":"begun",'
    line += '"restore":"01J00000000000000000000000","sections":["files/workspace"]}\n'
    put(daily.world.places.restore_log, line)
    assert [one.id for one in daily.prune(1)] == [runs[1]]
    daily.world.places.restore_log.unlink()
    assert [one.id for one in daily.prune(1)] == [runs[0]]


def test_a_consented_policy_is_carried_out_after_each_run(world: World) -> None:
    daily = Daily(world, Policy(2, 0))
    asked_for = world.snapshot().snapshot.id
    runs = [daily.on(day).snapshot.id for day in range(1, 5)]
    assert daily.left == {asked_for, *runs[-2:]}


def test_full_slots_are_made_free_by_a_consented_policy_alone(make_world: Worlds) -> None:
    world = make_world(limits=Limits(snapshots=3))
    world.rules()
    daily = Daily(world)
    runs = [daily.on(day).snapshot.id for day in range(3)]
    with pytest.raises(Exception) as full:
        daily.on(3)
    assert getattr(full.value, "code", "") == "QUOTA_EXCEEDED"
    assert daily.left == set(runs), "without a policy nothing goes"
    daily = Daily(world, Policy(2, 0))
    last = daily.on(4).snapshot.id
    assert daily.left == {runs[2], last}


def test_full_slots_of_what_somebody_asked_for(make_world: Worlds) -> None:
    world = make_world(limits=Limits(snapshots=2))
    world.rules()
    kept = {world.snapshot(Request(label=f"mine {number}")).snapshot.id for number in range(2)}
    daily = Daily(world, Policy(1, 0))
    with pytest.raises(Exception) as full:
        daily.on(1)
    assert getattr(full.value, "code", "") == "QUOTA_EXCEEDED"
    assert daily.left == kept


def test_what_could_not_be_deleted_does_not_undo_the_run(world: World) -> None:
    daily = Daily(world, Policy(1, 0))
    daily.on(1)
    world.vault = Breaks(world.vault, at=1, done=False)  # type: ignore[assignment]
    receipt = daily.on(2)
    assert any("could not be deleted" in str(one) for one in receipt.warnings)
    assert receipt.snapshot.id in daily.left


def test_the_mark_outlives_the_catalogue(daily: Daily) -> None:
    """What says that a snapshot is scheduled stands in its description, not only in a row."""
    from muniment.vault.description import description_blob, read_description

    run = daily.on(1).snapshot
    data = (daily.world.vault_folder / description_blob(run.id)).read_bytes()
    assert read_description(data)[0].scheduled


def test_standing_consent_survives_a_kill_between_event_and_file(daily: Daily) -> None:
    """The event of a newer consent without its file: the former one still holds."""
    terms, _ = daily.schedules.propose("04:00", most_bytes=None, policy=None)
    confirmation = daily.world.record.consents.give("schedule", terms.shown, WitnessKind.TERMINAL)
    from muniment.backup.subject import SCHEDULED
    from muniment.record.event import Draft

    told = {"confirmation": confirmation.to_json()}
    daily.world.record.ledger.append(Draft(SCHEDULED, daily.world.record.identity.root_id, told))
    standing = standing_of(daily.world.record)
    assert standing is not None
    assert standing.terms.daily == "03:30"
