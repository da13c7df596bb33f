"""Several paths of one call go together or not at all; several calls at once never meet at one address."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.archive.scene import FALLBACK, Scene, content, fail_at, open_scene, rel, swift_scene, untouched

from muniment.archive.check import check, entries
from muniment.archive.entries import KEPT
from muniment.archive.errors import NotRecorded, TargetExists
from muniment.archive.model import Request, Standing
from muniment.desk.doctor import Level, examine
from muniment.disk import platform
from muniment.disk.copy import sync_tree
from muniment.disk.errors import DiskFault, NoSpace, PutBackFailed
from muniment.errors import MunimentError
from muniment.hosts.session import Session, SessionSource
from muniment.record.segments import read_range

CRON = Session("run7", SessionSource.HOST, key="agent:main:cron:nightly:run:run7", mirror_id="nightly")


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    with open_scene(tmp_path / "w") as opened:
        yield opened


# One call, several paths


def test_paths_of_one_call_share_a_timestamp_where_their_names_allow(scene: Scene) -> None:
    for name in ("a.txt", "b.txt", "sub/a.txt", "other/a.txt"):
        scene.write(name, name.encode())
    found = [one.address for one in scene.keep("a.txt", "b.txt", "sub/a.txt", "other/a.txt")]
    assert [one.subpath for one in found] == [
        "2026-11-30-12-00-00/a.txt",
        "2026-11-30-12-00-00/b.txt",
        "2026-11-30-12-00-01/a.txt",
        "2026-11-30-12-00-02/a.txt",
    ]
    said = [(scene.path / one.path.posix).read_bytes() for one in found]
    assert said == [b"a.txt", b"b.txt", b"sub/a.txt", b"other/a.txt"]


def test_simplified_names_that_meet_get_addresses_of_their_own(scene: Scene) -> None:
    scene.write("My Report.md", b"# one\n")
    scene.write("my_report.MD", b"# two\n")
    scene.write("...", b"dots")
    requests = [Request(rel(name)) for name in ("My Report.md", "my_report.MD", "...")]
    found = scene.archive(names="kweaver").keep(requests)
    assert [one.address.subpath for one in found] == [
        "2026-11-30-12-00-00/my_report.md",
        "2026-11-30-12-00-01/my_report.md",
        "2026-11-30-12-00-00/unnamed",
    ]
    assert [one.card.name for one in found] == ["My Report.md", "my_report.MD", "..."]
    assert {one.standing for one in check(scene.workspace, entries(scene.workspace))} == {Standing.INTACT}


def three(scene: Scene) -> tuple[str, ...]:
    scene.write("PLAN.md", b"# Plan\n")
    scene.write("results/a.txt")
    os.link(scene.write("linked.md"), scene.path / "other-name.md")
    return "PLAN.md", "results", "linked.md"


@pytest.mark.parametrize("session", [FALLBACK, CRON], ids=["plain", "mirrored"])
@pytest.mark.parametrize("function", ["rename_exclusive", "sync_data", "sync_file_system", "sync_folder"])
def test_a_fault_at_any_step_puts_everything_back(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, function: str, session: Session
) -> None:
    """The device fails at each use of a call in turn; what was copied comes back as another inode."""
    names = three(scene)
    before = {name: content(scene.path / name) for name in names}
    failures = 0
    for use in range(1, 300):
        scene.later()
        with monkeypatch.context() as patch:
            fail_at(patch, function, use, errno.EIO)
            try:
                scene.keep(*names, session=session)
            except MunimentError as error:
                failures += 1
                assert error.code in {"DISK", "SOURCE_NOT_REMOVED"}, error
            else:
                break
        assert {name: content(scene.path / name) for name in names} == before, use
        assert scene.archived() == {} and scene.events() == [], use
        assert scene.journals() == [] and scene.unfinished() == [] and scene.sound(), use
    else:
        pytest.fail("it never got through")
    assert failures and len(scene.events()) == 3
    assert all(not (scene.path / name).exists() for name in names)


def test_an_interruption_puts_everything_back(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    names = three(scene)
    before = {name: content(scene.path / name) for name in names}
    true = sync_tree
    calls: list[int] = []

    def interrupted(*arguments: Any) -> None:
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        true(*arguments)

    monkeypatch.setattr("muniment.disk.move.sync_tree", interrupted)
    with pytest.raises(KeyboardInterrupt):
        scene.keep(*names)
    assert {name: content(scene.path / name) for name in names} == before
    assert scene.archived() == {} and scene.journals() == [] and scene.unfinished() == []


# The ledger


def test_a_ledger_that_refuses_puts_everything_back(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    scene.write("PLAN.md", b"# Plan\n")
    scene.write("results/a.txt")

    def refuses(*_: object, mode: int) -> None:
        raise NoSpace(where="ledger")

    monkeypatch.setattr("muniment.record.ledger.append", refuses)
    with untouched(scene, "PLAN.md", "results"), pytest.raises(NoSpace):
        scene.keep("PLAN.md", "results")


@pytest.mark.parametrize("fault", [errno.EIO, errno.EMFILE, None], ids=["EIO", "EMFILE", "other bytes"])
def test_a_ledger_that_wrote_and_can_not_be_read_back(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, fault: int | None
) -> None:
    """The events stand: nothing goes back, nothing is reported, and `doctor` says what was done."""
    scene.write("report.md")
    scene.write("results/a.txt")
    wanted = {name: content(scene.path / name) for name in ("report.md", "results")}
    true = read_range

    def blind(*arguments: Any) -> bytes:
        if fault is not None:
            raise DiskFault(fault=os.strerror(fault))
        return true(*arguments)[:-1] + b"?"

    with monkeypatch.context() as patch:
        patch.setattr("muniment.record.chain.read_range", blind)
        with pytest.raises(NotRecorded) as caught:
            scene.keep("report.md", "results")
    assert "report.md → archives/" in caught.value.where
    assert len(scene.journals()) == 2 and len(scene.events()) == 2
    assert not [one for one in examine(scene.workspace, mend=True) if one.level is Level.WRONG]
    assert scene.journals() == [] and len(scene.events()) == 2
    for event in scene.events():
        assert content(scene.path / event.evidence["to"]) == wanted[event.evidence["from"]]


def test_an_old_name_that_was_taken_keeps_its_journal(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second path fails; meanwhile somebody has written a new file where the first one was."""
    scene.write("a.txt", b"first\n")
    scene.write("b.txt", b"second\n")
    scene.write("c.txt", b"third\n")
    true = sync_tree
    calls: list[int] = []

    def failing(*arguments: Any) -> None:
        calls.append(1)
        if len(calls) == 3:
            scene.write("a.txt", b"somebody's\n")
            raise NoSpace(where="c.txt")
        true(*arguments)

    monkeypatch.setattr("muniment.disk.move.sync_tree", failing)
    with pytest.raises(PutBackFailed) as caught:
        scene.keep("a.txt", "b.txt", "c.txt")
    assert "archives/" in caught.value.where and str(caught.value.message).endswith("to a.txt.")
    assert (scene.path / "a.txt").read_bytes() == b"somebody's\n"
    assert (scene.path / "b.txt").read_bytes() == b"second\n", "the others go back all the same"
    assert (scene.path / "c.txt").read_bytes() == b"third\n"
    (address,) = scene.path.glob("archives/*/*/*")
    assert address.read_bytes() == b"first\n"
    assert len(scene.journals()) == 1 and scene.events() == []
    before = scene.archived()
    (half,) = [one for one in examine(scene.workspace, mend=True) if one.level is Level.WRONG]
    assert "a.txt → archives/" in str(half.message)
    assert scene.archived() == before and (scene.path / "a.txt").read_bytes() == b"somebody's\n"
    # Once the person has put the old name right, `doctor` ends it.
    (scene.path / "a.txt").unlink()
    assert not [one for one in examine(scene.workspace, mend=True) if one.level is Level.WRONG]
    assert [event.evidence["from"] for event in scene.events()] == ["a.txt"] and scene.journals() == []


# A scheduled job


def test_a_run_is_mirrored_to_the_job_and_the_plan_lies_there_alone(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.write("PLAN.md", b"# Plan\n")
    scene.write("report.md")
    seen: list[bool] = []
    true = sync_tree

    def looking(root: Any, source: Any, kind: Any) -> None:
        if source.posix == "report.md":
            seen.append(bool(list(scene.path.glob("archives/nightly/*/report.md"))))
        true(root, source, kind)

    monkeypatch.setattr("muniment.disk.move.sync_tree", looking)
    plan, report = scene.keep("PLAN.md", "report.md", session=CRON)
    assert seen == [True], "the copy is made before the original moves"
    assert plan.address.path.posix == "archives/nightly/PLAN.md" and plan.mirrored is None
    assert report.address.path.posix == "archives/run7/2026-11-30-12-00-00/report.md"
    assert report.mirrored is not None
    told = report.to_json()
    assert told["mirrored_archive_root"] == "archives/nightly"
    assert told["mirrored_subpath"] == "2026-11-30-12-00-00/report.md"
    copies = [scene.path / report.address.path.posix, scene.path / report.mirrored.path.posix]
    assert copies[0].read_bytes() == copies[1].read_bytes()
    assert copies[0].stat().st_ino != copies[1].stat().st_ino
    assert not list(scene.path.glob("archives/run7/PLAN.md"))
    mirrored = [event.evidence.get("mirrored") for event in scene.events()]
    assert mirrored == [None, report.mirrored.path.posix]


def test_a_mirror_that_fails_moves_nothing(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    scene.write("report.md")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("muniment.disk.copy.write_all", full)
    with untouched(scene, "report.md"), pytest.raises(NoSpace) as caught:
        scene.keep("report.md", session=CRON)
    assert isinstance(caught.value.__cause__, OSError), "what the system said is kept"


def test_what_somebody_put_at_the_mirror_stays(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that appears at the claimed place meanwhile is not ours to remove."""
    scene.write("report.md")
    theirs = scene.path / "archives/nightly/2026-11-30-12-00-00/report.md"
    true = platform.rename_exclusive

    def late(source_fd: int, source: str, target_fd: int, target: str) -> None:
        if target == "report.md" and not theirs.exists():
            theirs.write_bytes(b"theirs")
        true(source_fd, source, target_fd, target)

    monkeypatch.setattr(platform, "rename_exclusive", late)
    with pytest.raises(TargetExists):
        scene.keep("report.md", session=CRON)
    assert theirs.read_bytes() == b"theirs" and (scene.path / "report.md").exists()
    assert scene.events() == [] and scene.journals() == []


# Hard links


def test_no_other_name_reaches_what_was_kept(scene: Scene) -> None:
    path = scene.write("report.md")
    other = scene.path / "other-name.md"
    os.link(path, other)
    facts = path.stat()
    (receipt,) = scene.keep("report.md")
    kept = scene.path / receipt.address.path.posix
    assert receipt.copied and kept.stat().st_ino != facts.st_ino
    assert (kept.stat().st_mode, kept.stat().st_mtime_ns) == (facts.st_mode, facts.st_mtime_ns)
    other.write_bytes(b"changed through the other name\n")
    (checked,) = check(scene.workspace, entries(scene.workspace))
    assert checked.standing is Standing.INTACT


def test_links_among_the_files_of_a_folder_are_no_names_outside(scene: Scene) -> None:
    os.link(scene.write("results/a.txt"), scene.path / "results/b.txt")
    inode = (scene.path / "results/a.txt").stat().st_ino
    (receipt,) = scene.keep("results")
    assert not receipt.copied
    kept = scene.path / receipt.address.path.posix
    assert (kept / "a.txt").stat().st_ino == (kept / "b.txt").stat().st_ino == inode


# Several processes

_ONE = """
import os, sys
from datetime import UTC, datetime
from muniment.archive.model import Request
from muniment.archive.service import Archive
from muniment.disk.root import Root
from muniment.errors import MunimentError
from muniment.hosts.session import Session, SessionSource
from muniment.path import RelPath
from muniment.record.state import open_workspace
noon = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
place, count = sys.argv[1], int(sys.argv[2])
sys.stdout.write("ready\\n"); sys.stdout.flush(); sys.stdin.read(1)
children = []
for number in range(count):
    child = os.fork()
    if child:
        children.append(child)
        continue
    status = 1
    try:
        root = Root.open(place)
        room = Archive(open_workspace(root, clock=lambda: noon), lambda: Session("abc", SessionSource.HOST),
                       local=lambda moment: moment)
        name = sys.argv[3].format(os.environ["WHO"], number)
        room.keep([Request(RelPath.parse(name))])
        status = 0
    except MunimentError as error:
        status = {"TARGET_EXISTS": 5, "MISSING_SOURCE": 3}.get(error.code, 1)
        if status == 1:
            sys.stderr.write(f"{error}\\n"); sys.stderr.flush()
    finally:
        os._exit(status)
ends = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
sys.stdout.write(" ".join(map(str, ends)) + "\\n")
"""


def at_once(place: Path, starters: int, each: int, pattern: str) -> list[int]:
    """Start processes that each fork others; all begin at one word, and their ends are told."""
    source = str(Path(__file__).parents[2] / "src")
    running = [
        subprocess.Popen(
            [sys.executable, "-c", _ONE, str(place), str(each), pattern],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": source, "WHO": str(who)},
        )
        for who in range(starters)
    ]
    for one in running:
        assert one.stdout is not None and one.stdout.readline() == "ready\n"
    told: list[tuple[str, str]] = []
    for one in running:
        assert one.stdin is not None
        one.stdin.write("!")
        one.stdin.flush()
    told = [one.communicate(timeout=120) for one in running]
    assert not any(err for _, err in told), [err for _, err in told]
    return [int(end) for out, _ in told for end in out.split()]


@pytest.fixture
def swift() -> Iterator[Scene]:
    with swift_scene() as opened:
        yield opened


def test_a_hundred_archives_of_one_name_have_a_hundred_addresses(swift: Scene) -> None:
    scene = swift
    for who in range(2):
        for number in range(50):
            scene.write(f"agent-{who}-{number}/report.md", f"# {who} {number}\n".encode())
    assert at_once(scene.path, 2, 50, "agent-{}-{}/report.md") == [0] * 100
    found = entries(scene.workspace)
    assert len({one.path for one in found}) == 100
    assert {one.standing for one in check(scene.workspace, found)} == {Standing.INTACT}
    for one in found:
        _, agent, run = one.origin.parts[0].split("-")
        assert (scene.path / one.path.posix).read_bytes() == f"# {agent} {run}\n".encode()
    assert scene.sound() and scene.journals() == [] and scene.unfinished() == []


def test_two_plans_at_once_are_one_plan() -> None:
    for _ in range(3):
        with swift_scene() as own:
            own.write("agent-0-0/PLAN.md", b"# zero\n")
            own.write("agent-1-0/PLAN.md", b"# one\n")
            assert sorted(at_once(own.path, 2, 1, "agent-{}-{}/PLAN.md")) == [0, 5]
            (event,) = own.events(KEPT)
            winner = event.evidence["from"]
            kept = (own.path / "archives/abc/PLAN.md").read_bytes()
            assert kept == (b"# zero\n" if winner.startswith("agent-0") else b"# one\n")
            loser = "agent-1-0/PLAN.md" if winner.startswith("agent-0") else "agent-0-0/PLAN.md"
            assert (own.path / loser).exists() and own.journals() == []


def test_one_file_archived_by_eight_at_once_is_archived_once(swift: Scene) -> None:
    scene = swift
    scene.write("report.md")
    ends = at_once(scene.path, 2, 4, "report.md")
    assert sorted(ends) == [0] + [3] * 7
    (event,) = scene.events()
    assert (scene.path / event.evidence["to"]).exists()
    assert scene.journals() == [] and scene.sound()
    assert [path.name for path in scene.path.glob("archives/abc/*/*")] == ["report.md"]
