"""Floor 3, `vault`: blobs: whole immutable files by name; on a directory here, elsewhere on an object store.

Nothing is there before it is durable and was read back; nothing is ever replaced.
"""

from __future__ import annotations

import os
import stat
import threading
from collections import OrderedDict
from collections.abc import Iterator
from typing import Protocol

from muniment.digest import Digest
from muniment.disk import platform
from muniment.disk.errors import NotThere, named
from muniment.disk.root import Root
from muniment.disk.write import FORGET_BEYOND, is_scratch, read_back, scratch_name, write_all, write_verified
from muniment.disk.write import Written as _Written
from muniment.path import RelPath

_OPEN_MOST = 64
"""Descriptors kept for reading."""


class NewBlob(Protocol):
    """A blob that is being written."""

    def write(self, data: bytes) -> None:
        """More bytes."""
        ...

    def finish(self, name: str, digest: Digest) -> None:
        """Make it durable under a name and read it back; one of that name that is there already
        must have the same bytes."""
        ...

    def drop(self) -> None:
        """Give it up."""
        ...


class Blobs(Protocol):
    """What a vault asks of the place where its bytes lie."""

    def create(self) -> NewBlob:
        """Begin a blob."""
        ...

    def put(self, name: str, data: bytes) -> None:
        """A small blob at once, durable and read back; `AlreadyThere` when the name is taken."""
        ...

    def read(self, name: str, offset: int = 0, length: int | None = None) -> bytes:
        """Bytes of a blob; `NotThere` when there is none, fewer bytes where it ends."""
        ...

    def size(self, name: str) -> int:
        """Bytes that a blob has."""
        ...

    def names(self, prefix: str) -> Iterator[str]:
        """Names that begin with `prefix/`, sorted."""
        ...

    def age_s(self, name: str, now_s: float) -> float:
        """Seconds since it was written."""
        ...

    def delete(self, name: str) -> None:
        """Remove a blob, durably; none of that name is no error."""
        ...


class Directory:
    """Blobs as files below a confined root."""

    def __init__(self, root: Root) -> None:
        self._root = root
        self._open: OrderedDict[str, int] = OrderedDict()
        self._lock = threading.Lock()

    def create(self) -> NewBlob:
        """Begin a blob."""
        return _NewFile(self._root)

    def put(self, name: str, data: bytes) -> None:
        """A small blob at once."""
        rel = RelPath.parse(name)
        self._root.make_folders(rel.parent, 0o700)
        write_verified(self._root, rel, data, mode=0o600)

    def read(self, name: str, offset: int = 0, length: int | None = None) -> bytes:
        """Bytes of a blob; safe from several threads."""
        with self._lock:
            fd = self._descriptor(name)
            # Read under the lock: another thread may close the descriptor to make room for its own.
            with named(name):
                want = os.fstat(fd).st_size - offset if length is None else length
                parts: list[bytes] = []
                while want > 0 and (part := os.pread(fd, want, offset)):
                    parts.append(part)
                    offset += len(part)
                    want -= len(part)
        return b"".join(parts)

    def size(self, name: str) -> int:
        """Bytes that a blob has."""
        return self._root.stat(RelPath.parse(name)).st_size

    def names(self, prefix: str) -> Iterator[str]:
        """Names that begin with `prefix/`."""
        folder = RelPath.parse(prefix)
        try:
            names = self._root.names(folder)
        except NotThere:
            return
        for name in names:
            if is_scratch(name):
                continue
            inner = folder / name
            if stat.S_ISDIR(self._root.stat(inner).st_mode):
                yield from self.names(inner.posix)
            else:
                yield inner.posix

    def age_s(self, name: str, now_s: float) -> float:
        """Seconds since it was written."""
        return now_s - self._root.stat(RelPath.parse(name)).st_mtime

    def delete(self, name: str) -> None:
        """Remove a blob."""
        with self._lock:
            held = self._open.pop(name, None)
            if held is not None:
                os.close(held)
        self._root.unlink(RelPath.parse(name), missing_ok=True)

    def close(self) -> None:
        """Let all descriptors go."""
        with self._lock:
            while self._open:
                os.close(self._open.popitem()[1])

    def _descriptor(self, name: str) -> int:
        fd = self._open.pop(name, None)
        if fd is None:
            fd = self._root.open_file(RelPath.parse(name))
            while len(self._open) >= _OPEN_MOST:
                os.close(self._open.popitem(last=False)[1])
        self._open[name] = fd
        return fd


class _NewFile:
    """A file that grows under a scratch name."""

    def __init__(self, root: Root) -> None:
        self._root = root
        self._scratch = RelPath(("incoming", scratch_name()))
        root.make_folders(self._scratch.parent, 0o700)
        self._fd = root.open_file(self._scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        self._size = 0

    def write(self, data: bytes) -> None:
        with named(self._scratch):
            write_all(self._fd, data)
        self._size += len(data)

    def finish(self, name: str, digest: Digest) -> None:
        rel = RelPath.parse(name)
        try:
            with named(rel):
                platform.sync_data(self._fd)
                if self._size > FORGET_BEYOND:
                    platform.forget_cache(self._fd)
            self._root.make_folders(rel.parent, 0o700)
            with (
                self._root.parent(self._scratch) as (from_fd, from_name),
                self._root.parent(rel) as (to_fd, to_name),
            ):
                try:
                    platform.rename_exclusive(from_fd, from_name, to_fd, to_name)
                except FileExistsError:
                    os.unlink(from_name, dir_fd=from_fd)
                except OSError:
                    with named(rel):
                        raise
                with named(rel):
                    platform.sync_folder(to_fd)
            read_back(self._root, rel, _Written(digest, self._size))
        finally:
            os.close(self._fd)
            self._fd = -1

    def drop(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
            self._root.unlink(self._scratch, missing_ok=True)
