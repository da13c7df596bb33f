"""What a host was given, taken away again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.faults.acts import hosts_install
from tests.faults.acts.content import scratch
from tests.faults.acts.hosts_install import JSON, JSON_AFTER, PAGE, TOML, TOML_AFTER, found
from tests.faults.harness import Ended

from muniment.hosts.setup import uninstall

STAGES = ("one file system",)
LARGEST = 6_000


def prepare(place: Path) -> None:
    """Everything is installed."""
    hosts_install.prepare(place)
    hosts_install.setup(place).install()


def run(place: Path, acknowledge: Callable[[str], None]) -> None:
    """Take it away, and say so."""
    acknowledge(str(len(uninstall(place / "from" / "receipts", "some"))))


def check(place: Path, ended: Ended | None) -> None:
    """Each file is wholly old or wholly new; all are as before when it was said."""
    a, b, page = found(place)
    assert a in (JSON, JSON_AFTER) and b in (TOML, TOML_AFTER) and page in (None, PAGE)
    if ended is None or ended.how == "done" or ended.said:
        assert (a, b, page) == (JSON, TOML, None)


def recover(place: Path) -> None:
    """It is run again."""
    uninstall(place / "from" / "receipts", "some")
    for path in scratch(place / "to"):
        path.unlink()
