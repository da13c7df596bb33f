"""Floor 1, `disk`: a confined root: the only way by which Muniment reaches a file.

Every path is walked name by name over descriptors that follow no link, so nothing outside the
root can be reached, whatever is swapped between two calls.  What is opened is what is used: no
path is looked up twice where one descriptor will do.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from muniment.disk import platform
from muniment.disk.errors import AlreadyThere, NotThere, OutsideRoot, SpecialFile, WrongKind, named
from muniment.message import say
from muniment.path import BadPath, RelPath, printable


class Root:
    """An open folder that everything stays below.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place, Root.open(place) as root:
    ...     root.make_folders(RelPath.parse("a/b"))
    ...     root.exists(RelPath.parse("a/b")), root.exists(RelPath.parse("a/c"))
    (True, False)
    """

    def __init__(self, fd: int, path: str) -> None:
        self.fd = fd
        self.path = path

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Root:
        """Open a folder as a root; links in `path` itself are the caller's own and are followed."""
        with named(os.fspath(path)):
            real = os.path.realpath(path, strict=True)
            return cls(os.open(real, platform.FOLDER), real)

    def below(self, rel: RelPath) -> Root:
        """A root of its own for a folder inside this one."""
        return Root(self.open_folder(rel), os.path.join(self.path, *rel.parts))

    def close(self) -> None:
        """Let the folder go."""
        if self.fd >= 0:
            platform.close(self.fd)
            self.fd = -1

    def __enter__(self) -> Root:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def relative(self, path: str, base: str | None = None) -> RelPath:
        """A path from outside as a path of this root.

        An absolute path must begin with the root's own path; a relative one is taken from `base`
        (an absolute folder inside the root; the root itself when None).  `..` is refused, never
        resolved: with links about, nobody knows where it leads.
        """
        try:
            if os.path.isabs(path):
                return self._strip(path)
            inner = self._strip(base) if base is not None else RelPath()
            return inner / _plain(path)
        except BadPath as error:
            raise OutsideRoot(where=printable(path), why=error.why) from error

    def _strip(self, path: str) -> RelPath:
        given = _plain(path)
        with named(self.path):
            own = os.fstat(self.fd)
        # The root may be spelled through links above it, so it is known by what it is.
        for length in range(len(given.parts) + 1):
            try:
                found = os.stat("/" + "/".join(given.parts[:length]))
            except OSError:
                break
            if (found.st_dev, found.st_ino) == (own.st_dev, own.st_ino):
                return RelPath(given.parts[length:])
        raise BadPath(say("not below {root}", root=repr(self.path)))

    def open_folder(self, rel: RelPath) -> int:
        """A descriptor of a folder; the caller closes it."""
        fd = self._again()
        done: tuple[str, ...] = ()
        try:
            for name in rel.parts:
                done = (*done, name)
                with named("/".join(done)):
                    inner = self._step(fd, name, done)
                platform.close(fd)
                fd = inner
        except BaseException:
            platform.close(fd)
            raise
        return fd

    def _again(self) -> int:
        with named(self.path):
            return platform.open_again(self.fd)

    def _step(self, fd: int, name: str, done: tuple[str, ...]) -> int:
        try:
            return os.open(name, platform.FOLDER, dir_fd=fd)
        except OSError as error:
            if error.errno in (errno.ENOTDIR, errno.ELOOP):
                self._refuse_link(fd, name, "/".join(done))
            raise

    @staticmethod
    def _refuse_link(fd: int, name: str, where: str) -> None:
        found = os.stat(name, dir_fd=fd, follow_symlinks=False)
        if stat.S_ISLNK(found.st_mode):
            raise OutsideRoot(where=printable(where), why=say("a link stands in the path"))

    @contextmanager
    def folder(self, rel: RelPath) -> Iterator[int]:
        """A descriptor of a folder for the length of a block."""
        fd = self.open_folder(rel)
        try:
            yield fd
        finally:
            platform.close(fd)

    @contextmanager
    def parent(self, rel: RelPath) -> Iterator[tuple[int, str]]:
        """The descriptor of the folder in which the last name lies, and that name."""
        if not rel.parts:
            raise OutsideRoot(where=".", why=say("the root itself has no name inside the root"))
        with self.folder(rel.parent) as fd:
            yield fd, rel.name

    def open_file(self, rel: RelPath, flags: int = os.O_RDONLY, mode: int = 0o666) -> int:
        """A descriptor of a regular file; anything else is refused without being waited for."""
        with self.parent(rel) as (fd, name), named(rel):
            return open_regular(fd, name, rel.posix, flags, mode)

    def read(self, rel: RelPath, limit: int = 64 << 20) -> bytes:
        """The bytes of a small file; one of more than `limit` bytes is refused."""
        fd = self.open_file(rel)
        with named(rel), os.fdopen(fd, "rb") as stream:
            data = stream.read(limit + 1)
        if len(data) > limit:
            raise WrongKind(
                where=printable(rel.posix), why=say("it has more than {limit} bytes", limit=limit)
            )
        return data

    def stat(self, rel: RelPath) -> os.stat_result:
        """What stands at a path; the last name is never followed when it is a link."""
        if not rel.parts:
            with named(self.path):
                return os.fstat(self.fd)
        with self.parent(rel) as (fd, name), named(rel):
            return os.stat(name, dir_fd=fd, follow_symlinks=False)

    def exists(self, rel: RelPath) -> bool:
        """Whether anything, be it a dangling link, stands at a path."""
        try:
            self.stat(rel)
        except NotThere:
            return False
        return True

    def spelled_exactly(self, rel: RelPath) -> bool:
        """Whether the last name is spelled as the folder spells it.

        A file system that folds case or normal forms also answers to other spellings; the name
        kept in a record must be the one that a listing shows.
        """
        with self.parent(rel) as (fd, name), named(rel):
            os.stat(name, dir_fd=fd, follow_symlinks=False)
            forms = {unicodedata.normalize(form, name) for form in ("NFC", "NFD")}
            others = {name.swapcase(), name.upper(), name.lower(), *forms} - {name}
            # A name without letters shows no folding by its case, so the listing decides.
            if name.lower() == name.upper() or any(_is_there(fd, other) for other in others):
                return name in os.listdir(fd)
        return True

    def make_folders(self, rel: RelPath, mode: int = 0o777) -> None:
        """Make a folder and those above it, durably; what exists already stays as it is."""
        fd = self._again()
        try:
            for depth, name in enumerate(rel.parts, 1):
                with named("/".join(rel.parts[:depth])):
                    try:
                        os.mkdir(name, mode, dir_fd=fd)
                        platform.sync_folder(fd)
                    except FileExistsError:
                        pass
                    inner = self._step(fd, name, rel.parts[:depth])
                platform.close(fd)
                fd = inner
        finally:
            platform.close(fd)

    def claim_folder(self, rel: RelPath, mode: int = 0o777) -> None:
        """Make one new folder, durably; `AlreadyThere` when the name is taken."""
        with self.parent(rel) as (fd, name):
            try:
                os.mkdir(name, mode, dir_fd=fd)
            except FileExistsError as error:
                raise AlreadyThere(where=printable(rel.posix)) from error
            except OSError:
                with named(rel):
                    raise
            try:
                with named(rel):
                    platform.sync_folder(fd)
            except BaseException:
                # Who is told that the name was not claimed shall not find it claimed.
                with contextlib.suppress(OSError):
                    os.rmdir(name, dir_fd=fd)
                raise

    def sync_folder(self, rel: RelPath) -> None:
        """Make the names in a folder durable."""
        with self.folder(rel) as fd, named(rel):
            platform.sync_folder(fd)

    def names(self, rel: RelPath) -> list[str]:
        """The names in a folder, sorted."""
        with self.folder(rel) as fd, named(rel):
            return sorted(os.listdir(fd))

    def unlink(self, rel: RelPath, *, missing_ok: bool = False) -> None:
        """Remove one file or link, durably."""
        with self.parent(rel) as (fd, name), named(rel):
            try:
                os.unlink(name, dir_fd=fd)
            except FileNotFoundError:
                if not missing_ok:
                    raise
            platform.sync_folder(fd)

    def remove_folder(self, rel: RelPath) -> None:
        """Remove one empty folder, durably."""
        with self.parent(rel) as (fd, name), named(rel):
            os.rmdir(name, dir_fd=fd)
            platform.sync_folder(fd)


def open_regular(fd: int, name: str, where: str, flags: int = os.O_RDONLY, mode: int = 0o666) -> int:
    """Open a regular file inside an open folder, following no link and waiting for no pipe.

    Raises `OSError` for what the system refuses, `OutsideRoot` for a link, `SpecialFile` and
    `WrongKind` for what is no regular file.
    """
    try:
        opened = os.open(name, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, mode, dir_fd=fd)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OutsideRoot(where=printable(where), why=say("it is a link")) from error
        raise
    try:
        found = os.fstat(opened)
    except OSError:
        platform.close(opened)
        raise
    if stat.S_ISREG(found.st_mode):
        return opened
    platform.close(opened)
    if stat.S_ISDIR(found.st_mode):
        raise WrongKind(where=printable(where), why=say("it is a folder"))
    raise SpecialFile(where=printable(where))


def _plain(path: str) -> RelPath:
    """A typed path without the harmless noise people type: `./`, doubled and trailing slashes."""
    return RelPath(tuple(name for name in path.split("/") if name not in ("", ".")))


def _is_there(fd: int, name: str) -> bool:
    # Inode numbers would not tell: through FUSE each spelling of one file may have its own.
    try:
        os.stat(name, dir_fd=fd, follow_symlinks=False)
    except OSError:
        return False
    return True


def real_folder(path: str | os.PathLike[str]) -> Path:
    """The real path of an existing folder that a person named; links are followed."""
    with named(os.fspath(path)):
        real = Path(path).resolve(strict=True)
        if not real.is_dir():
            raise WrongKind(where=printable(str(path)), why=say("it is not a folder"))
    return real
