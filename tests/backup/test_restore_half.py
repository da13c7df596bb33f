"""A restore that is half done: it is told of everywhere, goes on, begins anew or is left (spec 4, step 0)."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from tests.backup.world import World, put

from muniment.backup.errors import (
    NoRestore,
    OtherRestore,
    RestoreLogBroken,
    RestoreLogDoubled,
    RestoreStale,
)
from muniment.backup.model import Request
from muniment.backup.restore_model import Status
from muniment.backup.restore_rules import choose, destiny
from muniment.backup.restore_survey import ground_of
from muniment.errors import RestoreHalfDone
from muniment.record.verify import verify

Worlds = Callable[..., World]


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture
def stuck(world: World) -> tuple[World, str, str]:
    """A world whose restore could not do one of its two files; the snapshot's and the restore's id."""
    world.write("a", "kept")
    world.write("b", "kept")
    kept = world.snapshot()
    for name in "ab":
        (world.workspace / name).unlink()
    order, fetched = world.order(kept.snapshot.id)
    world.write("a", "in the way")
    applied = world.apply(order, fetched)
    assert [one.rel for one in applied.troubles] == ["a"]
    return world, kept.snapshot.id, applied.restore


def test_the_log_says_what_was_begun(stuck: tuple[World, str, str]) -> None:
    world, snapshot, restore = stuck
    (first,) = lines(world.places.restore_log)
    assert first["section"] == "restore" and first["status"] == "begun"
    assert first["backup_id"] == snapshot and first["restore"] == restore
    assert first["sections"] == ["files/workspace"]
    assert first["ts"] == "2026-11-30T12:00:00Z"


def test_nothing_else_begins_meanwhile(stuck: tuple[World, str, str]) -> None:
    world, snapshot, _ = stuck
    for act in (
        lambda: world.backups.plan(Request()),
        lambda: world.backups.create("0" * 64),
        lambda: world.restores.plan(snapshot),
    ):
        with pytest.raises(RestoreHalfDone) as caught:
            act()
        assert caught.value.where == snapshot
        assert "0 of 1" in str(caught.value.why)


def test_it_goes_on_where_it_was(stuck: tuple[World, str, str]) -> None:
    world, snapshot, restore = stuck
    with pytest.raises(OtherRestore):
        world.restores.go_on("bk_20200101_000000_aaaa")
    assert [one.rel for one in world.restores.go_on(snapshot).troubles] == ["a"]
    (world.workspace / "a").unlink()
    applied = world.restores.go_on(snapshot)
    assert applied.restore == restore and applied.troubles == () and applied.wrote == 1
    assert (world.workspace / "a").read_text() == (world.workspace / "b").read_text() == "kept"
    assert not world.places.restore_log.exists()
    assert not (world.workspace / ".restore" / snapshot).exists()
    kinds = [event.kind for event in world.record.ledger.events()]
    assert kinds.count("backup.restored") == 1
    with pytest.raises(NoRestore):
        world.restores.go_on()


def test_it_goes_on_with_what_is_fetched_anew(stuck: tuple[World, str, str]) -> None:
    world, snapshot, _ = stuck
    world.restores.fetching.drop(world.restores.fetching.place(snapshot))
    (world.workspace / "a").unlink()
    assert world.restores.go_on().troubles == ()
    assert (world.workspace / "a").read_text() == "kept"


def test_left_as_it_is_and_undone(stuck: tuple[World, str, str]) -> None:
    world, _, restore = stuck
    half = world.restores.leave()
    assert half.restore == restore
    assert not world.places.restore_log.exists()
    assert (world.workspace / "a").read_text() == "in the way"
    undone = world.restores.undo(restore)
    assert [one.rel for one in undone.kept] == ["a"] and undone.removed == 1
    assert not (world.workspace / "b").exists()
    assert [event.kind for event in world.record.ledger.events()][-2:] == [
        "backup.restore_cancelled",
        "backup.undone",
    ]


def test_what_somebody_extracted_is_never_taken_for_what_was_fetched(world: World) -> None:
    """Its folder may have any name, also that of the folder in which undo sets lie."""
    world.write("a", "kept")
    kept = world.snapshot()
    world.write("a", "mine")
    former = world.restore(kept.snapshot.id).restore
    folder = world.place / "undo"
    world.restores.into(kept.snapshot.id, folder)
    world.write("a", "mine again")
    plan, fetched = world.restores.plan_of_folder(folder)
    order = choose(plan, overwrite=True)
    world.write("a", "in the way")
    assert world.apply(order, fetched).troubles
    world.restores.leave()
    assert former in [one.restore for one in world.restores.undo_sets()]
    assert (folder / "files/workspace/a").exists()


def test_undoing_a_half_done_restore_ends_it(stuck: tuple[World, str, str]) -> None:
    world, _, restore = stuck
    world.restores.undo(restore)
    assert world.restores.half() is None
    assert not (world.workspace / "b").exists()


def test_it_does_not_go_on_in_other_folders(stuck: tuple[World, str, str]) -> None:
    world, snapshot, restore = stuck
    names = world.places.__slots__
    here = world.places
    world.places = here.__class__(
        **{**{name: getattr(here, name) for name in names}, "data": world.place / "other"}
    )
    for act in (lambda: world.restores.go_on(snapshot), lambda: world.restores.undo(restore)):
        with pytest.raises(RestoreStale):
            act()
    assert (world.workspace / "b").exists() and not (world.place / "other").exists()
    world.places = here
    assert [one.rel for one in world.restores.go_on(snapshot).troubles] == ["a"]


def test_a_torn_last_line_is_dropped_and_written_over(stuck: tuple[World, str, str]) -> None:
    world, snapshot, _ = stuck
    with world.places.restore_log.open("ab") as stream:
        stream.write(b'{"ts":"2026-11-30T12:0')
    half = world.restores.half()
    assert half is not None and half.done == ()
    (world.workspace / "a").unlink()
    assert world.restores.go_on(snapshot).troubles == ()


def test_two_logs_are_refused_and_both_named(make_world: Worlds) -> None:
    world = make_world(layout="starchild")
    other = world.place / "other.restore.log"
    world.places = world.places.__class__(
        **{
            **{name: getattr(world.places, name) for name in world.places.__slots__},
            "former_restore_logs": (other,),
        }
    )
    line = json.dumps(
        {
            "ts": "2026-11-30T12:00:00Z",
            "backup_id": "bk_20261130_120000_aaaa",
            "section": "restore",
            "status": "begun",
            "restore": "01M8P570G0X2AHZAQP4MK26C10",
            "sections": ["files/workspace"],
        }
    )
    put(world.places.restore_log, line + "\n")
    put(other, line + "\n")
    with pytest.raises(RestoreLogDoubled) as caught:
        world.restores.half()
    assert str(world.places.restore_log) in caught.value.where and str(other) in caught.value.where


def test_a_log_that_nobody_can_read_says_so(world: World) -> None:
    put(world.places.restore_log, "not json\n")
    with pytest.raises(RestoreLogBroken):
        world.restores.half()


API = {
    "settings.json": {"language": "zh", "timezone": "Asia/Shanghai"},
    "profile.json": {"agentName": "Ada", "agentVibe": "calm"},
    "scheduled_tasks.json": [
        {"title": "news", "schedule": "0 8 * * *", "description": "d", "channels": ["x"]}
    ],
}


def hosted(make_world: Worlds) -> tuple[World, str]:
    """A snapshot of a host that hands its settings over."""
    world = make_world(layout="starchild")
    world.rules()
    assert world.data is not None
    put(world.data / "sessions/one.json", "{}")
    world.write("memory/note", "kept")
    for name, value in API.items():
        put(world.place / "api" / name, json.dumps(value))
    kept = world.snapshot(Request(api_dir=str(world.place / "api")))
    return world, kept.snapshot.id


def test_the_hosts_own_sections_come_one_by_one_and_the_last_ends_it(make_world: Worlds) -> None:
    world, snapshot = hosted(make_world)
    assert world.data is not None
    (world.data / "sessions/one.json").unlink()
    (world.workspace / "memory/note").unlink()
    order, fetched = world.order(snapshot)
    applied = world.apply(order, fetched)
    assert applied.open == ("settings", "profile", "scheduled_tasks")
    assert [(name, json.loads(data)) for name, data in world.restores.api_of(fetched)] == [
        ("settings", API["settings.json"]),
        ("profile", API["profile.json"]),
        ("scheduled_tasks", API["scheduled_tasks.json"]),
    ]
    log = world.places.restore_log
    assert [row["section"] for row in lines(log)] == ["restore", "files/workspace", "files/data"]
    with pytest.raises(NoRestore):
        world.restores.section_done("files/data")
    for name, left in (("settings", 2), ("profile", 1)):
        half = world.restores.section_done(name)
        assert half is not None and len(half.sections) - len(half.done) == left
        with pytest.raises(RestoreHalfDone):
            world.restores.plan(snapshot)
    with pytest.raises(NoRestore):
        world.restores.section_done("settings")
    assert world.restores.section_done("scheduled_tasks") is None
    assert not log.exists() and not (world.workspace / ".restore" / snapshot).exists()
    assert (world.workspace / "memory/note").read_text() == "kept"
    assert (world.data / "sessions/one.json").read_text() == "{}"


def test_a_snapshots_data_section_can_not_reach_into_the_workspace(make_world: Worlds) -> None:
    world, _ = hosted(make_world)
    ground = ground_of(world.places)
    assert destiny("data", "workspace/.muniment/root.json", ground) is Status.BLOCKED
    assert destiny("data", "workspace", ground) is Status.BLOCKED
    assert destiny("data", "workspaces", ground) is None
    assert destiny("workspace", ".restore.log", ground) is Status.ASIDE
    assert destiny("workspace", ".active-upload.json", ground) is Status.ASIDE
    assert destiny("data", "hibernation_state.json", ground) is Status.ASIDE


def test_a_section_that_nothing_is_chosen_of_does_not_stay_open(make_world: Worlds) -> None:
    world, snapshot = hosted(make_world)
    assert world.data is not None
    elsewhere = world.place / "no data yet"
    names = world.places.__slots__
    world.places = world.places.__class__(
        **{**{name: getattr(world.places, name) for name in names}, "data": elsewhere}
    )
    plan, fetched = world.restores.plan(snapshot)
    order = choose(plan, overwrite=False, only=frozenset())
    steps = tuple(step for step in order.steps if step.section == "workspace")
    order = replace(order, steps=steps)
    assert world.apply(order, fetched).open == ("settings", "profile", "scheduled_tasks")
    assert not elsewhere.exists()


def test_undo_sets_are_kept_three_or_seven_days(world: World) -> None:
    world.write("a", "0")
    kept = world.snapshot()
    made = []
    for number in range(6):
        world.write("a", f"mine {number}")
        made.append(world.restore(kept.snapshot.id).restore)
        world.now += timedelta(days=2)
    left = [one.restore for one in world.restores.undo_sets()]
    # The newest three, and what is younger than seven days at the last restore, which is on day 10.
    assert left == list(reversed(made[2:]))
    assert verify(world.record.ledger).whole


def test_a_restore_of_nothing_leaves_no_set_and_no_log(world: World) -> None:
    kept = world.snapshot()
    applied = world.restore(kept.snapshot.id)
    assert applied.wrote == 0
    assert world.restores.undo_sets() == []
    assert sorted(os.listdir(world.workspace / ".restore")) == [".gitignore", "undo"]
