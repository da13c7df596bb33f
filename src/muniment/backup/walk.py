"""Floor 3, `backup`: walking a section: what is kept becomes entries, what is left out is named."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Collection, Iterator, Set
from dataclasses import dataclass, field
from operator import itemgetter
from struct import pack
from typing import NamedTuple

from muniment.backup.excludes import Excludes, Reason, left_out_by_name
from muniment.bundle.manifest import Exclusion
from muniment.bundle.model import Fault, stays_inside, too_far
from muniment.bundle.segments import Look, Looked, Part, in_parts, mark, may_go_too_far
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


class Many(NamedTuple):
    """Things that are kept and follow each other in one folder, `below` the section with a `/` at its
    end: nothing of them has to be looked at alone."""

    below: str
    part: Part

    def each(self) -> Iterator[Seen]:
        """One by one."""
        for one in self.part.looked():
            yield _seen(self.below + one.name, one)


@dataclass(slots=True)
class Walk:
    """One walk over a section, below an open folder, in the byte order of whole paths.

    `passed` are paths that belong to another section.  With `raw_databases` databases and what
    lies beside them are files like any other.  Files that changed after `settled_ns` or lie on another
    `device`, if that is given, are told of alone.  `exclusions` and `faults` grow while it goes on.
    """

    fd: int
    section: str
    excludes: Excludes
    bundle_prefix: str
    passed: frozenset[str] = frozenset()
    keep_outside_links: bool = False
    raw_databases: bool = False
    settled_ns: int | None = None
    device: int | None = None
    exclusions: list[Exclusion] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)

    def __iter__(self) -> Iterator[Seen]:
        for one in self.parts():
            if isinstance(one, Many):
                yield from one.each()
            else:
                yield one

    def parts(self) -> Iterator[Seen | Many]:
        """Everything, much of it many at once."""
        # One folder in another: its descriptor, what is still to come of it, its path.
        open_: list[tuple[int, Iterator[Part | Seen | str], str]] = []
        try:
            top = self._opened(self.fd, ".", "")
            if top is not None:
                open_.append((top, self._listed(top, ""), ""))
            while open_:
                fd, parts, prefix = open_[-1]
                for part in parts:
                    if isinstance(part, str):
                        inner = self._opened(fd, part, prefix + part)
                        if inner is not None:
                            below = f"{prefix}{part}/"
                            open_.append((inner, self._listed(inner, below), below))
                            break
                    elif isinstance(part, Seen):
                        yield part
                    elif may_go_too_far(wire(f"{self.bundle_prefix}/{prefix}")):
                        yield from Many(prefix, part).each()
                    else:
                        yield Many(prefix, part)
                else:
                    platform.close(open_.pop()[0])
        finally:
            for fd, *_ in open_:
                platform.close(fd)

    def _listed(self, fd: int, prefix: str) -> Iterator[Part | Seen | str]:
        """What is kept of a folder, and the names of the folders to go into."""
        folder = prefix.rstrip("/")
        try:
            with os.scandir(fd) as listing:
                items = {item.name: item for item in listing}
        except OSError as error:
            self._fault(folder, error)
            return iter(())
        known = {} if self.raw_databases else self._with_companions(fd, items.keys())
        folded = {base + suffix for base, one in known.items() if one is True for suffix in COMPANIONS}
        at = wire(f"{self.bundle_prefix}/{prefix}")
        risky = may_go_too_far(at)
        by_name = self.excludes.by_name(self.section, folder) and all(
            path.rpartition("/")[0] != folder for path in self.passed
        )
        settled, device, raw = self.settled_ns, self.device, self.raw_databases
        # A folder stands twice: as itself, and, with its `/`, for what lies in it; `a.txt` is between.
        order: list[tuple[bytes, Look | Seen | str]] = []
        for name, item in items.items():
            try:
                if by_name:
                    if left_out_by_name(name):
                        self._leave_out(prefix + name, str(Reason.DEFAULT_RULE))
                        continue
                elif self._is_out(prefix + name):
                    continue
                if name in folded:
                    self._leave_out(prefix + name, FOLDED)
                    continue
                fact = item.stat(follow_symlinks=False)
                key, kind = wire(name), stat.S_IFMT(fact.st_mode)
                if kind == stat.S_IFREG:
                    alone = None
                    if not raw and (name in known or _may_be_one(fact.st_size)):
                        alone = self._database(fd, name, prefix + name, fact, items.keys(), known)
                    if (
                        alone is None
                        and settled is not None
                        and (
                            fact.st_mtime_ns >= settled
                            or fact.st_ctime_ns >= settled
                            or fact.st_dev != device
                        )
                    ):
                        alone = _file(prefix + name, fact)
                    order.append((key, alone or (name, fact, "")))
                elif kind == stat.S_IFDIR:
                    order.append((key, (name, fact, "")))
                    if not (risky and too_far(at + key)):
                        order.append((key + b"/", name))
                elif kind == stat.S_IFLNK:
                    target = os.readlink(name, dir_fd=fd)
                    if self.keep_outside_links or stays_inside(
                        f"{self.bundle_prefix}/{prefix}{name}", target
                    ):
                        order.append((key, (name, fact, target)))
                    else:
                        self._leave_out(prefix + name, OUTSIDE_LINK)
                else:
                    self._leave_out(prefix + name, SPECIAL_FILE)
            except FileNotFoundError:
                continue
            except OSError as error:
                self._fault(prefix + name, error)
        order.sort(key=itemgetter(0))
        return in_parts(order, at)

    def _is_out(self, rel: str) -> bool:
        if rel in self.passed:
            return True
        why = self.excludes.reason(self.section, rel)
        if why is not None:
            self._leave_out(rel, str(why))
        return why is not None

    def _opened(self, fd: int, name: str, rel: str) -> int | None:
        """A folder; none when it is gone, or can not be opened.  The section too is opened anew (`.`):
        another process may list it, see `platform.open_again`."""
        try:
            return os.open(name, platform.FOLDER, dir_fd=fd)
        except FileNotFoundError:
            return None
        except OSError as error:
            self._fault(rel, error)
            return None

    def _database(
        self, fd: int, name: str, rel: str, fact: os.stat_result, beside: Collection[str], known: Known
    ) -> Seen | None:
        """A file that may be a database, if it is one."""
        database = known[name] if name in known else _is_database(fd, name)
        if isinstance(database, OSError):
            raise database  # taken for a plain file it might be torn, and nobody would know
        if not database:
            return None
        seen = _file(rel, fact)
        if self.settled_ns is None:
            return seen._replace(database=True)
        # Its copy is another thing than the file, which `full` packs as it lies.
        stamp, changed = b"copy\0" + seen.stamp, seen.changed_ns
        for suffix in ("-wal", "-journal"):
            if name + suffix in beside:
                try:
                    told, when = _by_bytes(fd, name + suffix)
                except FileNotFoundError:
                    continue
                except OSError:
                    return seen._replace(stamp=b"", database=True)  # it is copied, whatever there is
                stamp += suffix.encode() + told
                changed = max(changed, when)
        return seen._replace(stamp=stamp, changed_ns=changed, database=True)

    def _with_companions(self, fd: int, names: Set[str]) -> Known:
        """Which of those that have something beside them are databases: what is beside goes into
        their copies.  Each is looked at once, so that nothing is folded into what is no database."""
        beside = [name for name in names if name.endswith(COMPANIONS)]
        bases = {
            name.removesuffix(suffix) for name in beside for suffix in COMPANIONS if name.endswith(suffix)
        }
        return {base: _is_database(fd, base) for base in bases & names}

    def _leave_out(self, rel: str, reason: str) -> None:
        self.exclusions.append(Exclusion(self.section, rel, reason))

    def _fault(self, rel: str, error: OSError) -> None:
        self._leave_out(rel, UNREADABLE)
        why = say("it could not be read: {error}", error=system_reason(error))
        self.faults.append(Fault(f"{self.bundle_prefix}/{rel}".rstrip("/"), "left_out", why))


def _seen(rel: str, one: Looked) -> Seen:
    """What a thing was when it was seen."""
    mode, when = one.permissions, one.mtime_ns
    if one.is_folder:
        return Seen(rel, Kind.DIRECTORY, mode, when, 0)
    if not one.is_file:
        return Seen(rel, Kind.LINK, mode, when, 0, one.target)
    changed = max(when, one.ctime_ns)
    return Seen(rel, Kind.FILE, mode, when, one.size, "", one.mark, changed, False, one.dev)


def _file(rel: str, fact: os.stat_result) -> Seen:
    mode, when = stat.S_IMODE(fact.st_mode), fact.st_mtime_ns
    changed = max(when, fact.st_ctime_ns)
    return Seen(rel, Kind.FILE, mode, when, fact.st_size, "", mark(fact), changed, False, fact.st_dev)


def _by_bytes(fd: int, name: str) -> tuple[bytes, int]:
    """What tells that a log or journal is unchanged, and when it was written last.

    Not when it changed last: SQLite that reads one as root gives it to the owner of its database, which
    is a change.  So its bytes are asked, which are few beside those of the database.
    """
    opened = os.open(name, _READ, dir_fd=fd)
    try:
        fact, state = os.fstat(opened), hashlib.sha256()
        left = fact.st_size if stat.S_ISREG(fact.st_mode) else 0
        while left > 0 and (data := os.read(opened, min(left, 1 << 20))):
            state.update(data)
            left -= len(data)
        told = pack("<QQqq", fact.st_dev, fact.st_ino, fact.st_size, fact.st_mtime_ns)
        return told + state.digest(), fact.st_mtime_ns
    finally:
        platform.close(opened)


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
