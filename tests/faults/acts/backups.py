"""What the acts on backups share: a workspace, a vault, and what has to hold whatever happened."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import shutil
import sqlite3
import tarfile
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any

from tests.backup.world import RULES
from tests.vault.content import entropy

from muniment.backup.model import Request
from muniment.backup.service import Backups, Options
from muniment.bundle.vault import Snapshot
from muniment.desk.doctor import Level
from muniment.desk.doctor import examine as look_over
from muniment.disk.root import Root
from muniment.hosts.generic.places import places
from muniment.path import RelPath
from muniment.record.consent import RELAYED, WitnessKind
from muniment.record.state import open_workspace
from muniment.record.verify import verify
from muniment.vault.examine import examine
from muniment.vault.open import open_directory
from muniment.vault.place import refuse_inside

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
WHEN = 1_700_000_000_123_456_789
OLD, NEW = "day 2026-11-30", "newer"

# What it imports at its first call is imported now, so that faults hit the acts alone.
b"x".decode("utf-8-sig")

FILES = {
    "memory/note.md": b"remember\n" * 40,
    "memory/empty": b"",
    "skills/deep/skill.md": b"# Skill\n" + bytes(range(256)) * 20,
    "left.log": b"left out by the rules\n",
}
LINK = ("memory/link.md", "note.md")
DATABASE = "memory/app.db"
ROWS = 30
SECTION = "files/workspace/"

_MODEL = tempfile.TemporaryDirectory(prefix="muniment-faults-")
_MAKING = threading.Lock()


@contextmanager
def opened(place: Path, hours: int = 0) -> Iterator[Backups]:
    """The room on a stage, by a clock that stands so many hours after noon.

    Names come from the seed, so that each run makes the same calls.
    """
    when = NOON + timedelta(hours=hours)
    workspace, folder = place / "from" / "work", place / "to" / "vault"
    with Root.open(workspace) as root:
        record = open_workspace(root, clock=lambda: when, entropy=entropy(hours))
        vault = open_directory(folder, clock=lambda: when, entropy=entropy(100 + hours))
        options = Options(
            cache=place / "to" / "cache",
            relayed=RELAYED.default,
            refuse_inside=lambda saved: refuse_inside(folder, saved),
            workers=0,
            scratch=place / "to" / "tmp",
        )
        try:
            yield Backups(record, places(workspace), lambda: vault, options)
        finally:
            vault.close()


def snapshot(backups: Backups, label: str = NEW) -> None:
    """Plan, confirm, create."""
    backups.create(confirmed(backups, label))


def confirmed(backups: Backups, label: str = NEW) -> str:
    """A plan that a person confirmed."""
    planned = backups.plan(Request(label=label))
    backups.workspace.consents.give("create", planned.shown, WitnessKind.TERMINAL)
    return planned.plan.plan_id


def dress(place: Path) -> None:
    """A workspace of which one snapshot is kept, changed since, with a plan that is confirmed.

    It is made once and copied, since each point of a sweep begins with it.
    """
    with _MAKING:
        model = _model()
    shutil.copytree(model, place, symlinks=True, dirs_exist_ok=True)
    (place / "from" / "faces").write_text(json.dumps(_faces(place)))


@lru_cache(maxsize=1)
def _model() -> Path:
    place = Path(_MODEL.name)
    work = place / "from" / "work"
    (place / "to" / "tmp").mkdir(parents=True)
    for rel, content in FILES.items():
        (work / rel).parent.mkdir(parents=True, exist_ok=True)
        (work / rel).write_bytes(content)
    (work / LINK[0]).symlink_to(LINK[1])
    (work / ".muniment").mkdir()
    (work / ".muniment" / "backup_rules.md").write_text(
        RULES.replace("## Extra excludes\n```\n", "## Extra excludes\n```\n*.log\n")
    )
    with opened(place) as backups:
        snapshot(backups, OLD)
    _database(work / DATABASE)
    for path in work.rglob("*"):
        if ".muniment" not in path.parts:
            os.utime(path, ns=(WHEN, WHEN), follow_symlinks=False)
    with opened(place, hours=1) as backups:
        (place / "from" / "plan").write_text(confirmed(backups))
        (place / "from" / "old").write_text(backups.list().snapshots[0].id)
    return place


def _database(path: Path) -> None:
    """A database as a crashed program leaves it: its rows stand in the `-wal` alone."""
    with closing(sqlite3.connect(path.with_name("living"), isolation_level=None)) as base:
        base.execute("PRAGMA journal_mode = WAL")
        base.execute("PRAGMA wal_autocheckpoint = 0")
        base.execute("CREATE TABLE t (n INTEGER)")
        base.executemany("INSERT INTO t VALUES (?)", [(n,) for n in range(ROWS)])
        for suffix in ("", "-wal"):
            shutil.copy(path.with_name("living" + suffix), path.with_name(path.name + suffix))
    path.with_name("living").unlink()


def _faces(place: Path) -> dict[str, list[Any]]:
    """What stands in the workspace: mode, size, times, bytes or target."""
    found: dict[str, list[Any]] = {}
    work = place / "from" / "work"
    for path in sorted(work.rglob("*")):
        rel = path.relative_to(work).as_posix()
        if rel.startswith(".muniment"):
            continue
        if rel == DATABASE + "-shm":
            continue
        fact = path.lstat()
        # For root, SQLite gives a `-wal` that it opens to its owner again: the ctime moves, nothing else.
        times = [fact.st_mtime_ns, 0 if rel == DATABASE + "-wal" else fact.st_ctime_ns]
        if path.is_symlink():
            found[rel] = [fact.st_mode, fact.st_ino, times, os.readlink(path)]
        elif path.is_dir():
            # Where the `-shm` may be made, the folder's own time is not its content's.
            found[rel] = [fact.st_mode, fact.st_ino, [] if DATABASE.startswith(f"{rel}/") else times]
        else:
            found[rel] = [fact.st_mode, fact.st_ino, times, hashlib.sha256(path.read_bytes()).hexdigest()]
    return found


def untouched(place: Path) -> None:
    """Bytes, names and times of what was saved are as they were."""
    was, now = json.loads((place / "from" / "faces").read_text()), _faces(place)
    changed = {rel: (was.get(rel), now.get(rel)) for rel in {*was, *now} if was.get(rel) != now.get(rel)}
    assert not changed, f"the source was changed: {changed}"


def noted(place: Path, name: str) -> str:
    """A note of the act's own beside the workspace; its errors have names too."""
    with Root.open(place / "from") as root:
        return root.read(RelPath((name,)), 1 << 10).decode()


def stored(place: Path) -> list[Snapshot]:
    """What the vault keeps, newest first."""
    with opened(place, hours=5) as backups:
        return list(backups.open_vault().list().snapshots)


def hold(place: Path) -> dict[str, set[str]]:
    """Every snapshot that is listed, with the paths that are not in it as they are.

    Each verifies, opens with decoders that are not ours, and its manifest names what it lacks.
    """
    lacking: dict[str, set[str]] = {}
    with opened(place, hours=5) as backups:
        vault = backups.open_vault()
        assert examine(vault).findings == []  # type: ignore[arg-type]
        for one in vault.list().snapshots:
            reading = backups.reading(one.id)
            reading.verify()
            raw = gzip.decompress(b"".join(reading.download()))
            lacking[one.id] = _lacks(raw, one.label, place)
            told = " ".join(reading.contents.facts["plan_summary"]["warnings"])
            for path in lacking[one.id]:
                above = path.split("/")
                places = ["/".join(above[:deep]) + ":" for deep in range(2, len(above) + 1)]
                assert any(place in told for place in places), (
                    f"{path} is not in it as it is, and that is not said: {told}"
                )
        verdict = verify(backups.workspace.ledger)
        assert all(finding.torn for finding in verdict.findings), verdict.findings
    return lacking


def _lacks(raw: bytes, label: str, place: Path) -> set[str]:
    """The paths of which a snapshot holds other than what was written."""
    wanted: dict[str, object] = {
        SECTION + rel: content for rel, content in FILES.items() if not rel.endswith(".log")
    }
    wanted[SECTION + LINK[0]] = LINK[1]
    if label != OLD:
        wanted[SECTION + DATABASE] = list(range(ROWS))
    found: dict[str, object] = {}
    with tarfile.open(fileobj=io.BytesIO(raw)) as archive:
        for member in archive:
            if not member.name.startswith(SECTION) or "/.muniment/" in member.name or member.isdir():
                continue
            if member.issym():
                found[member.name] = member.linkname
                continue
            stream = archive.extractfile(member)
            assert stream is not None
            content = stream.read()
            found[member.name] = _rows(content, place) if member.name == SECTION + DATABASE else content
    # A database that could not be copied lies as it was, with what lies beside it.
    beside = {SECTION + DATABASE + "-wal"}
    lacks = {path for path in wanted if found.get(path) != wanted[path]}
    extra = set(found) - set(wanted)
    assert extra <= (beside if SECTION + DATABASE in lacks else set()), extra
    return lacks


def _rows(content: bytes, place: Path) -> list[int] | str:
    with tempfile.TemporaryDirectory(dir=place.parent) as folder:
        path = Path(folder) / "base"
        path.write_bytes(content)
        try:
            with closing(sqlite3.connect(path)) as base:
                return [number for (number,) in base.execute("SELECT n FROM t ORDER BY n")]
        except sqlite3.DatabaseError as error:
            return str(error)


def created(place: Path) -> list[str]:
    """The snapshots of which the ledger tells that they were stored, each time it does."""
    return _told(place, "backup.created")


def deleted(place: Path) -> list[str]:
    """The snapshots of which the ledger tells that they were deleted."""
    return _told(place, "backup.deleted")


def _told(place: Path, kind: str) -> list[str]:
    with opened(place, hours=5) as backups:
        return [event.subject for event in backups.workspace.ledger.events() if event.kind == kind]


def followed(place: Path) -> None:
    """After the next act: the ledger is whole, and nothing is left of the one that ended."""
    with opened(place, hours=5) as backups:
        assert verify(backups.workspace.ledger).whole
        wrong = [one for one in look_over(backups.workspace, mend=True) if one.level is Level.WRONG]
        assert not wrong, wrong
    assert list((place / "to" / "tmp").iterdir()) == []
    left = list((place / "from" / "work").rglob(".muniment-*"))
    assert not left, left
