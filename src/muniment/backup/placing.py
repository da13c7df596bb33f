"""Floor 3, `backup`: doing and taking back the steps of a restore, each by one change of a name.

A new file grows beside its place, is hashed while it is written, and exchanges names with what is there;
what came away is compared with what was shown, and goes back if it is something else.  So nothing
is overwritten that nobody saw, at whatever instant the process is killed (spec 4, restore).
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from muniment.backup.errors import FetchedDiffers
from muniment.backup.fetching import Fetched
from muniment.backup.restore_model import Face, Step, Trouble
from muniment.backup.standing import InTheWay, face_in
from muniment.bundle.tree import Chain
from muniment.disk import platform
from muniment.disk.copy import copy_verified
from muniment.disk.errors import (
    NotThere,
    OutsideRoot,
    Overtaken,
    ReadbackFailed,
    SourceChanged,
    SpecialFile,
    WrongKind,
    named,
)
from muniment.disk.root import Root, open_regular
from muniment.disk.tree import measure
from muniment.disk.write import CHUNK, FORGET_BEYOND, scratch_name, write_sparse
from muniment.errors import MunimentError
from muniment.evidence import Kind
from muniment.message import say
from muniment.path import RelPath, printable

BATCH_STEPS = 256
BATCH_BYTES = 32 << 20
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL

Advance = Callable[[int, int, str], object]
"""Is told of bytes and files done, and of the path at work."""


class Numbered(NamedTuple):
    """A step and its number in the set, which names its unfinished and its replaced file."""

    number: int
    step: Step


def trouble(step: Step, error: MunimentError | InTheWay) -> Trouble:
    """A step that was not done, as it is reported."""
    if isinstance(error, InTheWay):
        return Trouble(step.section, step.rel, OutsideRoot.code, error.why)
    return Trouble(step.section, step.rel, error.code, error.why or error.message)


class Placing:
    """The steps of one restore in one section.

    `root` is the section's folder; `kept` and `folder` are where what is replaced goes.
    """

    def __init__(self, root: Root, kept: Root, folder: RelPath, restore: str) -> None:
        self._root = root
        self._kept = kept
        self._folder = folder
        self._restore = restore
        self._chain = Chain(root.fd)
        self._touched: dict[str, None] = {}

    def close(self) -> None:
        """Let the folders go."""
        self._chain.close()

    def scratch(self, number: int) -> str:
        """The name under which a step's file grows, and under which what it replaced comes away."""
        return scratch_name(f"{self._restore}-{number}")

    # Looking

    def face(self, rel: str) -> Face | None:
        """What stands at a path."""
        try:
            with self._parent(rel) as (fd, name):
                return face_in(fd, name)
        except NotThere:
            return None

    def face_beside(self, one: Numbered) -> Face | None:
        """What a run that was ended has left beside a step's place."""
        try:
            with self._parent(one.step.rel) as (fd, _):
                return face_in(fd, self.scratch(one.number))
        except NotThere:
            return None

    @contextmanager
    def _parent(self, rel: str) -> Iterator[tuple[int, str]]:
        *names, name = rel.split("/")
        with named(rel):
            try:
                fd = self._chain.folder(names)
            except OSError as error:
                if error.errno in (errno.ENOTDIR, errno.ELOOP):
                    raise InTheWay(say("a link or a file stands in the path")) from error
                raise
            yield fd, name

    # Doing

    def stage(self, one: Numbered, fetched: Fetched) -> None:
        """Write a step's file beside its place, held to its digest; a link, likewise.

        `FetchedDiffers` when the bytes are not those of the snapshot: then nothing of it stays.
        """
        step, after = one.step, one.step.after
        assert after is not None
        with self._parent(step.rel) as (fd, name):
            scratch = self.scratch(one.number)
            if after.kind is Kind.LINK:
                os.symlink(after.target, scratch, dir_fd=fd)
                times = (step.mtime_ns, step.mtime_ns)
                os.utime(scratch, ns=times, dir_fd=fd, follow_symlinks=False)
                self._own_link(fd, name, scratch)
                return
            try:
                source = fetched.folder.open_file(fetched.rel(step.source))
            except (NotThere, WrongKind, OutsideRoot, SpecialFile) as error:
                raise FetchedDiffers(where=printable(step.source), why=say("it is missing")) from error
            try:
                with named(step.rel):
                    self._write(fd, name, scratch, source, step, after)
            finally:
                platform.close(source)

    def _write(self, fd: int, name: str, scratch: str, source: int, step: Step, after: Face) -> None:
        target = open_regular(fd, scratch, step.rel, _NEW, 0o600)
        try:
            state, size = hashlib.sha256(), 0
            while chunk := os.read(source, CHUNK):
                write_sparse(target, chunk)
                state.update(chunk)
                size += len(chunk)
            if (size, state.hexdigest()) != (after.size, after.sha256):
                raise FetchedDiffers(
                    where=printable(step.source), why=say("its bytes are not those of the snapshot")
                )
            os.ftruncate(target, size)  # it may end in a hole
            _own(target, _owner(fd, name))
            os.fchmod(target, step.mode)
            os.utime(target, ns=(step.mtime_ns, step.mtime_ns))
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(scratch, dir_fd=fd)
            raise
        finally:
            platform.close(target)

    @staticmethod
    def _own_link(fd: int, name: str, scratch: str) -> None:
        user, group = _owner(fd, name)
        with _as_far_as_may_be():
            os.chown(scratch, user, group, dir_fd=fd, follow_symlinks=False)

    def make_folder(self, one: Numbered) -> None:
        """Make a folder that is missing; what it shall look like comes when everything lies in it."""
        with self._parent(one.step.rel) as (fd, name):
            os.mkdir(name, 0o700, dir_fd=fd)
            user, group = _owner(fd, ".")
            with _as_far_as_may_be():
                os.chown(name, user, group, dir_fd=fd, follow_symlinks=False)
            self._touch(one.step.rel)

    def dress_folder(self, one: Numbered) -> None:
        """Give a new folder its mode and time."""
        with named(one.step.rel):
            fd = self._chain.folder(one.step.rel.split("/"))
            os.fchmod(fd, one.step.mode)
            os.utime(fd, ns=(one.step.mtime_ns, one.step.mtime_ns))

    def sync_staged(self, batch: Sequence[Numbered]) -> None:
        """Make the bytes of staged files durable: before their names say that they are there."""
        files = [one for one in batch if one.step.after and one.step.after.kind is Kind.FILE]
        if len(files) > 8 and self._on_one_file_system(files):
            with named(self._root.path):
                platform.sync_file_system(self._root.fd)
            return
        for one in files:
            with self._parent(one.step.rel) as (fd, _):
                opened = open_regular(fd, self.scratch(one.number), one.step.rel)
                try:
                    platform.sync_data(opened)
                finally:
                    platform.close(opened)

    def _on_one_file_system(self, batch: Sequence[Numbered]) -> bool:
        device = os.fstat(self._root.fd).st_dev
        for one in batch:
            with self._parent(one.step.rel) as (fd, _):
                if os.fstat(fd).st_dev != device:
                    return False
        return True

    def place(self, one: Numbered) -> None:
        """Give a staged file its name, or take away what has to go; what it replaces is kept.  A folder goes
        if it is empty: whatever came into it since keeps it.

        `SourceChanged` or `AlreadyThere` when something else stands there than was shown: then that
        stands there as before.
        """
        step, scratch = one.step, self.scratch(one.number)
        with self._parent(step.rel) as (fd, name):
            self._touch(step.rel)
            if step.before is None:
                platform.rename_exclusive(fd, scratch, fd, name)
                return
            if step.before.kind is Kind.DIRECTORY:
                _remove_empty(fd, name)
                return
            if step.after is None:
                platform.rename_exclusive(fd, name, fd, scratch)
                if _face(fd, scratch) != step.before:
                    platform.rename_exclusive(fd, scratch, fd, name)
                    raise SourceChanged(where=printable(step.rel))
            else:
                self._exchange(fd, scratch, name, step)
            self._stow(fd, scratch, one)

    def _exchange(self, fd: int, scratch: str, name: str, step: Step) -> None:
        if platform.rename_swap(fd, scratch, fd, name):
            if _face(fd, scratch) != step.before:
                platform.rename_swap(fd, scratch, fd, name)
                raise SourceChanged(where=printable(step.rel))
            return
        # A file system that can not exchange names: what is there gets another one first.
        aside = _aside(scratch)
        platform.rename_exclusive(fd, name, fd, aside)
        if _face(fd, aside) != step.before:
            platform.rename_exclusive(fd, aside, fd, name)
            raise SourceChanged(where=printable(step.rel))
        platform.rename_exclusive(fd, scratch, fd, name)
        platform.rename_exclusive(fd, aside, fd, scratch)

    def _stow(self, fd: int, scratch: str, one: Numbered) -> None:
        """Put what came away into the set, under its number."""
        with self._kept.folder(self._folder) as into:
            try:
                platform.rename_exclusive(fd, scratch, into, str(one.number))
                return
            except OSError as error:
                if error.errno != errno.EXDEV:
                    raise
        here = RelPath.parse(one.step.rel).parent / scratch
        there = self._folder / str(one.number)
        copy_verified(
            self._root, here, self._kept, there, measure(self._root, here), token=f"{self._restore}-stow"
        )
        os.unlink(scratch, dir_fd=fd)

    def unstage(self, one: Numbered) -> None:
        """Remove a staged file that will not be placed; only what is whole and ours."""
        if one.step.after is None or one.step.after.kind is Kind.DIRECTORY:
            return
        with contextlib.suppress(MunimentError, InTheWay, OSError):
            if self.face_beside(one) == one.step.after:
                with self._parent(one.step.rel) as (fd, _):
                    os.unlink(self.scratch(one.number), dir_fd=fd)

    def _touch(self, rel: str) -> None:
        self._touched[rel.rpartition("/")[0]] = None

    def sync_names(self) -> None:
        """Make every name that changed durable, and those of the set."""
        if len(self._touched) > 8:
            with named(self._root.path):
                platform.sync_file_system(self._root.fd)
        for above in list(self._touched):
            with contextlib.suppress(NotThere), named(above):
                platform.sync_folder(self._chain.folder(above.split("/") if above else []))
        self._touched.clear()
        self._kept.sync_folder(self._folder)

    def confirm(self, one: Numbered) -> None:
        """Read a step back from its place: `ReadbackFailed` when it is not what it should be."""
        step = one.step
        if step.after is None:
            if not clears(step) and self.face(step.rel) is not None:
                raise Overtaken(where=printable(step.rel))
            return
        with self._parent(step.rel) as (fd, name):
            if step.after.size > FORGET_BEYOND:
                opened = open_regular(fd, name, step.rel)
                try:
                    platform.forget_cache(opened)
                finally:
                    platform.close(opened)
            found = face_in(fd, name)
        if found != step.after:
            raise (ReadbackFailed if found else Overtaken)(where=printable(step.rel))

    # Going on after a run that was ended

    def settle(self, one: Numbered) -> bool:
        """Bring a step of an ended run to before or after, and say whether it is done.

        What stands there and is neither is `SourceChanged`.  Nothing that might be somebody's is
        removed: what can not be told goes into the set.
        """
        step = one.step
        self._from_aside(one)
        now = self.face(step.rel)
        if step.after is not None and step.after.kind is Kind.DIRECTORY:
            if now is not None and now.kind is not Kind.DIRECTORY:
                raise SourceChanged(where=printable(step.rel))
            return now is not None
        beside = self.face_beside(one)
        if beside is not None:
            with self._parent(step.rel) as (fd, name):
                self._touch(step.rel)
                scratch = self.scratch(one.number)
                if now == step.after and step.before is not None and beside != step.before:
                    # Ended between the exchange and the look at what came away: it goes back.
                    self._back(fd, scratch, name, now)
                    now = beside
                elif beside == step.before:
                    self._stow_once(fd, scratch, one)
                else:
                    self._lay_off(fd, scratch, one, step.after)
        if now == step.after:
            return True
        if now != step.before:
            raise SourceChanged(where=printable(step.rel))
        if step.before is not None and self._stashed(one) == step.before:
            # Somebody has put it back by hand; the copy in the set would stand in the way.
            self._kept.unlink(self._folder / str(one.number))
        return False

    def _from_aside(self, one: Numbered) -> None:
        """Where names can not be exchanged, a run that was ended may have left what was there under a
        third name: it comes back to its place, or waits beside it where the place is taken."""
        rel, scratch = one.step.rel, self.scratch(one.number)
        try:
            with self._parent(rel) as (fd, name):
                aside = _aside(scratch)
                os.stat(aside, dir_fd=fd, follow_symlinks=False)
                self._touch(rel)
                try:
                    platform.rename_exclusive(fd, aside, fd, name)
                except FileExistsError:
                    self.unstage(one)
                    platform.rename_exclusive(fd, aside, fd, scratch)
        except NotThere:
            return

    def _back(self, fd: int, scratch: str, name: str, now: Face | None) -> None:
        if now is None:
            platform.rename_exclusive(fd, scratch, fd, name)
        elif platform.rename_swap(fd, scratch, fd, name):
            os.unlink(scratch, dir_fd=fd)
        else:
            os.replace(scratch, name, src_dir_fd=fd, dst_dir_fd=fd)

    def _stow_once(self, fd: int, scratch: str, one: Numbered) -> None:
        if self._kept.exists(self._folder / str(one.number)):
            os.unlink(scratch, dir_fd=fd)  # copied into the set already
        else:
            self._stow(fd, scratch, one)

    def _lay_off(self, fd: int, scratch: str, one: Numbered, after: Face | None) -> None:
        """A file that was being written is removed when it is whole, else kept in the set: it may be
        what came away from a place that somebody wrote to."""
        if _face(fd, scratch) == after:
            os.unlink(scratch, dir_fd=fd)
            return
        spare = one._replace(number=-one.number - 1)
        if self._kept.exists(self._folder / str(spare.number)):
            os.unlink(scratch, dir_fd=fd)
        else:
            self._stow(fd, scratch, spare)

    # Taking back

    def take_back(self, one: Numbered) -> bool:
        """Make a step undone; whether there was something to do.

        `SourceChanged` when what stands there is not what the restore put there: it stays.
        """
        step, now = one.step, self.face(one.step.rel)
        if now == step.before and (step.before is None or self._stashed(one) is None):
            return False
        if step.after is not None and step.after.kind is Kind.DIRECTORY:
            return self._remove_folder(one, now)
        if now != step.after:
            raise SourceChanged(where=printable(step.rel), why=say("it changed since it was restored"))
        if clears(step):
            self.make_folder(one)
            return True
        with self._parent(step.rel) as (fd, name):
            self._touch(step.rel)
            if step.before is None:
                self._remove(fd, name, one)
            else:
                self._put_back(fd, name, one)
        return True

    def _remove_folder(self, one: Numbered, now: Face | None) -> bool:
        if now is None or now.kind is not Kind.DIRECTORY:
            return False
        with self._parent(one.step.rel) as (fd, name):
            self._touch(one.step.rel)
            return _remove_empty(fd, name)

    def _remove(self, fd: int, name: str, one: Numbered) -> None:
        scratch = self.scratch(one.number)
        with contextlib.suppress(FileNotFoundError):
            if _face(fd, scratch) == one.step.after:
                os.unlink(scratch, dir_fd=fd)  # of a run that was ended here
        platform.rename_exclusive(fd, name, fd, scratch)
        if _face(fd, scratch) != one.step.after:
            platform.rename_exclusive(fd, scratch, fd, name)
            raise SourceChanged(where=printable(one.step.rel), why=say("it changed since it was restored"))
        os.unlink(scratch, dir_fd=fd)

    def _put_back(self, fd: int, name: str, one: Numbered) -> None:
        step, scratch = one.step, self.scratch(one.number)
        self._fetch_stash(fd, scratch, one)
        if step.after is None:
            platform.rename_exclusive(fd, scratch, fd, name)
            return
        if platform.rename_swap(fd, scratch, fd, name):
            if _face(fd, scratch) != step.after:
                platform.rename_swap(fd, scratch, fd, name)
                self._stow(fd, scratch, one)
                raise SourceChanged(where=printable(step.rel), why=say("it changed since it was restored"))
            os.unlink(scratch, dir_fd=fd)
        else:
            os.replace(scratch, name, src_dir_fd=fd, dst_dir_fd=fd)

    def _fetch_stash(self, fd: int, scratch: str, one: Numbered) -> None:
        """Bring what was replaced beside its place, unless an ended run has done so already."""
        stash = self._folder / str(one.number)
        if not self._kept.exists(stash):
            if _face(fd, scratch) == one.step.before:
                return
            raise NotThere(where=printable(stash.posix))
        if self._stashed(one) != one.step.before:
            raise ReadbackFailed(
                where=printable(stash.posix), why=say("it is not what was replaced; it is left there")
            )
        with contextlib.suppress(FileNotFoundError):
            os.unlink(scratch, dir_fd=fd)
        with self._kept.folder(self._folder) as source:
            try:
                platform.rename_exclusive(source, str(one.number), fd, scratch)
                return
            except OSError as error:
                if error.errno != errno.EXDEV:
                    raise
        here = RelPath.parse(one.step.rel).parent / scratch
        copy_verified(self._kept, stash, self._root, here, measure(self._kept, stash))
        self._kept.unlink(stash)

    def _stashed(self, one: Numbered) -> Face | None:
        """What the set holds of a step; None when it holds nothing."""
        try:
            with self._kept.folder(self._folder) as fd:
                return face_in(fd, str(one.number))
        except NotThere:
            return None


def _aside(scratch: str) -> str:
    """No scratch name: what stands there is somebody's only copy."""
    return f"{scratch}-old"


def _face(fd: int, name: str) -> Face | None:
    try:
        return face_in(fd, name)
    except InTheWay:
        return None


def _remove_empty(fd: int, name: str) -> bool:
    """Remove a folder; False for one in which something lies that is nobody's to take away here."""
    try:
        os.rmdir(name, dir_fd=fd)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
        return False
    return True


def _owner(fd: int, name: str) -> tuple[int, int]:
    """The owner that a file gets: that of what stands there, else the folder's."""
    try:
        fact = os.stat(name, dir_fd=fd, follow_symlinks=False)
    except FileNotFoundError:
        fact = os.fstat(fd)
    return fact.st_uid, fact.st_gid


def _own(fd: int, owner: tuple[int, int]) -> None:
    """Give the owner."""
    fact = os.fstat(fd)
    if (fact.st_uid, fact.st_gid) == owner:
        return
    with _as_far_as_may_be():
        os.fchown(fd, *owner)


@contextmanager
def _as_far_as_may_be() -> Iterator[None]:
    """Owners are given where this user may, and where the system and the file system know of them."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.EINVAL, errno.ENOTSUP, errno.ENOSYS):
            raise


def batches(steps: Sequence[Numbered]) -> Iterator[list[Numbered]]:
    """Steps in bounded batches; a group stands alone."""
    batch: list[Numbered] = []
    size = 0
    for one in steps:
        length = one.step.after.size if one.step.after else 0
        other = batch and batch[0].step.group != one.step.group
        full = len(batch) >= BATCH_STEPS or size + length > BATCH_BYTES
        if batch and (other or (full and not one.step.group)):
            yield batch
            batch, size = [], 0
        batch.append(one)
        size += length
    if batch:
        yield batch


def makes(step: Step) -> bool:
    """Whether a step makes a folder."""
    return step.after is not None and step.after.kind is Kind.DIRECTORY


def clears(step: Step) -> bool:
    """Whether a step takes a folder away."""
    return step.before is not None and step.before.kind is Kind.DIRECTORY
