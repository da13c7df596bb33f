"""Floor 3, `backup`: walking a section: what is kept becomes entries, what is left out is named."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from struct import pack
from typing import NamedTuple

from muniment.backup.excludes import Excludes
from muniment.bundle.extract import stays_inside
from muniment.bundle.manifest import Exclusion
from muniment.bundle.model import Fault, too_far
from muniment.bundle.tar import wire
from muniment.disk import platform
from muniment.disk.errors import system_reason
from muniment.disk.sqlite import COMPANIONS, MAGIC
from muniment.evidence import Kind
from muniment.message import say

OUTSIDE_LINK = "outside_link"
SPECIAL_FILE = "special_file"
FOLDED = "folded_into_database"
UNREADABLE = "unreadable"

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_PAGE_LEAST = 512
_NO_FILE = (errno.ENOENT, errno.ELOOP, errno.ENXIO, errno.EISDIR)
"""Gone, a link, a socket, a folder: no database."""

Known = dict[str, bool | OSError]
"""Whether files are databases, as far as that was looked at."""


class Seen(NamedTuple):
    """One thing that is kept: its path in the section, and what it was when it was seen.

    `stamp` tells that it is unchanged; `changed_ns` is the later of its two times; `database` that
    it must be copied consistently.
    """

    rel: str
    kind: Kind
    mode: int
    mtime_ns: int
    size: int
    target: str = ""
    stamp: bytes = b""
    changed_ns: int = 0
    database: bool = False
    device: int = 0


@dataclass(slots=True)
class Walk:
    """One walk over a section, below an open folder, in the byte order of whole paths.

    `passed` are paths that belong to another section.  With `raw_databases` databases and what
    lies beside them are files like any other.  `exclusions` and `faults` grow while it goes on.
    """

    fd: int
    section: str
    excludes: Excludes
    bundle_prefix: str
    passed: frozenset[str] = frozenset()
    keep_outside_links: bool = False
    raw_databases: bool = False
    exclusions: list[Exclusion] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)

    def __iter__(self) -> Iterator[Seen]:
        yield from self._folder(self.fd, "")

    def _folder(self, fd: int, prefix: str) -> Iterator[Seen]:
        try:
            with os.scandir(fd) as listing:
                names = {item.name for item in listing}
        except OSError as error:
            self._fault(prefix.rstrip("/"), error)
            return
        known = {} if self.raw_databases else self._with_companions(fd, names)
        folded = {base + suffix for base, one in known.items() if one is True for suffix in COMPANIONS}
        # A folder stands twice: as itself, and, with its `/`, for what lies in it; `a.txt` is between.
        order: list[tuple[bytes, Seen | str]] = []
        for name in names:
            seen = self._look(fd, name, prefix + name, names, folded, known)
            if seen is None:
                continue
            key = wire(name)
            order.append((key, seen))
            if seen.kind is Kind.DIRECTORY and not too_far(wire(f"{self.bundle_prefix}/{seen.rel}")):
                order.append((key + b"/", name))
        order.sort(key=lambda one: one[0])
        for _, one in order:
            if isinstance(one, str):
                yield from self._inner(fd, one, prefix + one)
            else:
                yield one

    def _inner(self, fd: int, name: str, rel: str) -> Iterator[Seen]:
        try:
            inner = os.open(name, _FOLDER, dir_fd=fd)
        except FileNotFoundError:
            return
        except OSError as error:
            self._fault(rel, error)
            return
        try:
            yield from self._folder(inner, f"{rel}/")
        finally:
            platform.close(inner)

    def _look(
        self, fd: int, name: str, rel: str, beside: set[str], folded: set[str], known: Known
    ) -> Seen | None:
        if rel in self.passed:
            return None
        why = self.excludes.reason(self.section, rel)
        if why is not None:
            self._leave_out(rel, str(why))
            return None
        if name in folded:
            self._leave_out(rel, FOLDED)
            return None
        try:
            fact = os.stat(name, dir_fd=fd, follow_symlinks=False)
            target = os.readlink(name, dir_fd=fd) if stat.S_ISLNK(fact.st_mode) else ""
            return self._seen(fd, name, rel, fact, target, beside, known)
        except FileNotFoundError:
            return None
        except OSError as error:
            self._fault(rel, error)
            return None

    def _seen(
        self,
        fd: int,
        name: str,
        rel: str,
        fact: os.stat_result,
        target: str,
        beside: set[str],
        known: Known,
    ) -> Seen | None:
        mode, when = stat.S_IMODE(fact.st_mode), fact.st_mtime_ns
        if stat.S_ISDIR(fact.st_mode):
            return Seen(rel, Kind.DIRECTORY, mode, when, 0)
        if stat.S_ISLNK(fact.st_mode):
            if self.keep_outside_links or stays_inside(f"{self.bundle_prefix}/{rel}", target):
                return Seen(rel, Kind.LINK, 0o777, when, 0, target)
            self._leave_out(rel, OUTSIDE_LINK)
            return None
        if not stat.S_ISREG(fact.st_mode):
            self._leave_out(rel, SPECIAL_FILE)
            return None
        database: bool | OSError = known.get(name, False)
        if name not in known and not self.raw_databases and _may_be_one(fact.st_size):
            database = _is_database(fd, name)
        if isinstance(database, OSError):
            raise database  # taken for a plain file it might be torn, and nobody would know
        stamp, changed = _mark(fact), max(when, fact.st_ctime_ns)
        if database:
            for suffix in ("-wal", "-journal"):
                if name + suffix in beside:
                    try:
                        more = os.stat(name + suffix, dir_fd=fd, follow_symlinks=False)
                    except FileNotFoundError:
                        continue
                    stamp += suffix.encode() + _mark(more)
                    changed = max(changed, more.st_mtime_ns, more.st_ctime_ns)
        return Seen(rel, Kind.FILE, mode, when, fact.st_size, "", stamp, changed, database, fact.st_dev)

    def _with_companions(self, fd: int, names: set[str]) -> Known:
        """Which of those that have something beside them are databases: what is beside goes into
        their copies.  Each is looked at once, so that nothing is folded into what is no database."""
        bases = {
            name.removesuffix(suffix) for name in names for suffix in COMPANIONS if name.endswith(suffix)
        }
        return {base: _is_database(fd, base) for base in bases & names}

    def _leave_out(self, rel: str, reason: str) -> None:
        self.exclusions.append(Exclusion(self.section, rel, reason))

    def _fault(self, rel: str, error: OSError) -> None:
        self._leave_out(rel, UNREADABLE)
        why = say("it could not be read: {error}", error=system_reason(error))
        self.faults.append(Fault(f"{self.bundle_prefix}/{rel}".rstrip("/"), "left_out", why))


def _mark(fact: os.stat_result) -> bytes:
    return pack("<QQqqq", fact.st_dev, fact.st_ino, fact.st_size, fact.st_mtime_ns, fact.st_ctime_ns)


def _may_be_one(size: int) -> bool:
    """Whether a file of that size, with nothing beside it, can be a database: whole pages."""
    return size >= _PAGE_LEAST and size % _PAGE_LEAST == 0


def _is_database(fd: int, name: str) -> bool | OSError:
    """By its first bytes; the error, when they can not be read."""
    try:
        opened = os.open(name, _READ, dir_fd=fd)
    except OSError as error:
        return False if error.errno in _NO_FILE else error
    try:
        return stat.S_ISREG(os.fstat(opened).st_mode) and os.pread(opened, len(MAGIC), 0) == MAGIC
    except OSError as error:
        return error
    finally:
        platform.close(opened)
