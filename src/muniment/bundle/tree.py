"""Floor 2, `bundle`: a folder as a source: entries and contents by descriptors, never by joined paths.

Each thread keeps the chain of folders it opened last; the packer goes in path order, so most files
are one `open` away.  A link in the middle of a path is never followed.
"""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Iterator
from struct import pack

from muniment.bundle.model import Entry
from muniment.bundle.tar import wire
from muniment.evidence import Kind
from muniment.path import RelPath

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


class Chain:
    """Opens folders below a root one name at a time and keeps the last chain open.

    Not for several threads.  The root's descriptor stays the caller's.
    """

    def __init__(self, root: int) -> None:
        self._root = root
        self._names: list[str] = []
        self._fds: list[int] = []

    def folder(self, names: list[str]) -> int:
        """The descriptor of the folder of those names; raises `OSError`."""
        if names == self._names:
            return self._fds[-1] if self._fds else self._root
        same = 0
        for old, new in zip(self._names, names, strict=False):
            if old != new:
                break
            same += 1
        self._cut(same)
        for name in names[same:]:
            fd = os.open(name, FOLDER, dir_fd=self._fds[-1] if self._fds else self._root)
            self._fds.append(fd)
            self._names.append(name)
        return self._fds[-1] if self._fds else self._root

    def _cut(self, length: int) -> None:
        while len(self._fds) > length:
            os.close(self._fds.pop())
            self._names.pop()

    def close(self) -> None:
        """Close what is open."""
        self._cut(0)


class Tree:
    """The files below one folder, as the packer's source.

    An entry's `origin` is its path below the root, as `RelPath` writes it.
    """

    def __init__(self, root: int) -> None:
        self._root = root
        self._mine = threading.local()
        self._chains: list[Chain] = []
        self._lock = threading.Lock()

    def open(self, entry: Entry) -> int:
        """Open a file for reading; raises `OSError`, also for what is no regular file any more."""
        *folders, name = entry.origin.split("/")
        chain = getattr(self._mine, "chain", None)
        if chain is None:
            chain = self._mine.chain = Chain(self._root)
            with self._lock:
                self._chains.append(chain)
        return os.open(name, READ, dir_fd=chain.folder(folders))

    def close(self) -> None:
        """Close every folder that is still open."""
        for chain in self._chains:
            chain.close()

    def __enter__(self) -> Tree:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def entries(self, prefix: str, below: RelPath = RelPath()) -> Iterator[Entry]:  # noqa: B008
        """Everything below a folder in the bundle's order, the folder itself first.

        `prefix` is where the folder lies in the bundle, such as `files/workspace`.  Files carry a
        stamp of device, inode, size and times.  Sockets, pipes and devices are not named.
        """
        found = list(_walk(self._root, below, prefix))
        found.sort(key=lambda entry: wire(entry.path))
        return iter(found)


def _walk(root: int, below: RelPath, prefix: str) -> Iterator[Entry]:
    chain = Chain(root)
    try:
        top = os.fstat(chain.folder(list(below.parts)))
        yield Entry(prefix, Kind.DIRECTORY, stat.S_IMODE(top.st_mode), top.st_mtime_ns)
        todo: list[tuple[str, ...]] = [below.parts]
        while todo:
            names = todo.pop()
            inside = "/".join(names[len(below.parts) :])
            place = f"{prefix}/{inside}/" if inside else f"{prefix}/"
            origin = "/".join(names) + "/" if names else ""
            fd = chain.folder(list(names))
            with os.scandir(fd) as found:
                for item in found:
                    fact = item.stat(follow_symlinks=False)
                    name, mode = item.name, fact.st_mode
                    if stat.S_ISREG(mode):
                        mark = pack(
                            "<QQqqq",
                            fact.st_dev,
                            fact.st_ino,
                            fact.st_size,
                            fact.st_mtime_ns,
                            fact.st_ctime_ns,
                        )
                        yield Entry(
                            place + name,
                            Kind.FILE,
                            mode & 0o7777,
                            fact.st_mtime_ns,
                            fact.st_size,
                            "",
                            mark,
                            origin + name,
                        )
                    elif stat.S_ISDIR(mode):
                        yield Entry(place + name, Kind.DIRECTORY, mode & 0o7777, fact.st_mtime_ns)
                        todo.append((*names, name))
                    elif stat.S_ISLNK(mode):
                        target = os.readlink(name, dir_fd=fd)
                        yield Entry(place + name, Kind.LINK, 0o777, fact.st_mtime_ns, 0, target)
    finally:
        chain.close()
