"""Floor 1, `disk`: the verified copy: staged beside its place, made durable, placed, read back."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager

from muniment.disk import platform
from muniment.disk.errors import AlreadyThere, IntoItself, ReadbackFailed, SourceChanged, SpecialFile, named
from muniment.disk.root import Root, open_regular
from muniment.disk.tree import Measured, check_stamps, measure, remove_tree
from muniment.disk.write import CHUNK, FORGET_BEYOND, chunks_of, new_token, scratch_name, write_all
from muniment.errors import MunimentError
from muniment.evidence import Kind, Table, compare
from muniment.message import say
from muniment.path import RelPath, printable


def copy_verified(
    source: Root,
    source_rel: RelPath,
    target: Root,
    target_rel: RelPath,
    measured: Measured,
    *,
    token: str | None = None,
) -> Table:
    """Copy a measured file or folder to a free name and read it back there.

    Modes, times and extended attributes come along.  At every instant the target name holds
    nothing or the whole copy.  Raises `AlreadyThere`, `SourceChanged`, `ReadbackFailed` and the
    other errors of `disk`; afterwards nothing of the copy is left.  `token` names the file that
    is not finished.
    """
    if measured.kind is Kind.DIRECTORY:
        refuse_into_itself(source, source_rel, target, target_rel)
    token = token or new_token()
    staging = staging_of(target_rel, token)
    try:
        copy_unchecked(source, source_rel, target, staging)
        sync_tree(target, staging, measured.kind)
        with target.parent(target_rel) as (fd, name), named(target_rel):
            platform.rename_exclusive(fd, staging.name, fd, name)
    except BaseException:
        discard(target, staging)
        raise
    try:
        target.sync_folder(target_rel.parent)
        return confirm(target, target_rel, measured)
    except BaseException:
        withdraw(target, target_rel, token)
        say_if_changed(source, source_rel, measured)
        raise


@contextmanager
def new_folder(beside: Root, rel: RelPath, mode: int = 0o755) -> Iterator[Root]:
    """A new folder, filled in the block under another name; it has its own when the block ends well.

    `AlreadyThere` when the name is taken; after an error nothing of it is left.

    >>> import tempfile
    >>> from muniment.disk.write import write_verified
    >>> with tempfile.TemporaryDirectory() as place, Root.open(place) as root:
    ...     with new_folder(root, RelPath.parse("a")) as inside:
    ...         _ = write_verified(inside, RelPath.parse("b"), b"x")
    ...         root.exists(RelPath.parse("a"))
    ...     root.read(RelPath.parse("a/b"))
    False
    b'x'
    """
    if beside.exists(rel):
        raise AlreadyThere(where=printable(os.path.join(beside.path, rel.posix)))
    staging = staging_of(rel, new_token())
    try:
        beside.claim_folder(staging, mode)
        with beside.below(staging) as inside:
            yield inside
        with beside.parent(rel) as (fd, name), named(rel):
            platform.rename_exclusive(fd, staging.name, fd, name)
            platform.sync_folder(fd)
    except BaseException:
        discard(beside, staging)
        raise


def staging_of(target_rel: RelPath, token: str) -> RelPath:
    """Where a copy grows until it is whole."""
    return target_rel.parent / scratch_name(f"{token}-new")


def say_if_changed(source: Root, rel: RelPath, measured: Measured) -> None:
    """Raise `SourceChanged` where that is what went wrong, and not the disk."""
    try:
        check_stamps(source, rel, measured)
    except SourceChanged:
        raise
    except MunimentError:
        return


def refuse_into_itself(source: Root, source_rel: RelPath, target: Root, target_rel: RelPath) -> None:
    """A folder that would be copied into itself would never come to an end."""
    with target.folder(target_rel.parent) as fd, named(target_rel):
        own = source.stat(source_rel)
        above = ""
        found = os.fstat(fd)
        while (found.st_dev, found.st_ino) != (own.st_dev, own.st_ino):
            above += "../"
            higher = os.stat(above, dir_fd=fd)
            if (higher.st_dev, higher.st_ino) == (found.st_dev, found.st_ino):
                return
            found = higher
    raise IntoItself(where=printable(target_rel.posix))


def confirm(target: Root, target_rel: RelPath, measured: Measured, *, refuse_writers: bool = False) -> Table:
    """Read a thing back from its final place and compare it with what was measured before.

    Had it no names outside then and has it one now, it is `SourceChanged`: through such a name it
    could be written to for ever.
    """
    again = measure(target, target_rel, cold=True, refuse_writers=refuse_writers)
    found = again.table
    if again.linked_outside and not measured.linked_outside:
        raise SourceChanged(
            where=printable(target_rel.posix), why=say("another name was given to it meanwhile")
        )
    difference = compare(measured.table, found)
    if difference:
        odd = (*difference.missing, *difference.extra, *difference.changed)
        raise ReadbackFailed(
            where=printable(target_rel.posix),
            why=say(
                "{count} entries differ, the first is {path}", count=len(odd), path=odd[0] or target_rel.name
            ),
            found_size=found.size,
        )
    return found


def copy_unchecked(source: Root, source_rel: RelPath, target: Root, target_rel: RelPath) -> None:
    """Copy bytes, modes, times and attributes; durable and verified only once the callers above
    have made it so."""
    with source.parent(source_rel) as (from_fd, from_name), target.parent(target_rel) as (to_fd, to_name):
        _entry(from_fd, from_name, to_fd, to_name, source_rel.posix)


def _entry(from_fd: int, from_name: str, to_fd: int, to_name: str, where: str) -> None:
    with named(where):
        found = os.stat(from_name, dir_fd=from_fd, follow_symlinks=False)
        if stat.S_ISREG(found.st_mode):
            _file(from_fd, from_name, to_fd, to_name, where)
        elif stat.S_ISDIR(found.st_mode):
            _folder(from_fd, from_name, to_fd, to_name, where)
        elif stat.S_ISLNK(found.st_mode):
            os.symlink(os.readlink(from_name, dir_fd=from_fd), to_name, dir_fd=to_fd)
            times = (found.st_atime_ns, found.st_mtime_ns)
            os.utime(to_name, ns=times, dir_fd=to_fd, follow_symlinks=False)
        else:
            raise SpecialFile(where=printable(where))


def _file(from_fd: int, from_name: str, to_fd: int, to_name: str, where: str) -> None:
    source = open_regular(from_fd, from_name, where)
    try:
        target = open_regular(to_fd, to_name, where, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            size = _pour(source, target)
            _dress(source, target)
            if size > FORGET_BEYOND:
                platform.sync_data(target)
                platform.forget_cache(target)
        finally:
            platform.close(target)
    finally:
        platform.close(source)


def _pour(source: int, target: int) -> int:
    """Copy the bytes; holes of a sparse file stay holes.  The length of the file copied."""
    found = os.fstat(source)
    if found.st_blocks * 512 >= found.st_size:
        size = 0
        for chunk in chunks_of(source):
            write_all(target, chunk)
            size += len(chunk)
        return size
    at = 0
    while at < found.st_size:
        try:
            start = os.lseek(source, at, os.SEEK_DATA)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            break
        end = os.lseek(source, start, os.SEEK_HOLE)
        os.lseek(source, start, os.SEEK_SET)
        os.lseek(target, start, os.SEEK_SET)
        at = start
        while at < end and (chunk := os.read(source, min(CHUNK, end - at))):
            write_all(target, chunk)
            at += len(chunk)
        if at < end:
            break
    os.ftruncate(target, found.st_size)
    return found.st_size


def _folder(from_fd: int, from_name: str, to_fd: int, to_name: str, where: str) -> None:
    source = os.open(from_name, platform.FOLDER, dir_fd=from_fd)
    try:
        os.mkdir(to_name, 0o700, dir_fd=to_fd)
        target = os.open(to_name, platform.FOLDER, dir_fd=to_fd)
        try:
            for name in sorted(os.listdir(source)):
                _entry(source, name, target, name, f"{where}/{name}")
            _dress(source, target)
        finally:
            platform.close(target)
    finally:
        platform.close(source)


def _dress(source: int, target: int) -> None:
    """Owner, attributes, mode and times, in the order in which none undoes another."""
    found = os.fstat(source)
    mode = stat.S_IMODE(found.st_mode)
    if not _give(target, found.st_uid, found.st_gid):
        # The copy is ours now: a program of somebody else must not run with our rights through it.
        mode &= ~(stat.S_ISUID | stat.S_ISGID)
    platform.copy_attributes(source, target)
    os.fchmod(target, mode)
    os.utime(target, ns=(found.st_atime_ns, found.st_mtime_ns))


def _give(fd: int, user: int, group: int) -> bool:
    """Give the owner; False where this user may not, or this file system or namespace can not."""
    try:
        os.fchown(fd, user, group)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.EACCES, errno.EINVAL, errno.ENOTSUP, errno.ENOSYS):
            raise
        return False
    return True


def sync_tree(root: Root, rel: RelPath, kind: Kind) -> None:
    """Make a file, or a whole folder by one call for its file system, durable."""
    if kind is Kind.FILE:
        fd = root.open_file(rel)
    elif kind is Kind.DIRECTORY:
        fd = root.open_folder(rel)
    else:
        root.sync_folder(rel.parent)
        return
    try:
        with named(rel):
            if kind is Kind.FILE:
                platform.sync_data(fd)
            else:
                platform.sync_file_system(fd)
    finally:
        platform.close(fd)


def withdraw(root: Root, rel: RelPath, token: str) -> None:
    """Take a whole copy away from its name at one instant, then remove it."""
    aside = staging_of(rel, token)
    try:
        with root.folder(rel.parent) as fd, named(rel):
            platform.rename_exclusive(fd, rel.name, fd, aside.name)
    except MunimentError:
        discard(root, rel)
    else:
        discard(root, aside)


def discard(root: Root, rel: RelPath) -> None:
    """Remove what an act that failed has left, if anything; the act's own error matters more."""
    with contextlib.suppress(MunimentError):
        remove_tree(root, rel)
