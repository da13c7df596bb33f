"""Verified write of a new file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.faults.acts.content import check_made, tidy
from tests.faults.harness import Ended

from muniment.disk.root import Root
from muniment.disk.write import write_verified
from muniment.path import RelPath

STAGES = ("one file system", "overlay, lower layer")
LARGEST = 24_000
CONTENT = b"new content\n" * 2000


def prepare(place: Path) -> None:
    """Nothing is there."""


def run(place: Path, acknowledge: Callable[[str], None]) -> None:
    """Write, and say so."""
    with Root.open(place / "to") as root:
        acknowledge(str(write_verified(root, RelPath.parse("report.md"), CONTENT).digest))


def check(place: Path, ended: Ended | None) -> None:
    """Nothing or the whole; the whole when it was said; nothing when it was refused."""
    path = place / "to" / "report.md"
    check_made(path, "" if path.exists() and path.read_bytes() == CONTENT else "other bytes", ended)


def recover(place: Path) -> None:
    """What is unfinished goes."""
    tidy(place / "to")
