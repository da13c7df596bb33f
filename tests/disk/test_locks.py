"""Locks: held between processes, ended by the block or with the process, on a file that stays."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from tests.disk.processes import gather, in_child, start

from muniment.disk.errors import Locked
from muniment.disk.locks import locked
from muniment.disk.root import Root
from muniment.path import RelPath

REL = RelPath.parse("lock")


def attempt(place: Path, shared: bool) -> object:
    with Root.open(place) as root, locked(root, REL, shared=shared, wait=False):
        return "held"


@pytest.mark.parametrize(
    ("mine", "theirs", "answer"),
    [
        (False, False, Locked.code),
        (False, True, Locked.code),
        (True, False, Locked.code),
        (True, True, "held"),
    ],
)
def test_who_may_hold_it_besides(root: Root, place: Path, mine: bool, theirs: bool, answer: str) -> None:
    with locked(root, REL, shared=mine):
        assert in_child(lambda: attempt(place, theirs)) == answer
    assert in_child(lambda: attempt(place, theirs)) == "held"
    assert os.listdir(place) == ["lock"]


def test_it_ends_with_the_block_though_a_forked_process_lives_on(root: Root, place: Path) -> None:
    read_end, write_end = os.pipe()
    with locked(root, REL):
        child = os.fork()
        if child == 0:
            os.close(write_end)
            os.read(read_end, 1)
            os._exit(0)
    assert in_child(lambda: attempt(place, False)) == "held"
    os.close(write_end)
    os.close(read_end)
    os.waitpid(child, 0)


def test_it_ends_with_a_killed_process(root: Root, place: Path) -> None:
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        with Root.open(place) as own, locked(own, REL):
            os.write(write_end, b"!")
            signal.pause()
    os.read(read_end, 1)
    with pytest.raises(Locked), locked(root, REL, wait=False):
        pass
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with locked(root, REL, wait=False):
        pass
    os.close(read_end)
    os.close(write_end)


def test_it_ends_with_an_error_in_the_block(root: Root) -> None:
    with pytest.raises(ValueError), locked(root, REL):
        raise ValueError
    with locked(root, REL, wait=False):
        pass


def test_many_processes_never_lose_a_step(root: Root, place: Path) -> None:
    (place / "count").write_text("0")

    def count() -> None:
        with Root.open(place) as own:
            for _ in range(50):
                with locked(own, REL):
                    number = int((place / "count").read_text())
                    (place / "count").write_text(str(number + 1))

    gather([start(count) for _ in range(4)])
    assert (place / "count").read_text() == "200"
