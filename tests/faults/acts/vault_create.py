"""Vault: a snapshot created beside another one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.faults.acts.vaults import files, hold, needed, opened, tidy
from tests.faults.harness import Ended
from tests.vault.content import keep, numbered

STAGES = ("one file system",)
LARGEST = 90_000

OLD, NEW = numbered(1, 2), numbered(1, 3)


def prepare(place: Path) -> None:
    """One is kept already."""
    with opened(place) as vault:
        (place / "from" / "old").write_text(keep(vault, OLD).snapshot.id)


def run(place: Path, acknowledge: Callable[[str], None]) -> None:
    """Open, reserve, put, finish."""
    with opened(place, seed=2) as vault:
        acknowledge(keep(vault, NEW).snapshot.id)


def check(place: Path, ended: Ended | None) -> None:
    """The old one always; the new one when it was said; else the new one whole or not at all."""
    always = {(place / "from" / "old").read_text(): OLD}
    said = place / "from" / "said"
    if ended is not None and ended.said:
        said.write_text(ended.said[0])
    if said.exists():
        always[said.read_text()] = NEW
    there = hold(place, always, {}, NEW)
    assert len(there) in ((2,) if ended is not None and ended.how == "done" else (1, 2))
    if ended is None:
        assert files(place) == needed(place)


def recover(place: Path) -> None:
    """Garbage is collected on the days after."""
    tidy(place)
