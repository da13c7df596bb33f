"""What the acts on a vault share: a vault on a stage, and what has to hold in it whatever happened."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

from tests.vault.content import Content, entropy, restored

from muniment.clock import system_clock
from muniment.vault.collect import collect
from muniment.vault.examine import examine
from muniment.vault.open import open_directory
from muniment.vault.store import VaultStore


@contextmanager
def opened(place: Path, *, ahead: timedelta = timedelta(), seed: int = 1) -> Iterator[VaultStore]:
    """The vault on a stage, by a clock that may be ahead.  The last letters of names come from the
    seed, so that each run makes the same calls."""
    path = place / "to" / "vault"
    vault = open_directory(path, clock=lambda: system_clock() + ahead, entropy=entropy(seed))
    try:
        yield vault
    finally:
        vault.close()


def hold(
    place: Path, always: Mapping[str, Content], perhaps: Mapping[str, Content], new: Content | None
) -> set[str]:
    """What is listed: everything of `always`, whatever else is whole; and no file without a row."""
    with opened(place) as vault:
        there = {one.id for one in vault.list().snapshots}
        assert set(always) <= there, "an acknowledged snapshot is gone"
        for snapshot_id in there:
            wanted = always.get(snapshot_id) or perhaps.get(snapshot_id) or new
            assert wanted is not None, "a snapshot that nobody made"
            assert restored(vault, snapshot_id) == wanted.raw
        found = examine(vault)
        assert found.findings == [], found.findings
    return there


def tidy(place: Path) -> None:
    """What the keeper does on the days after, by which every file is older."""
    for days in (1, 3, 5):
        for path in (place / "to" / "vault").rglob("*"):
            fact = path.stat()
            os.utime(path, (fact.st_atime, fact.st_mtime - timedelta(days=2).total_seconds()))
        with opened(place, ahead=timedelta(days=days)) as vault:
            collect(vault)


def files(place: Path) -> set[str]:
    """Every file below packs and snapshots."""
    root = place / "to" / "vault"
    return {
        path.relative_to(root).as_posix()
        for folder in ("packs", "snapshots")
        for path in (root / folder).rglob("*")
        if path.is_file()
    }


def needed(place: Path) -> set[str]:
    """The files that the catalogue needs."""
    with opened(place) as vault:
        names = {f"packs/{name[-1]}/{name}" for name, _ in vault.catalogue.packs()}
        for one in vault.list().snapshots:
            names |= {f"snapshots/{one.id}.index", f"snapshots/{one.id}.json"}
    return names
