"""Folders and files swapped with links between check and use: nothing outside is ever reached.

First at every single call of every act, by a hook that swaps just before it; then by another
process that swaps as fast as it can.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.disk.outside import SECRET, Outside

from muniment.disk import platform
from muniment.disk.copy import copy_verified
from muniment.disk.locks import locked
from muniment.disk.move import move_verified
from muniment.disk.root import Root
from muniment.disk.tree import measure, remove_tree, walk_stats
from muniment.disk.write import write_verified
from muniment.errors import MunimentError
from muniment.path import RelPath

_libc = ctypes.CDLL(None)
INSIDE = b"inside\n"


@pytest.fixture
def memory_path(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one: thousands of trees are made and removed here."""
    if not os.access("/dev/shm", os.W_OK):
        yield tmp_path
        return
    made = Path(tempfile.mkdtemp(dir="/dev/shm"))
    try:
        yield made
    finally:
        shutil.rmtree(made)


@pytest.fixture
def outside(memory_path: Path) -> Iterator[Outside]:
    """A tree that nobody may touch."""
    made = Outside.make(memory_path / "outside")
    yield made
    made.assert_untouched()


def exchange(one: Path, other: Path) -> None:
    """Two names change places at one instant."""
    assert _libc.renameat2(-100, os.fsencode(one), -100, os.fsencode(other), 2) == 0


def rel(path: str) -> RelPath:
    return RelPath.parse(path)


def _lock(root: Root) -> None:
    with locked(root, rel("deep/lock")):
        pass


ACTS: dict[str, Callable[[Root], object]] = {
    "read": lambda root: root.read(rel("deep/file")),
    "read deeper": lambda root: root.read(rel("deep/deeper/file")),
    "truncate": lambda root: os.close(root.open_file(rel("deep/file"), os.O_WRONLY | os.O_TRUNC)),
    "names": lambda root: root.names(rel("deep/deeper")),
    "stat": lambda root: root.stat(rel("deep/file")),
    "spelled exactly": lambda root: root.spelled_exactly(rel("deep/file")),
    "make folders": lambda root: root.make_folders(rel("deep/deeper/new/newer")),
    "claim": lambda root: root.claim_folder(rel("deep/new")),
    "unlink": lambda root: root.unlink(rel("deep/file")),
    "remove folder": lambda root: root.remove_folder(rel("deep/empty")),
    "lock": _lock,
    "write": lambda root: write_verified(root, rel("deep/new"), b"new"),
    "replace": lambda root: write_verified(root, rel("deep/file"), b"new", replace=True),
    "measure": lambda root: measure(root, rel("deep")),
    "measure deeper": lambda root: measure(root, rel("deep/deeper")),
    "walk deeper": lambda root: list(walk_stats(root, rel("deep/deeper"))),
    "walk": lambda root: list(walk_stats(root, rel("deep"))),
    "remove tree": lambda root: remove_tree(root, rel("deep")),
    "copy": lambda root: copy_verified(root, rel("deep"), root, rel("copied"), measure(root, rel("deep"))),
    "copy into": lambda root: copy_verified(
        root, rel("plain"), root, rel("deep/copied"), measure(root, rel("plain"))
    ),
    "move": lambda root: move_verified(root, rel("deep"), root, rel("moved"), measure(root, rel("deep"))),
    "move a file": lambda root: move_verified(
        root, rel("deep/file"), root, rel("moved"), measure(root, rel("deep/file"))
    ),
    "move into": lambda root: move_verified(
        root, rel("plain"), root, rel("deep/moved"), measure(root, rel("plain"))
    ),
    "move a linked file": lambda root: move_verified(
        root, rel("deep/twice"), root, rel("moved"), measure(root, rel("deep/twice"))
    ),
}


def build(place: Path, outside: Path) -> None:
    """The tree inside, and the links that wait to take the place of its parts."""
    (place / "deep" / "deeper").mkdir(parents=True)
    (place / "deep" / "empty").mkdir()
    (place / "traps").mkdir()
    for name in ("plain", "deep/file", "deep/deeper/file", "deep/twice"):
        (place / name).write_bytes(INSIDE)
    os.link(place / "deep" / "twice", place / "traps" / "other name")
    (place / "traps" / "deep").symlink_to(outside / "deep")
    (place / "traps" / "deeper").symlink_to(outside / "deep" / "deeper")
    (place / "traps" / "file").symlink_to(outside / "file")
    (place / "traps" / "twice").symlink_to(outside / "file")


SWAPS = {"deep": "deep", "deeper": "deep/deeper", "file": "deep/file"}

HOOKED = (
    *("open", "stat", "lstat", "listdir", "rename", "unlink"),
    *("rmdir", "mkdir", "link", "symlink", "readlink", "utime"),
)
SYNCS = ("sync_data", "sync_folder", "sync_file_system")
"""They name nothing; in thousands of runs they would only cost time."""


class Hook:
    """Calls something before the n-th system call of an act that takes a name."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        self.at: dict[int, Callable[[], None]] = {}
        self._busy = False
        for name in HOOKED:
            monkeypatch.setattr(os, name, self._wrap(getattr(os, name)))
        monkeypatch.setattr(platform, "_rename_flagged", self._wrap(platform._rename_flagged))
        for name in SYNCS:
            monkeypatch.setattr(platform, name, self._wrap(lambda fd: None))

    def _wrap(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*args: Any, **named: Any) -> Any:
            if self._busy or not self.at:
                return call(*args, **named)
            self.count += 1
            act = self.at.get(self.count)
            if act is not None:
                self._busy = True
                try:
                    act()
                finally:
                    self._busy = False
            return call(*args, **named)

        return wrapped


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hook]:
    made = Hook(monkeypatch)
    yield made
    made.at = {}


def everything_inside(place: Path) -> None:
    """No secret came in, by copying or moving."""
    for folder, _, files in os.walk(place):
        for name in files:
            path = os.path.join(folder, name)
            if not os.path.islink(path):
                with open(path, "rb") as stream:
                    assert SECRET not in stream.read()


TOUCHES: dict[str, Callable[[Path], object]] = {
    "read": lambda out: (out / "file").read_bytes(),
    "list": lambda out: os.listdir(out / "deep"),
    "add": lambda out: (out / "deep" / "new").write_bytes(b""),
    "remove": lambda out: (out / "deep" / "file").unlink(),
    "mode": lambda out: (out / "file").chmod(0o600),
}


@pytest.mark.parametrize("touch", TOUCHES)
def test_a_look_outside_would_be_seen(memory_path: Path, touch: str) -> None:
    made = Outside.make(memory_path / "seen")
    made.assert_untouched()
    TOUCHES[touch](made.path)
    with pytest.raises(AssertionError):
        made.assert_untouched()


@pytest.mark.parametrize("swap", SWAPS)
@pytest.mark.parametrize("act", ACTS)
def test_a_swap_before_any_call_of_an_act(
    hook: Hook, memory_path: Path, outside: Outside, act: str, swap: str
) -> None:
    number, ends = 0, Counter[str]()
    while True:
        number += 1
        for lasts in (1, 10_000):
            place = memory_path / "inside"
            build(place, outside.path)
            one, other = place / SWAPS[swap], place / "traps" / swap

            def flip(one: Path = one, other: Path = other) -> None:
                if os.path.lexists(one) and os.path.lexists(other):
                    exchange(one, other)

            with Root.open(place) as root:
                hook.count, hook.at = 0, {number: flip, number + lasts: flip}
                try:
                    answer = ACTS[act](root)
                    ends["done"] += 1
                    assert answer != SECRET
                except MunimentError as error:
                    ends[error.code] += 1
                reached = hook.count >= number
                hook.at = {}
            outside.assert_untouched()
            everything_inside(place)
            shutil.rmtree(place)
        if not reached:
            break
        assert number < 1_000
    assert number > 3
    # The file is not on the way of an act that works on the folder, and the other way round.
    assert ends["done"] > 0


SHARED: dict[str, Callable[[Root], object]] = {
    name: ACTS[name]
    for name in ("read", "read deeper", "names", "stat", "measure deeper", "walk deeper", "replace", "lock")
}
CONSUMING = [name for name in ACTS if name not in SHARED]


def swapper(place: Path) -> int:
    """A process that swaps the folder with the link for as long as it is let."""
    child = os.fork()
    if child == 0:
        try:
            one, other = os.fsencode(place / "deep"), os.fsencode(place / "traps" / "deep")
            for _ in range(50_000_000):
                _libc.renameat2(-100, one, -100, other, 2)
        finally:
            os._exit(0)
    return child


@pytest.fixture
def no_syncs(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in SYNCS:
        monkeypatch.setattr(platform, name, lambda fd: None)


@pytest.mark.usefixtures("no_syncs")
def test_another_process_that_swaps_all_the_time(memory_path: Path, outside: Outside) -> None:
    place = memory_path / "inside"
    build(place, outside.path)
    ends: dict[str, Counter[str]] = {name: Counter() for name in SHARED}
    child = swapper(place)
    try:
        with Root.open(place) as root:
            for _ in range(1_000):
                for name, act in SHARED.items():
                    try:
                        answer = act(root)
                        assert answer != SECRET
                        ends[name]["done"] += 1
                    except MunimentError as error:
                        ends[name][error.code] += 1
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    outside.assert_untouched()
    everything_inside(place)
    for name, found in ends.items():
        assert found["done"] > 0, (name, found)
        assert found.total() - found["done"] > 0, (name, found)


@pytest.mark.usefixtures("no_syncs")
def test_another_process_that_swaps_while_things_are_moved_and_removed(
    memory_path: Path, outside: Outside
) -> None:
    ends: Counter[str] = Counter()
    place = memory_path / "inside"
    for number in range(8):
        for name in CONSUMING:
            build(place, outside.path)
            child = swapper(place)
            try:
                with Root.open(place) as root:
                    for _ in range(12):
                        try:
                            ACTS[name](root)
                            ends["done"] += 1
                        except MunimentError as error:
                            ends[error.code] += 1
            finally:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
            outside.assert_untouched()
            everything_inside(place)
            os.rename(place, memory_path / f"done {number}")
            shutil.rmtree(memory_path / f"done {number}")
    assert ends["done"] > 0 and ends["OUTSIDE_ROOT"] > 0, ends
