"""Floor 1, `disk`: the verified move: renamed where that can be, copied where it can not, and in
both cases read back at the new place before the old one counts as gone."""

from __future__ import annotations

import errno
from dataclasses import dataclass

from muniment.disk import platform
from muniment.disk.copy import confirm, copy_verified, sync_tree
from muniment.disk.errors import PutBackFailed, SourceChanged, named
from muniment.disk.root import Root
from muniment.disk.tree import Measured, check_stamps, measure, remove_tree
from muniment.disk.write import new_token, scratch_name
from muniment.errors import MunimentError
from muniment.evidence import Kind, Table
from muniment.message import say
from muniment.path import RelPath, printable


@dataclass(frozen=True, slots=True)
class Moved:
    """What was read back at the new place, and whether it came there by copying."""

    table: Table
    copied: bool


def move_verified(
    source: Root,
    source_rel: RelPath,
    target: Root,
    target_rel: RelPath,
    measured: Measured,
    *,
    token: str | None = None,
) -> Moved:
    """Move a measured file or folder to a free name.

    The whole content stands at one of the two places at every instant.  After any error it
    stands at the source as before, save when the source's name was taken meanwhile: then the
    error names the place where it is.  A file with names outside is copied, so that nobody can
    change it through another name (spec 1, move).  `token` names the files that are not
    finished, so that whoever ends the act after a crash can find them.
    """
    sync_tree(source, source_rel, measured.kind)
    if not measured.linked_outside:
        try:
            _rename(source, source_rel, target, target_rel)
        except _OtherFileSystem:
            pass
        else:
            return Moved(_confirm_or_put_back(source, source_rel, target, target_rel, measured), copied=False)
    token = token or new_token()
    table = copy_verified(source, source_rel, target, target_rel, measured, token=token)
    give_up_source(source, source_rel, target, target_rel, measured, token)
    return Moved(table, copied=True)


def aside_of(source_rel: RelPath, token: str) -> RelPath:
    """Where a copied source lies from when it is given up until it is removed."""
    return source_rel.parent / scratch_name(f"{token}-aside")


class _OtherFileSystem(Exception):
    """The kernel refused the rename; device numbers do not tell (an overlay's lower layer)."""


def _rename(source: Root, source_rel: RelPath, target: Root, target_rel: RelPath) -> None:
    folders = source.parent(source_rel), target.parent(target_rel)
    with folders[0] as (from_fd, from_name), folders[1] as (to_fd, to_name), named(target_rel):
        try:
            platform.rename_exclusive(from_fd, from_name, to_fd, to_name)
        except OSError as error:
            if error.errno == errno.EXDEV:
                raise _OtherFileSystem from error
            raise


def _sync_names(source: Root, source_rel: RelPath, target: Root, target_rel: RelPath) -> None:
    """The new name first: a crash in between may then show both names, never none."""
    target.sync_folder(target_rel.parent)
    source.sync_folder(source_rel.parent)


def _confirm_or_put_back(
    source: Root, source_rel: RelPath, target: Root, target_rel: RelPath, measured: Measured
) -> Table:
    try:
        if measured.kind is Kind.DIRECTORY:
            target.sync_folder(target_rel)
        _sync_names(source, source_rel, target, target_rel)
        return confirm(target, target_rel, measured, refuse_writers=True)
    except BaseException:
        _put_back(target, target_rel, source, source_rel)
        raise


def _put_back(target: Root, target_rel: RelPath, source: Root, source_rel: RelPath) -> None:
    try:
        _rename(target, target_rel, source, source_rel)
        _sync_names(target, target_rel, source, source_rel)
    except (MunimentError, _OtherFileSystem) as error:
        raise PutBackFailed(
            where=printable(f"{target.path}/{target_rel.posix}"), source=printable(source_rel.posix)
        ) from error


def give_up_source(
    source: Root, source_rel: RelPath, target: Root, target_rel: RelPath, measured: Measured, token: str
) -> None:
    """After a verified copy: set the source aside, make sure that it is still what was copied,
    then remove it.  A source that changed goes back to its name, and the copy is removed."""
    aside = aside_of(source_rel, token)
    _rename(source, source_rel, source, aside)
    try:
        source.sync_folder(source_rel.parent)
        check_stamps(source, aside, measured)
        if measure(source, aside, refuse_writers=True).table != measured.table:
            raise SourceChanged(
                where=printable(source_rel.posix), why=say("it was written to after it was copied")
            )
    except BaseException:
        _put_back(source, aside, source, source_rel)
        remove_tree(target, target_rel)
        raise
    remove_tree(source, aside)
