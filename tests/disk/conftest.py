"""What the tests of `disk` share: a root in a fresh folder, a tree outside it, and a time limit."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import pytest
from tests.disk.outside import Outside

from muniment.disk.root import Root


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """The folder that the root is."""
    (tmp_path / "root").mkdir()
    return tmp_path / "root"


@pytest.fixture
def root(place: Path) -> Iterator[Root]:
    """An open root."""
    with Root.open(place) as opened:
        yield opened


@pytest.fixture
def outside(tmp_path: Path) -> Iterator[Outside]:
    """A tree that nobody may touch; whether it was is looked up at the end."""
    made = Outside.make(tmp_path / "outside")
    yield made
    made.assert_untouched()


@pytest.fixture(autouse=True)
def never_waits() -> Iterator[None]:
    """A test that waits for a pipe or a lock fails instead of hanging."""

    def late(number: int, frame: FrameType | None) -> None:
        raise TimeoutError("it waited")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)
