"""Floor 3, `backup`: walking a section: what is kept becomes entries, what is left out is named."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from struct import pack
from typing import NamedTuple

from muniment.backup.excludes import Excludes, Reason
from muniment.bundle.extract import stays_inside
from muniment.bundle.manifest import Exclusion
from muniment.disk.sqlite import COMPANIONS, MAGIC
from muniment.evidence import Kind

OUTSIDE_LINK = "outside_link"
SPECIAL_FILE = "special_file"
FOLDED = "folded_into_database"
UNREADABLE = "unreadable"

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_PAGE_LEAST = 512


class Seen(NamedTuple):
    """One thing that is kept: its path in the section, and what it was when it was seen.

    `stamp` tells that it is unchanged; `database` that it must be copied consistently.
    """

    rel: str
    kind: Kind
    mode: int
    mtime_ns: int
    size: int
    target: str
    stamp: bytes
    database: bool


@dataclass(slots=True)
class Walk:
    """One walk over a section, below an open folder; folders come before what lies in them.

    `passed` are paths that belong to another section.  With `raw_databases` databases and what
    lies beside them are files like any other.
    """

    fd: int
    section: str
    excludes: Excludes
    bundle_prefix: str
    passed: frozenset[str] = frozenset()
    keep_outside_links: bool = False
    raw_databases: bool = False
    exclusions: list[Exclusion] = field(default_factory=list)

    def __iter__(self) -> Iterator[Seen]:
        yield from self._folder(self.fd, "")

    def _folder(self, fd: int, prefix: str) -> Iterator[Seen]:
        with os.scandir(fd) as listing:
            found = sorted((os.fsencode(item.name), item.name) for item in listing)
        names = {name for _, name in found}
        folded = set() if self.raw_databases else self._folded(fd, names)
        for _, name in found:
            rel = prefix + name
            if rel in self.passed:
                continue
            why: Reason | str | None = self.excludes.reason(self.section, rel)
            if why is None and name in folded:
                why = FOLDED
            if why is not None:
                self._leave_out(rel, str(why))
                continue
            try:
                fact = os.stat(name, dir_fd=fd, follow_symlinks=False)
            except FileNotFoundError:
                continue
            yield from self._entry(fd, name, rel, fact, names)

    def _entry(self, fd: int, name: str, rel: str, fact: os.stat_result, beside: set[str]) -> Iterator[Seen]:
        mode = stat.S_IMODE(fact.st_mode)
        if stat.S_ISDIR(fact.st_mode):
            try:
                inner = os.open(name, _FOLDER, dir_fd=fd)
            except PermissionError:
                self._leave_out(rel, UNREADABLE)
                return
            try:
                yield Seen(rel, Kind.DIRECTORY, mode, fact.st_mtime_ns, 0, "", b"", False)
                yield from self._folder(inner, f"{rel}/")
            finally:
                os.close(inner)
        elif stat.S_ISREG(fact.st_mode):
            database = not self.raw_databases and _is_database(fd, name, fact.st_size)
            stamp = self._stamp(fd, name, fact, database, beside)
            yield Seen(rel, Kind.FILE, mode, fact.st_mtime_ns, fact.st_size, "", stamp, database)
        elif stat.S_ISLNK(fact.st_mode):
            target = os.readlink(name, dir_fd=fd)
            if not self.keep_outside_links and not stays_inside(f"{self.bundle_prefix}/{rel}", target):
                self._leave_out(rel, OUTSIDE_LINK)
            else:
                yield Seen(rel, Kind.LINK, 0o777, fact.st_mtime_ns, 0, target, b"", False)
        else:
            self._leave_out(rel, SPECIAL_FILE)

    def _folded(self, fd: int, names: set[str]) -> set[str]:
        """What lies beside a database and goes into its copy."""
        beside: set[str] = set()
        for name in names:
            for suffix in COMPANIONS:
                base = name.removesuffix(suffix)
                if base != name and base in names and _is_database(fd, base, None):
                    beside.add(name)
        return beside

    @staticmethod
    def _stamp(fd: int, name: str, fact: os.stat_result, database: bool, beside: set[str]) -> bytes:
        mark = _mark(fact)
        if database:
            for suffix in ("-wal", "-journal"):
                if name + suffix in beside:
                    try:
                        mark += _mark(os.stat(name + suffix, dir_fd=fd, follow_symlinks=False))
                    except FileNotFoundError:
                        mark += b"-"
        return mark

    def _leave_out(self, rel: str, reason: str) -> None:
        self.exclusions.append(Exclusion(self.section, rel, reason))


def _mark(fact: os.stat_result) -> bytes:
    return pack("<QQqqq", fact.st_dev, fact.st_ino, fact.st_size, fact.st_mtime_ns, fact.st_ctime_ns)


def _is_database(fd: int, name: str, size: int | None) -> bool:
    """By its first bytes; a size that no database has spares the look."""
    if size is not None and (size < _PAGE_LEAST or size % _PAGE_LEAST):
        return False
    try:
        opened = os.open(name, _READ, dir_fd=fd)
    except OSError:
        return False
    try:
        return stat.S_ISREG(os.fstat(opened).st_mode) and os.pread(opened, len(MAGIC), 0) == MAGIC
    finally:
        os.close(opened)
