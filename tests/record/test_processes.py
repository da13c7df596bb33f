"""Several processes at once: writers killed at random, one confirmation for eight, one identity for eight."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import pytest
from tests.children import ENVIRONMENT
from tests.record import slaughter
from tests.record.ledgers import ZEROS, Desk, sealed

from muniment.clock import system_clock
from muniment.disk.root import Root
from muniment.path import RelPath
from muniment.record.consent import WitnessKind
from muniment.record.event import Draft
from muniment.record.ledger import Ledger
from muniment.record.state import open_workspace
from muniment.record.verify import verify


def kill_and_check(folder: Path, writers: int, events: int, least: int, most: int, seed: int) -> int:
    """Run the slaughter and hold the ledger against what was acknowledged; how many were killed."""
    arguments = [str(number) for number in (writers, events, least, most, seed)]
    done = subprocess.run(
        [sys.executable, slaughter.__file__, str(folder), *arguments],
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        check=True,
    )
    told = json.loads(done.stdout)
    assert [len(each) for each in told["acknowledged"]] == [events] * writers
    with Root.open(folder) as root:
        ledger = Ledger(root, RelPath.parse("ledger"), clock=system_clock)
        # The next writer also names what the last kill may have left.
        last = ledger.append(Draft("test.ended", "all"))
        verdict = verify(ledger)
        assert verdict.whole, verdict.findings
        assert verdict.segments > 1 and verdict.waiting == 0
        place: dict[str, int] = {}
        prev = ZEROS
        happened = 0
        for number, event in enumerate(ledger.events()):
            assert event.prev == prev and event.event_id not in place
            prev, place[event.event_id] = event.sha256, number
            happened += event.kind == "test.happened"
    assert verdict.head == prev == last.sha256
    # Nothing acknowledged is lost, and each writer's events are in its own order.
    for acknowledged in told["acknowledged"]:
        order = [place[event_id] for event_id in acknowledged]
        assert order == sorted(order)
    # What stands beyond that was written by a process that was killed before it could say so.
    assert 0 <= happened - writers * events <= 5 * told["kills"]
    return int(told["kills"])


def test_eight_writers_killed_at_random_lose_nothing_acknowledged(swift: Desk) -> None:
    """A kill takes nothing from the kernel, so that memory does as well as a disk."""
    assert kill_and_check(Path(swift.root.path), writers=8, events=400, least=1, most=80, seed=20261130) > 60


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 2])
def test_eight_writers_of_five_thousand_events(tmp_path: Path, seed: int) -> None:
    """On a real disk: the kernel's page cache and its syncs take part."""
    kills = kill_and_check(tmp_path, writers=8, events=5000, least=1, most=400, seed=seed)
    print(f"{kills} kills")
    assert kills > 100


@pytest.mark.long
def test_writers_that_hardly_get_anywhere(tmp_path: Path) -> None:
    """Killed after one to four events each time: thousands of deaths, most within an append."""
    kills = kill_and_check(tmp_path, writers=4, events=1000, least=1, most=4, seed=3)
    print(f"{kills} kills")
    assert kills > 1000


# One for eight.

EIGHT = """
import os, sys
from muniment.clock import system_clock
from muniment.disk.root import Root
from muniment.errors import MunimentError
from muniment.record.state import open_workspace

start, out = int(sys.argv[2]), int(sys.argv[3])
children = []
for _ in range(8):
    child = os.fork()
    if not child:
        os.read(start, 1)  # nobody writes: all go on at once when the other end is closed
        with Root.open(sys.argv[1]) as root:
            try:
                {act}
            except MunimentError as error:
                said = error.code
        os.write(out, said.encode() + b"\\n")
        os._exit(0)
    children.append(child)
os.write(out, b"ready\\n")
for child in children:
    os.waitpid(child, 0)
"""


@contextmanager
def begun(folder: str, act: str) -> Iterator[tuple[subprocess.Popen[bytes], TextIO]]:
    """Eight processes that do one act, all from the same moment on: the program, and what each says."""
    wait, start = os.pipe()
    listen, out = os.pipe()
    with subprocess.Popen(
        [sys.executable, "-c", EIGHT.format(act=act), folder, str(wait), str(out)],
        env=ENVIRONMENT,
        pass_fds=(wait, out),
    ) as process:
        os.close(wait)
        os.close(out)
        with os.fdopen(listen, encoding="ascii") as stream:
            assert stream.readline() == "ready\n"
            os.close(start)
            yield process, stream


def eight(folder: str, act: str) -> list[str]:
    """What each of eight says that do one act at the same moment."""
    with begun(folder, act) as (process, stream):
        said = stream.read().splitlines()
        assert process.wait() == 0
    assert len(said) == 8
    return said


@pytest.fixture
def place(tmp_path: Path) -> Iterator[str]:
    """A workspace nobody has opened yet."""
    yield str(tmp_path)


@pytest.mark.parametrize("turn", range(3))
def test_eight_that_open_a_workspace_first_agree_on_its_identity(place: str, turn: int) -> None:
    said = eight(place, "said = open_workspace(root, clock=system_clock).identity.root_id")
    with Root.open(place) as root:
        identity = open_workspace(root, clock=system_clock).identity
        assert set(said) == {identity.root_id}
        assert root.names(RelPath.parse(".muniment")) == [".gitignore", "root.json"]


@pytest.mark.parametrize("turn", range(3))
def test_eight_that_spend_one_confirmation_and_one_succeeds(place: str, turn: int) -> None:
    with Root.open(place) as root:
        consents = open_workspace(root, clock=system_clock).consents
        consents.give("delete", b"shown", WitnessKind.TERMINAL)
    said = eight(
        place,
        "said = open_workspace(root, clock=system_clock).consents.spend('delete', b'shown').witness.value",
    )
    assert sorted(said) == ["NOT_CONFIRMED"] * 7 + ["terminal"]


def test_eight_that_name_one_damage_name_it_once(place: str) -> None:
    with Root.open(place) as root:
        ledger = open_workspace(root, clock=system_clock).ledger
        ledger.append_many([Draft("test.happened", "a")] * 5)
        path = Path(place) / ".muniment" / "ledger" / "000001.jsonl"
        lines = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(b"".join([lines[0], sealed("1" * 64) + b"\n", *lines[2:]]))
    act = (
        "from muniment.record.verify import name_damage, verify; "
        "ledger = open_workspace(root, clock=system_clock).ledger; "
        "event = name_damage(ledger, verify(ledger)); said = event.event_id if event else 'none'"
    )
    said = eight(place, act)
    assert said.count("none") == 7
    desk_segments = sorted((Path(place) / ".muniment" / "ledger").glob("*.jsonl"))
    assert [path.name for path in desk_segments] == ["000001.jsonl", "000002.jsonl"]


def test_readers_see_a_whole_ledger_while_eight_write(place: str) -> None:
    """A reading takes the ledger as it was at one moment, whatever is written or repaired meanwhile."""
    act = (
        "from muniment.record.event import Draft; "
        "ledger = open_workspace(root, clock=system_clock).ledger; "
        "said = str(sum(bool(ledger.append(Draft('test.happened', 'a'))) for _ in range(40)))"
    )
    with Root.open(place) as root:
        ledger = open_workspace(root, clock=system_clock).ledger
        with begun(place, act) as (process, _):
            seen = [0]
            while process.poll() is None:
                verdict = verify(ledger)
                assert verdict.whole, verdict.findings
                seen.append(verdict.events)
        seen.append(verify(ledger).events)
    assert seen == sorted(seen) and seen[-1] == 320
