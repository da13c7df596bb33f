"""Kept or taken back and killed before any change of the disk: `doctor` ends it, and no byte is lost."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable

import pytest
from tests.archive.scene import FALLBACK, Scene, content, killed_at, open_scene, rel, swift_scene

from muniment.archive.check import find_entry
from muniment.archive.entries import KEPT, UNDONE
from muniment.archive.halfmove import KEEP_ACT
from muniment.archive.keepers import undo
from muniment.desk.doctor import Level, examine
from muniment.disk.tree import measure
from muniment.hosts.session import Session, SessionSource
from muniment.ids import new_reference

CRON = Session("run7", SessionSource.HOST, key="agent:main:cron:nightly:run:run7", mirror_id="nightly")
TREE = {"a.txt": b"alpha\n", "deep/b.bin": bytes(range(256)) * 20, "deep/er/c.md": b"# C\n", "empty": b""}


def make_file(scene: Scene) -> list[str]:
    scene.write("report.md")
    return ["report.md"]


def make_tree(scene: Scene) -> list[str]:
    for name, data in TREE.items():
        scene.write(f"results/{name}", data)
    return ["results"]


def make_linked_tree(scene: Scene) -> list[str]:
    """One of its files has a name outside, so the folder goes by copying."""
    names = make_tree(scene)
    os.link(scene.path / "results/a.txt", scene.path / "elsewhere.txt")
    return names


def make_linked_file(scene: Scene) -> list[str]:
    names = make_file(scene)
    os.link(scene.path / "report.md", scene.path / "elsewhere.md")
    return names


def make_three(scene: Scene) -> list[str]:
    scene.write("PLAN.md", b"# Plan\n")
    return ["PLAN.md", *make_file(scene), *make_tree(scene)]


def doctor(scene: Scene) -> None:
    """One run, which finds the ledger whole and nothing that it could not end."""
    for one in examine(scene.workspace, mend=True):
        assert one.level is not Level.WRONG, one


def good_after_doctor(scene: Scene) -> None:
    """A second run finds nothing to do, and nothing unfinished is anywhere."""
    for _ in range(2):
        found = examine(scene.workspace, mend=True)
        assert not [one for one in found if one.level is Level.WRONG], found
    assert {one.level for one in found} <= {Level.GOOD, Level.WARNING}, found
    assert [str(one.message) for one in found if one.subject == "half-done acts"] == ["none"]
    assert scene.journals() == [] and scene.unfinished() == [] and scene.sound()
    for stamp in scene.path.glob("archives/*/*/"):
        assert list(stamp.iterdir()), f"an empty timestamp is left: {stamp}"


def is_whole_somewhere(scene: Scene, wanted: dict[str, tuple[str, bytes]]) -> bool:
    """Whether the whole content stands anywhere, under whatever name."""
    return any(content(each) == wanted for each in [scene.path, *scene.path.rglob("*")])


def check_kept(scene: Scene, names: list[str], wanted: dict[str, dict[str, tuple[str, bytes]]]) -> int:
    """Each deliverable is wholly at its source and not in the ledger, or wholly at its address, once
    in the ledger, and gone from its source; how many were kept."""
    kept = 0
    events = {str(event.evidence["from"]): event for event in scene.events(KEPT)}
    assert len(events) == len(scene.events(KEPT)), "kept twice"
    for name in names:
        at_source = content(scene.path / name)
        if name in events:
            kept += 1
            evidence = events[name].evidence
            assert at_source == {}, f"{name} is kept and still at its source"
            assert content(scene.path / evidence["to"]) == wanted[name]
            if "mirrored" in evidence:
                assert content(scene.path / evidence["mirrored"]) == wanted[name]
        else:
            assert at_source == wanted[name], f"{name} is neither at its source nor kept"
    left = {each.name for each in scene.path.glob("archives/*/*/*")} | {
        each.name for each in scene.path.glob("archives/*/PLAN.md")
    }
    assert left == set(events), "something lies in the archives that the ledger does not know"
    return kept


CASES = [
    (make_file, FALLBACK),
    (make_tree, FALLBACK),
    (make_linked_file, FALLBACK),
    (make_linked_tree, FALLBACK),
    (make_three, FALLBACK),
    (make_file, CRON),
    (make_linked_tree, CRON),
]
NAMES = ["file", "folder", "linked file", "linked folder", "three", "mirrored file", "mirrored folder"]


def kill_keeping(make: Callable[[Scene], list[str]], session: Session, first: int, step: int) -> None:
    """Kill the act before every so manieth change of the disk, until it gets through."""
    endings: set[int] = set()
    for number in range(first, 1000, step):
        with swift_scene() as scene:
            names = make(scene)
            wanted = {name: content(scene.path / name) for name in names}

            def act(scene: Scene = scene, names: list[str] = names) -> None:
                with open_scene(scene.path) as own:
                    own.keep(*names, session=session)

            killed = killed_at(number, act)
            for name in names:
                assert is_whole_somewhere(scene, wanted[name]), f"{name} is whole nowhere"
            doctor(scene)
            endings.add(check_kept(scene, names, wanted))
            good_after_doctor(scene)
            check_kept(scene, names, wanted)
            if not killed:
                break
    else:
        pytest.fail("the act never got through")
    assert endings >= {0, len(names)}, "both ends are reached"
    assert number > 20


@pytest.mark.parametrize(("make", "session"), CASES, ids=NAMES)
def test_keeping_killed_at_many_points_is_ended(make: Callable[[Scene], list[str]], session: Session) -> None:
    kill_keeping(make, session, 2, 3)


@pytest.mark.long
@pytest.mark.parametrize(("make", "session"), CASES, ids=NAMES)
def test_keeping_killed_anywhere_is_ended(make: Callable[[Scene], list[str]], session: Session) -> None:
    kill_keeping(make, session, 1, 1)


def kill_undoing(linked: bool, step: int) -> None:
    """The same of taking back."""
    endings: set[bool] = set()
    for number in range(1, 1000, step):
        with swift_scene() as scene:
            (name,) = make_tree(scene)
            wanted = content(scene.path / name)
            (receipt,) = scene.keep(name)
            address = scene.path / receipt.address.path.posix
            if linked:
                os.link(address / "a.txt", scene.path / "elsewhere.txt")

            def act(scene: Scene = scene, reference: str = receipt.reference) -> None:
                with open_scene(scene.path) as own:
                    undo(own.workspace, find_entry(own.workspace, reference))

            killed = killed_at(number, act)
            assert is_whole_somewhere(scene, wanted)
            doctor(scene)
            undone = bool(scene.events(UNDONE))
            endings.add(undone)
            assert len(scene.events(UNDONE)) <= 1
            assert content(address) == ({} if undone else wanted)
            # What was copied and not reported may stay; it is never a part of the thing.
            assert content(scene.path / name) in ([wanted] if undone else [{}, wanted])
            good_after_doctor(scene)
            if not killed:
                break
    assert endings == {False, True} and number > 15


@pytest.mark.parametrize("linked", [False, True], ids=["by renaming", "by copying"])
def test_taking_back_killed_at_many_points_is_ended(linked: bool) -> None:
    kill_undoing(linked, 3)


@pytest.mark.long
@pytest.mark.parametrize("linked", [False, True], ids=["by renaming", "by copying"])
def test_taking_back_killed_anywhere_is_ended(linked: bool) -> None:
    kill_undoing(linked, 1)


def kill_act_and_doctor(make: Callable[[Scene], list[str]], step: int) -> int:
    """Kill the act at every so manieth change and the doctor at every second of its own; how many."""
    tried = 0
    for first in range(1, 1000, step):
        reached = True
        for second in range(1, 100, 2):
            with swift_scene() as scene:
                names = make(scene)
                wanted = {name: content(scene.path / name) for name in names}

                def act(scene: Scene = scene, names: list[str] = names) -> None:
                    with open_scene(scene.path) as own:
                        own.keep(*names)

                def mend(scene: Scene = scene) -> None:
                    with open_scene(scene.path) as own:
                        examine(own.workspace, mend=True)

                reached = killed_at(first, act)
                again = killed_at(second, mend)
                doctor(scene)
                check_kept(scene, names, wanted)
                good_after_doctor(scene)
                tried += 1
            if not again or not reached:
                break
        if not reached:
            break
    return tried


def test_a_doctor_killed_too_goes_on_where_it_was() -> None:
    assert kill_act_and_doctor(make_linked_tree, 7) > 15


def test_a_doctor_killed_while_it_calls_off_a_copy_goes_on_where_it_was() -> None:
    """The copy is whole at its address, the source too; the doctor dies at each of its changes."""
    for number in range(1, 100):
        with swift_scene() as scene:
            (name,) = make_tree(scene)
            wanted = {name: content(scene.path / name)}
            address = rel("archives/abc/2026-11-30-12-00-00/results")
            tree = scene.workspace.tables.keep(measure(scene.root, rel(name)).table).hex
            after = {"path": address.posix, "tree": tree, "reference": new_reference("arc", scene.now[0])}
            scene.workspace.journal.begin(
                KEEP_ACT,
                {"path": name, "tree": tree},
                {**after, "mirror": None, "track": "file", "name": name},
                scene.now[0],
                os.urandom,
            )
            shutil.copytree(scene.path / name, scene.path / address.posix)

            def mend(scene: Scene = scene) -> None:
                with open_scene(scene.path) as own:
                    examine(own.workspace, mend=True)

            killed = killed_at(number, mend)
            copy = content(scene.path / address.posix)
            assert copy in ({}, wanted[name]), "a part of a folder under the folder's own name"
            doctor(scene)
            assert check_kept(scene, [name], wanted) == 0
            good_after_doctor(scene)
            if not killed:
                break
    assert number > 5


@pytest.mark.long
@pytest.mark.parametrize("make", [make_linked_tree, make_three], ids=["copied folder", "three"])
def test_a_doctor_killed_anywhere_goes_on_where_it_was(make: Callable[[Scene], list[str]]) -> None:
    assert kill_act_and_doctor(make, 1) > 100
