"""Two-step act with its journal."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from tests.faults.harness import Ended

from muniment.disk import platform
from muniment.disk.errors import named
from muniment.disk.journal import Journal
from muniment.disk.root import Root
from muniment.path import RelPath

STAGES = ("one file system",)
LARGEST = 400
ROOT_ID = "01KDVDNA000000000000000000"
BYTES = b"kept through it all\n"


def _journal(root: Root) -> Journal:
    return Journal(root, RelPath.parse("journal"), ROOT_ID)


def prepare(place: Path) -> None:
    """A file that is about to get another name."""
    (place / "to" / "before").write_bytes(BYTES)


def run(place: Path, acknowledge: Callable[[str], None]) -> None:
    """Begin, rename, end."""
    with Root.open(place / "to") as root:
        journal = _journal(root)
        now = datetime(2026, 11, 30, tzinfo=UTC)
        act = journal.begin("test.rename", {"name": "before"}, {"name": "after"}, now, os.urandom)
        with root.folder(RelPath()) as fd, named("after"):
            platform.rename_exclusive(fd, "before", fd, "after")
            platform.sync_folder(fd)
        journal.end(act)
        acknowledge("done")


def check(place: Path, ended: Ended | None) -> None:
    """The bytes are at one of the two names; when they moved, a journal says so or all is over."""
    with Root.open(place / "to") as root:
        names = [name for name in ("before", "after") if (place / "to" / name).exists()]
        assert len(names) == 1
        assert (place / "to" / names[0]).read_bytes() == BYTES
        pending = _journal(root).pending()
        assert all(_journal(root).fits(act) for act in pending)
        if ended is None:
            assert pending == []
        elif ended.how == "done":
            assert names == ["after"] and pending == []
        elif ended.how == "killed" and not ended.said:
            assert len(pending) <= 1


def recover(place: Path) -> None:
    """Each act that is pending stands at one of its two ends, by `check`, and is over."""
    with Root.open(place / "to") as root:
        journal = _journal(root)
        for act in journal.pending():
            journal.end(act)
