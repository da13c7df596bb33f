"""Floor 1, `disk`: the verified write: durable, atomic, and read back from where it lies."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass

from muniment.digest import Digest, sha256_stream
from muniment.disk import platform
from muniment.disk.errors import ReadbackFailed, named
from muniment.disk.root import Root, open_regular
from muniment.message import say
from muniment.path import RelPath, printable

CHUNK = 1 << 20
"""Bytes read or written at once."""

FORGET_BEYOND = 1 << 20
"""A file of more bytes than this leaves the page cache before it is read back (spec 0, disk)."""

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


def write_verified(
    root: Root,
    rel: RelPath,
    content: bytes | Iterable[bytes],
    *,
    replace: bool = False,
    mode: int = 0o644,
) -> Written:
    """Write a file beside its place, make it durable, rename it there, and read it back.

    At every instant the name holds the whole old content, the whole new one, or (when it was
    new) nothing.  Raises `AlreadyThere` when it is taken and `replace` is not set, `NoSpace`,
    `ReadbackFailed` and the other errors of `disk`; then the old content still stands.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place, Root.open(place) as root:
    ...     write_verified(root, RelPath.parse("a"), b"hello").size
    5
    """
    chunks = [content] if isinstance(content, bytes) else content
    with root.parent(rel) as (fd, name):
        scratch = scratch_name()
        try:
            with named(rel):
                written = _write_new(fd, scratch, chunks, mode)
                if replace:
                    os.rename(scratch, name, src_dir_fd=fd, dst_dir_fd=fd)
                else:
                    platform.rename_exclusive(fd, scratch, fd, name)
                platform.sync_folder(fd)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(scratch, dir_fd=fd)
            raise
    return read_back(root, rel, written)


def _write_new(fd: int, name: str, chunks: Iterable[bytes], mode: int) -> Written:
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
    finally:
        os.close(opened)
    return Written(Digest(state.hexdigest()), size)


def write_all(fd: int, data: bytes) -> None:
    """Write every byte; a short write goes on until the system says why it is short."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def read_back(root: Root, rel: RelPath, expected: Written) -> Written:
    """Open a file by its path from the root, hash it again and compare."""
    fd = root.open_file(rel)
    try:
        with named(rel):
            digest, size = sha256_stream(chunks_of(fd))
    finally:
        os.close(fd)
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
