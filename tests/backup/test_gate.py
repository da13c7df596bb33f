"""No snapshot without a fresh plan and its witness; a plan goes stale exactly as said (spec 4, plan)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from tests.backup.world import World, put

from muniment.backup.errors import LabelRefused, PlanMissing, PlanStale, RulesBroken, RulesMissing
from muniment.backup.model import Request
from muniment.errors import RestoreHalfDone
from muniment.record.consent import WitnessKind
from muniment.record.errors import NotConfirmed
from muniment.record.witness import Witness
from muniment.vault.errors import QuotaExceeded, VaultInside

Worlds = Callable[..., World]


def nothing_was_stored(world: World) -> None:
    assert world.vault.list().snapshots == ()
    assert [event for event in world.record.ledger.events() if event.kind == "backup.created"] == []


def test_no_rules_no_plan(make_world: Worlds) -> None:
    world = make_world()
    with pytest.raises(RulesMissing):
        world.plan()
    assert not world.places.rules.exists()


def test_broken_rules_no_plan(world: World) -> None:
    world.rules("## Mode\n## Mode\n")
    with pytest.raises(RulesBroken) as refused:
        world.plan()
    assert refused.value.where == f"{world.places.rules}:2"


def test_rules_that_are_no_text_are_refused(world: World) -> None:
    world.places.rules.write_bytes(b"## Mode\n\xff\n")
    with pytest.raises(RulesBroken) as refused:
        world.plan()
    assert refused.value.where.endswith(":2")


def test_a_snapshot_has_its_plan_its_witness_and_its_event(world: World) -> None:
    planned = world.plan()
    world.confirm(planned, WitnessKind.RELAYED)
    receipt = world.backups.create(planned.plan.plan_id)
    (event,) = [one for one in world.record.ledger.events() if one.kind == "backup.created"]
    assert event.subject == receipt.snapshot.id
    assert event.evidence["root"] == world.vault.index(receipt.snapshot.id).root.hex
    assert event.evidence["plan_id"] == planned.plan.plan_id
    assert event.evidence["confirmation"]["witness"] == "relayed"
    assert "label" not in event.evidence
    witness = Witness.from_json(world.vault.facts(receipt.snapshot.id)["witness"])
    assert witness.root_id == world.record.identity.root_id


def test_a_plan_that_nobody_confirmed_is_not_carried_out(world: World) -> None:
    planned = world.plan()
    with pytest.raises(NotConfirmed):
        world.backups.create(planned.plan.plan_id)
    nothing_was_stored(world)


def test_a_confirmation_holds_once(world: World) -> None:
    planned = world.plan()
    world.confirm(planned)
    world.backups.create(planned.plan.plan_id)
    with pytest.raises(NotConfirmed):
        world.backups.create(planned.plan.plan_id)
    assert len(world.vault.list().snapshots) == 1


def test_a_confirmation_of_another_plan_does_not_count(world: World) -> None:
    one = world.plan(Request(label="one"))
    other = world.plan(Request(label="two"))
    world.confirm(other)
    with pytest.raises(NotConfirmed):
        world.backups.create(one.plan.plan_id)


def test_a_confirmation_is_of_the_sizes_shown(world: World) -> None:
    """The same plan with other sizes has the same id, and is not what was shown."""
    first = world.plan()
    world.confirm(first)
    world.write("memory/note.md", "remember more")
    second = world.plan()
    assert second.plan.plan_id == first.plan.plan_id
    with pytest.raises(NotConfirmed):
        world.backups.create(second.plan.plan_id)


def test_an_agent_may_be_forbidden_to_pass_it_on(world: World) -> None:
    world.relayed = ()
    planned = world.plan()
    world.confirm(planned, WitnessKind.RELAYED)
    with pytest.raises(NotConfirmed):
        world.backups.create(planned.plan.plan_id)
    nothing_was_stored(world)


@pytest.mark.parametrize("plan_id", ["0" * 64, "../../../etc/passwd", "", "latest"])
def test_a_plan_that_was_never_made(world: World, plan_id: str) -> None:
    with pytest.raises(PlanMissing):
        world.backups.create(plan_id)


MIB = 1 << 20


def sparse(path: Path, size: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as stream:
        stream.truncate(size)


def appears(world: World) -> None:
    world.write("new.txt")


def vanishes(world: World) -> None:
    (world.workspace / "memory" / "note.md").unlink()
    (world.workspace / "memory").rmdir()


def changes_status(world: World) -> None:
    world.rules(excludes=["workspace/big"])


def grows_much(world: World) -> None:
    sparse(world.workspace / "big" / "file", 100 * MIB + 100 * MIB // 2 + 1)


def a_day_passes(world: World) -> None:
    world.now += timedelta(hours=24, seconds=1)


def the_clock_goes_back(world: World) -> None:
    world.now -= timedelta(hours=1)


def rules_change(world: World) -> None:
    with world.places.rules.open("a") as stream:
        stream.write("\na word more\n")


def grows_by_less_than_50_mib(world: World) -> None:
    sparse(world.workspace / "big" / "file", 100 * MIB + 49 * MIB)


def grows_by_less_than_a_fifth(world: World) -> None:
    sparse(world.workspace / "huge" / "file", 400 * MIB + 90 * MIB)


def changes_deeper_down(world: World) -> None:
    world.write("memory/another.md")


def shrinks(world: World) -> None:
    (world.workspace / "big" / "file").write_bytes(b"")


def less_than_a_day_passes(world: World) -> None:
    world.now += timedelta(hours=23, minutes=59)


def midnight_passes(world: World) -> None:
    world.now += timedelta(hours=13)


STALE = (appears, vanishes, changes_status, grows_much, a_day_passes, the_clock_goes_back, rules_change)
FRESH = (
    grows_by_less_than_50_mib,
    grows_by_less_than_a_fifth,
    changes_deeper_down,
    shrinks,
    less_than_a_day_passes,
    midnight_passes,
)


def name(act: Callable[[World], None]) -> str:
    return act.__name__


@pytest.mark.parametrize("act", STALE, ids=name)
def test_a_plan_goes_stale(world: World, act: Callable[[World], None]) -> None:
    sparse(world.workspace / "big" / "file", 100 * MIB)
    planned = world.plan()
    world.confirm(planned)
    act(world)
    with pytest.raises(PlanStale):
        world.backups.create(planned.plan.plan_id)
    nothing_was_stored(world)


@pytest.mark.parametrize("act", FRESH, ids=name)
def test_a_plan_stays_fresh(
    world: World, act: Callable[[World], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    sparse(world.workspace / "big" / "file", 100 * MIB)
    if act is grows_by_less_than_a_fifth:
        sparse(world.workspace / "huge" / "file", 400 * MIB)
    planned = world.plan()
    act(world)
    # Without a confirmation it is refused for that, which comes after the question of being fresh.
    with pytest.raises(NotConfirmed):
        world.backups.create(planned.plan.plan_id)


def test_the_growth_is_of_both_measures(world: World) -> None:
    """More than a fifth *and* more than 50 MiB, each to the byte."""
    from muniment.backup.rules import Then, stale

    facts = {"label": "x", "items": []}
    then = Then(facts, 0, 250 * MIB)
    assert stale(then, facts, 0, 300 * MIB) is None
    assert stale(then, facts, 0, 300 * MIB + 1) is not None
    assert stale(Then(facts, 0, 0), facts, 0, 50 * MIB) is None
    assert stale(Then(facts, 0, 0), facts, 0, 50 * MIB + 1) is not None
    assert stale(Then(facts, 0, 1000 * MIB), facts, 0, 1200 * MIB) is None
    assert stale(Then(facts, 0, 0), facts, 24 * 3600, 0) is None
    assert stale(Then(facts, 0, 0), facts, 24 * 3600 + 1, 0) is not None


def test_a_half_done_restore_stops_planning_and_creating(world: World) -> None:
    planned = world.plan()
    world.confirm(planned)
    put(
        world.places.restore_log,
        '{"ts":"2026-11-30T11:00:00Z","backup_id":"bk_20261129_100000_abcd","section":"restore",'
        '"status":"begun","restore":"01KDVDNA000000000000000000","sections":["files/workspace","settings"]}\n'
        '{"ts":"2026-11-30T11:00:01Z","backup_id":"bk_20261129_100000_abcd","section":"files/workspace",'
        '"status":"ok"}\n{"torn',
    )
    for act in (world.plan, lambda: world.backups.create(planned.plan.plan_id)):
        with pytest.raises(RestoreHalfDone) as refused:
            act()
        assert refused.value.where == "bk_20261129_100000_abcd"
        assert "1 of 2" in str(refused.value.why)
    nothing_was_stored(world)


def test_a_vault_inside_what_is_saved_is_refused(world: World) -> None:
    world.vault_folder = world.workspace / "vault"
    with pytest.raises(VaultInside):
        world.plan()


def test_a_further_path_that_holds_the_vault_is_refused(world: World) -> None:
    with pytest.raises(VaultInside):
        world.plan(Request(include=(str(world.place),)))


def test_a_label_that_no_vault_takes_is_refused_before_packing(world: World) -> None:
    for label in ("x" * 65, "a\nb"):
        with pytest.raises(LabelRefused):
            world.plan(Request(label=label))
    assert world.plan(Request(label="字" * 64)).plan.label == "字" * 64


def test_a_full_vault_refuses_before_packing_and_the_confirmation_stays(make_world: Worlds) -> None:
    from muniment.bundle.vault import Limits

    world = make_world(limits=Limits(snapshots=1))
    world.rules()
    first = world.snapshot()
    planned = world.plan()
    world.confirm(planned)
    with pytest.raises(QuotaExceeded):
        world.backups.create(planned.plan.plan_id)
    second = world.backups.create(planned.plan.plan_id, replace=first.snapshot.id)
    assert [one.id for one in world.vault.list().snapshots] == [second.snapshot.id]
    told = [one for one in world.record.ledger.events() if one.kind == "backup.created"]
    assert [one.evidence.get("replaces") for one in told] == [None, first.snapshot.id]
