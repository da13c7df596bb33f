"""Never comes to an end."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

from tests.faults.harness import Ended

STAGES = ("one file system",)


def prepare(place: Path) -> None:
    """Nothing is there."""


def run(place: Path, acknowledge: Callable[[str], None]) -> None:
    """The mistake: it waits for what never comes."""
    (place / "to" / "folder").mkdir()
    signal.pause()


def check(place: Path, ended: Ended | None) -> None:
    """Nothing is asked."""


def recover(place: Path) -> None:
    """Nothing helps here."""
