"""Floor 1, `disk`: measuring a file or a whole folder: every byte read once, no link followed."""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from muniment.digest import Digest
from muniment.disk import platform
from muniment.disk.errors import SourceBusy, SourceChanged, SpecialFile, TooDeep, named
from muniment.disk.platform import Writers
from muniment.disk.root import Root, open_regular
from muniment.disk.write import CHUNK, FORGET_BEYOND
from muniment.evidence import Kind, Row, Table
from muniment.path import RelPath, printable

MAX_DEPTH = 200
"""Levels of folders; beyond it a walk would hold more descriptors than a process may have."""


Progress = Callable[[int, int], None]
"""Told of files and bytes as they are read."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """What tells, without reading, whether an entry is still the one that was read."""

    inode: int
    size: int
    mtime_ns: int
    mode: int

    @classmethod
    def of(cls, found: os.stat_result) -> Stamp:
        """The stamp of a stat."""
        size = found.st_size if stat.S_ISREG(found.st_mode) else 0
        mtime = 0 if stat.S_ISDIR(found.st_mode) else found.st_mtime_ns
        return cls(found.st_ino, size, mtime, stat.S_IFMT(found.st_mode))


@dataclass(frozen=True, slots=True)
class Measured:
    """A file or folder as it was read: its table, the stamp of each entry, whether a file has
    names outside the tree, and whether it could be asked who has the files open."""

    table: Table
    stamps: dict[str, Stamp]
    linked_outside: bool
    writers_known: bool
    kind: Kind


@dataclass(slots=True)
class _Walk:
    """The state of one measuring."""

    refuse_writers: bool
    progress: Progress | None
    cold: bool
    rows: list[Row] = field(default_factory=list)
    stamps: dict[str, Stamp] = field(default_factory=dict)
    names_of: dict[tuple[int, int], list[int]] = field(default_factory=dict)
    writers_known: bool = True
    buffer: bytearray = field(default_factory=lambda: bytearray(CHUNK))


def measure(
    root: Root,
    rel: RelPath,
    *,
    refuse_writers: bool = False,
    cold: bool = False,
    progress: Progress | None = None,
) -> Measured:
    """Read a file or a folder wholly.

    With `refuse_writers` each file must be open for writing nowhere (`SourceBusy`).  With `cold`
    files over a mebibyte leave the page cache first, so that the disk is asked.  A file that
    changes under the reader is `SourceChanged`, a socket, pipe or device `SpecialFile`.

    >>> import tempfile
    >>> from muniment.disk.write import write_verified
    >>> with tempfile.TemporaryDirectory() as place, Root.open(place) as root:
    ...     _ = write_verified(root, RelPath.parse("a"), b"hello")
    ...     measure(root, RelPath.parse("a")).table.size
    5
    """
    walk = _Walk(refuse_writers, progress, cold)
    with root.parent(rel) as (fd, name):
        kind = _entry(walk, fd, name, rel, "", 0)
    outside = any(links > seen for links, seen in walk.names_of.values())
    return Measured(Table.of(walk.rows), walk.stamps, outside, walk.writers_known, kind)


def _entry(walk: _Walk, fd: int, name: str, top: RelPath, inner: str, depth: int) -> Kind:
    where = f"{top.posix}/{inner}" if inner else top.posix
    with named(where):
        found = os.stat(name, dir_fd=fd, follow_symlinks=False)
        walk.stamps[inner] = Stamp.of(found)
        if stat.S_ISREG(found.st_mode):
            digest, size = _file(walk, fd, name, where, found)
            walk.rows.append(Row(inner, Kind.FILE, size, digest))
            seen = walk.names_of.setdefault((found.st_dev, found.st_ino), [found.st_nlink, 0])
            seen[1] += 1
            return Kind.FILE
        if stat.S_ISLNK(found.st_mode):
            walk.rows.append(Row(inner, Kind.LINK, target=os.readlink(name, dir_fd=fd)))
            return Kind.LINK
        if not stat.S_ISDIR(found.st_mode):
            raise SpecialFile(where=printable(where))
        if depth >= MAX_DEPTH:
            raise TooDeep(where=printable(where), limit=MAX_DEPTH)
        walk.rows.append(Row(inner, Kind.DIRECTORY))
        opened = os.open(name, platform.FOLDER, dir_fd=fd)
    try:
        with named(where):
            names = sorted(os.listdir(opened))
        for below in names:
            _entry(walk, opened, below, top, f"{inner}/{below}" if inner else below, depth + 1)
    finally:
        platform.close(opened)
    return Kind.DIRECTORY


def _file(walk: _Walk, fd: int, name: str, where: str, found: os.stat_result) -> tuple[Digest, int]:
    opened = open_regular(fd, name, where)
    try:
        if walk.refuse_writers:
            answer = platform.writers(opened)
            if answer is Writers.SOME:
                raise SourceBusy(where=printable(where))
            walk.writers_known &= answer is Writers.NONE
        before = os.fstat(opened)
        if Stamp.of(before) != Stamp.of(found):
            raise SourceChanged(where=printable(where))
        if walk.cold and before.st_size > FORGET_BEYOND:
            platform.forget_cache(opened)
        digest, size = _hash(opened, walk.buffer)
        after = os.fstat(opened)
        if size != before.st_size or Stamp.of(after) != Stamp.of(before):
            raise SourceChanged(where=printable(where))
    finally:
        platform.close(opened)
    if walk.progress is not None:
        walk.progress(1, size)
    return digest, size


def _hash(fd: int, buffer: bytearray) -> tuple[Digest, int]:
    state, size = hashlib.sha256(), 0
    view = memoryview(buffer)
    while count := os.readv(fd, [buffer]):
        state.update(view[:count])
        size += count
    return Digest(state.hexdigest()), size


def check_stamps(root: Root, rel: RelPath, measured: Measured) -> None:
    """Look, without reading, whether every entry is still the one that was measured."""
    found: dict[str, Stamp] = {}
    for inner, stats in walk_stats(root, rel):
        found[inner] = Stamp.of(stats)
    if found != measured.stamps:
        odd = next(
            path for path in {**found, **measured.stamps} if found.get(path) != measured.stamps.get(path)
        )
        raise SourceChanged(where=printable(f"{rel.posix}/{odd}" if odd else rel.posix))


def walk_stats(root: Root, rel: RelPath) -> Iterator[tuple[str, os.stat_result]]:
    """Every entry of a tree with its stat, folders before what lies in them, no link followed."""

    def below(fd: int, name: str, inner: str, depth: int) -> Iterator[tuple[str, os.stat_result]]:
        found = os.stat(name, dir_fd=fd, follow_symlinks=False)
        yield inner, found
        if not stat.S_ISDIR(found.st_mode):
            return
        if depth >= MAX_DEPTH:
            raise TooDeep(where=printable(f"{rel.posix}/{inner}"), limit=MAX_DEPTH)
        opened = os.open(name, platform.FOLDER, dir_fd=fd)
        try:
            for each in sorted(os.listdir(opened)):
                yield from below(opened, each, f"{inner}/{each}" if inner else each, depth + 1)
        finally:
            platform.close(opened)

    with root.parent(rel) as (fd, name), named(rel):
        yield from below(fd, name, "", 0)


def remove_tree(root: Root, rel: RelPath, measured: Measured | None = None) -> None:
    """Remove a file, a link or a whole folder, following no link; durable afterwards.

    With `measured` only what was measured goes, each entry looked at once more just before: what
    came or changed since then stays, with the folders above it, and is `SourceChanged`.
    """

    def below(fd: int, name: str, inner: str) -> None:
        found = os.stat(name, dir_fd=fd, follow_symlinks=False)
        if measured is not None and measured.stamps.get(inner) != Stamp.of(found):
            raise SourceChanged(where=printable(f"{rel.posix}/{inner}" if inner else rel.posix))
        if not stat.S_ISDIR(found.st_mode):
            os.unlink(name, dir_fd=fd)
            return
        opened = os.open(name, platform.FOLDER, dir_fd=fd)
        try:
            if found.st_mode & 0o300 != 0o300:
                # A folder that was read-only to its owner would keep what lies in it.
                with contextlib.suppress(PermissionError):
                    os.fchmod(opened, 0o700)
            for each in os.listdir(opened):
                below(opened, each, f"{inner}/{each}" if inner else each)
        finally:
            platform.close(opened)
        os.rmdir(name, dir_fd=fd)

    with root.parent(rel) as (fd, name), named(rel):
        below(fd, name, "")
        platform.sync_folder(fd)
