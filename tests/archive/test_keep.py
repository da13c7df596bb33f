"""Keeping deliverables: where they go, all or none, and after a refusal everything as it was (spec 1)."""

from __future__ import annotations

import contextlib
import hashlib
import os
import socket
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from tests.archive.conftest import ARCHIVE_ID, NOON, STAMP, Bench

import muniment.archive.service as service
from muniment.archive.errors import (
    EmptySource,
    InvalidInput,
    InvalidSource,
    MissingSource,
    TargetExists,
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
    SourceBusy,
    SourceChanged,
    TooDeep,
)
from muniment.disk.move import move_verified
from muniment.errors import MunimentError
from muniment.hosts.errors import InvalidSession
from muniment.hosts.session import Session, SessionSource
from muniment.path import RelPath
from muniment.record.ledger import Ledger

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


def test_a_second_plan_is_told_to_edit_the_first(bench: Bench) -> None:
    bench.write("PLAN.md", "# First\n")
    bench.keep("PLAN.md")
    bench.write("PLAN.md", "# Second\n")
    before = bench.snapshot()
    with pytest.raises(TargetExists) as raised:
        bench.keep("PLAN.md")
    assert "in place" in str(raised.value.next_step)
    assert bench.snapshot() == before
    bench.session = Session("another", SessionSource.FALLBACK)
    assert bench.keep("PLAN.md")[0].address.path.posix == "archives/another/PLAN.md"


def test_all_paths_of_a_call_share_a_second(bench: Bench) -> None:
    for name in ("a.md", "b.md", "c/d.md"):
        bench.write(name)
    receipts = bench.keep("a.md", "b.md", "c/d.md")
    assert [one.address.path.posix for one in receipts] == [f"{AT}/a.md", f"{AT}/b.md", f"{AT}/d.md"]
    assert len({one.reference for one in receipts}) == 3


def test_names_that_collide_in_one_call_get_a_second_of_their_own(bench: Bench) -> None:
    for number in range(4):
        bench.write(f"{number}/report.md", f"{number}\n")
    bench.write("other.md")
    receipts = bench.keep("0/report.md", "1/report.md", "other.md", "2/report.md", "3/report.md")
    stamps = [one.address.timestamp for one in receipts]
    assert stamps == [f"2026-11-30-14-28-{second:02}" for second in (5, 6, 5, 7, 8)]
    for number, receipt in zip((0, 1, 2, 3), [receipts[at] for at in (0, 1, 3, 4)], strict=True):
        assert (bench.folder / receipt.address.path.posix).read_bytes() == f"{number}\n".encode()


def test_simplified_names_that_collide_do_so_too(bench: Bench) -> None:
    bench.write("My Report.md", "one\n")
    bench.write("my_report.md", "two\n")
    one, two = bench.keep("My Report.md", "my_report.md", options=Options(names="kweaver"))
    assert one.address.path.posix == f"{AT}/my_report.md"
    assert two.address.path.posix == f"archives/{ARCHIVE_ID}/2026-11-30-14-28-06/my_report.md"
    assert one.card.name == "My Report.md"


def test_a_second_that_is_taken_is_passed_over(bench: Bench) -> None:
    bench.write("a.md")
    bench.keep("a.md")
    for _ in range(3):
        bench.write("a.md")
        bench.keep("a.md")
    places = sorted(path.name for path in (bench.folder / "archives" / ARCHIVE_ID).iterdir())
    assert places == [f"2026-11-30-14-28-{second:02}" for second in (5, 6, 7, 8)]


def test_when_every_second_is_taken_it_is_refused(bench: Bench) -> None:
    bench.write("a.md")
    top = bench.folder / "archives" / ARCHIVE_ID
    top.mkdir(parents=True)
    for second in range(4096):
        (top / f"{NOON + timedelta(seconds=second):%Y-%m-%d-%H-%M-%S}").mkdir()
    with pytest.raises(TargetExists):
        bench.keep("a.md")
    assert (bench.folder / "a.md").exists()


def test_a_file_with_several_names_is_copied(bench: Bench, tmp_path: Path) -> None:
    """Else whoever holds the other name could change what was archived."""
    path = bench.write("a.md", "kept\n")
    outside = tmp_path / "outside.md"
    os.link(path, outside)
    (receipt,) = bench.keep("a.md")
    assert receipt.copied and not path.exists()
    outside.write_text("changed\n")
    assert (bench.folder / AT / "a.md").read_bytes() == b"kept\n"


def test_the_name_on_the_card_is_what_was_asked(bench: Bench) -> None:
    bench.write("r.md")
    request = Request(RelPath.parse("r.md"), Track.FILE, "The report")
    (receipt,) = bench.archive().keep([request], card_root="/srv/archives")
    assert receipt.card.to_json() == {
        "type": "archive_grid",
        "data": {
            "type": "file",
            "archive_root": f"/srv/archives/{ARCHIVE_ID}",
            "subpath": f"{STAMP}/r.md",
            "name": "The report",
        },
    }


def test_a_scheduled_run_is_mirrored(bench: Bench) -> None:
    bench.session = Session("run7", SessionSource.HOST, "agent:main:cron:nightly:run:run7", "nightly")
    bench.write("r.md", "r\n")
    bench.write("PLAN.md", "# Plan\n")
    report, plan = bench.keep("r.md", "PLAN.md")
    assert report.to_json()["mirrored_archive_root"] == "archives/nightly"
    assert report.to_json()["mirrored_subpath"] == f"{STAMP}/r.md"
    assert (bench.folder / f"archives/run7/{STAMP}/r.md").read_bytes() == b"r\n"
    assert (bench.folder / f"archives/nightly/{STAMP}/r.md").read_bytes() == b"r\n"
    assert plan.address.path.posix == "archives/nightly/PLAN.md" and plan.mirrored is None


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


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.json", b"{"), ("a.toml", b"="), ("a.yaml", b"a: ["), ("a.md", b" \n")],
)
def test_a_single_file_must_be_what_its_name_says(bench: Bench, name: str, content: bytes) -> None:
    bench.write(name, content)
    with unchanged(bench), pytest.raises(ReadbackFailed) as raised:
        bench.keep(name)
    assert str(raised.value.why).startswith("key fields: ")


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


def test_overlapping_paths_of_one_call(bench: Bench) -> None:
    bench.write("a/b.md")
    for paths in (("a", "a/b.md"), ("a/b.md", "a"), ("a/b.md", "a/b.md")):
        with unchanged(bench), pytest.raises(InvalidSource):
            bench.keep(*paths)


def test_a_claimed_path_its_parents_and_what_lies_in_it(bench: Bench) -> None:
    bench.write("out/deep/a.md")
    claim = bench.workspace.claims.make(RelPath.parse("out/deep"), "job:nightly")
    for path in ("out", "out/deep", "out/deep/a.md"):
        with unchanged(bench), pytest.raises(InvalidSource):
            bench.keep(path)
    bench.workspace.claims.end(claim)
    bench.keep("out")


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


def test_a_file_that_somebody_still_writes(bench: Bench) -> None:
    path = bench.write("a.md")
    with path.open("ab"), unchanged(bench), pytest.raises(SourceBusy):
        bench.keep("a.md")
    with path.open("rb"):  # a reader does no harm
        bench.keep("a.md")


def test_a_track_that_does_not_fit(bench: Bench) -> None:
    bench.write("PLAN.md")
    bench.write("a.md")
    for name, track in (("PLAN.md", Track.FILE), ("a.md", Track.PLAN)):
        with unchanged(bench), pytest.raises(InvalidInput):
            bench.archive().keep([Request(RelPath.parse(name), track)])


def test_a_session_that_nobody_tells(bench: Bench) -> None:
    bench.write("a.md")

    def nobody() -> Session:
        raise InvalidSession()

    archive = service.Archive(bench.workspace, nobody, local=lambda moment: moment)
    with unchanged(bench), pytest.raises(InvalidSession):
        archive.keep([Request(RelPath.parse("a.md"))])


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


def test_a_ledger_that_can_not_be_written_takes_all_back(
    three: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> object:
        raise NoSpace(where="ledger")

    before, kinds = three.snapshot(), three.kinds()
    monkeypatch.setattr(Ledger, "append_many", full)
    with pytest.raises(NoSpace):
        three.keep("a.md", "b", "PLAN.md")
    assert {
        name: what for name, what in three.snapshot().items() if not name.startswith("archives")
    } == before
    assert only_folders(three)
    assert three.kinds() == kinds and not three.workspace.journal.pending()


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
