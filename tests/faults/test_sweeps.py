"""Every act under faults: a part of the points here, all of them in the long run."""

from __future__ import annotations

import importlib
import os
import pkgutil
from pathlib import Path

import pytest
from tests.faults import acts, table
from tests.faults.harness import FAULTS, SHORT, Harness, Tally, need_strace, sample

SEED = 20261130
BUDGET = 60
WORKERS = 1 if "PYTEST_XDIST_WORKER" in os.environ else 2

ACTS = [
    name
    for _, name, _ in pkgutil.iter_modules(acts.__path__, f"{acts.__name__}.")
    if hasattr(importlib.import_module(name), "STAGES")
]
TRIED = [(act, stage) for act in ACTS for stage in importlib.import_module(act).STAGES]
IDS = [f"{act.rsplit('.', 1)[1]}-{stage}" for act, stage in TRIED]


def whole(tally: Tally) -> None:
    assert tally.findings == [], "\n".join(tally.findings[:20])


@pytest.mark.parametrize(("act", "stage"), TRIED, ids=IDS)
def test_a_fault_at_a_call(act: str, stage: str, tmp_path: Path) -> None:
    need_strace()
    harness = Harness(act, stage, tmp_path, WORKERS)
    points = harness.trace().points(list(FAULTS))
    tally = harness.sweep(sample(points, SEED, BUDGET))
    whole(tally)
    assert tally.points >= min(BUDGET, len(points))
    assert tally.ends["kill"]["killed"] == tally.ends["kill"].total() > 0


@pytest.mark.parametrize("act", ACTS, ids=[act.rsplit(".", 1)[1] for act in ACTS])
def test_a_true_short_write(act: str, tmp_path: Path) -> None:
    tally = cut_short(act, tmp_path, 8)
    ends = tally.ends["short write"]
    assert ends["refused"] > 0 and ends["done"] > 0, ends


@pytest.mark.parametrize("act", ACTS, ids=[act.rsplit(".", 1)[1] for act in ACTS])
@pytest.mark.parametrize("unit", ["pages", "files"])
def test_a_full_file_system(act: str, unit: str, tmp_path: Path) -> None:
    ends: list[str] = []
    for room in (0, 2, 40):
        tally = Harness(act, f"full tmpfs, {room} {unit} left", tmp_path, 1).plainly()
        whole(tally)
        ends += tally.ends["full file system"]
    # The ledger's own files are there already, so no new one may be needed; undoing only gives names
    # back, and has to go on a disk that a restore has filled.
    assert ends[0] == "refused" or (unit == "files" and "ledger" in act) or "undo" in act
    assert ends[-1] == "done"


def cut_short(act: str, tmp_path: Path, steps: int) -> Tally:
    """An act whose files may not grow beyond each of many sizes."""
    module = importlib.import_module(act)
    stage = module.STAGES[-1] if "onto tmpfs" not in module.STAGES else "onto tmpfs"
    tally = Harness(act, stage, tmp_path, WORKERS).cut_short(sizes(module.LARGEST, steps))
    whole(tally)
    return tally


def sizes(largest: int, steps: int) -> list[int]:
    """Sizes from nothing to just enough, with the ends and their neighbours."""
    between = {largest * step // steps for step in range(steps + 1)}
    return sorted(between | {0, 1, largest - 1, largest, largest + 1})


def test_a_close_that_fails_is_named_by_the_ledger(tmp_path: Path) -> None:
    need_strace()
    harness = Harness(f"{acts.__name__}.ledger_append_many", "one file system", tmp_path, WORKERS)
    points = [point for point in harness.trace().points(["EIO"]) if point.call == "close"]
    whole(harness.sweep(points))


@pytest.mark.long
@pytest.mark.parametrize(("act", "stage"), TRIED, ids=IDS)
def test_every_fault_at_every_call(act: str, stage: str, tmp_path: Path) -> None:
    need_strace()
    harness = Harness(act, stage, tmp_path, WORKERS)
    tally = harness.sweep(harness.trace().points(list(FAULTS)))
    whole(tally)
    table.write(tally)


@pytest.mark.long
@pytest.mark.parametrize("act", ACTS, ids=[act.rsplit(".", 1)[1] for act in ACTS])
def test_every_size(act: str, tmp_path: Path) -> None:
    table.write(cut_short(act, tmp_path, 200))


def test_the_page_shows_a_row_for_each_act_stage_and_fault_and_no_other() -> None:
    rows = {row[:3] for row in table.read(table.PAGE.read_text("utf-8"))}
    titles = {act: (importlib.import_module(act).__doc__ or "").splitlines()[0].rstrip(".") for act in ACTS}
    cut = [row for row in rows if row[2] == SHORT]
    assert sorted(title for title, _, _ in cut) == sorted(titles.values()), "run: make long"
    wanted = {(titles[act], stage, fault) for act, stage in TRIED for fault in FAULTS}
    assert rows - set(cut) == wanted, "run: make long"
