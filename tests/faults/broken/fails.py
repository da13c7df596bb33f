"""Fails without any fault."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.faults.harness import Ended

STAGES = ("one file system",)


def prepare(place: Path) -> None:
    """Nothing is there."""


def run(place: Path, acknowledge: Callable[[str], None]) -> None:
    """The mistake."""
    raise ValueError("never works")


def check(place: Path, ended: Ended | None) -> None:
    """Nothing is asked."""


def recover(place: Path) -> None:
    """Nothing helps here."""
