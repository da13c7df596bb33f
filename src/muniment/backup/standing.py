"""Floor 3, `backup`: what stands where something is to be restored: faces, by descriptors only."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from contextlib import ExitStack
from types import TracebackType

from muniment.backup.restore_model import Face
from muniment.bundle.tree import Chain
from muniment.disk import platform
from muniment.disk.sqlite import COMPANIONS, MAGIC
from muniment.disk.write import CHUNK
from muniment.evidence import Kind
from muniment.message import Message, say

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class InTheWay(Exception):
    """A path that leads through a link or a file, or stands for what no snapshot holds."""

    def __init__(self, why: Message) -> None:
        super().__init__(str(why))
        self.why = why


class Standing:
    """Looks at paths below one folder; the folders that lead to the last one stay open."""

    def __init__(self, root: int) -> None:
        self._chain = Chain(root)
        self._held = ExitStack()
        self._held.callback(self._chain.close)

    def __enter__(self) -> Standing:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._held.close()

    def face(self, rel: str) -> Face | None:
        """What stands at a path, every byte of it read; None for nothing.

        `InTheWay` for a path through a link or a file, or to a socket, pipe or device; `OSError` for
        what the system refuses.
        """
        *names, name = rel.split("/")
        fd = self._folder(names)
        return None if fd is None else face_in(fd, name)

    def _folder(self, names: list[str]) -> int | None:
        try:
            return self._chain.folder(names)
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno in (errno.ENOTDIR, errno.ELOOP):
                raise InTheWay(say("a link or a file stands in the path")) from error
            raise

    def companions(self, rel: str) -> dict[str, int]:
        """The sizes of the regular files that SQLite keeps beside a database, by their paths."""
        *names, name = rel.split("/")
        fd = self._folder(names)
        found: dict[str, int] = {}
        for suffix in COMPANIONS if fd is not None else ():
            try:
                fact = os.stat(name + suffix, dir_fd=fd, follow_symlinks=False)
            except OSError:
                continue
            if stat.S_ISREG(fact.st_mode):
                found[rel + suffix] = fact.st_size
        return found

    def is_database(self, rel: str) -> bool:
        """Whether a regular file begins as SQLite databases do."""
        *names, name = rel.split("/")
        fd = self._folder(names)
        if fd is None:
            return False
        try:
            opened = os.open(name, _READ, dir_fd=fd)
        except OSError:
            return False
        try:
            return stat.S_ISREG(os.fstat(opened).st_mode) and os.pread(opened, len(MAGIC), 0) == MAGIC
        finally:
            platform.close(opened)


def face_in(fd: int, name: str) -> Face | None:
    """What stands at a name in an open folder; see `Standing.face`."""
    try:
        fact = os.stat(name, dir_fd=fd, follow_symlinks=False)
        if stat.S_ISDIR(fact.st_mode):
            return Face(Kind.DIRECTORY)
        if stat.S_ISLNK(fact.st_mode):
            return Face(Kind.LINK, target=os.readlink(name, dir_fd=fd))
        if not stat.S_ISREG(fact.st_mode):
            raise InTheWay(say("a socket, pipe or device stands there"))
        opened = os.open(name, _READ, dir_fd=fd)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise InTheWay(say("a link came there meanwhile")) from error
        raise
    try:
        size, digest = hashed(opened)
    finally:
        platform.close(opened)
    return Face(Kind.FILE, size, digest)


def hashed(fd: int) -> tuple[int, str]:
    """Size and sha256 of an open file, from where it stands."""
    state, size = hashlib.sha256(), 0
    while chunk := os.read(fd, CHUNK):
        state.update(chunk)
        size += len(chunk)
    return size, state.hexdigest()
