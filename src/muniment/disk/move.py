"""Floor 1, `disk`: the verified move: renamed where that can be, copied where it can not, and in
both cases read back at the new place before the old one counts as gone."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from muniment.disk import platform
from muniment.disk.copy import confirm, copy_verified, refuse_into_itself, say_if_changed, sync_tree, withdraw
from muniment.disk.errors import NotThere, PutBackFailed, SourceChanged, SourceNotRemoved, named
from muniment.disk.root import Root
from muniment.disk.tree import Measured, check_stamps, measure, remove_tree, walk_stats
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
    stands at the source as before, save when the source's name was taken meanwhile
    (`PutBackFailed`) or its removal after copying failed midway (`SourceNotRemoved`): these name
    the place where the content is.  A file with names outside is copied, so that nobody can
    change it through another name (spec 1, move).  `token` names the files that are not
    finished, so that whoever ends the act after a crash can find them.
    """
    if measured.kind is Kind.DIRECTORY:
        refuse_into_itself(source, source_rel, target, target_rel)
    sync_tree(source, source_rel, measured.kind)
    if not measured.linked_outside:
        # The folders stay open until the end: putting back must not depend on opening anything.
        with _named(source, source_rel) as old, _named(target, target_rel) as new:
            if _rename(old, new):
                table = _confirm_or_put_back(source, old, target, new, measured)
                return Moved(table, copied=False)
    token = token or new_token()
    table = copy_verified(source, source_rel, target, target_rel, measured, token=token)
    give_up_source(source, source_rel, target, target_rel, measured, token)
    return Moved(table, copied=True)


def aside_of(source_rel: RelPath, token: str) -> RelPath:
    """Where a copied source lies from when it is given up until it is removed."""
    return source_rel.parent / scratch_name(f"{token}-aside")


@dataclass(frozen=True, slots=True)
class _Name:
    """A name in a folder that is held open, and its path for errors."""

    folder: int
    name: str
    rel: RelPath


@contextmanager
def _named(root: Root, rel: RelPath) -> Iterator[_Name]:
    with root.parent(rel) as (fd, name):
        yield _Name(fd, name, rel)


def _rename(old: _Name, new: _Name) -> bool:
    """Rename to a free name; False when only copying leads there.

    The kernel's answer decides and not device numbers: folders of an overlay's lower layer can
    not be renamed at all.
    """
    with named(new.rel):
        try:
            platform.rename_exclusive(old.folder, old.name, new.folder, new.name)
        except FileNotFoundError as error:
            raise NotThere(where=printable(old.rel.posix)) from error
        except OSError as error:
            if error.errno == errno.EXDEV:
                return False
            raise
    return True


def _sync(first: _Name, second: _Name) -> None:
    """The new name first: a crash in between may then show both names, never none."""
    for each in (first, second):
        with named(each.rel):
            platform.sync_folder(each.folder)


def _confirm_or_put_back(source: Root, old: _Name, target: Root, new: _Name, measured: Measured) -> Table:
    try:
        if measured.kind is Kind.DIRECTORY:
            target.sync_folder(new.rel)
        _sync(new, old)
        return confirm(target, new.rel, measured, refuse_writers=True)
    except BaseException:
        _put_back(target, new, old)
        say_if_changed(source, old.rel, measured)
        raise


def _put_back(root: Root, new: _Name, old: _Name) -> None:
    failed = PutBackFailed(where=printable(f"{root.path}/{new.rel.posix}"), source=printable(old.rel.posix))
    try:
        back = _rename(new, old)
    except MunimentError as error:
        raise failed from error
    if not back:
        raise failed
    # It is back; should a sync fail now, then the error that led here still says what happened.
    with contextlib.suppress(MunimentError):
        _sync(old, new)


def give_up_source(
    source: Root, source_rel: RelPath, target: Root, target_rel: RelPath, measured: Measured, token: str
) -> None:
    """After a verified copy: set the source aside, make sure that it is still what was copied,
    then remove it.  A source that changed goes back to its name, and the copy is removed.

    A folder that can not be renamed even beside itself (in an overlay's lower layer) is removed
    where it stands, entry by entry and only what was copied.
    """
    try:
        _remove_source(source, source_rel, f"{target.path}/{target_rel.posix}", measured, token)
    except (SourceNotRemoved, PutBackFailed):
        raise
    except BaseException:
        withdraw(target, target_rel, token)
        raise


def _remove_source(source: Root, source_rel: RelPath, copy: str, measured: Measured, token: str) -> None:
    aside = aside_of(source_rel, token)
    with _named(source, source_rel) as old, _named(source, aside) as new:
        left, removing = old, False
        try:
            if _rename(old, new):
                left = new
                with named(aside):
                    platform.sync_folder(new.folder)
            check_stamps(source, left.rel, measured)
            if measure(source, left.rel, refuse_writers=True).table != measured.table:
                raise SourceChanged(
                    where=printable(source_rel.posix), why=say("it was written to after it was copied")
                )
            removing = True
            remove_tree(source, left.rel, measured)
        except BaseException as error:
            if removing and not _nothing_went(source, left.rel, measured):
                raise SourceNotRemoved(where=printable(left.rel.posix), target=printable(copy)) from error
            if left is new:
                _put_back(source, new, old)
            raise


def _nothing_went(source: Root, left: RelPath, measured: Measured) -> bool:
    """Whether every entry that was measured still has its name, so that all can be put back."""
    try:
        return measured.stamps.keys() <= {inner for inner, _ in walk_stats(source, left)}
    except MunimentError:
        return False
