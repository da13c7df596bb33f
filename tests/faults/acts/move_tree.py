"""Verified move of a folder."""

from __future__ import annotations

from pathlib import Path

from tests.faults.acts.content import TREE, put
from tests.faults.acts.moves import check_move, end_move, move
from tests.faults.harness import Ended

STAGES = ("one file system", "onto tmpfs", "overlay, lower layer")
LARGEST = 10_240

run = move


def prepare(place: Path) -> None:
    """A folder to move."""
    put(place / "from" / "work", TREE)


def check(place: Path, ended: Ended | None) -> None:
    """Every byte at the source or the target."""
    check_move(place, ended, TREE)


def recover(place: Path) -> None:
    """End what was begun."""
    end_move(place, TREE)
