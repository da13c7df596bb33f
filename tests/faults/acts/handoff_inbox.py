"""Inbox: a message left, another one acknowledged."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from tests.faults.harness import Ended

from muniment.disk.root import Root
from muniment.handoff.inbox import Inbox
from muniment.record.state import open_workspace

STAGES = ("one file system",)
LARGEST = 4_096
datetime.strptime("2026", "%Y")  # what it imports at its first use is imported now


def inbox_of(root: Root) -> Inbox:
    """The inbox under test; its clock stands still."""
    return Inbox(open_workspace(root, clock=lambda: datetime(2026, 11, 30, tzinfo=UTC)), "mei")


def prepare(place: Path) -> None:
    """Nobody has left anything yet; the workspace is there."""
    with Root.open(place / "to") as root:
        inbox_of(root).read()
        inbox_of(root).send("lead", "before")


def run(place: Path, acknowledge: Callable[[str], None]) -> None:
    """Leave one, acknowledge the one that was there before."""
    with Root.open(place / "to") as root:
        inbox = inbox_of(root)
        acknowledge(f"sent {inbox.send('lead', 'new')['message_id']}")
        before = next(name for name in inbox.waiting() if inbox.message(name)["text"] == "before")
        acknowledge(f"acknowledged {inbox.acknowledge(before).message_id}")


def check(place: Path, ended: Ended | None) -> None:
    """What was said to be left is given out; what was said to be acknowledged never again."""
    said = place / "from" / "said"
    if ended is not None:
        said.write_text("\n".join(ended.said))
    told = dict(
        line.split() for line in said.read_text().splitlines() if line.split()[0] in ("sent", "acknowledged")
    )
    with Root.open(place / "to") as root:
        inbox = inbox_of(root)
        waiting = {name: inbox.message(name)["text"] for name in inbox.waiting()}
        assert len(waiting) <= 2 + (ended is None)
        if "sent" in told:
            assert waiting[told["sent"]] == "new"
        if "acknowledged" in told:
            assert told["acknowledged"] not in waiting


def recover(place: Path) -> None:
    """Somebody leaves another one."""
    with Root.open(place / "to") as root:
        inbox_of(root).send("lead", "again")
