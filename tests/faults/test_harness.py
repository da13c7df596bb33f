"""The harness itself: what is broken is caught, and what was not tried is not counted as tried."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.faults import harness as harness_module
from tests.faults import table
from tests.faults.harness import FAULTS, Harness, Point, Tally, need_strace, read_trace, sample
from tests.faults.perform import BEGIN, END

pytestmark = pytest.mark.usefixtures("strace")
BROKEN = "tests.faults.broken"


@pytest.fixture
def strace() -> None:
    need_strace()


def findings(act: str, scratch: Path, *faults: str) -> list[str]:
    harness = Harness(f"{BROKEN}.{act}", "one file system", scratch, workers=1)
    return harness.sweep(harness.trace().points(faults)).findings


def test_a_write_in_place_is_caught_by_a_kill(tmp_path: Path) -> None:
    found = findings("in_place", tmp_path, "kill")
    assert any("half a file" in finding for finding in found)


def test_a_write_in_place_is_caught_by_a_full_disk(tmp_path: Path) -> None:
    harness = Harness(f"{BROKEN}.in_place", "one file system", tmp_path, workers=1)
    assert any("half a file" in finding for finding in harness.cut_short([5]).findings)
    crowded = Harness(f"{BROKEN}.in_place", "full tmpfs, 1 pages left", tmp_path, workers=1)
    assert any("half a file" in finding for finding in crowded.plainly().findings)


def test_an_early_answer_is_caught(tmp_path: Path) -> None:
    found = findings("early_answer", tmp_path, "kill")
    assert any("said, and not there" in finding for finding in found)


def test_an_error_without_a_name_is_caught(tmp_path: Path) -> None:
    found = findings("in_place", tmp_path, "EIO")
    assert any("an error without a name" in finding for finding in found)


def test_what_is_never_recovered_is_caught(tmp_path: Path) -> None:
    found = findings("never_tidied", tmp_path, "kill")
    assert any("left over" in finding for finding in found)


def test_a_point_beyond_the_act_is_a_finding(tmp_path: Path) -> None:
    harness = Harness(f"{BROKEN}.in_place", "one file system", tmp_path, workers=1)
    tally = harness.sweep([Point("write", 999, "kill"), Point("write", 999, "EIO")])
    assert [finding.split(": ")[-1] for finding in tally.findings] == [
        "the kill did not kill",
        "the call was not reached",
    ]


def test_an_act_that_never_ends_is_not_taken_for_one_that_a_fault_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(harness_module, "_PATIENCE", 1.0)
    harness = Harness(f"{BROKEN}.never_ends", "one file system", tmp_path, workers=1)
    (finding,) = harness.sweep([Point("pause", 999, "kill")]).findings
    assert "neither ended nor died" in finding


def test_an_act_that_fails_plainly_is_no_act(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="does not even succeed"):
        Harness(f"{BROKEN}.fails", "one file system", tmp_path, workers=1).trace()


def test_only_calls_between_the_marks_are_points() -> None:
    trace = read_trace(
        [
            "7 openat(AT_FDCWD, ...) = 3",
            f"7 getpriority(PRIO_PROCESS, {BEGIN}) = -1 ESRCH",
            "7 openat(AT_FDCWD, ...) = 4",
            "7 write(4, ...) = 1",
            f"7 getpriority(PRIO_PROCESS, {END}) = -1 ESRCH",
            "7 write(1, ...) = 1",
        ]
    )
    assert trace.points(["kill"]) == [Point("openat", 2, "kill"), Point("write", 1, "kill")]


def test_a_sample_has_the_first_middle_and_last_of_each_call_and_never_changes() -> None:
    points = [Point("a", n, fault) for n in range(3, 12) for fault in FAULTS]
    points += [Point("b", 1, fault) for fault in FAULTS]
    chosen = sample(points, seed=1, budget=20)
    assert chosen == sample(points, seed=1, budget=20) != sample(points, seed=2, budget=20)
    assert len(chosen) == len(set(chosen)) == 20 and set(chosen) <= set(points)
    for call, numbers in (("a", (3, 7, 11)), ("b", (1,))):
        for n in numbers:
            here = {point.fault for point in chosen if (point.call, point.n) == (call, n)}
            assert "kill" in here and len(here) > 1
    assert set(sample(points, seed=1, budget=10_000)) == set(points)


def test_the_table_takes_new_rows_in_place_of_old_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{table.BEGIN}\n{table.END}\nafter\n")
    monkeypatch.setattr(table, "PAGE", page)
    for kills in (3, 5):
        tally = Tally("an act", "a stage")
        for _ in range(kills):
            tally.add("kill", "killed")
        table.write(tally)
    assert table.read(page.read_text()) == [("an act", "a stage", "kill", 5, 5, 0, 0)]
    assert page.read_text().startswith("before\n") and page.read_text().endswith("\nafter\n")
