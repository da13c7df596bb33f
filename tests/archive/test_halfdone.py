"""Half-done moves: which state ends how, what is never ended, and journals that nobody here wrote."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.archive.command import muniment
from tests.archive.scene import FALLBACK, Scene, content, look, open_scene, rel

from muniment.archive.check import check, entries
from muniment.archive.entries import KEPT
from muniment.archive.halfmove import KEEP_ACT, UNDO_ACT
from muniment.archive.model import Standing
from muniment.archive.recover import Look, Step, judge
from muniment.canonical import canonical
from muniment.desk.doctor import Finding, Level, examine
from muniment.disk.copy import staging_of
from muniment.disk.journal import Act
from muniment.disk.move import aside_of
from muniment.disk.tree import measure
from muniment.ids import new_reference

STAMP = f"archives/{FALLBACK.archive_id}/2026-11-30-12-00-00"
CONTENT = {"a.txt": b"alpha\n", "deep/b.txt": b"beta\n", "deep/c.txt": b"gamma\n"}


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    with open_scene(tmp_path / "w") as opened:
        yield opened


def put(scene: Scene, place: str, data: dict[str, bytes] | None = None) -> None:
    for name, each in (CONTENT if data is None else data).items():
        scene.write(f"{place}/{name}", each)


def begin(scene: Scene, source: str = "results", target: str = f"{STAMP}/results", **more: Any) -> Act:
    """A journal as a call that was killed right after it leaves it; the content stands at the source."""
    tree = scene.workspace.tables.keep(measure(scene.root, rel(source)).table)
    reference = new_reference("arc", scene.now[0])
    before = {"path": source, "tree": tree.hex}
    after: dict[str, Any] = {"path": target, "tree": tree.hex, "reference": reference}
    after |= {"mirror": None, "track": "file", "name": "results"}
    return scene.workspace.journal.begin(
        str(more.pop("kind", KEEP_ACT)), before, {**after, **more}, scene.now[0], os.urandom
    )


def doctor(scene: Scene, mend: bool = True) -> list[Finding]:
    return [one for one in examine(scene.workspace, mend=mend) if one.level is not Level.GOOD]


def move(scene: Scene, source: str, target: str) -> None:
    (scene.path / target).parent.mkdir(parents=True, exist_ok=True)
    (scene.path / source).rename(scene.path / target)


# The verdicts


def test_no_verdict_gives_up_the_last_whole_content() -> None:
    """Of all combinations: what is removed is never the only whole thing, and what fits nothing stays."""
    for source in Look:
        for aside in Look:
            for target in Look:
                step = judge(source, aside, target)
                if step in (Step.RECORD, Step.CLEAR_AND_RECORD):
                    assert target is Look.WHOLE
                    assert Look.OTHER not in (source, aside), "what somebody else wrote would go"
                if step is Step.CALL_OFF:
                    assert source is not Look.NOTHING
                    assert source is Look.WHOLE or target is Look.NOTHING
                if step is Step.PUT_BACK:
                    assert source is Look.NOTHING and aside in (Look.WHOLE, Look.OTHER)
                if source is not Look.NOTHING and aside is not Look.NOTHING:
                    assert step is Step.NOTHING_FITS


def test_every_state_of_a_killed_move_has_an_end() -> None:
    nothing, whole, part, other = Look.NOTHING, Look.WHOLE, Look.PART, Look.OTHER
    expected = {
        (whole, nothing, nothing): Step.CALL_OFF,  # before the rename, or while the copy grew
        (nothing, nothing, whole): Step.RECORD,  # renamed; or copied, and the source is gone
        (whole, nothing, whole): Step.CALL_OFF,  # copied, the source untouched
        (nothing, whole, whole): Step.CLEAR_AND_RECORD,  # the source set aside
        (nothing, part, whole): Step.CLEAR_AND_RECORD,  # and half removed
        (part, nothing, whole): Step.CLEAR_AND_RECORD,  # half removed where it can not be renamed
        (nothing, other, whole): Step.PUT_BACK,  # set aside, and found to have changed
        (whole, nothing, other): Step.CALL_OFF,  # another has the address
        (other, nothing, nothing): Step.CALL_OFF,  # written anew by its owner after the kill
        (nothing, whole, nothing): Step.PUT_BACK,
        (nothing, nothing, nothing): Step.NOTHING_FITS,
        (nothing, nothing, other): Step.NOTHING_FITS,
        (other, nothing, whole): Step.NOTHING_FITS,
        (nothing, whole, other): Step.NOTHING_FITS,
        (nothing, part, nothing): Step.NOTHING_FITS,
    }
    assert {state: judge(*state) for state in expected} == expected


# States, built one by one


def test_copied_and_not_given_up_is_called_off(scene: Scene) -> None:
    put(scene, "results")
    act = begin(scene)
    put(scene, f"{STAMP}/results")
    put(scene, staging_of(rel(f"{STAMP}/results"), act.act_id).posix, {"a.txt": b"al"})
    before = look(scene.path / "results")
    (found,) = doctor(scene)
    assert found.level is Level.MENDED and "called off" in str(found.message)
    assert look(scene.path / "results") == before
    assert scene.archived() == {} and scene.unfinished() == [] and scene.journals() == []
    assert doctor(scene) == [] and scene.events() == []


def test_a_folder_of_which_the_rest_is_still_to_be_removed_is_finished(scene: Scene) -> None:
    put(scene, "results")
    act = begin(scene)
    aside = aside_of(rel("results"), act.act_id).posix
    move(scene, "results", aside)
    put(scene, f"{STAMP}/results")
    (scene.path / aside / "a.txt").unlink()
    (found,) = doctor(scene)
    assert "finished" in str(found.message)
    (event,) = scene.events()
    assert event.evidence["recovered_from"] == act.act_id and event.subject == act.after["reference"]
    assert not (scene.path / aside).exists() and scene.sound()
    (checked,) = check(scene.workspace, entries(scene.workspace))
    assert checked.standing is Standing.INTACT


def test_a_source_that_changed_after_it_was_copied_has_its_name_again(scene: Scene) -> None:
    put(scene, "results")
    act = begin(scene)
    aside = aside_of(rel("results"), act.act_id).posix
    put(scene, f"{STAMP}/results")
    scene.write("results/late.txt", b"late\n")
    move(scene, "results", aside)
    (found,) = doctor(scene)
    assert "called off" in str(found.message)
    assert (scene.path / "results/late.txt").read_bytes() == b"late\n"
    assert scene.archived() == {} and scene.events() == []


def test_what_its_owner_wrote_after_the_kill_is_left_alone(scene: Scene) -> None:
    put(scene, "results")
    begin(scene)
    scene.write("results/a.txt", b"rewritten\n")
    (found,) = doctor(scene)
    assert "called off" in str(found.message)
    assert (scene.path / "results/a.txt").read_bytes() == b"rewritten\n"


def test_what_the_ledger_has_is_done_whatever_stands_at_the_source_now(scene: Scene) -> None:
    """Killed between the ledger and the end of its journal; then the same report was written again."""
    scene.write("report.md")
    scene.keep("report.md")
    (event,) = scene.events()
    scene.write("report.md")
    begin(scene, "report.md", event.evidence["to"], reference=event.subject, name="report.md")
    (found,) = doctor(scene)
    assert "finished" in str(found.message)
    assert (scene.path / event.evidence["to"]).exists() and (scene.path / "report.md").exists()
    assert len(scene.events()) == 1
    (checked,) = check(scene.workspace, entries(scene.workspace))
    assert checked.standing is Standing.INTACT


def test_the_plan_that_was_first_is_never_removed_for_the_one_that_was_killed(scene: Scene) -> None:
    """Two agents wrote the same plan; one archived it, the other was killed before its rename."""
    scene.write("mine/PLAN.md", b"# Plan\n")
    scene.write("PLAN.md", b"# Plan\n")
    scene.keep("PLAN.md")
    address = f"archives/{FALLBACK.archive_id}/PLAN.md"
    begin(scene, "mine/PLAN.md", address, track="plan", name="PLAN.md")
    (found,) = doctor(scene)
    assert "called off" in str(found.message)
    assert (scene.path / address).read_bytes() == b"# Plan\n" and (scene.path / "mine/PLAN.md").exists()
    (checked,) = check(scene.workspace, entries(scene.workspace))
    assert checked.standing is Standing.INTACT


def test_two_that_were_killed_for_one_address_do_not_take_it_from_each_other(scene: Scene) -> None:
    scene.write("mine/PLAN.md", b"# Plan\n")
    scene.write("PLAN.md", b"# Plan\n")
    address = f"archives/{FALLBACK.archive_id}/PLAN.md"
    begin(scene, "mine/PLAN.md", address, track="plan", name="PLAN.md")
    scene.later()
    begin(scene, "PLAN.md", address, track="plan", name="PLAN.md")
    move(scene, "PLAN.md", address)
    assert {one.level for one in doctor(scene)} == {Level.MENDED}
    assert (scene.path / address).exists() and (scene.path / "mine/PLAN.md").exists()
    assert [event.evidence["from"] for event in scene.events()] == ["PLAN.md"]


def test_the_loser_of_a_race_who_was_killed_is_called_off(scene: Scene) -> None:
    """Its source went into the archive by another call, as the ledger says."""
    scene.write("report.md")
    begin(scene, "report.md", f"{STAMP}/report.md", name="report.md")
    scene.later()
    scene.keep("report.md")
    (found,) = doctor(scene)
    assert "called off" in str(found.message) and len(scene.events()) == 1
    (checked,) = check(scene.workspace, entries(scene.workspace))
    assert checked.standing is Standing.INTACT


def test_a_mirror_goes_with_what_is_called_off_and_is_named_only_when_it_is_there(scene: Scene) -> None:
    mirror = "archives/nightly/2026-11-30-12-00-00/results"
    put(scene, "results")
    begin(scene, mirror=mirror)
    put(scene, mirror)
    assert "called off" in str(doctor(scene)[0].message)
    assert scene.archived() == {}
    for with_mirror in (True, False):
        scene.later()
        stamp = f"archives/x/2026-11-30-12-0{1 + with_mirror}-00"
        place = f"archives/nightly/2026-11-30-12-0{1 + with_mirror}-00/results"
        put(scene, "results")
        begin(scene, "results", f"{stamp}/results", mirror=place)
        if with_mirror:
            put(scene, place)
        move(scene, "results", f"{stamp}/results")
        assert "finished" in str(doctor(scene)[0].message)
        assert scene.events()[-1].evidence.get("mirrored") == (place if with_mirror else None)


# What is never ended


@pytest.mark.parametrize(
    "state", ["both gone", "another thing at the target", "changed source and a copy", "aside and source"]
)
def test_what_fits_neither_end_is_named_and_not_touched(scene: Scene, state: str) -> None:
    put(scene, "results")
    act = begin(scene)
    aside = aside_of(rel("results"), act.act_id).posix
    if state == "both gone":
        (scene.path / "results").rename(scene.path.parent / "stolen")
    elif state == "another thing at the target":
        move(scene, "results", f"{STAMP}/results")
        scene.write(f"{STAMP}/results/a.txt", b"edited after the kill\n")
    elif state == "changed source and a copy":
        put(scene, f"{STAMP}/results")
        scene.write("results/a.txt", b"rewritten\n")
    else:
        put(scene, f"{STAMP}/results")
        move(scene, "results", aside)
        put(scene, "results", {"new.txt": b"new\n"})
    put(scene, staging_of(rel(f"{STAMP}/results"), act.act_id).posix)
    before = look(scene.path / "archives"), look(scene.path / "results"), look(scene.path / aside)
    for _ in range(2):
        (found,) = doctor(scene)
        assert found.level is Level.WRONG and found.subject == act.act_id
        assert f"results → {STAMP}/results" in str(found.message)
        assert (
            look(scene.path / "archives"),
            look(scene.path / "results"),
            look(scene.path / aside),
        ) == before
        assert scene.events() == [] and len(scene.journals()) == 1
    answer = muniment(scene.path, "doctor")
    assert answer.code == 4 and "half-way" in answer.out
    assert "muniment doctor" in muniment(scene.path, "status").out


def test_an_act_that_goes_on_is_left_alone(scene: Scene) -> None:
    put(scene, "results")
    begin(scene)
    (scene.path / STAMP).mkdir(parents=True)
    with open_scene(scene.path) as other, other.workspace.working():
        found = doctor(scene)
        assert {one.level for one in found} == {Level.WARNING}
        assert all("another act is going on" in str(one.message) for one in found)
        assert len(scene.journals()) == 1 and (scene.path / STAMP).exists()
    assert {one.level for one in doctor(scene)} == {Level.MENDED}
    assert not (scene.path / STAMP).exists()


def test_looking_alone_changes_nothing(scene: Scene) -> None:
    put(scene, "results")
    begin(scene)
    (scene.path / STAMP).mkdir(parents=True)
    scene.write(".muniment/.muniment-x-new.tmp", b"x")
    before = look(scene.path)
    found = doctor(scene, mend=False)
    assert {one.level for one in found} == {Level.WARNING} and len(found) == 3
    after = look(scene.path)
    after.pop(".muniment/workspace.lock", None)
    assert after == before or set(after) == set(before)
    assert muniment(scene.path, "doctor", "-n").code == 0 and len(scene.journals()) == 1


@pytest.mark.parametrize("member", ["root_id", "device"])
def test_a_journal_of_another_workspace_or_device_is_left_alone(scene: Scene, member: str) -> None:
    put(scene, "results")
    act = begin(scene)
    move(scene, "results", f"{STAMP}/results")
    path = scene.path / f".muniment/journal/{act.act_id}.json"
    value = json.loads(path.read_bytes())
    value[member] = "01KDVDNA000000000000000000" if member == "root_id" else "1"
    path.write_bytes(canonical(value) + b"\n")
    before = scene.archived()
    (found,) = doctor(scene)
    assert found.level is Level.WRONG and "another workspace" in str(found.message)
    assert scene.archived() == before and scene.events() == []


def test_an_act_of_a_kind_that_nobody_here_knows(scene: Scene) -> None:
    put(scene, "results")
    begin(scene, kind="archive.burn")
    (found,) = doctor(scene)
    assert found.level is Level.WRONG and "nothing that can be ended here" in str(found.message)
    assert content(scene.path / "results")


# Journals that nobody here wrote

HOSTILE: dict[str, dict[str, Any]] = {
    "up and out": {"before": {"path": "../victim.txt"}},
    "up in the middle": {"before": {"path": "results/../../victim.txt"}},
    "absolute": {"before": {"path": "/etc/hostname"}},
    "the workspace itself": {"before": {"path": ""}},
    "no path": {"before": {"path": None}},
    "a list": {"before": {"path": ["results"]}},
    "a number": {"before": {"path": 7}},
    "bad spelling": {"before": {"path": "a\\q"}},
    "NUL": {"before": {"path": "a\0b"}},
    "the state": {"before": {"path": ".muniment/root.json"}},
    "the archives": {"before": {"path": f"{STAMP}/x"}},
    "no digest": {"before": {"tree": "x"}},
    "another digest": {"after": {"tree": "0" * 64}},
    "target out": {"after": {"path": "../victim.txt"}},
    "target absolute": {"after": {"path": "/tmp/x"}},
    "target no archive": {"after": {"path": "victim.txt"}},
    "target in the state": {"after": {"path": ".muniment/ledger/x/results"}},
    "target is an id": {"after": {"path": f"archives/{FALLBACK.archive_id}"}},
    "target is no timestamp": {"after": {"path": "archives/x/yesterday/results"}},
    "target too deep": {"after": {"path": f"{STAMP}/results/deeper"}},
    "target is another plan": {"after": {"path": "archives/x/OTHER.md", "track": "plan"}},
    "no track": {"after": {"track": "both"}},
    "no reference": {"after": {"reference": "arc_x"}},
    "another room's reference": {"after": {"reference": "ho_01KDVDNA000000000000000000"}},
    "mirror out": {"after": {"mirror": "../../victim.txt"}},
    "mirror no archive": {"after": {"mirror": "results"}},
    "mirror of another type": {"after": {"mirror": {}}},
    "no name": {"after": {"name": 1}},
    "undo out": {"kind": UNDO_ACT, "after": {"path": "../victim.txt"}},
    "undo into the state": {"kind": UNDO_ACT, "after": {"path": ".muniment/root.json"}},
    "undo of the state": {"kind": UNDO_ACT, "before": {"path": ".muniment/root.json"}},
    "undo into the archives": {"kind": UNDO_ACT, "after": {"path": f"{STAMP}/y"}},
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_journal_that_leads_anywhere_else_moves_nothing(scene: Scene, name: str) -> None:
    put(scene, "results")
    (scene.path.parent / "victim.txt").write_bytes(b"alpha\n")
    act = begin(scene)
    put(scene, f"{STAMP}/results")
    put(scene, f"{STAMP}/x")
    path = scene.path / f".muniment/journal/{act.act_id}.json"
    value = json.loads(path.read_bytes())
    for member, change in HOSTILE[name].items():
        value[member] = {**value[member], **change} if isinstance(change, dict) else change
    path.write_text(json.dumps(value), encoding="utf-8")
    outside = look(scene.path.parent / "victim.txt")
    before = look(scene.path / "results"), scene.archived(), look(scene.path / ".muniment/root.json")
    (found,) = doctor(scene)
    assert found.level is Level.WRONG, found
    assert look(scene.path.parent / "victim.txt") == outside
    after = look(scene.path / "results"), scene.archived(), look(scene.path / ".muniment/root.json")
    assert after == before
    assert scene.events(KEPT) == [] and muniment(scene.path, "doctor").code == 4


def test_a_link_in_the_way_leads_nowhere(scene: Scene) -> None:
    """The folder of the source was swapped for a link to a folder outside that holds the same."""
    put(scene, "work/results")
    begin(scene, "work/results")
    outside = scene.path.parent / "outside"
    (scene.path / "work").rename(outside)
    (scene.path / "work").symlink_to(outside)
    before = look(outside)
    (found,) = doctor(scene)
    assert found.level is Level.WRONG and "link" in str(found.message)
    assert look(outside) == before


@pytest.mark.parametrize(
    "what", ["huge", "link", "folder", "pipe", "not JSON", "not UTF-8", "a list", "deep"]
)
def test_a_journal_that_can_not_be_read_keeps_no_other_from_being_ended(scene: Scene, what: str) -> None:
    put(scene, "results")
    begin(scene)
    odd = scene.path / ".muniment/journal/00000000000000000000000000.json"
    if what == "huge":
        odd.write_bytes(b" " * (2 << 20))
    elif what == "link":
        (scene.path.parent / "else.json").write_text("{}")
        odd.symlink_to(scene.path.parent / "else.json")
    elif what == "folder":
        odd.mkdir()
    elif what == "pipe":
        os.mkfifo(odd)
    else:
        odd.write_bytes(
            {"not JSON": b"{", "not UTF-8": b"\xff", "a list": b"[1]", "deep": b"[" * 100_000}[what]
        )
    levels = [one.level for one in doctor(scene)]
    assert levels == [Level.WRONG, Level.MENDED]
    assert scene.journals() == [odd.name] and os.path.lexists(odd)
    assert muniment(scene.path, "status").code == 0
