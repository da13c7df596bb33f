"""Floor 3, `backup`: databases that are restored: never under a process, never beside an old log.

Measured: next to a live `-wal` a replaced database gives back the rows of the log, and every check
of SQLite's says that all is well (spec 4, restore).
"""

from __future__ import annotations

import os
from collections.abc import Set as AbstractSet

from muniment.backup.errors import DatabaseDiffers, DatabaseInUse
from muniment.backup.fetching import Fetched
from muniment.backup.restore_model import Step
from muniment.backup.standing import Standing
from muniment.disk import platform
from muniment.disk.errors import NotThere, SourceChanged, named
from muniment.disk.root import Root
from muniment.disk.sqlite import COMPANIONS, check_database, holders, is_locked
from muniment.message import say
from muniment.path import RelPath, printable


def require_free(root: Root, rel: str, known: AbstractSet[str], *, clear: bool = False) -> None:
    """`DatabaseInUse` while a process has the database or its logs open; `SourceChanged` when logs lie
    beside it that are not `known`.

    With `clear`, empty logs that reading left are removed, and with them the shared memory.
    """
    path = RelPath.parse(rel)
    try:
        with root.folder(path.parent) as fd, named(rel):
            identities: list[tuple[int, int]] = []
            for suffix in ("", *COMPANIONS):
                try:
                    fact = os.stat(path.name + suffix, dir_fd=fd, follow_symlinks=False)
                except FileNotFoundError:
                    continue
                identities.append((fact.st_dev, fact.st_ino))
            if is_locked(fd, path.name):
                raise DatabaseInUse(where=printable(rel))
            pids = holders(identities)
            if pids:
                listed = ", ".join(map(str, pids))
                raise DatabaseInUse(where=printable(rel), why=say("process {pids} has it open", pids=listed))
    except NotThere:
        return
    with Standing(root.fd) as standing:
        beside = standing.companions(rel)
    strange = {one: size for one, size in beside.items() if one not in known}
    live = {one for one, size in strange.items() if size and not one.endswith("-shm")}
    if live or (strange and not clear):
        raise SourceChanged(
            where=printable(rel),
            why=say("{path} came beside it", path=printable(min(live or strange))),
        )
    for one in strange:
        root.unlink(RelPath.parse(one), missing_ok=True)


def verify_restored(root: Root, step: Step, fetched: Fetched) -> None:
    """Open a database that was put in place and compare it with the packed one: `DatabaseDiffers`.

    Where the snapshot has its log beside it, as one in mode `full` has, bytes are all that is compared.
    """
    with Standing(root.fd) as standing:
        beside = standing.companions(step.rel)
    packed = {row.path for row in fetched.rows}
    prefix = step.source.removesuffix(step.rel)
    if any(step.source + suffix in packed for suffix in COMPANIONS):
        return
    live = sorted(path for path, size in beside.items() if size and prefix + path not in packed)
    if live:
        raise DatabaseDiffers(
            where=printable(step.rel), why=say("{path} came beside it", path=printable(live[0]))
        )
    here = root.open_file(RelPath.parse(step.rel))
    there = fetched.folder.open_file(fetched.rel(step.source))
    try:
        with named(step.rel):
            finding = check_database(_by_descriptor(here, root, step.rel), _by_descriptor(there, None, ""))
    finally:
        platform.close(here)
        platform.close(there)
    if finding:
        raise DatabaseDiffers(where=printable(step.rel), why=say("{finding}", finding=finding))


def _by_descriptor(fd: int, root: Root | None, rel: str) -> str:
    """A path that leads to an open file and to no other, whatever stands at its name by now."""
    if platform.LINUX:
        return f"/proc/self/fd/{fd}"
    return os.path.join(root.path, rel) if root else f"/dev/fd/{fd}"
