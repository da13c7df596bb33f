"""Floor 2, `bundle`: a folder as a source: entries and contents by descriptors, never by joined paths.

Each thread keeps the chain of folders it opened last; the packer goes in path order, so most files
are one `open` away.  A link in the middle of a path is never followed.
"""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Iterator

from muniment.bundle.model import Entry, Fault, too_far
from muniment.bundle.segments import Look, Part, Segment, in_parts, may_go_too_far, one_by_one
from muniment.bundle.tar import wire
from muniment.disk import platform
from muniment.disk.errors import system_reason
from muniment.message import say
from muniment.path import RelPath

READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


class Chain:
    """Opens folders below a root one name at a time and keeps the last chain open.

    Not for several threads.  The root's descriptor stays the caller's.
    """

    def __init__(self, root: int) -> None:
        self._root = root
        self._names: list[str] = []
        self._fds: list[int] = []
        self._place: str | None = None  # the folder that `at` gave last
        self._here = -1

    def folder(self, names: list[str]) -> int:
        """The descriptor of the folder of those names; raises `OSError`."""
        if names == self._names:
            return self._fds[-1] if self._fds else self._root
        self._place = None
        same = 0
        for old, new in zip(self._names, names, strict=False):
            if old != new:
                break
            same += 1
        self._cut(same)
        for name in names[same:]:
            fd = os.open(name, platform.FOLDER, dir_fd=self._fds[-1] if self._fds else self._root)
            self._fds.append(fd)
            self._names.append(name)
        return self._fds[-1] if self._fds else self._root

    def at(self, place: str) -> int:
        """The same by a path without a `/` at its end; most are asked for again and again."""
        if place != self._place:
            self._here = self.folder(place.split("/") if place else [])
            self._place = place
        return self._here

    def _cut(self, length: int) -> None:
        while len(self._fds) > length:
            platform.close(self._fds.pop())
            self._names.pop()

    def close(self) -> None:
        """Close what is open."""
        self._place = None
        self._cut(0)


class Tree:
    """The files below one folder, as the packer's source.

    An entry's `origin` is its path below the root, as `RelPath` writes it.  `faults` names the
    folders that could not be listed.
    """

    def __init__(self, root: int) -> None:
        self._root = root
        self.faults: list[Fault] = []
        self._mine = threading.local()
        self._chains: list[Chain] = []
        self._lock = threading.Lock()

    def open(self, entry: Entry, origin: str = "") -> int:
        """Open a file for reading, at `origin` if that is not the entry's own; raises `OSError`, also for
        what is no regular file any more."""
        folder, _, name = (origin or entry.origin).rpartition("/")
        chain: Chain | None = getattr(self._mine, "chain", None)
        if chain is None:
            chain = self._mine.chain = Chain(self._root)
            with self._lock:
                self._chains.append(chain)
        return os.open(name, READ, dir_fd=chain.at(folder))

    def close(self) -> None:
        """Close every folder that is still open."""
        for chain in self._chains:
            chain.close()

    def __enter__(self) -> Tree:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def entries(self, prefix: str, below: RelPath | None = None) -> Iterator[Entry]:
        """Everything below a folder in the bundle's order, the folder itself first.

        `prefix` is where the folder lies in the bundle, such as `files/workspace`.  Files carry a
        stamp of device, inode, size and times.  Sockets, pipes and devices are not named.  Memory:
        the listings of the folders that lead to the present one.
        """
        return one_by_one(self.segments(prefix, below))

    def segments(self, prefix: str, below: RelPath | None = None) -> Iterator[Entry | Segment]:
        """The same, as far as it can be told of many at once."""
        names = below.parts if below else ()
        chain = Chain(self._root)
        # One folder in another: its descriptor, what is still to come of it, its places.
        open_: list[tuple[int, Iterator[Part | str], str, str]] = []
        try:
            fd = platform.open_again(chain.folder(list(names)))
            yield Segment("", "", Part.of([wire(prefix)], [(prefix, os.fstat(fd), "")]))
            place, origin = f"{prefix}/", "".join(f"{name}/" for name in names)
            open_.append((fd, self._parts(fd, place), place, origin))
            while open_:
                fd, parts, place, origin = open_[-1]
                for part in parts:
                    if isinstance(part, str):
                        place, origin = f"{place}{part}/", f"{origin}{part}/"
                        try:
                            inner = os.open(part, platform.FOLDER, dir_fd=fd)
                        except OSError as error:
                            self._unreadable(place, error)
                            place, origin = open_[-1][2:]
                            continue
                        open_.append((inner, self._parts(inner, place), place, origin))
                        break
                    if may_go_too_far(wire(place)):
                        yield from Segment(place, origin, part).entries()
                    else:
                        yield Segment(place, origin, part)
                else:
                    platform.close(open_.pop()[0])
        finally:
            for fd, *_ in open_:
                platform.close(fd)
            chain.close()

    def _parts(self, fd: int, place: str) -> Iterator[Part | str]:
        at = wire(place)
        try:
            found = _listing(fd, at)
        except OSError as error:
            self._unreadable(place, error)
            return iter(())
        return in_parts(found, at)

    def _unreadable(self, place: str, error: OSError) -> None:
        why = say("it could not be read: {error}", error=system_reason(error))
        self.faults.append(Fault(place.rstrip("/"), "left_out", why))


def _listing(fd: int, at: bytes) -> list[tuple[bytes, Look | str]]:
    """What lies in one folder, in the byte order of whole paths.

    That is not the order of the names alone: `a.txt` comes between `a` and `a/b`.  So a folder
    stands twice in the list, once as itself and once, with its `/`, for everything inside it.
    """
    found: list[tuple[bytes, Look | str]] = []
    risky = may_go_too_far(at)
    with os.scandir(fd) as listed:
        for item in listed:
            name = item.name
            try:
                fact = item.stat(follow_symlinks=False)
                mode = fact.st_mode
                if stat.S_ISREG(mode):
                    found.append((wire(name), (name, fact, "")))
                elif stat.S_ISDIR(mode):
                    key = wire(name)
                    found.append((key, (name, fact, "")))
                    if not (risky and too_far(at + key)):
                        found.append((key + b"/", name))
                elif stat.S_ISLNK(mode):
                    found.append((wire(name), (name, fact, os.readlink(name, dir_fd=fd))))
            except FileNotFoundError:
                continue  # gone since it was listed
    found.sort()
    return found
