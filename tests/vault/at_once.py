"""What each of several processes does with one vault; called as a program by `test_processes`.

at_once.py race FOLDER LIMIT        make one snapshot where LIMIT are allowed; print its id, or the code
at_once.py work FOLDER SEED ROUNDS  make, read and delete snapshots; print what was acknowledged
at_once.py tidy FOLDER ROUNDS       collect garbage and check, over and over
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import sys
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

from tests.vault.content import Content, keep, numbered, restored

from muniment.bundle.vault import Limits, Vault
from muniment.clock import system_clock
from muniment.disk.errors import NotThere
from muniment.errors import MunimentError
from muniment.vault.collect import collect
from muniment.vault.errors import ExtentsMissing, UploadGone
from muniment.vault.examine import examine
from muniment.vault.open import open_directory

TRIES = 100


def race(folder: Path, limit: int, racers: int) -> None:
    """So many processes try for a slot, each begun when all have the vault open."""
    all_open, go = os.pipe(), os.pipe()
    for _ in range(racers):
        if os.fork() == 0:
            vault = open_directory(folder, clock=system_clock, limits=Limits(snapshots=limit))
            os.write(all_open[1], b".")
            os.close(go[1])
            os.read(go[0], 1)  # ends when the last writer has closed it
            try:
                told = keep(vault, numbered(1, 2)).snapshot.id
            except MunimentError as error:
                told = error.code
            os.write(1, f"{told}\n".encode())
            os._exit(0)
    waiting = racers
    while waiting:
        waiting -= len(os.read(all_open[0], waiting))
    os.close(go[1])
    for _ in range(racers):
        os.wait()


def kept(vault: Vault, what: Content) -> str:
    """A snapshot, begun again when a clock that is ahead called the upload idle: then a file of it may be
    taken away before it was read back."""
    for _ in range(TRIES):
        with contextlib.suppress(UploadGone, ExtentsMissing, NotThere):
            return keep(vault, what).snapshot.id
    raise AssertionError("it never came to an end")


def work(folder: Path, seed: int, rounds: int) -> None:
    """An honest client; says each act once it was acknowledged."""
    chance = random.Random(seed)
    vault = open_directory(folder, clock=system_clock)
    mine: list[str] = []
    for turn in range(rounds):
        numbers = [*chance.sample(range(12), 3), 1000 * seed + turn]
        what = numbered(*numbers)
        print(json.dumps(["begin", numbers]), flush=True)
        told = kept(vault, what)
        print(json.dumps(["kept", told, numbers]), flush=True)
        mine.append(told)
        assert restored(vault, told) == what.raw
        if chance.random() < 0.5:
            gone = mine.pop(chance.randrange(len(mine)))
            print(json.dumps(["deleting", gone]), flush=True)
            vault.delete(gone)
            print(json.dumps(["deleted", gone]), flush=True)
    vault.close()


def tidy(folder: Path, rounds: int) -> None:
    """Garbage is collected as if a day went by between two rounds."""
    ahead = timedelta()

    def clock() -> datetime:
        return system_clock() + ahead

    vault = open_directory(folder, clock=clock)
    for turn in range(rounds):
        # Marked now and buried a moment later by a clock that is a day ahead: what an upload pins
        # is only let go because that clock calls it idle, and then the upload is refused.
        ahead = timedelta(hours=25 * (turn % 2), minutes=-59 if turn % 2 == 0 else 0)
        collect(vault)
        found = examine(vault, repair=True)
        print(json.dumps([str(one.why) for one in found.findings]), flush=True)
    vault.close()


if __name__ == "__main__":
    act, place, *rest = sys.argv[1:]
    numbers = [int(one) for one in rest]
    acts: dict[str, Callable[..., None]] = {"race": race, "work": work, "tidy": tidy}
    acts[act](Path(place), *numbers)
