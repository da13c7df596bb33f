"""Several processes at one vault: fifty for one slot, workers beside a collector, workers that are killed."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

from tests.vault import at_once
from tests.vault.content import keep, numbered, restored
from tests.vault.sites import Folder

import muniment
from muniment.clock import system_clock
from muniment.ids import is_ulid
from muniment.vault.collect import collect
from muniment.vault.description import is_snapshot_id
from muniment.vault.examine import Part, examine
from muniment.vault.open import open_directory, rebuild_directory

ROOT = Path(__file__).parents[2]
SOURCE = Path(muniment.__file__).parent.parent
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join([str(SOURCE), str(ROOT)])}


def begun(act: str, folder: Folder, *numbers: int) -> subprocess.Popen[str]:
    """One process of `at_once`."""
    return subprocess.Popen(
        [sys.executable, "-m", at_once.__name__, act, str(folder.path), *map(str, numbers)],
        env=ENVIRONMENT,
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def close(process: subprocess.Popen[str]) -> None:
    """Close the pipes of a process that has ended."""
    for pipe in (process.stdin, process.stdout):
        assert pipe is not None
        pipe.close()


def lines(text: str) -> list[list[object]]:
    """What a process said; a line that was cut off by a kill was not said."""
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


def test_fifty_for_the_last_slot(folder: Folder) -> None:
    """Four of five slots are taken; fifty processes want the last one; one gets it."""
    vault = folder.client()
    for number in range(4):
        keep(vault, numbered(1, 10 + number))
    racing = begun("race", folder, 5, 50)
    told = racing.communicate(timeout=900)[0].split()
    assert racing.returncode == 0
    assert len(told) == 50
    assert told.count("QUOTA_EXCEEDED") == 49
    (winner,) = (one for one in told if is_snapshot_id(one))
    assert len(vault.list().snapshots) == 5
    assert restored(vault, winner) == numbered(1, 2).raw


def acknowledged(said: list[list[object]]) -> tuple[dict[str, list[int]], set[str], list[list[int]]]:
    """What has to be there, what may be there or not, and contents that may be there unsaid."""
    kept: dict[str, list[int]] = {}
    maybe: set[str] = set()
    begun_contents: list[list[int]] = []
    for act, *rest in said:
        if act == "begin":
            begun_contents.append(rest[0])  # type: ignore[arg-type]
        elif act == "kept":
            kept[str(rest[0])] = rest[1]  # type: ignore[assignment]
        elif act == "deleting":
            maybe.add(str(rest[0]))
        elif act == "deleted":
            maybe.discard(str(rest[0]))
            del kept[str(rest[0])]
    return kept, maybe, begun_contents


def hold_to(folder: Folder, kept: dict[str, list[int]], maybe: set[str]) -> None:
    """Everything acknowledged is there and whole."""
    vault = open_directory(folder.path, clock=system_clock)
    there = {one.id for one in vault.list().snapshots}
    assert set(kept) - maybe <= there
    for snapshot_id in there & set(kept):
        assert restored(vault, snapshot_id) == numbered(*kept[snapshot_id]).raw
    assert examine(vault).findings == []
    vault.close()


def test_workers_beside_a_collector_whose_clock_is_a_day_ahead(folder: Folder) -> None:
    folder.client()
    folder.close()
    workers = [begun("work", folder, seed, 12) for seed in (1, 2)]
    tidying = begun("tidy", folder, 12)
    said = [one.communicate(timeout=900)[0] for one in workers]
    found = tidying.communicate(timeout=900)[0]
    assert [one.returncode for one in (*workers, tidying)] == [0, 0, 0]
    assert all(findings == [] for findings in lines(found)), found
    kept: dict[str, list[int]] = {}
    for one in said:
        each, maybe, _ = acknowledged(lines(one))
        assert maybe == set()
        kept |= each
    hold_to(folder, kept, set())


def test_workers_that_are_killed_at_random(folder: Folder) -> None:
    """Each is killed after a while that the seed chooses; what was said before is there, also after
    the catalogue was lost, and nothing else is left once garbage was collected."""
    folder.client()
    folder.close()
    chance = random.Random(20261130)
    kept: dict[str, list[int]] = {}
    maybe: set[str] = set()
    kills = 0
    for seed in range(10, 18):
        worker = begun("work", folder, seed, 1000)
        assert worker.stdout is not None
        said = "".join(worker.stdout.readline() for _ in range(chance.randrange(1, 12)))
        worker.send_signal(signal.SIGKILL)
        # Not `communicate`: it would pass over what the stream has read ahead.
        said += worker.stdout.read()
        kills += worker.wait(900) == -signal.SIGKILL
        close(worker)
        each, may, _ = acknowledged(lines(said))
        kept |= each
        maybe |= may
        hold_to(folder, kept, maybe)
    assert kills == 8
    folder.catalogue.unlink()
    rebuild_directory(folder.path, clock=system_clock)
    # Whoever was killed between the two files of a snapshot leaves one that nobody was told of; without
    # the catalogue nothing says that it was never whole, so it is listed, found, and written anew.
    vault = open_directory(folder.path, clock=system_clock)
    half = examine(vault, repair=True).findings
    assert [one for one in half if one.part is not Part.SNAPSHOT or one.name in set(kept) - maybe] == []
    assert len(half) <= kills
    vault.close()
    hold_to(folder, kept, maybe)


def test_a_kill_in_the_middle_leaves_no_file_for_ever(folder: Folder) -> None:
    worker = begun("work", folder, 3, 1000)
    assert worker.stdout is not None
    for _ in range(6):
        worker.stdout.readline()
    worker.send_signal(signal.SIGKILL)
    worker.wait(900)
    close(worker)
    folder.clock.now = system_clock()
    vault = folder.client()
    for one in vault.list().snapshots:
        vault.delete(one.id)
    for _ in range(3):
        collect(vault)
        folder.clock.step(days=1, hours=1)
    assert folder.files() == {"catalogue.sqlite", "lock", "vault.json"}


def test_eight_open_a_new_vault_and_agree_on_its_name(folder: Folder) -> None:
    code = (
        "import sys; from pathlib import Path; from muniment.clock import system_clock;"
        "from muniment.vault.open import open_directory;"
        "print('ready', flush=True); sys.stdin.readline();"
        "print(open_directory(Path(sys.argv[1]), clock=system_clock).identity)"
    )
    openers = [
        subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", code, str(folder.path)],
            env=ENVIRONMENT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(8)
    ]
    for one in openers:
        assert one.stdout is not None and one.stdout.readline() == "ready\n"
    names = {one.communicate("go\n", timeout=900)[0].strip() for one in openers}
    assert len(names) == 1 and all(map(is_ulid, names))
