"""The table of lies: each is refused for its own reason, and its honest twin is accepted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.handoff.world import build, edit, judge

from muniment.errors import MunimentError

FOLDER = Path(__file__).parent / "lies"
LIES = sorted(path.stem for path in FOLDER.glob("*.json"))


def load(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text())
    return found


def world_of(story: Mapping[str, Any], side: str) -> dict[str, Any]:
    both, own = story.get("both", {}), story.get(side, {})
    return edit(build(**{**both, **own.get("build", {})}), own.get("edits", []))


def test_there_are_enough_lies() -> None:
    assert len(LIES) >= 60


@pytest.mark.parametrize("name", LIES)
def test_the_lie_is_refused_for_its_reason(name: str) -> None:
    story = load(name)
    try:
        trace = judge(world_of(story, "lie"))
    except MunimentError as error:
        codes, places = [error.code], [error.where]
    else:
        assert not trace.complete
        codes = [finding.code.value for finding in trace.findings]
        places = [finding.where for finding in trace.findings]
        assert all(str(finding.why) for finding in trace.findings)
    assert sorted(codes) == sorted(story["refused"])
    if "where" in story:
        assert story["where"] in places


@pytest.mark.parametrize("name", LIES)
def test_its_honest_twin_is_accepted(name: str) -> None:
    trace = judge(world_of(load(name), "twin"))
    assert [finding.to_json() for finding in trace.findings] == []
    assert trace.complete


@pytest.mark.parametrize("name", LIES)
def test_the_two_differ_by_what_is_told(name: str) -> None:
    story = load(name)
    assert set(story) <= {"story", "refused", "where", "both", "lie", "twin"}
    assert story["story"].endswith(".")
    assert world_of(story, "lie") != world_of(story, "twin")
