"""Floor 1, `disk`: the verified copy: staged beside its place, made durable, placed, read back."""

from __future__ import annotations

import contextlib
import os
import stat

from muniment.disk import platform
from muniment.disk.errors import ReadbackFailed, SpecialFile, named
from muniment.disk.root import Root, open_regular
from muniment.disk.tree import Measured, check_stamps, measure, remove_tree
from muniment.disk.write import FORGET_BEYOND, chunks_of, new_token, scratch_name, write_all
from muniment.errors import MunimentError
from muniment.evidence import Kind, Table, compare
from muniment.message import say
from muniment.path import RelPath, printable

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


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
    staging = staging_of(target_rel, token or new_token())
    try:
        copy_unchecked(source, source_rel, target, staging)
        sync_tree(target, staging, measured.kind)
        with target.folder(target_rel.parent) as fd, named(target_rel):
            platform.rename_exclusive(fd, staging.name, fd, target_rel.name)
            platform.sync_folder(fd)
    except BaseException:
        discard(target, staging)
        raise
    try:
        return confirm(target, target_rel, measured)
    except BaseException:
        discard(target, target_rel)
        check_stamps(source, source_rel, measured)
        raise


def staging_of(target_rel: RelPath, token: str) -> RelPath:
    """Where a copy grows until it is whole."""
    return target_rel.parent / scratch_name(f"{token}-new")


def confirm(target: Root, target_rel: RelPath, measured: Measured, *, refuse_writers: bool = False) -> Table:
    """Read a thing back from its final place and compare it with what was measured before."""
    found = measure(target, target_rel, cold=True, refuse_writers=refuse_writers).table
    difference = compare(measured.table, found)
    if difference:
        odd = (*difference.missing, *difference.extra, *difference.changed)
        raise ReadbackFailed(
            where=printable(target_rel.posix),
            why=say(
                "{count} entries differ, the first is {path}", count=len(odd), path=odd[0] or target_rel.name
            ),
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
            size = 0
            for chunk in chunks_of(source):
                write_all(target, chunk)
                size += len(chunk)
            _dress(source, target)
            if size > FORGET_BEYOND:
                platform.sync_data(target)
                platform.forget_cache(target)
        finally:
            os.close(target)
    finally:
        os.close(source)


def _folder(from_fd: int, from_name: str, to_fd: int, to_name: str, where: str) -> None:
    source = os.open(from_name, _FOLDER, dir_fd=from_fd)
    try:
        os.mkdir(to_name, 0o700, dir_fd=to_fd)
        target = os.open(to_name, _FOLDER, dir_fd=to_fd)
        try:
            for name in sorted(os.listdir(source)):
                _entry(source, name, target, name, f"{where}/{name}")
            _dress(source, target)
        finally:
            os.close(target)
    finally:
        os.close(source)


def _dress(source: int, target: int) -> None:
    """Owner, attributes, mode and times, in the order in which none undoes another."""
    found = os.fstat(source)
    with contextlib.suppress(PermissionError):
        os.fchown(target, found.st_uid, found.st_gid)
    platform.copy_attributes(source, target)
    os.fchmod(target, stat.S_IMODE(found.st_mode))
    os.utime(target, ns=(found.st_atime_ns, found.st_mtime_ns))


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
        os.close(fd)


def discard(root: Root, rel: RelPath) -> None:
    """Remove what an act that failed has left, if anything; the act's own error matters more."""
    with contextlib.suppress(MunimentError):
        remove_tree(root, rel)
