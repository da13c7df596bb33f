"""Verified write of a new file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.faults.acts.content import scratch
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
    assert not path.exists() or path.read_bytes() == CONTENT
    if ended is not None and (ended.how == "done" or ended.said):
        assert path.exists()
    if ended is not None and ended.how == "refused" and not ended.lasting:
        assert list((place / "to").iterdir()) == []
    if ended is None:
        assert scratch(place / "to") == []


def recover(place: Path) -> None:
    """What is unfinished goes."""
    for path in scratch(place / "to"):
        path.unlink()
