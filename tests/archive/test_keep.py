"""Keeping deliverables: where they go, all or none, and after a refusal everything as it was (spec 1)."""

from __future__ import annotations

import contextlib
import hashlib
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.archive.conftest import ARCHIVE_ID, STAMP, Bench

import muniment.archive.service as service
from muniment.archive.errors import (
    EmptySource,
    InvalidSource,
    MissingSource,
)
from muniment.archive.model import Request, Track
from muniment.archive.service import Options
from muniment.digest import Digest
from muniment.disk.errors import (
    DiskFault,
    NoSpace,
    OutsideRoot,
    PutBackFailed,
    ReadbackFailed,
    SourceChanged,
    TooDeep,
)
from muniment.disk.move import move_verified
from muniment.errors import MunimentError
from muniment.path import RelPath

AT = f"archives/{ARCHIVE_ID}/{STAMP}"


def test_one_file(bench: Bench) -> None:
    content = b"# Report\n"
    bench.write("deep/report.md", content)
    (receipt,) = bench.keep("deep/report.md")
    assert bench.snapshot() == {
        "archives": None,
        f"archives/{ARCHIVE_ID}": None,
        AT: None,
        f"{AT}/report.md": content,
        "deep": None,
    }
    assert (receipt.source.posix, receipt.address.path.posix) == ("deep/report.md", f"{AT}/report.md")
    assert (receipt.count, receipt.size, receipt.copied) == (1, len(content), False)
    row = f'{{"kind":"file","path":"","sha256":"{hashlib.sha256(content).hexdigest()}","size":9}}\n'
    assert receipt.tree == Digest(hashlib.sha256(row.encode()).hexdigest())
    (event,) = bench.workspace.ledger.last(1)
    assert (event.event_id, event.subject, event.kind) == (
        receipt.event_id,
        receipt.reference,
        "archive.kept",
    )
    assert event.evidence["tree"] == receipt.tree.hex
    assert not bench.workspace.journal.pending()


def test_mode_and_times_come_along(bench: Bench) -> None:
    path = bench.write("run.sh", "#!/bin/sh\n")
    path.chmod(0o751)
    os.utime(path, ns=(1_700_000_000_123_456_789, 1_600_000_000_987_654_321))
    bench.keep("run.sh")
    found = (bench.folder / AT / "run.sh").stat()
    assert (found.st_mode & 0o777, found.st_mtime_ns) == (0o751, 1_600_000_000_987_654_321)


def test_a_folder_as_a_whole(bench: Bench) -> None:
    bench.write("results/a.md", "a\n")
    bench.write("results/deep/b.bin", bytes(range(256)))
    bench.write("results/empty", b"")
    (bench.folder / "results/none").mkdir()
    (bench.folder / "results/link").symlink_to("deep/b.bin")
    before = {name.removeprefix("results"): what for name, what in bench.snapshot().items()}
    (receipt,) = bench.keep("results")
    prefix = f"{AT}/results"
    after = {
        name.removeprefix(prefix): what for name, what in bench.snapshot().items() if name.startswith(prefix)
    }
    assert after == before
    assert not (bench.folder / "results").exists()
    assert (receipt.count, receipt.size) == (3, 258)
    assert receipt.card.to_json()["data"] == {
        "type": "directory",
        "archive_root": f"archives/{ARCHIVE_ID}",
        "subpath": f"{STAMP}/results",
        "name": "results",
    }


def test_a_plan_and_its_results_share_an_id_and_nothing_else(bench: Bench) -> None:
    bench.write("PLAN.md")
    bench.write("report.md")
    plan, report = bench.keep("PLAN.md", "report.md")
    assert plan.address.path.posix == f"archives/{ARCHIVE_ID}/PLAN.md"
    assert report.address.path.posix == f"{AT}/report.md"


def test_a_second_that_is_taken_is_passed_over(bench: Bench) -> None:
    bench.write("a.md")
    bench.keep("a.md")
    for _ in range(3):
        bench.write("a.md")
        bench.keep("a.md")
    places = sorted(path.name for path in (bench.folder / "archives" / ARCHIVE_ID).iterdir())
    assert places == [f"2026-11-30-14-28-{second:02}" for second in (5, 6, 7, 8)]


# Refusals: the error, and everything as it was.


@contextlib.contextmanager
def unchanged(bench: Bench) -> Iterator[None]:
    """Every byte outside `.muniment/` as before, nothing recorded, no act half done."""
    before, kinds = bench.snapshot(), bench.kinds()
    times = {name: os.lstat(bench.folder / name).st_mtime_ns for name in before if before[name] is not None}
    yield
    assert bench.snapshot() == before
    assert {name: os.lstat(bench.folder / name).st_mtime_ns for name in times} == times
    assert bench.kinds() == kinds
    assert not bench.workspace.journal.pending()


def a_pipe(path: Path) -> None:
    os.mkfifo(path)


def a_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        here = Path.cwd()
        os.chdir(path.parent)  # the name of a socket is short
        try:
            made.bind(path.name)
        finally:
            os.chdir(here)


def a_link(path: Path) -> None:
    path.symlink_to("good.md")


def a_dangling_link(path: Path) -> None:
    path.symlink_to("nowhere")


def a_folder_with_a_pipe(path: Path) -> None:
    (path / "deep").mkdir(parents=True)
    (path / "a.md").write_text("a\n")
    os.mkfifo(path / "deep" / "pipe")


def a_folder_with_a_link_out(path: Path) -> None:
    path.mkdir()
    (path / "a.md").write_text("a\n")
    (path / "out").symlink_to("../good.md")


def an_empty_file(path: Path) -> None:
    path.touch()


def an_empty_folder(path: Path) -> None:
    (path / "deep").mkdir(parents=True)
    (path / "empty").touch()


def another_workspace(path: Path) -> None:
    (path / ".muniment").mkdir(parents=True)
    (path / "a.md").write_text("a\n")


def too_deep(path: Path) -> None:
    at = path
    for _ in range(201):
        at = at / "d"
    at.mkdir(parents=True)
    (at / "a.md").write_text("a\n")


REFUSALS: dict[str, tuple[Callable[[Path], None], type[MunimentError]]] = {
    "a pipe": (a_pipe, InvalidSource),
    "a socket": (a_socket, InvalidSource),
    "a link": (a_link, InvalidSource),
    "a dangling link": (a_dangling_link, InvalidSource),
    "a folder with a pipe in it": (a_folder_with_a_pipe, InvalidSource),
    "a folder with a link that leads out": (a_folder_with_a_link_out, InvalidSource),
    "an empty file": (an_empty_file, EmptySource),
    "a folder of nothing": (an_empty_folder, EmptySource),
    "another workspace": (another_workspace, InvalidSource),
    "more levels than any honest tree has": (too_deep, TooDeep),
    "nothing": (lambda path: None, MissingSource),
}


@pytest.mark.parametrize("where", ["alone", "first", "last"])
@pytest.mark.parametrize("kind", REFUSALS)
def test_a_refusal_leaves_all_paths_of_the_call_as_they_were(bench: Bench, kind: str, where: str) -> None:
    make, error = REFUSALS[kind]
    bench.write("good.md")
    bench.write("fine/a.md")
    make(bench.folder / "bad")
    paths = {"alone": ["bad"], "first": ["bad", "good.md", "fine"], "last": ["good.md", "fine", "bad"]}[where]
    with unchanged(bench), pytest.raises(error):
        bench.keep(*paths)
    assert not (bench.folder / "archives").exists()


def test_inside_a_folder_that_is_a_warning_and_only_what_is_required_binds(bench: Bench) -> None:
    bench.write("results/a.json", "{")
    bench.write("results/report.md", "# Details\n")
    with unchanged(bench), pytest.raises(ReadbackFailed):
        bench.keep("results", options=Options(require={"report*.md": ("# Summary",)}))
    (receipt,) = bench.keep("results", options=Options(require={"report*.md": ("# Details",)}))
    assert len(receipt.warnings) == 1 and receipt.warnings[0].startswith("a.json: it is no JSON")
    assert receipt.read_back.task == "1 required"


def test_without_a_requirement_nobody_claims_that_the_task_was_checked(bench: Bench) -> None:
    bench.write("a.bin", b"\0")
    (receipt,) = bench.keep("a.bin")
    assert (receipt.read_back.task, receipt.read_back.key_fields) == ("not checked", "none to check")


def test_a_link_on_the_way(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/a.md").write_text("a\n")
    (bench.folder / "way").symlink_to(tmp_path / "outside")
    with unchanged(bench), pytest.raises(InvalidSource):
        bench.keep("way/a.md")
    assert (tmp_path / "outside/a.md").read_text() == "a\n"


def test_archives_that_are_a_link(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (bench.folder / "archives").symlink_to(tmp_path / "outside")
    bench.write("a.md")
    with unchanged(bench), pytest.raises(OutsideRoot):
        bench.keep("a.md")
    assert list((tmp_path / "outside").iterdir()) == []


# Failures between: what was moved goes back.


@pytest.fixture
def three(bench: Bench) -> Bench:
    """Three things that are fine."""
    bench.write("a.md", "a\n")
    bench.write("b/c.md", "c\n")
    bench.write("PLAN.md", "# Plan\n")
    return bench


def only_folders(bench: Bench) -> bool:
    """Whether nothing but folders of ids is left in the archives."""
    return [
        path for path in (bench.folder / "archives").rglob("*") if path.parent.parent.name == "archives"
    ] == []


@pytest.mark.parametrize("error", [NoSpace, DiskFault, SourceChanged, ReadbackFailed])
@pytest.mark.parametrize("which", [1, 2, 3])
def test_a_move_that_fails_takes_the_others_back(
    three: Bench, monkeypatch: pytest.MonkeyPatch, which: int, error: type[MunimentError]
) -> None:
    calls = 0

    def failing(*arguments: object, **named: object) -> object:
        nonlocal calls
        calls += 1
        if calls == which:
            raise error(where="here", fault="of the test")
        return move_verified(*arguments, **named)  # type: ignore[arg-type]

    before, kinds = three.snapshot(), three.kinds()
    monkeypatch.setattr(service, "move_verified", failing)
    with pytest.raises(error):
        three.keep("a.md", "b", "PLAN.md")
    assert {
        name: what for name, what in three.snapshot().items() if not name.startswith("archives")
    } == before
    assert only_folders(three)
    assert three.kinds() == kinds and not three.workspace.journal.pending()
    monkeypatch.undo()
    assert len(three.keep("a.md", "b", "PLAN.md")) == 3


def test_a_source_that_can_not_go_back_is_named_and_kept_in_the_journal(
    three: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stuck(*arguments: object, **named: object) -> object:
        move_verified(*arguments, **named)  # type: ignore[arg-type]
        raise PutBackFailed(where="archives/x", source="a.md")

    monkeypatch.setattr(service, "move_verified", stuck)
    with pytest.raises(PutBackFailed):
        three.keep("a.md")
    assert (three.folder / AT / "a.md").read_bytes() == b"a\n"
    assert len(three.workspace.journal.pending()) == 1


def test_a_survey_judges_and_moves_nothing(three: Bench) -> None:
    with unchanged(three):
        found = three.archive().survey([Request(RelPath.parse(name)) for name in ("a.md", "b", "PLAN.md")])
    assert [one.track for one in found] == [Track.FILE, Track.FILE, Track.PLAN]
    assert not (three.folder / "archives").exists()
