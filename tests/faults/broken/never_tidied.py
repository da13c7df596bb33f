"""Leaves its scratch file behind when it is killed, and nobody removes it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from tests.faults.harness import Ended

STAGES = ("one file system",)


def prepare(place: Path) -> None:
    """Nothing is there."""


def run(place: Path, acknowledge: Callable[[str], None]) -> None:
    """A write beside and a rename."""
    (place / "to" / "scratch").write_bytes(b"x")
    os.rename(place / "to" / "scratch", place / "to" / "file")


def check(place: Path, ended: Ended | None) -> None:
    """After the recovery nothing is left over."""
    if ended is None:
        assert not (place / "to" / "scratch").exists(), "left over"


def recover(place: Path) -> None:
    """The mistake: nothing is done."""
