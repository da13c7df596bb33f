"""Stages: folders on the file systems over which an act is tried, made anew for each point."""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

_libc = ctypes.CDLL(None, use_errno=True)
_MNT_DETACH = 2
_CLONE_NEWNS = 0x00020000
MS_RDONLY, MS_REMOUNT, MS_BIND = 1, 32, 4096
_MS_REC, _MS_PRIVATE = 16384, 1 << 18


def refuse_or_skip(missing: str) -> None:
    """What is needed is not there: in CI that is a failure, elsewhere a skip that says so."""
    if os.environ.get("CI"):
        pytest.fail(f"CI must have {missing}")
    pytest.skip(f"{missing} is needed; root has the rights, and .ci/run installs the programs")


@contextmanager
def mounted(
    kind: str, where: Path, options: str = "", *, source: str = "none", flags: int = 0
) -> Iterator[Path]:
    """A mount for the length of a block; it is always taken away again."""
    where.mkdir(parents=True, exist_ok=True)
    mount(kind, where, options, source=source, flags=flags)
    try:
        yield where
    finally:
        unmount(where)


@cache
def mounts_of_our_own() -> str:
    """From here on this process mounts for itself alone; else why it can not.

    A mount that stays blocks the removal of its folder, and so the next run of the tests: one that is
    killed leaves none behind.  Called before any test, since it gives other numbers to all mounts, and a
    workspace that was made before would be known by the former ones.
    """
    if _libc.unshare(_CLONE_NEWNS) != 0 or _libc.mount(b"none", b"/", None, _MS_REC | _MS_PRIVATE, None) != 0:
        return os.strerror(ctypes.get_errno())
    return ""


def _may_mount() -> None:
    why = mounts_of_our_own()
    if why:
        refuse_or_skip(f"the right to mount apart from others ({why})")


def mount(kind: str, where: Path, options: str = "", *, source: str = "none", flags: int = 0) -> None:
    """`mount(2)`; without the right to do so the test is skipped, in CI it fails."""
    _may_mount()
    status = _libc.mount(source.encode(), os.fsencode(where), kind.encode(), flags, options.encode() or None)
    if status != 0:
        number = ctypes.get_errno()
        refuse_or_skip(f"the right to mount {kind} ({os.strerror(number)})")


def unmount(where: Path) -> None:
    """`umount2(2)`, lazily, so that nothing can keep a mount alive."""
    if _libc.umount2(os.fsencode(where), _MNT_DETACH) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(where))


Dress = Callable[[Path], None]
"""Puts into a stage what the act finds there."""


@contextmanager
def _one(place: Path, dress: Dress) -> Iterator[None]:
    (place / "from").mkdir()
    (place / "to").mkdir()
    dress(place)
    yield


@contextmanager
def _tmpfs(place: Path, dress: Dress) -> Iterator[None]:
    (place / "from").mkdir()
    with mounted("tmpfs", place / "to", "size=16m"):
        dress(place)
        yield


@contextmanager
def _overlay(place: Path, dress: Dress) -> Iterator[None]:
    """`from` and `to` lie in one overlay; what was there before it was mounted is in its lower
    layer, where a folder can not be renamed although the device number is the same."""
    layers = place.parent / f"{place.name}-layers"
    for name in ("lower", "upper", "work"):
        (layers / name).mkdir(parents=True)
    try:
        (layers / "lower" / "from").mkdir()
        (layers / "lower" / "to").mkdir()
        dress(layers / "lower")
        options = f"lowerdir={layers}/lower,upperdir={layers}/upper,workdir={layers}/work"
        with mounted("overlay", place, options, source="overlay"):
            yield
    finally:
        shutil.rmtree(layers)


@contextmanager
def _crowded(place: Path, dress: Dress, room: str) -> Iterator[None]:
    """`to` is a tmpfs in which, beyond what is there already, so many pages or files find room."""
    (place / "from").mkdir()
    number, unit = int(room.split(" ")[0]), room.split(" ")[1]
    with mounted("tmpfs", place / "to", "size=16m,nr_inodes=10000") as to:
        dress(place)
        # A page that nobody sees: a tmpfs of size nought would have no bounds at all.
        with tempfile.TemporaryFile(dir=to) as page:
            page.write(b"x")
            page.flush()
            _narrow(to, number, unit)
            yield


def _narrow(to: Path, number: int, unit: str) -> None:
    found = os.statvfs(to)
    options = "size=16m,nr_inodes=10000"
    if unit == "pages":
        size = (found.f_blocks - found.f_bfree + number) * found.f_bsize
        options = f"size={size},nr_inodes=10000"
    elif unit == "files":
        options = f"size=16m,nr_inodes={found.f_files - found.f_ffree + number}"
    mount("tmpfs", to, options, flags=MS_REMOUNT)


def require_mounts(kind: str) -> None:
    """Nothing is begun over a stage that can not be built here."""
    if kind != "one file system":
        _may_mount()


def make_room(place: Path) -> None:
    """A full tmpfs is full no more, so that what was begun can be ended."""
    mount("tmpfs", place / "to", "size=16m,nr_inodes=10000", flags=MS_REMOUNT)


STAGES: dict[str, Callable[[Path, Dress], contextlib.AbstractContextManager[None]]] = {
    "one file system": _one,
    "onto tmpfs": _tmpfs,
    "overlay, lower layer": _overlay,
}


@contextmanager
def staged(kind: str, place: Path, dress: Dress) -> Iterator[Path]:
    """A fresh stage at `place`, dressed, and gone again afterwards.

    Besides those of `STAGES` there are `full tmpfs, N pages left` and `full tmpfs, N files left`.
    """
    place.mkdir()
    try:
        with _crowded(place, dress, kind.split(", ")[1]) if "full" in kind else STAGES[kind](place, dress):
            yield place
    finally:
        shutil.rmtree(place)
