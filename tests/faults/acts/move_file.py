"""Verified move of a file."""

from __future__ import annotations

from pathlib import Path

from tests.faults.acts.content import FILE, put
from tests.faults.acts.moves import check_move, end_move, move
from tests.faults.harness import Ended

STAGES = ("one file system", "onto tmpfs", "overlay, lower layer")
LARGEST = 4_800

run = move


def prepare(place: Path) -> None:
    """A file to move."""
    put(place / "from" / "work", FILE)


def check(place: Path, ended: Ended | None) -> None:
    """Every byte at the source or the target."""
    check_move(place, ended, FILE)


def recover(place: Path) -> None:
    """End what was begun."""
    end_move(place, FILE)
