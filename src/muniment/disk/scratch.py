"""Floor 1, `disk`: folders for passing work, and what processes that died have left of theirs.

A folder is locked by the kernel as long as its process lives; whoever can lock it may remove it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from muniment.disk import platform
from muniment.disk.errors import named, system_reason
from muniment.message import Message, say
from muniment.path import printable

PREFIX = "muniment-"
_TRIES = 100


@contextmanager
def scratch_folder(purpose: str, place: Path | None = None) -> Iterator[Path]:
    """A folder of our own for the length of a block, in the temporary directory unless a place is given.

    >>> with scratch_folder("example") as folder:
    ...     oct(folder.stat().st_mode & 0o777)
    '0o700'
    """
    above = str(place or tempfile.gettempdir())
    with named(printable(above)):
        path, fd = _held(above, f"{PREFIX}{purpose}-")
    try:
        yield path
    finally:
        # What can not be removed now is removed by the next run: the lock ends with the process.
        with contextlib.suppress(OSError):
            _empty(fd)
            path.rmdir()
        platform.close(fd)


def _held(above: str, prefix: str) -> tuple[Path, int]:
    """A new folder and the descriptor that holds its lock."""
    for _ in range(_TRIES):
        path = Path(tempfile.mkdtemp(prefix=prefix, dir=above))
        try:
            fd = os.open(path, platform.FOLDER)
        except FileNotFoundError:
            continue  # taken for a leftover before it was locked
        except BaseException:
            _discard(path)
            raise
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _stands(path, fd):
                return path, fd
        except BlockingIOError:
            pass  # whoever took it for a leftover removes it
        except BaseException:
            _discard(path)
            platform.close(fd)
            raise
        platform.close(fd)
    raise OSError(None, "every new folder was taken away at once", prefix)


def _discard(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.rmdir()


def _stands(path: Path, fd: int) -> bool:
    try:
        return os.path.samestat(os.lstat(path), os.fstat(fd))
    except FileNotFoundError:
        return False


def remove_leftovers(purpose: str, place: Path | None = None) -> list[Message]:
    """Remove the folders that processes which died left of theirs; gives what could not be removed.

    Only real folders of this user that nobody else may enter are touched, through descriptors, and
    no link is followed.
    """
    where, prefix = str(place or tempfile.gettempdir()), f"{PREFIX}{purpose}-"
    try:
        above = os.open(where, platform.FOLDER & ~os.O_NOFOLLOW)
        try:
            names = sorted(name for name in os.listdir(above) if name.startswith(prefix))
            found = [_remove(above, name, f"{where}/{name}") for name in names]
        finally:
            platform.close(above)
    except OSError as error:
        return [_stays(where, error)]
    return [finding for finding in found if finding is not None]


def _remove(above: int, name: str, where: str) -> Message | None:
    try:
        fd = os.open(name, platform.FOLDER, dir_fd=above)
    except (FileNotFoundError, PermissionError, NotADirectoryError):
        return None  # gone, another user's, or no folder (a link is none either)
    except OSError as error:
        return _stays(where, error)
    try:
        fact = os.fstat(fd)
        if fact.st_uid != os.geteuid() or stat.S_IMODE(fact.st_mode) & 0o077:
            return None
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _empty(fd)
        with contextlib.suppress(FileNotFoundError):
            os.rmdir(name, dir_fd=above)
    except BlockingIOError:
        return None  # its process lives
    except OSError as error:
        return _stays(where, error)
    finally:
        platform.close(fd)
    return None


def _empty(fd: int) -> None:
    for name in os.listdir(fd):
        if stat.S_ISDIR(os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode):
            inner = os.open(name, platform.FOLDER, dir_fd=fd)
            try:
                _empty(inner)
            finally:
                platform.close(inner)
            os.rmdir(name, dir_fd=fd)
        else:
            os.unlink(name, dir_fd=fd)


def _stays(where: str, error: OSError) -> Message:
    return say(
        "{folder}, left by an earlier run, could not be removed: {error}",
        folder=printable(where),
        error=system_reason(error),
    )
