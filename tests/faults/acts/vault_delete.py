"""Vault: a snapshot deleted that shares with another one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.faults.acts.vaults import files, hold, needed, opened, tidy
from tests.faults.harness import Ended
from tests.vault.content import keep, numbered

STAGES = ("one file system",)
LARGEST = 90_000

STAYS, GOES = numbered(1, 2), numbered(1, 3)


def prepare(place: Path) -> None:
    """Two are kept."""
    with opened(place) as vault:
        (place / "from" / "stays").write_text(keep(vault, STAYS).snapshot.id)
        (place / "from" / "goes").write_text(keep(vault, GOES, "goes").snapshot.id)


def run(place: Path, acknowledge: Callable[[str], None]) -> None:
    """Open and delete one."""
    with opened(place, seed=2) as vault:
        (goes,) = (one.id for one in vault.list().snapshots if one.label == "goes")
        acknowledge(vault.delete(goes).id)


def check(place: Path, ended: Ended | None) -> None:
    """The other one always; this one gone when that was said, else whole or gone."""
    goes = (place / "from" / "goes").read_text()
    there = hold(place, {(place / "from" / "stays").read_text(): STAYS}, {goes: GOES}, None)
    said = place / "from" / "said"
    if ended is not None and (ended.said or ended.how == "done"):
        said.write_text("")
    assert not (said.exists() and goes in there)
    if ended is None:
        assert files(place) == needed(place)


def recover(place: Path) -> None:
    """Garbage is collected on the days after."""
    tidy(place)
