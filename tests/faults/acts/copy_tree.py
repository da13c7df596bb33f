"""Verified copy of a folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.faults.acts.content import TREE, check_made, differs, put, tidy
from tests.faults.harness import Ended

from muniment.disk.copy import copy_verified
from muniment.disk.root import Root
from muniment.disk.tree import measure
from muniment.path import RelPath

STAGES = ("one file system", "onto tmpfs")
LARGEST = 10_240


def prepare(place: Path) -> None:
    """A tree to copy."""
    put(place / "from" / "work", TREE)


def run(place: Path, acknowledge: Callable[[str], None]) -> None:
    """Measure and copy."""
    with Root.open(place / "from") as source, Root.open(place / "to") as target:
        rel = RelPath.parse("work")
        table = copy_verified(source, rel, target, RelPath.parse("kept"), measure(source, rel))
        acknowledge(str(table.digest))


def check(place: Path, ended: Ended | None) -> None:
    """The source always; at the target nothing or the whole."""
    kept = place / "to" / "kept"
    assert not differs(place / "from" / "work", TREE), differs(place / "from" / "work", TREE)
    check_made(kept, differs(kept, TREE), ended)


def recover(place: Path) -> None:
    """What is unfinished goes."""
    tidy(place / "to")
