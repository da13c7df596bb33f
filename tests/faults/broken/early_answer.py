"""Says that it is done before it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.faults.harness import Ended

STAGES = ("one file system",)


def prepare(place: Path) -> None:
    """Nothing is there."""


def run(place: Path, acknowledge: Callable[[str], None]) -> None:
    """The mistake: the answer comes first."""
    acknowledge("done")
    (place / "to" / "folder").mkdir()


def check(place: Path, ended: Ended | None) -> None:
    """What was said is there."""
    if ended is not None and ended.said:
        assert (place / "to" / "folder").is_dir(), "said, and not there"


def recover(place: Path) -> None:
    """Nothing helps here."""
