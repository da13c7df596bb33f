"""Board: a proposal applied."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from tests.faults.harness import Ended

from muniment.disk.root import Root
from muniment.handoff.central_board import CentralBoard
from muniment.path import RelPath
from muniment.record.state import open_workspace
from muniment.record.verify import verify

STAGES = ("one file system",)
LARGEST = 4_096

ANCHOR = "ev1-00000000000000000000000000"
BEFORE = b"# Board\n\n## One\n\nold\n\n## Two\n\nother\n"
AFTER = b"# Board\n\n## One\n\nold\n\nnew " + ANCHOR.encode() + b"\n\n## Two\n\nother\n"
SECTION = b"\n\nold\n\n"
PROPOSAL = {
    "form": "markdown",
    "heading": "One",
    "text": f"new {ANCHOR}",
    "base": hashlib.sha256(SECTION).hexdigest(),
}


def board_of(root: Root) -> CentralBoard:
    """The board under test; its clock stands still."""
    workspace = open_workspace(root, clock=lambda: datetime(2026, 11, 30, tzinfo=UTC))
    return CentralBoard(workspace, RelPath.parse("BOARD.md"))


def prepare(place: Path) -> None:
    """The board is there, and so is the record of the workspace."""
    (place / "to" / "BOARD.md").write_bytes(BEFORE)
    with Root.open(place / "to") as root:
        board_of(root)


def apply(place: Path) -> str:
    """The one writer applies it."""
    with Root.open(place / "to") as root:
        done = board_of(root).apply(PROPOSAL, anchor=ANCHOR)
    return f"version {done.version}"


def run(place: Path, acknowledge: Callable[[str], None]) -> None:
    """Apply, and say the version."""
    acknowledge(apply(place))


def check(place: Path, ended: Ended | None) -> None:
    """The board is the old one or the new one, and its version is the one of what stands there."""
    text = (place / "to" / "BOARD.md").read_bytes()
    with Root.open(place / "to") as root:
        board = board_of(root)
        version = board.show().version
        assert (text, version) in ((BEFORE, 0), (AFTER, 1))
        if ended is None or ended.said:
            assert text == AFTER
        if ended is None:
            assert verify(open_workspace(root, clock=lambda: datetime(2026, 11, 30, tzinfo=UTC)).ledger).whole


def recover(place: Path) -> None:
    """The writer applies it again."""
    apply(place)
