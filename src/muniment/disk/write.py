"""Floor 1, `disk`: the verified write: durable, atomic, and read back from where it lies."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from muniment.digest import Digest, sha256_stream
from muniment.disk import platform
from muniment.disk.errors import Overtaken, ReadbackFailed, named
from muniment.disk.root import Root, open_regular
from muniment.message import say
from muniment.path import RelPath, printable

CHUNK = 1 << 20
"""Bytes read or written at once."""

FORGET_BEYOND = 1 << 20
"""A file of more bytes than this leaves the page cache before it is read back (spec 0, disk)."""

_ATTEMPTS = 100
"""How often a name may come and go under a replacing write before it gives up."""

SCRATCH_PREFIX = ".muniment-"
SCRATCH_SUFFIX = ".tmp"


@dataclass(frozen=True, slots=True)
class Written:
    """What was read back: digest and size in bytes."""

    digest: Digest
    size: int


def new_token() -> str:
    """A word that nobody else uses, for the names of unfinished files."""
    return os.urandom(8).hex()


def scratch_name(token: str | None = None) -> str:
    """A name for a file that is not finished; `doctor` knows leftovers by it.

    >>> scratch_name("01-new")
    '.muniment-01-new.tmp'
    """
    return f"{SCRATCH_PREFIX}{token or new_token()}{SCRATCH_SUFFIX}"


def is_scratch(name: str) -> bool:
    """Whether a name is one of an unfinished file.

    >>> is_scratch(scratch_name()), is_scratch("report.md")
    (True, False)
    """
    return name.startswith(SCRATCH_PREFIX) and name.endswith(SCRATCH_SUFFIX)


def file_system_now(root: Root, folder: RelPath) -> int:
    """Now by the clock that dates the files of a folder, in nanoseconds: an age told by any other clock
    may be off by days.  A file is made for it and removed again.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place, Root.open(place) as root:
    ...     file_system_now(root, RelPath()) > 0, os.listdir(place)
    (True, [])
    """
    name = scratch_name()
    with root.folder(folder) as fd, named(folder / name):
        opened = open_regular(fd, name, name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            return os.fstat(opened).st_mtime_ns
        finally:
            platform.close(opened)
            os.unlink(name, dir_fd=fd)


def write_verified(
    root: Root,
    rel: RelPath,
    content: bytes | Iterable[bytes],
    *,
    replace: bool = False,
    over: Digest | None = None,
    mode: int = 0o644,
) -> Written:
    """Write a file beside its place, make it durable, rename it there, and read it back.

    At every instant the name holds the whole old content, the whole new one, or (when it was
    new) nothing.  With `over` only content of that digest is replaced; anything else that stands
    there, be it put there at the last moment, is `Overtaken` and stays.  Raises `AlreadyThere`
    when it is taken and `replace` is not set, `NoSpace`, `ReadbackFailed` and the other errors of
    `disk`; then things are as they were before, save on a file system that can not exchange
    names, where what was replaced is gone with the rename.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place, Root.open(place) as root:
    ...     write_verified(root, RelPath.parse("a"), b"hello").size
    5
    """
    chunks = [content] if isinstance(content, bytes) else content
    with root.parent(rel) as (fd, name):
        scratch = scratch_name()
        placed, inode = _Placed.NOT, 0
        try:
            with named(rel):
                written, inode = _write_new(fd, scratch, chunks, mode)
                if over is not None:
                    _require(fd, name, over, rel)
                placed = _place(fd, scratch, name, replace=replace)
                if placed is _Placed.SWAPPED and _is_folder(fd, scratch):
                    raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
                if over is not None and placed is _Placed.SWAPPED:
                    _require(fd, scratch, over, rel)
                platform.sync_folder(fd)
            found = read_back(root, rel, written, inode)
        except BaseException:
            # The act's own error matters more than one of the undoing.
            with contextlib.suppress(OSError):
                _undo(fd, scratch, name, placed, inode)
            raise
        if placed is _Placed.SWAPPED:
            # What was replaced; should it stay, then only as a leftover that `doctor` knows.
            with contextlib.suppress(OSError):
                os.unlink(scratch, dir_fd=fd)
    return found


def _require(fd: int, name: str, over: Digest, rel: RelPath) -> None:
    """`Overtaken` unless a file holds what is to be replaced."""
    opened = open_regular(fd, name, name)
    try:
        digest, _ = sha256_stream(chunks_of(opened))
    finally:
        platform.close(opened)
    if digest != over:
        raise Overtaken(where=printable(rel.posix))


class _Placed(Enum):
    """How the new file came to its name, which says how it can be taken back."""

    NOT = "not"
    NEW = "new"
    SWAPPED = "swapped"
    OVER = "over"


def _place(fd: int, scratch: str, name: str, *, replace: bool) -> _Placed:
    for _ in range(_ATTEMPTS):
        if not (replace and _is_there(fd, name)):
            try:
                platform.rename_exclusive(fd, scratch, fd, name)
            except FileExistsError:
                if not replace:
                    raise
            else:
                return _Placed.NEW
        try:
            if not platform.rename_swap(fd, scratch, fd, name):
                os.rename(scratch, name, src_dir_fd=fd, dst_dir_fd=fd)
                return _Placed.OVER
        except FileNotFoundError:
            # It went away in between; if it was the scratch file that did, this ends here.
            os.stat(scratch, dir_fd=fd, follow_symlinks=False)
        else:
            return _Placed.SWAPPED
    raise FileExistsError(errno.EEXIST, "it comes and goes", name)


def _is_there(fd: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=fd, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _is_folder(fd: int, name: str) -> bool:
    return stat.S_ISDIR(os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode)


def _undo(fd: int, scratch: str, name: str, placed: _Placed, inode: int) -> None:
    """After a failure: what stood at the name before stands there again, unless another writer
    has put its own content there meanwhile."""

    def exchange() -> None:
        if placed is _Placed.SWAPPED:
            platform.rename_swap(fd, scratch, fd, name)
        else:
            platform.rename_exclusive(fd, name, fd, scratch)

    ours = placed in (_Placed.NEW, _Placed.SWAPPED) and _inode(fd, name) == inode
    if ours:
        exchange()
        if _inode(fd, scratch) != inode:
            # It was replaced just between the look and the exchange, and goes back to its name.
            if placed is _Placed.SWAPPED:
                exchange()
            else:
                platform.rename_exclusive(fd, scratch, fd, name)
                return
    os.unlink(scratch, dir_fd=fd)
    if ours:
        platform.sync_folder(fd)


def _inode(fd: int, name: str) -> int:
    return os.stat(name, dir_fd=fd, follow_symlinks=False).st_ino


def _write_new(fd: int, name: str, chunks: Iterable[bytes], mode: int) -> tuple[Written, int]:
    opened = open_regular(fd, name, name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        state, size = hashlib.sha256(), 0
        for chunk in chunks:
            write_all(opened, chunk)
            state.update(chunk)
            size += len(chunk)
        os.fchmod(opened, mode)
        platform.sync_data(opened)
        if size > FORGET_BEYOND:
            platform.forget_cache(opened)
        inode = os.fstat(opened).st_ino
    finally:
        platform.close(opened)
    return Written(Digest(state.hexdigest()), size), inode


def write_all(fd: int, data: bytes) -> None:
    """Write every byte; a short write goes on until the system says why it is short."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


HOLE = 64 << 10
"""Bytes of zeros at a time that become a hole."""

_ZEROS = bytes(HOLE)


def write_sparse(fd: int, data: bytes) -> None:
    """Write every byte, long zeros as holes; whoever has written all sets the length of the file.

    >>> import tempfile
    >>> with tempfile.TemporaryFile() as stream:
    ...     write_sparse(stream.fileno(), bytes(HOLE) + b"end")
    ...     stream.seek(0) or stream.read() == bytes(HOLE) + b"end"
    True
    """
    if len(data) <= HOLE:
        if len(data) >= 4096 and data == _ZEROS[: len(data)]:
            os.lseek(fd, len(data), os.SEEK_CUR)
        else:
            write_all(fd, data)
        return
    for start in range(0, len(data), HOLE):
        part = data[start : start + HOLE]
        if part == _ZEROS[: len(part)]:
            os.lseek(fd, len(part), os.SEEK_CUR)
        else:
            write_all(fd, part)


def read_back(root: Root, rel: RelPath, expected: Written, inode: int | None = None) -> Written:
    """Open a file by its path from the root, hash it again and compare.

    With `inode` a file that is not the one we wrote is `Overtaken`, whatever it holds.
    """
    fd = root.open_file(rel)
    try:
        with named(rel):
            if inode is not None and os.fstat(fd).st_ino != inode:
                raise Overtaken(where=printable(rel.posix))
            digest, size = sha256_stream(chunks_of(fd))
    finally:
        platform.close(fd)
    found = Written(digest, size)
    if found != expected:
        raise ReadbackFailed(
            where=printable(rel.posix),
            why=say(
                "{wanted_size} bytes with {wanted} were expected, {found_size} bytes with {found} were read",
                wanted_size=expected.size,
                wanted=str(expected.digest),
                found_size=size,
                found=str(digest),
            ),
        )
    return found


def chunks_of(fd: int) -> Iterable[bytes]:
    """The bytes of an open file from where it stands, in chunks."""
    while chunk := os.read(fd, CHUNK):
        yield chunk
