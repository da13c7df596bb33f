"""Writes into the file itself, in two steps."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from tests.faults.harness import Ended

STAGES = ("one file system",)
CONTENT = b"x" * 10_000


def prepare(place: Path) -> None:
    """Nothing is there."""


def run(place: Path, acknowledge: Callable[[str], None]) -> None:
    """The mistake: the name has half the content for a while."""
    fd = os.open(place / "to" / "file", os.O_WRONLY | os.O_CREAT)
    os.write(fd, CONTENT[:5_000])
    os.write(fd, CONTENT[5_000:])
    os.close(fd)


def check(place: Path, ended: Ended | None) -> None:
    """Nothing or the whole."""
    path = place / "to" / "file"
    assert not path.exists() or path.read_bytes() == CONTENT, "half a file"


def recover(place: Path) -> None:
    """Nothing helps here."""
