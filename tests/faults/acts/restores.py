"""What the acts of restoring share: a workspace with a snapshot, changed since, and what has to hold."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.backup.world import RULES
from tests.vault.content import entropy

from muniment.backup import databases
from muniment.backup.fetching import Fetched
from muniment.backup.model import Request
from muniment.backup.restore import RESTORED, Restores
from muniment.backup.restore_model import Order
from muniment.backup.restore_rules import choose
from muniment.backup.service import Backups, Options
from muniment.disk.root import Root
from muniment.disk.sqlite import check_database
from muniment.disk.write import is_scratch
from muniment.hosts.generic.places import places
from muniment.record.consent import RELAYED, WitnessKind
from muniment.record.state import Workspace, open_workspace
from muniment.vault.open import open_directory

# What it imports at its first call is imported now, so that faults hit the act alone.
check_database("nowhere", "nowhere")

MORE = """
import os, sqlite3, sys
base = sqlite3.connect(sys.argv[1], isolation_level=None)
base.execute("PRAGMA wal_autocheckpoint = 0")
base.execute("INSERT INTO t VALUES (2)")
os._exit(0)
"""

KEPT = {"a": b"kept", "new/b": b"kept too", "same": b"same"}
MINE = {"a": b"mine", "same": b"same"}


class Room:
    """The rooms over one stage."""

    def __init__(self, place: Path) -> None:
        # How many processes there are, and what they have open, differs from run to run, and with it
        # the number of calls; a process that holds the database has tests of its own.
        setattr(databases, "holders", lambda paths: [])  # noqa: B010
        self.folder = place / "to" / "ws"
        self.now = datetime(2026, 11, 30, 12, tzinfo=UTC)
        self.root = Root.open(self.folder)
        self.record: Workspace = open_workspace(self.root, clock=self.clock)
        self.places = places(self.folder)
        self.vault = open_directory(place / "from" / "vault", clock=self.clock, entropy=entropy(1))
        options = Options(place / "from" / "cache", RELAYED.default, lambda saved: None, workers=0)
        self.backups = Backups(self.record, self.places, lambda: self.vault, options)
        self.restores = Restores(self.record, self.places, self.backups.reading, RELAYED.default)

    def clock(self) -> datetime:
        """The time, which goes on a little with every look."""
        self.now += timedelta(microseconds=1)
        return self.now

    def order(self) -> tuple[Order, Fetched]:
        """Everything of the plan."""
        (kept,) = self.vault.list().snapshots
        plan, fetched = self.restores.plan(kept.id)
        return choose(plan, overwrite=True, run=True), fetched

    def close(self) -> None:
        """Let everything go."""
        self.vault.close()
        self.root.close()


@contextmanager
def room(place: Path) -> Iterator[Room]:
    """The rooms, for the length of a block."""
    one = Room(place)
    try:
        yield one
    finally:
        one.close()


def prepare_workspace(place: Path) -> None:
    """A workspace with a snapshot, changed since: a file replaced, one and its folder gone, a link gone,
    a database with rows in a live log."""
    folder = place / "to" / "ws"
    write(folder, {**KEPT, ".muniment/backup_rules.md": RULES.encode()})
    (folder / "l").symlink_to("a")
    base = sqlite3.connect(folder / "x.db", isolation_level=None)
    base.execute("PRAGMA page_size = 512")
    base.execute("PRAGMA journal_mode = WAL")
    base.execute("CREATE TABLE t (n INTEGER)")
    base.execute("INSERT INTO t VALUES (1)")
    base.close()
    with room(place) as one:
        planned = one.backups.plan(Request())
        one.record.consents.give("create", planned.shown, WitnessKind.TERMINAL)
        one.backups.create(planned.plan.plan_id)
    (folder / "new/b").unlink()
    (folder / "new").rmdir()
    (folder / "l").unlink()
    write(folder, MINE)
    subprocess.run([sys.executable, "-c", MORE, folder / "x.db"], check=True)
    (place / "from" / "mine").write_text(json.dumps(standing(folder)))


def write(folder: Path, files: dict[str, bytes]) -> None:
    """Files, with the folders above them."""
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def standing(folder: Path) -> dict[str, str]:
    """What stands in the workspace, without Muniment's own: digests of files, targets of links."""
    found: dict[str, str] = {}
    for above, folders, names in os.walk(folder):
        if Path(above) == folder:
            folders[:] = [name for name in folders if name not in (".muniment", ".restore")]
        for name in [*names, *(one for one in folders if os.path.islink(os.path.join(above, one)))]:
            path = os.path.join(above, name)
            rel = os.path.relpath(path, folder)
            if os.path.islink(path):
                found[rel] = "-> " + os.readlink(path)
            else:
                with open(path, "rb") as stream:
                    found[rel] = hashlib.sha256(stream.read()).hexdigest()
    return found


def unfinished(folder: Path) -> list[str]:
    """Files that were being written, anywhere in the workspace."""
    return [
        os.path.join(above, name)
        for above, _, names in os.walk(folder)
        for name in names
        if is_scratch(name) and ".muniment" not in Path(above).relative_to(folder).parts[:1]
    ]


def everywhere(folder: Path) -> set[str]:
    """The digests of all files below a workspace, also of what is in undo sets or half written."""
    found: set[str] = set()
    for above, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(above, name)
            if not os.path.islink(path):
                with open(path, "rb") as stream:
                    found.add(hashlib.sha256(stream.read()).hexdigest())
    return found


def mine(place: Path) -> dict[str, str]:
    """What stood in the workspace before the restore."""
    found: dict[str, str] = json.loads((place / "from" / "mine").read_text())
    return found


def is_kept(folder: Path) -> bool:
    """Whether everything stands as it was kept."""
    for name, data in KEPT.items():
        path = folder / name
        if not path.is_file() or path.is_symlink() or path.read_bytes() != data:
            return False
    if not (folder / "l").is_symlink() or (folder / "x.db-wal").exists() or not (folder / "x.db").exists():
        return False
    return rows(folder) == [1]


def rows(folder: Path) -> list[int]:
    """The rows of the database, read from a copy, so that reading makes nothing."""
    copy = folder.parent / f"copy-{os.urandom(4).hex()}"
    copy.mkdir()
    for name in ("x.db", "x.db-wal"):
        if (folder / name).exists():
            (copy / name).write_bytes((folder / name).read_bytes())
    base = sqlite3.connect(copy / "x.db")
    try:
        return [n for (n,) in base.execute("SELECT n FROM t ORDER BY n")]
    finally:
        base.close()
        for path in copy.iterdir():
            path.unlink()
        copy.rmdir()


def told(one: Room) -> int:
    """How often the ledger says that a restore ended."""
    return sum(event.kind == RESTORED for event in one.record.ledger.events())
