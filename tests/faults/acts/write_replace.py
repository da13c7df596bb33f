"""Verified write over an older file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.faults.acts.content import scratch, tidy
from tests.faults.harness import Ended

from muniment.disk.root import Root
from muniment.disk.write import write_verified
from muniment.path import RelPath

STAGES = ("one file system", "overlay, lower layer")
LARGEST = 24_000
OLD = b"old content\n" * 1000
NEW = b"new content\n" * 2000


def prepare(place: Path) -> None:
    """An older file is there."""
    (place / "to" / "state.json").write_bytes(OLD)


def run(place: Path, acknowledge: Callable[[str], None]) -> None:
    """Replace it, and say so."""
    with Root.open(place / "to") as root:
        rel = RelPath.parse("state.json")
        acknowledge(str(write_verified(root, rel, [NEW[:999], NEW[999:]], replace=True).digest))


def check(place: Path, ended: Ended | None) -> None:
    """The whole old or the whole new; the new when it was said; the old when it was refused."""
    found = (place / "to" / "state.json").read_bytes()
    assert found in (OLD, NEW)
    if ended is not None and (ended.how == "done" or ended.said):
        assert found == NEW
    if ended is not None and ended.how == "refused":
        # A call that fails for good can also keep the old file from being put back.
        assert ended.lasting or found == OLD
        assert ended.lasting or scratch(place / "to") == []
    if ended is None:
        assert scratch(place / "to") == []


def recover(place: Path) -> None:
    """What is unfinished goes."""
    tidy(place / "to")
