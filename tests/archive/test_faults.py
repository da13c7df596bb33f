"""The whole act under a fault at every system call: on one file system, across two, over an overlay."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.archive.scene import open_scene, untouched
from tests.faults import stage, table
from tests.faults.harness import FAULTS, Harness, Point, need_strace, sample

from muniment.disk.errors import NoSpace

ACT = "tests.faults.acts.archive_keep"
ACROSS = "archives on tmpfs"
STAGES = ("one file system", ACROSS, "overlay, lower layer")
WORKERS = 1 if "PYTEST_XDIST_WORKER" in os.environ else 2


@contextlib.contextmanager
def archives_on_tmpfs(place: Path, dress: stage.Dress) -> Iterator[None]:
    """The archives are another file system than the workspace around them."""
    (place / "from").mkdir()
    with stage.mounted("tmpfs", place / "archives", "size=16m"):
        dress(place)
        yield


@pytest.fixture(autouse=True)
def across(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(stage.STAGES, ACROSS, archives_on_tmpfs)


def points(harness: Harness) -> list[Point]:
    return harness.trace().points(list(FAULTS))


@pytest.mark.parametrize("name", STAGES)
def test_a_fault_at_a_call_of_the_whole_act(name: str, tmp_path: Path) -> None:
    need_strace()
    harness = Harness(ACT, name, tmp_path, WORKERS)
    tally = harness.sweep(sample(points(harness), 20261130, 60))
    assert tally.findings == [], "\n".join(tally.findings[:20])
    assert tally.ends["kill"]["killed"] == tally.ends["kill"].total() > 0


@pytest.mark.long
@pytest.mark.parametrize("name", STAGES)
def test_every_fault_at_every_call_of_the_whole_act(name: str, tmp_path: Path) -> None:
    need_strace()
    harness = Harness(ACT, name, tmp_path, WORKERS)
    tally = harness.sweep(points(harness))
    assert tally.findings == [], "\n".join(tally.findings[:20])
    table.write(tally)


def test_archives_that_are_really_full(tmp_path: Path) -> None:
    """A file system of 64 KiB, and a deliverable of more."""
    with (
        stage.mounted("tmpfs", tmp_path / "w" / "archives", "size=64k"),
        open_scene(tmp_path / "w") as scene,
    ):
        scene.write("large.bin", os.urandom(200_000))
        with untouched(scene, "large.bin"), pytest.raises(NoSpace):
            scene.keep("large.bin")
        scene.write("small.bin", b"x" * 1000)
        scene.later()
        assert scene.keep("small.bin")[0].copied
