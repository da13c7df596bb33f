"""Floor 3, `vault`: blobs: whole files by name, on a directory here, elsewhere on an object store.

Nothing is there before it is durable and was read back, and nothing is ever replaced.
"""

from __future__ import annotations

import os
import stat
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Protocol

from muniment.disk import platform
from muniment.disk.errors import NotThere, named
from muniment.disk.root import Root
from muniment.disk.write import file_system_now, is_scratch, write_verified
from muniment.path import RelPath

OPEN_MOST = 64
"""Descriptors kept for reading pieces."""


class Blobs(Protocol):
    """What a vault asks of the place where its bytes lie."""

    def put(self, name: str, chunks: Iterable[bytes]) -> None:
        """A new blob, durable and read back; `AlreadyThere` when the name is taken.  An error
        raised by `chunks` passes through, and then there is no such blob."""
        ...

    def read(self, name: str, most: int) -> bytes:
        """A whole blob; `NotThere` when there is none, an error when it has more bytes than `most`."""
        ...

    def piece(self, name: str, offset: int, length: int) -> bytes:
        """Bytes out of a blob that never changes, fewer where it ends; safe from several threads."""
        ...

    def size(self, name: str) -> int:
        """Bytes that a blob has."""
        ...

    def names(self, prefix: str) -> Iterator[str]:
        """Names that begin with `prefix/`, sorted."""
        ...

    def delete(self, name: str) -> None:
        """Remove a blob, durably; none of that name is no error."""
        ...

    def sweep(self, prefix: str, age_s: float) -> int:
        """Remove what writers that died left below `prefix/`, last written longer ago than that by
        the clock of the blobs' own place; how many there were."""
        ...

    def close(self) -> None:
        """Let everything go."""
        ...


class Directory:
    """Blobs as files below a confined root, which is closed with it."""

    def __init__(self, root: Root) -> None:
        self._root = root
        self._open: OrderedDict[str, _Descriptor] = OrderedDict()
        self._lock = threading.Lock()

    def put(self, name: str, chunks: Iterable[bytes]) -> None:
        """A new blob, durable and read back."""
        rel = RelPath.parse(name)
        self._root.make_folders(rel.parent, 0o700)
        write_verified(self._root, rel, chunks, mode=0o600)

    def read(self, name: str, most: int) -> bytes:
        """A whole blob."""
        return self._root.read(RelPath.parse(name), limit=most)

    def piece(self, name: str, offset: int, length: int) -> bytes:
        """Bytes out of a blob; threads read at the same time."""
        descriptor = self._descriptor(name)
        with named(name):
            data = os.pread(descriptor.fd, length, offset)
            while len(data) < length and (
                more := os.pread(descriptor.fd, length - len(data), offset + len(data))
            ):
                data += more
        return data

    def size(self, name: str) -> int:
        """Bytes that a blob has."""
        return self._root.stat(RelPath.parse(name)).st_size

    def names(self, prefix: str) -> Iterator[str]:
        """Names that begin with `prefix/`."""
        return (rel.posix for rel, _ in self._files(RelPath.parse(prefix)) if not is_scratch(rel.name))

    def delete(self, name: str) -> None:
        """Remove a blob."""
        with self._lock:
            self._open.pop(name, None)
        rel = RelPath.parse(name)
        try:
            self._root.unlink(rel, missing_ok=True)
        except NotThere:  # nor is its folder there
            return

    def sweep(self, prefix: str, age_s: float) -> int:
        """Remove unfinished files."""
        folder = RelPath.parse(prefix)
        unfinished = [(rel, found) for rel, found in self._files(folder) if is_scratch(rel.name)]
        if not unfinished:
            return 0
        before = file_system_now(self._root, folder) - int(age_s * 1e9)
        old = [rel for rel, found in unfinished if found.st_mtime_ns < before]
        for rel in old:
            self._root.unlink(rel, missing_ok=True)
        return len(old)

    def close(self) -> None:
        """Let all descriptors go, and the root."""
        with self._lock:
            self._open.clear()
        self._root.close()

    def _files(self, folder: RelPath) -> Iterator[tuple[RelPath, os.stat_result]]:
        try:
            names = self._root.names(folder)
        except NotThere:
            return
        for name in names:
            try:
                found = self._root.stat(folder / name)
            except NotThere:  # it went while we looked
                continue
            if stat.S_ISDIR(found.st_mode):
                yield from self._files(folder / name)
            else:
                yield folder / name, found

    def _descriptor(self, name: str) -> _Descriptor:
        with self._lock:
            held = self._open.get(name)
            if held is not None:
                self._open.move_to_end(name)
                return held
        opened = _Descriptor(self._root.open_file(RelPath.parse(name)))
        with self._lock:
            self._open[name] = opened
            while len(self._open) > OPEN_MOST:
                # Who reads through it now holds it as well; it is closed when nobody does.
                self._open.popitem(last=False)
        return opened


class _Descriptor:
    """An open file that is closed when the last one who reads through it has let it go."""

    __slots__ = ("fd",)

    def __init__(self, fd: int) -> None:
        self.fd = fd

    def __del__(self) -> None:
        platform.close(self.fd)
