"""Floor 1, `disk`: every call that differs between Linux and macOS, and nothing else."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
import signal
import stat
import struct
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from muniment.disk.errors import UnsupportedPlatform

LINUX = sys.platform.startswith("linux")
MACOS = sys.platform == "darwin"

# Names that only one of the systems has, looked up once so that type checkers see plain numbers.
_F_SETLEASE: int = getattr(fcntl, "F_SETLEASE", 1024)
_F_SETSIG: int = getattr(fcntl, "F_SETSIG", 10)
_F_FULLFSYNC: int = getattr(fcntl, "F_FULLFSYNC", 51)
_LINUX_NOREPLACE, _LINUX_EXCHANGE = 1, 2
_MACOS_SWAP, _MACOS_EXCL = 2, 4

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
"""How a folder is opened: itself, never what a link of its name leads to."""

_libc = ctypes.CDLL(None, use_errno=True)


def require_supported() -> None:
    """Refuse, once and clearly, a system on which the promises do not hold."""
    if not (LINUX or MACOS):
        raise UnsupportedPlatform(system=sys.platform)


def rename_exclusive(source_fd: int, source: str, target_fd: int, target: str) -> None:
    """Rename without ever replacing: `FileExistsError` when the target is taken.

    The two descriptors are the folders in which the names lie.
    """
    if not _rename_flagged(source_fd, source, target_fd, target, _LINUX_NOREPLACE if LINUX else _MACOS_EXCL):
        _rename_by_claim(source_fd, source, target_fd, target)


def rename_swap(source_fd: int, source: str, target_fd: int, target: str) -> bool:
    """Let two names exchange what they stand for, at one instant; False where that can not be."""
    return _rename_flagged(source_fd, source, target_fd, target, _LINUX_EXCHANGE if LINUX else _MACOS_SWAP)


def end_with_parent() -> None:
    """Let this process be killed when the one that forked it is gone, where the system can do that."""
    if LINUX:
        _libc.prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG


def _rename_flagged(source_fd: int, source: str, target_fd: int, target: str, flag: int) -> bool:
    """Rename with a flag; False when the kernel or the file system does not know it."""
    call = getattr(_libc, "renameat2" if LINUX else "renameatx_np", None)
    if call is None:
        return False
    names = os.fsencode(source), os.fsencode(target)
    number = _retried(lambda: int(call(source_fd, names[0], target_fd, names[1], flag)))
    if number in (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP):
        return False
    if number:
        raise OSError(number, os.strerror(number), source, None, target)
    return True


def _retried(call: Callable[[], int]) -> int:
    """The error number of a C call, zero when it succeeded; a signal in between is no error."""
    while call() != 0:
        number = ctypes.get_errno()
        if number != errno.EINTR:
            return number
    return 0


def _rename_by_claim(source_fd: int, source: str, target_fd: int, target: str) -> None:
    """For file systems without the exclusive rename: claim the name first, then fill it."""
    if stat.S_ISDIR(os.stat(source, dir_fd=source_fd, follow_symlinks=False).st_mode):
        os.mkdir(target, dir_fd=target_fd)
        try:
            os.rename(source, target, src_dir_fd=source_fd, dst_dir_fd=target_fd)
        except OSError:
            os.rmdir(target, dir_fd=target_fd)
            raise
        return
    try:
        os.link(source, target, src_dir_fd=source_fd, dst_dir_fd=target_fd, follow_symlinks=False)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.ENOSYS, errno.ENOTSUP, errno.EMLINK):
            raise
        _fill_claimed(source_fd, source, target_fd, target)
    else:
        os.unlink(source, dir_fd=source_fd)


def _fill_claimed(source_fd: int, source: str, target_fd: int, target: str) -> None:
    """For file systems that know no hard links either (exFAT): an empty file claims the name.
    This is the one place where a kill can leave an empty file at a name."""
    close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=target_fd))
    try:
        os.rename(source, target, src_dir_fd=source_fd, dst_dir_fd=target_fd)
    except OSError:
        os.unlink(target, dir_fd=target_fd)
        raise


def open_again(fd: int) -> int:
    """An open folder once more, for who lists it.

    How far a listing has come belongs to what `open` made, and all descriptors that a `dup` or a fork
    made of it share it: who lists one takes the names from who lists another.
    """
    return os.open(".", FOLDER, dir_fd=fd)


def close(fd: int) -> None:
    """Let a descriptor go.  An error says nothing here: whoever wrote through it has asked for a
    sync before, and the kernel has let the descriptor go in any case."""
    try:  # noqa: SIM105 - done for every file of a tree, and `suppress` takes longer than the call
        os.close(fd)
    except OSError:
        pass


def sync_data(fd: int) -> None:
    """Make a file's bytes (and what is needed to find them) durable."""
    if MACOS:
        fcntl.fcntl(fd, _F_FULLFSYNC)
    else:
        os.fdatasync(fd)


def sync_folder(fd: int) -> None:
    """Make a folder's names durable."""
    if MACOS:
        fcntl.fcntl(fd, _F_FULLFSYNC)
    else:
        os.fsync(fd)


def sync_file_system(fd: int) -> None:
    """Make everything on the file system of `fd` durable: one call for a whole tree."""
    if LINUX:
        number = _retried(lambda: int(_libc.syncfs(fd)))
        if number:
            raise OSError(number, os.strerror(number))
    else:
        os.sync()
        fcntl.fcntl(fd, _F_FULLFSYNC)


def forget_cache(fd: int) -> None:
    """Drop a file's clean pages, so that reading it back asks the disk and not the memory."""
    if LINUX:
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)


_F_OFD_GETLK: int = 36
"""Linux: ask for a lock of the open file. The `fcntl` of Python 3.11 does not name it."""


def is_range_locked(fd: int, start: int, length: int) -> bool:
    """Whether any other open file description holds a lock on a range of bytes of the file.

    Asked for as a lock to write, so that locks of readers count too; nothing is locked.
    """
    # struct flock: type, whence, start, length, pid; the two systems order the members differently.
    if LINUX:
        layout, asked = "hhqqi4x", (fcntl.F_WRLCK, os.SEEK_SET, start, length, 0)
        kind, call = 0, _F_OFD_GETLK
    else:
        layout, asked = "qqihh", (start, length, 0, fcntl.F_WRLCK, os.SEEK_SET)
        kind, call = 3, fcntl.F_GETLK
    answer = struct.unpack(layout, fcntl.fcntl(fd, call, struct.pack(layout, *asked)))
    return bool(answer[kind] != fcntl.F_UNLCK)


class Writers(Enum):
    """Whether some process has a file open for writing."""

    NONE = "none"
    SOME = "some"
    UNKNOWN = "unknown"


def writers(fd: int) -> Writers:
    """Ask the kernel for a read lease on the open file: it is granted only if nobody has the
    file open for writing, not even through a mapping.

    The lease is held until `fd` is closed.  Should a writer come meanwhile, the kernel sends
    a signal; we choose one that is ignored by default, since its usual one would end the process.
    """
    if not LINUX:
        return Writers.UNKNOWN
    try:
        fcntl.fcntl(fd, _F_SETSIG, signal.SIGURG)
        fcntl.fcntl(fd, _F_SETLEASE, fcntl.F_RDLCK)
    except OSError as error:
        if error.errno == errno.EAGAIN:
            return Writers.SOME
        if error.errno in (errno.EACCES, errno.EPERM, errno.EINVAL, errno.ENOLCK, errno.ENOTSUP):
            # Another user's file, or a file system that knows no leases.
            return Writers.UNKNOWN
        raise
    return Writers.NONE


def copy_attributes(source_fd: int, target_fd: int) -> None:
    """Carry extended attributes over; those that only the system may set are passed over."""
    if not LINUX:
        return
    with contextlib.suppress(NotImplementedError):
        for name in _attributes(source_fd):
            try:
                os.setxattr(target_fd, name, os.getxattr(source_fd, name))
            except OSError as error:
                if name.startswith("user.") and error.errno not in (errno.ENOTSUP, errno.ENODATA):
                    raise


def _attributes(fd: int) -> list[str]:
    try:
        return os.listxattr(fd)
    except OSError as error:
        if error.errno in (errno.ENOTSUP, errno.EPERM):
            return []
        raise


@dataclass(frozen=True, slots=True)
class Mount:
    """Where a file lies in the mount tree: what device and inode alone can not tell apart."""

    mount_id: int
    fs_type: str
    fs_root: str
    mount_point: str


def mount_of(fd: int) -> Mount | None:
    """The mount of an open file, read from the kernel's own tables; None where there are none."""
    if not LINUX:
        return None
    with open(f"/proc/self/fdinfo/{fd}", encoding="ascii") as stream:
        facts = dict(line.split(":", 1) for line in stream.read().splitlines() if ":" in line)
    wanted = facts["mnt_id"].strip()
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as stream:
        for line in stream:
            fields = line.split(" ")
            if fields[0] == wanted:
                after = fields[fields.index("-") + 1 :]
                return Mount(int(wanted), after[0], _unoctal(fields[3]), _unoctal(fields[4]))
    return None


def _unoctal(text: str) -> str:
    for spelled, sign in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        text = text.replace(spelled, sign)
    return text


def boot_id() -> str:
    """Names this boot of the machine; empty where the system has no such name."""
    if not LINUX:
        return ""
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as stream:
        return stream.read().strip()


def process_start(pid: int) -> str:
    """When a running process began, in the system's own words; empty when none of that number runs.

    Together with `boot_id` it tells a process from a later one that got the same number.  One that
    has ended and is only not yet waited for does not run.
    """
    if pid <= 0:
        return ""
    if not LINUX:
        asked = subprocess.run(
            ["ps", "-o", "stat=,lstart=", "-p", str(pid)], capture_output=True, text=True, check=False
        )
        state, _, began = asked.stdout.strip().partition(" ")
        return "" if state.startswith("Z") else began.strip()
    try:
        with open(f"/proc/{pid}/stat", "rb") as stream:
            # The name before it may hold anything, brackets and blanks too.
            fields = stream.read().rpartition(b")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return ""
    return "" if fields[0] in (b"Z", b"X") else fields[19].decode("ascii")


LOCAL_FILE_SYSTEMS = frozenset(
    {"ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "f2fs", "tmpfs", "ramfs", "overlay", "bcachefs", "apfs"}
)
"""File systems of one kernel, on which its locks can be trusted."""


_M_ARENA_MAX = -8


def share_arenas(most: int) -> None:
    """Let all threads take memory from so few arenas, where the C library has any.

    glibc gives each thread that waits for another an arena of its own, and keeps in each what was
    used once: with many threads most of a process's memory is what they no longer use.
    """
    mallopt = getattr(_libc, "mallopt", None)
    if mallopt is not None:
        mallopt(_M_ARENA_MAX, most)
