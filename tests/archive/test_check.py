"""How deliverables stand: each read again where it lies now (spec 1, verify)."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.archive.conftest import ARCHIVE_ID, STAMP, Bench

from muniment.archive.check import check, entries, find_entry
from muniment.archive.errors import UnknownReference
from muniment.archive.model import Checked, Standing

AT = f"archives/{ARCHIVE_ID}/{STAMP}"


def standing(bench: Bench, mutable: tuple[str, ...] = ()) -> list[Checked]:
    return check(bench.workspace, entries(bench.workspace), mutable)


def only(bench: Bench, mutable: tuple[str, ...] = ()) -> Checked:
    (found,) = standing(bench, mutable)
    return found


@pytest.fixture
def report(bench: Bench) -> Path:
    """One kept file."""
    bench.write("report.md", "# Report\n")
    bench.keep("report.md")
    return bench.folder / AT / "report.md"


@pytest.fixture
def results(bench: Bench) -> Path:
    """One kept folder."""
    for name in ("a.md", "deep/b.md"):
        bench.write(f"results/{name}", f"{name}\n")
    bench.keep("results")
    return bench.folder / AT / "results"


def test_nothing_yet(bench: Bench) -> None:
    assert standing(bench) == []


def test_intact(bench: Bench, report: Path) -> None:
    found = only(bench)
    assert found.standing is Standing.INTACT and found.standing.good
    assert found.found == found.entry.tree


def test_times_and_modes_are_not_content(bench: Bench, report: Path) -> None:
    report.chmod(0o600)
    os.utime(report, (0, 0))
    assert only(bench).standing is Standing.INTACT


@pytest.mark.parametrize("content", [b"# report\n", b"# Report\n\n", b"", b"# Report"])
def test_other_bytes(bench: Bench, report: Path, content: bytes) -> None:
    report.write_bytes(content)
    found = only(bench)
    assert found.standing is Standing.CHANGED and not found.standing.good
    assert found.differs == "report.md"
    assert found.found is not None and found.found != found.entry.tree


def test_bytes_that_change_with_size_and_times_kept(bench: Bench, report: Path) -> None:
    """No cache of sizes or times answers for the bytes."""
    before = report.stat()
    report.write_bytes(b"# rEPORT\n")
    os.utime(report, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert only(bench).standing is Standing.CHANGED


@pytest.mark.parametrize("instead", ["nothing", "folder gone", "folder", "link", "pipe"])
def test_something_else_or_nothing_in_its_place(bench: Bench, report: Path, instead: str) -> None:
    copy = report.read_bytes()
    report.unlink()
    if instead == "folder gone":
        report.parent.rmdir()
    elif instead == "folder":
        report.mkdir()
    elif instead == "link":
        (bench.folder / "same.md").write_bytes(copy)
        report.symlink_to(bench.folder / "same.md")
    elif instead == "pipe":
        os.mkfifo(report)
    expected = Standing.MISSING if instead in ("nothing", "folder gone") else Standing.CHANGED
    assert only(bench).standing is expected


def a_link_for_a_file(at: Path) -> None:
    (at / "a.md").rename(at.parent / "x")
    (at / "a.md").symlink_to("../x")


CHANGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "a file changed": (lambda at: (at / "a.md").write_text("x"), "a.md"),
    "a file gone": (lambda at: (at / "deep/b.md").unlink(), "deep/b.md"),
    "a file more": (lambda at: (at / "c.md").write_text("x"), "c.md"),
    "a folder more": (lambda at: (at / "new").mkdir(), "new"),
    "a file under another name": (lambda at: (at / "a.md").rename(at / "A.md"), "a.md"),
    "a link for a file": (a_link_for_a_file, "a.md"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_folder_that_is_another(bench: Bench, results: Path, name: str) -> None:
    change, differs = CHANGES[name]
    assert only(bench).standing is Standing.INTACT
    change(results)
    found = only(bench)
    assert (found.standing, found.differs) == (Standing.CHANGED, differs)


def test_a_plan_that_is_gone_is_not_edited(bench: Bench) -> None:
    bench.write("PLAN.md")
    bench.keep("PLAN.md")
    (bench.folder / f"archives/{ARCHIVE_ID}/PLAN.md").unlink()
    assert only(bench).standing is Standing.MISSING


def test_what_the_settings_declare_mutable(bench: Bench, report: Path) -> None:
    report.write_text("other\n")
    assert only(bench, ("notes*.md",)).standing is Standing.CHANGED
    assert only(bench, ("rep*.md",)).standing is Standing.EDITED
    assert only(bench, ("REP*.md",)).standing is Standing.CHANGED


def test_finding_one(bench: Bench, report: Path) -> None:
    (entry,) = entries(bench.workspace)
    assert find_entry(bench.workspace, entry.reference) == entry
    assert find_entry(bench.workspace, f"{AT}/report.md") == entry
    for unknown in ("arc_01KB9Q5T7M8WJ2Z4C6E0RNXHVD", "report.md", "", AT):
        with pytest.raises(UnknownReference):
            find_entry(bench.workspace, unknown)
