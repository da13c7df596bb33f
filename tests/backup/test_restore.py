"""A restore from plan to undo: what comes back is what was kept, and nothing else is touched."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.backup.trees import shape
from tests.backup.world import World

from muniment.backup.errors import (
    ExactOfPartial,
    FetchedDiffers,
    NoSuchEntry,
    NoUndo,
    RestoreStale,
    TargetNotEmpty,
)
from muniment.backup.restore import Restores
from muniment.backup.restore_model import Status, is_counted
from muniment.backup.restore_rules import choose
from muniment.canonical import Json
from muniment.disk.errors import Locked
from muniment.path import RelPath
from muniment.record.consent import WitnessKind
from muniment.record.errors import NotConfirmed
from muniment.record.event import Draft
from muniment.record.verify import verify

Worlds = Callable[..., World]


def nasty(folder: Path) -> None:
    """A tree that has everything a file system can hold without a special device."""
    base = os.fsencode(folder)
    os.makedirs(base + b"/empty/deep")
    for name, data in {
        b"plain.txt": b"plain",
        b"not-utf8-\xff\xfe": b"\x00\xff",
        b"new\nline": b"x",
        "数据 报告.md".encode(): "报告".encode(),
        b"n" * 250: b"long",
        b"-dash": b"",
        b"Case": b"upper",
        b"case": b"lower",
    }.items():
        with open(base + b"/" + name, "wb") as stream:
            stream.write(data)
    deep = base
    for _ in range(12):
        deep += b"/" + b"d" * 30
        os.mkdir(deep)
    with open(deep + b"/bottom", "wb") as stream:
        stream.write(b"bottom")
    os.symlink("plain.txt", base + b"/link")
    os.symlink("nowhere", base + b"/dangling")
    os.symlink("empty", base + b"/link to folder")
    with open(base + b"/sparse", "wb") as stream:
        stream.seek(3 << 20)
        stream.write(b"end")
    with open(base + b"/large", "wb") as stream:
        stream.write(os.urandom(1 << 20) + b"a" * (1 << 20))
    os.chmod(base + b"/plain.txt", 0o640)
    os.chmod(base + b"/-dash", 0o400)
    os.chmod(base + b"/empty", 0o750)
    os.utime(base + b"/plain.txt", ns=(1, 1_234_567_890_123_456_789))
    os.utime(base + b"/new\nline", ns=(1, -86_400_000_000_001))


def test_a_nasty_tree_comes_back_byte_for_byte_and_mode_for_mode(world: World) -> None:
    folder = world.workspace / "tree"
    folder.mkdir()
    nasty(folder)
    before = shape(world.workspace)
    kept = world.snapshot()
    shutil.rmtree(folder)
    applied = world.restore(kept.snapshot.id)
    assert applied.troubles == ()
    assert shape(world.workspace) == before
    assert os.stat(folder / "sparse").st_blocks * 512 < 1 << 20
    assert verify(world.record.ledger).whole


def test_the_plan_says_what_is_new_unchanged_and_modified(world: World) -> None:
    for name in ("same", "changed", "gone"):
        world.write(f"tasks/{name}", name)
    kept = world.snapshot()
    world.write("tasks/changed", "otherwise")
    (world.workspace / "tasks/gone").unlink()
    world.write("tasks/later", "later")
    before = shape(world.workspace)
    plan, _ = world.restores.plan(kept.snapshot.id)
    seen = {
        item.step.rel: item.status
        for item in plan.items
        if is_counted(item) and item.status is not Status.ASIDE and ".muniment" not in item.step.rel
    }
    assert seen == {
        "memory/note.md": Status.UNCHANGED,
        "tasks/same": Status.UNCHANGED,
        "tasks/changed": Status.MODIFIED,
        "tasks/gone": Status.NEW,
    }
    assert shape(world.workspace) == before
    assert not world.places.restore_log.exists()


def test_without_overwrite_only_new_files_come(world: World) -> None:
    world.write("a", "one")
    world.write("b", "two")
    kept = world.snapshot()
    world.write("a", "changed")
    (world.workspace / "b").unlink()
    applied = world.restore(kept.snapshot.id, overwrite=False)
    assert (applied.wrote, applied.skipped) == (1, 1)
    assert (world.workspace / "a").read_text() == "changed"
    assert (world.workspace / "b").read_text() == "two"


def test_undo_puts_back_what_was_replaced_and_removes_what_was_made(world: World) -> None:
    world.write("a", "kept")
    world.write("new/b", "kept too")
    kept = world.snapshot()
    path = world.write("a", "mine")
    path.chmod(0o600)
    os.utime(path, ns=(5, 5_000_000_123))
    shutil.rmtree(world.workspace / "new")
    before = shape(world.workspace)
    applied = world.restore(kept.snapshot.id)
    assert (world.workspace / "a").read_text() == "kept"
    assert (world.workspace / "new/b").read_text() == "kept too"
    undone = world.restores.undo(applied.restore)
    assert (undone.put_back, undone.removed, undone.kept) == (1, 1, ())
    assert shape(world.workspace) == before
    with pytest.raises(NoUndo):
        world.restores.undo(applied.restore)


def test_what_changed_since_the_restore_is_kept_and_named(world: World) -> None:
    world.write("replaced", "kept")
    world.write("made", "kept")
    kept = world.snapshot()
    world.write("replaced", "mine")
    (world.workspace / "made").unlink()
    applied = world.restore(kept.snapshot.id)
    world.write("replaced", "worked on")
    world.write("made", "worked on")
    undone = world.restores.undo(applied.restore)
    assert {(one.rel, one.code) for one in undone.kept} == {
        ("replaced", "SOURCE_CHANGED"),
        ("made", "SOURCE_CHANGED"),
    }
    assert (world.workspace / "replaced").read_text() == "worked on"
    assert (world.workspace / "made").read_text() == "worked on"
    # What was there before is still to be had, and comes back once the way is free.
    world.write("replaced", "kept")
    assert world.restores.undo(applied.restore).put_back == 1
    assert (world.workspace / "replaced").read_text() == "mine"


def test_exact_moves_what_the_snapshot_lacks_and_never_what_it_left_out(world: World) -> None:
    world.rules(excludes=["workspace/scratch"])
    world.write("scratch/left out", "x")
    world.write("node_modules/left/out.js", "x")
    world.write("__pycache__/m.pyc", "x")
    world.write("kept", "x")
    kept = world.snapshot()
    world.write("later/file", "later")
    before = shape(world.workspace)
    applied = world.restore(kept.snapshot.id, exact=True)
    gone = set(before) - set(shape(world.workspace))
    assert gone == {"later", "later/file"}
    world.restores.undo(applied.restore)
    assert shape(world.workspace) == before


def later_folders(world: World) -> None:
    """Folders the snapshot does not have: one below another, one empty, one with a mode of its own."""
    world.write("later/deep/er/file", "later")
    world.write("later/deep/beside", "later")
    (world.workspace / "nothing in it").mkdir()
    (world.workspace / "later/deep").chmod(0o750)
    for folder in ("later/deep/er", "later/deep", "later", "nothing in it"):
        os.utime(world.workspace / folder, ns=(3, 3_000_000_007))


def test_exact_takes_emptied_folders_too_and_undo_makes_them_as_they_were(world: World) -> None:
    world.write("old/empty/file", "x").unlink()
    kept = world.snapshot()
    before = shape(world.workspace)
    later_folders(world)
    changed = shape(world.workspace)
    applied = world.restore(kept.snapshot.id, exact=True)
    assert applied.troubles == ()
    left = {rel for rel in shape(world.workspace) if not rel.startswith((".muniment", ".restore"))}
    assert left == {rel for rel in before if not rel.startswith((".muniment", ".restore"))}
    assert (world.workspace / "old/empty").is_dir()  # empty then as it is now
    undone = world.restores.undo(applied.restore)
    assert (undone.put_back, undone.removed, undone.kept) == (2, 0, ())
    assert shape(world.workspace) == changed


def test_exact_leaves_a_folder_in_which_something_stays(world: World) -> None:
    kept = world.snapshot()
    world.write("code/__pycache__/m.pyc", "left out")
    world.write("code/m.py", "later")
    (world.workspace / "held").mkdir()
    world.write("held/file", "later")
    os.mkfifo(world.workspace / "held/pipe")
    world.restore(kept.snapshot.id, exact=True)
    assert sorted(os.listdir(world.workspace / "code")) == ["__pycache__"]
    assert sorted(os.listdir(world.workspace / "held")) == ["pipe"]


def test_what_came_into_a_folder_since_the_plan_keeps_it_without_trouble(world: World) -> None:
    kept = world.snapshot()
    later_folders(world)
    order, fetched = world.order(kept.snapshot.id, exact=True)
    world.write("later/deep/just now", "new")
    applied = world.apply(order, fetched)
    assert applied.troubles == ()
    assert os.listdir(world.workspace / "later/deep") == ["just now"]
    assert not (world.workspace / "nothing in it").exists()
    undone = world.restores.undo(applied.restore)
    assert undone.kept == ()
    assert (world.workspace / "later/deep/just now").read_text() == "new"
    assert (world.workspace / "later/deep/er/file").read_text() == "later"
    assert (world.workspace / "nothing in it").is_dir()


def test_exact_of_a_partial_snapshot_is_refused(world: World) -> None:
    kept = world.snapshot()
    evidence: dict[str, Json] = {"root": kept.snapshot.root.hex, "partial": True}
    world.record.ledger.append(Draft("backup.created", kept.snapshot.id, evidence))
    with pytest.raises(ExactOfPartial):
        world.restores.plan(kept.snapshot.id, exact=True)


def test_only_fetches_just_what_is_needed(world: World) -> None:
    for number in range(40):
        world.write(f"big/{number:02}", os.urandom(40_000))
    world.write("one/deep/file.md", "wanted")
    kept = world.snapshot()
    shutil.rmtree(world.workspace / "one")
    world.write("big/07", "changed")
    applied = world.restore(kept.snapshot.id, only=["workspace/one"])
    assert applied.wrote == 1
    assert (world.workspace / "one/deep/file.md").read_text() == "wanted"
    assert (world.workspace / "big/07").read_text() == "changed"
    reading = world.reading(kept)
    world.restores.fetching.fetch(reading, ["workspace/one/deep/file.md"])
    assert reading.fetched < kept.snapshot.size / 10
    with pytest.raises(NoSuchEntry):
        world.restores.plan(kept.snapshot.id, only=["workspace/nothing"])


def test_one_file_is_read_by_a_few_stretches_of_the_manifest(world: World) -> None:
    for number in range(1500):
        world.write(f"many/{number:05}/file.txt", f"content {number}")
    kept = world.snapshot()
    whole = world.reading(kept)
    _ = whole.contents
    for number in (0, 1, 749, 1498, 1499):
        reading = world.reading(kept)
        wanted = f"files/workspace/many/{number:05}/file.txt"
        assert reading.packed(wanted) == whole.contents.files[wanted]
        assert b"".join(reading.read(wanted)) == f"content {number}".encode()
        assert reading.fetched < whole.fetched / 2
    assert world.reading(kept).packed("files/workspace/many/0") is None
    assert world.reading(kept).packed("files/zzz") is None


def test_owner_is_that_of_what_is_replaced_else_of_the_folder(world: World) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root may give files away")
    world.write("mine/a", "kept")
    world.write("mine/b", "kept")
    kept = world.snapshot()
    path = world.write("mine/a", "changed")
    os.chown(path, 1001, 1002)
    os.chown(world.workspace / "mine", 1003, 1004)
    (world.workspace / "mine/b").unlink()
    world.restore(kept.snapshot.id)
    assert (os.stat(path).st_uid, os.stat(path).st_gid) == (1001, 1002)
    other = os.stat(world.workspace / "mine/b")
    assert (other.st_uid, other.st_gid) == (1003, 1004)


def test_setuid_never_comes_back(world: World) -> None:
    path = world.write("tool", "kept")
    path.chmod(0o6755)
    kept = world.snapshot()
    path.unlink()
    world.restore(kept.snapshot.id)
    assert stat.S_IMODE(path.stat().st_mode) == 0o755


def test_machine_state_lies_beside_and_one_event_names_both_heads(world: World) -> None:
    world.snapshot()
    kept = world.snapshot()  # its ledger has events already
    root_json = (world.workspace / ".muniment/root.json").read_bytes()
    ledger = (world.workspace / ".muniment/ledger/000001.jsonl").read_bytes()
    shutil.rmtree(world.workspace / "memory")
    applied = world.restore(kept.snapshot.id)
    assert (world.workspace / ".muniment/root.json").read_bytes() == root_json
    assert (world.workspace / ".muniment/ledger/000001.jsonl").read_bytes().startswith(ledger)
    aside = world.workspace / ".muniment/restored" / kept.snapshot.id / "workspace/.muniment"
    assert (aside / "root.json").read_bytes() == root_json
    copied = (aside / "ledger/000001.jsonl").read_bytes()
    assert ledger.startswith(copied) and copied
    event = next(one for one in world.record.ledger.events() if one.event_id == applied.event_id)
    assert event.kind == "backup.restored"
    heads = [one.sha256 for one in world.record.ledger.events()]
    assert event.evidence["snapshot_ledger_head"] in heads
    assert heads.index(event.evidence["snapshot_ledger_head"]) < heads.index(event.evidence["ledger_head"])


def test_the_rules_file_comes_back_as_any_file(world: World) -> None:
    kept = world.snapshot()
    rules = world.places.rules.read_bytes()
    world.places.rules.write_text("changed")
    world.restore(kept.snapshot.id)
    assert world.places.rules.read_bytes() == rules


def test_an_agent_may_bring_new_files_and_replaces_only_where_the_setting_says_so(world: World) -> None:
    world.write("a", "kept")
    world.write("b", "kept")
    kept = world.snapshot()
    (world.workspace / "a").unlink()
    order, fetched = world.order(kept.snapshot.id, run=False)
    assert world.apply(order, fetched, WitnessKind.RELAYED).wrote == 1
    world.write("b", "mine")
    order, fetched = world.order(kept.snapshot.id)
    with pytest.raises(NotConfirmed):
        world.apply(order, fetched, WitnessKind.RELAYED)
    assert (world.workspace / "b").read_text() == "mine"
    assert not world.places.restore_log.exists()
    world.relayed = (*world.relayed, "restore")
    assert world.apply(order, fetched, WitnessKind.RELAYED).wrote == 1


def test_what_was_confirmed_is_what_is_done(world: World) -> None:
    world.write("a", "kept")
    world.write("b", "kept")
    kept = world.snapshot()
    for name in "ab":
        (world.workspace / name).unlink()
    plan, fetched = world.restores.plan(kept.snapshot.id)
    less = choose(plan, overwrite=False, only=frozenset())
    world.record.consents.give("restore", less.shown, WitnessKind.TERMINAL)
    (world.workspace / "a").write_text("came meanwhile")
    plan, fetched = world.restores.plan(kept.snapshot.id)
    more = choose(plan, overwrite=True)
    with pytest.raises(NotConfirmed):
        world.restores.apply(more, fetched)
    assert (world.workspace / "a").read_text() == "came meanwhile"


def test_files_that_run_by_themselves_are_marked_and_left_unless_they_are_asked_for(world: World) -> None:
    for name in ("setup.sh", ".git/hooks/post-checkout", "sub/.git/config", "sub/.git/HEAD"):
        world.write(name, name)
    kept = world.snapshot()
    for name in ("setup.sh", ".git/hooks/post-checkout", "sub/.git/config", "sub/.git/HEAD"):
        (world.workspace / name).unlink()
    plan, fetched = world.restores.plan(kept.snapshot.id)
    assert {item.step.rel for item in plan.items if item.runs and item.status is Status.NEW} == {
        "setup.sh",
        ".git/hooks/post-checkout",
        "sub/.git/config",
    }
    order = choose(plan, overwrite=True)
    assert {step.rel for step in order.steps} == {"sub/.git/HEAD"}
    assert order.skipped == 3
    order = choose(plan, overwrite=True, run=True)
    with pytest.raises(NotConfirmed):
        world.apply(order, fetched, WitnessKind.RELAYED)


def test_a_file_that_appears_meanwhile_is_not_overwritten(world: World) -> None:
    world.write("a", "kept")
    world.write("b", "kept")
    kept = world.snapshot()
    for name in "ab":
        (world.workspace / name).unlink()
    order, fetched = world.order(kept.snapshot.id)
    world.write("a", "came meanwhile")
    applied = world.apply(order, fetched)
    assert [(one.rel, one.code) for one in applied.troubles] == [("a", "ALREADY_THERE")]
    assert (world.workspace / "a").read_text() == "came meanwhile"
    assert (world.workspace / "b").read_text() == "kept"
    assert world.restores.half() is not None


def test_a_file_that_changes_meanwhile_is_not_overwritten(world: World) -> None:
    world.write("a", "kept")
    kept = world.snapshot()
    world.write("a", "shown")
    order, fetched = world.order(kept.snapshot.id)
    world.write("a", "written after it was shown")
    applied = world.apply(order, fetched)
    assert [(one.rel, one.code) for one in applied.troubles] == [("a", "SOURCE_CHANGED")]
    assert (world.workspace / "a").read_text() == "written after it was shown"
    world.restores.leave()
    assert world.restores.half() is None
    assert sorted(os.listdir(world.workspace)) == [".muniment", ".restore", "a", "memory"]


def test_a_parent_that_became_a_link_leads_nowhere(world: World, tmp_path: Path) -> None:
    world.write("folder/a", "kept")
    world.write("folder/b", "kept")
    kept = world.snapshot()
    world.write("folder/a", "mine")
    (world.workspace / "folder/b").unlink()
    order, fetched = world.order(kept.snapshot.id)
    outside = tmp_path / "outside"
    shutil.move(world.workspace / "folder", outside)
    (world.workspace / "folder").symlink_to(outside)
    before = shape(outside)
    applied = world.apply(order, fetched)
    assert {(one.rel, one.code) for one in applied.troubles} == {
        ("folder/a", "OUTSIDE_ROOT"),
        ("folder/b", "OUTSIDE_ROOT"),
    }
    assert shape(outside) == before
    world.restores.leave()
    plan, _ = world.restores.plan(kept.snapshot.id)
    blocked = [item.step.rel for item in plan.of(Status.BLOCKED)]
    assert blocked == ["folder", "folder/a", "folder/b"]


def test_a_link_in_the_place_of_a_file_is_replaced_and_not_followed(world: World, tmp_path: Path) -> None:
    world.write("a", "kept")
    kept = world.snapshot()
    outside = tmp_path / "outside"
    outside.write_text("not ours")
    (world.workspace / "a").unlink()
    (world.workspace / "a").symlink_to(outside)
    applied = world.restore(kept.snapshot.id)
    assert not (world.workspace / "a").is_symlink()
    assert outside.read_text() == "not ours"
    world.restores.undo(applied.restore)
    assert os.readlink(world.workspace / "a") == str(outside)


@pytest.mark.parametrize("harm", ["changed", "extra", "missing", "link", "inventory"])
def test_what_was_tampered_with_after_fetching_is_never_restored(world: World, harm: str) -> None:
    world.write("a", "kept")
    world.write("b", "kept too")
    (world.workspace / "l").symlink_to("a")
    kept = world.snapshot()
    for name in "abl":
        (world.workspace / name).unlink()
    order, fetched = world.order(kept.snapshot.id)
    place = world.workspace / ".restore" / kept.snapshot.id / "files/workspace"
    if harm == "changed":
        (place / "b").write_text("tampered")
    elif harm == "extra":
        (place / "c").write_text("tampered")
    elif harm == "missing":
        (place / "b").unlink()
    elif harm == "link":
        (place / "l").unlink()
        (place / "l").symlink_to("/etc/passwd")
    else:
        inventory = world.workspace / ".muniment/restore" / f"{kept.snapshot.id}.jsonl"
        inventory.write_bytes(inventory.read_bytes().replace(b"kept", b"kepT"))
    if harm in ("changed", "missing"):
        with pytest.raises(FetchedDiffers):
            world.apply(order, fetched)
        assert not (world.workspace / "b").exists()
        # The next run fetches anew, and goes on to the end.
        assert world.restores.go_on().troubles == ()
    else:
        world.apply(order, fetched)
        assert not (world.workspace / "c").exists()
    assert (world.workspace / "b").read_text() == "kept too"
    assert os.readlink(world.workspace / "l") == "a"


def test_two_restores_at_once_and_a_running_create(world: World) -> None:
    world.write("a", "kept")
    kept = world.snapshot()
    (world.workspace / "a").unlink()
    order, fetched = world.order(kept.snapshot.id)
    world.record.consents.give("restore", order.shown, WitnessKind.TERMINAL)
    with world.record.working(), pytest.raises(Locked):
        world.restores.apply(order, fetched)
    assert not (world.workspace / "a").exists()
    with world.record.working(alone=True), pytest.raises(Locked):
        world.restores.plan(kept.snapshot.id)
    assert world.restores.apply(order, fetched).wrote == 1


def test_a_read_only_file_is_replaced(world: World) -> None:
    path = world.write("a", "kept")
    path.chmod(0o444)
    kept = world.snapshot()
    path.chmod(0o644)
    path.write_text("mine")
    path.chmod(0o444)
    assert world.restore(kept.snapshot.id).troubles == ()
    assert path.read_text() == "kept"


def test_a_folder_where_a_file_was_is_named_and_left(world: World) -> None:
    world.write("a", "kept")
    kept = world.snapshot()
    (world.workspace / "a").unlink()
    world.write("a/inside", "mine")
    plan, _ = world.restores.plan(kept.snapshot.id)
    blocked = [item.step.rel for item in plan.of(Status.BLOCKED)]
    assert blocked == ["a"]
    assert choose(plan, overwrite=True, run=True).steps == ()


def test_a_claimed_path_stays(world: World) -> None:
    world.write("out/result", "kept")
    kept = world.snapshot()
    world.write("out/result", "a job writes it")
    world.record.claims.make(RelPath.parse("out"), "job:20261130-x")
    plan, _ = world.restores.plan(kept.snapshot.id)
    (item,) = plan.of(Status.BLOCKED)
    assert item.step.rel == "out/result" and "job:20261130-x" in str(item.why)


def test_into_a_fresh_folder(world: World, tmp_path: Path) -> None:
    world.write("a", "kept")
    kept = world.snapshot()
    target = tmp_path / "elsewhere"
    verified, place = world.restores.into(kept.snapshot.id, target)
    assert place == target
    expected = shape(world.workspace)
    assert shape(target / "files/workspace") == expected
    assert verified.files == kept.files
    with pytest.raises(TargetNotEmpty):
        world.restores.into(kept.snapshot.id, target)


def test_a_snapshot_that_changed_under_its_id_is_refused_when_going_on(world: World) -> None:
    world.write("a", "kept")
    kept = world.snapshot()
    world.write("b", "other")
    other = world.snapshot()
    (world.workspace / "a").unlink()
    order, fetched = world.order(kept.snapshot.id)
    world.write("a", "in the way")
    assert world.apply(order, fetched).troubles
    world.restores.fetching.drop(world.restores.fetching.place(kept.snapshot.id))
    (world.workspace / "a").unlink()
    room = Restores(world.record, world.places, lambda _: world.reading(other), world.relayed)
    with pytest.raises(RestoreStale):
        room.go_on()
    assert not (world.workspace / "a").exists()
