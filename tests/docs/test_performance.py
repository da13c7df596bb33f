"""The page of measurements says what was measured, and nothing else."""

from __future__ import annotations

import json
from typing import Any

from benchmarks.page import page
from benchmarks.performance import MEASURED, PAGE


def measured() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(MEASURED.read_text())
    return found


def test_the_page_is_made_from_what_was_measured() -> None:
    assert PAGE.read_text() == page(measured())


def test_a_goal_that_is_missed_is_told_with_its_floor() -> None:
    found = measured()
    verify = next(one for one in found["pairs"] if (one["peer"], one["phase"]) == ("restic", "verify"))
    verify["measures"]["wall"].update(ours=2.0, theirs=4.0, ratio=0.5)
    assert "- **verify" not in page(found)
    verify["measures"]["wall"].update(ours=2.4, ratio=0.6)
    found["floors"]["hash"] = {"wall": 2.3, "cpu": 4.5}
    told = next(line for line in page(found).splitlines() if line.startswith("- **verify"))
    assert "the goal is 2.20 s here" in told
    assert "takes 2.30 s on both cores and 4.50 CPU seconds, which is more than the goal already" in told
