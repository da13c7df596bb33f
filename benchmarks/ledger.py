"""Benchmark: what an acknowledged event costs, one by one, in batches, and from eight processes.

`python benchmarks/ledger.py [--folder DIR] [--json FILE]`.  Each event is durable and read again
before it counts.  The kinds take turns, so that a busy moment of the machine falls on all of
them; the median of the rounds is printed.  Beside them stands what the disk alone takes: one
`write` and one `fdatasync` of as many bytes, without a ledger.  Nothing is asserted.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from muniment.clock import system_clock
from muniment.disk.root import Root
from muniment.path import RelPath
from muniment.record.event import Draft
from muniment.record.ledger import Ledger
from muniment.record.verify import verify
from muniment.record.witness import bear_witness

BATCHES = (1, 16, 64, 256, 1024)
ROUNDS = 7
EVENTS = 1024
"""Events of one round; of those that are appended one by one, fewer."""

ALONE = 128
PROCESSES = 8
EACH = 250

DRAFT = Draft(
    "archive.kept",
    "arc_01KDVDNA000000000000000000",
    {
        "from": "out/report.md",
        "to": "archives/2026-11-30/report/report.md",
        "tree": "0" * 64,
        "count": 12,
        "bytes": 345678,
    },
)
LEDGER = RelPath.parse("ledger")


def open_ledger(root: Root) -> Ledger:
    """The ledger of this benchmark."""
    return Ledger(root, LEDGER, clock=system_clock)


def one_by_one(root: Root) -> float:
    """Events a second, each in a call of its own."""
    ledger = open_ledger(root)
    begun = time.perf_counter()
    for _ in range(ALONE):
        ledger.append(DRAFT)
    return ALONE / (time.perf_counter() - begun)


def batched(root: Root, size: int) -> float:
    """Events a second, so many to a call."""
    ledger = open_ledger(root)
    calls = max(1, (ALONE if size == 1 else EVENTS) // size)
    begun = time.perf_counter()
    for _ in range(calls):
        ledger.append_many([DRAFT] * size)
    return calls * size / (time.perf_counter() - begun)


def disk_alone(root: Root, size: int) -> float:
    """Lines a second that the disk takes, so many to a write and a sync."""
    line = b"x" * 560 + b"\n"
    fd = os.open(os.path.join(root.path, "plain"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    calls = max(1, (ALONE if size == 1 else EVENTS) // size)
    begun = time.perf_counter()
    for _ in range(calls):
        os.write(fd, line * size)
        os.fdatasync(fd)
    spent = time.perf_counter() - begun
    os.close(fd)
    return calls * size / spent


WRITER = """
import sys
sys.path.insert(0, sys.argv[2])
import ledger as benchmark
from muniment.disk.root import Root
with Root.open(sys.argv[1]) as root:
    ledger = benchmark.open_ledger(root)
    print(flush=True)
    sys.stdin.readline()
    for _ in range(int(sys.argv[3])):
        ledger.append(benchmark.DRAFT)
"""


def several(root: Root, processes: int) -> float:
    """Events a second of so many processes together, each appending one by one."""
    here = str(Path(__file__).parent)
    crew = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, root.path, here, str(EACH)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        for _ in range(processes)
    ]
    for one in crew:
        assert one.stdout is not None
        one.stdout.readline()
    begun = time.perf_counter()
    for one in crew:
        assert one.stdin is not None
        one.stdin.close()
    for one in crew:
        if one.wait():
            raise SystemExit("a writer failed")
    spent = time.perf_counter() - begun
    for one in crew:
        assert one.stdout is not None
        one.stdout.close()
    return processes * EACH / spent


def measure(root: Root) -> dict[str, list[float]]:
    """Every kind, ROUNDS times, after one round that only fills the caches."""
    found: dict[str, list[float]] = {}
    for turn in range(ROUNDS + 1):
        results = {"append": one_by_one(root)}
        results |= {f"append_many of {size}": batched(root, size) for size in BATCHES}
        results |= {f"the disk alone, {size}": disk_alone(root, size) for size in BATCHES}
        if turn:
            for name, rate in results.items():
                found.setdefault(name, []).append(rate)
    found[f"append, {PROCESSES} processes"] = [several(root, PROCESSES) for _ in range(3)]
    return found


def read(root: Root) -> dict[str, float]:
    """What reading all of it takes: events a second."""
    ledger = open_ledger(root)
    begun = time.perf_counter()
    verdict = verify(ledger)
    verified = time.perf_counter()
    bear_witness(ledger, "01KDVDNA000000000000000000")
    seen = time.perf_counter()
    if not verdict.whole:
        raise SystemExit(f"the ledger is not whole: {verdict.findings}")
    return {
        f"verify, {verdict.events} events": verdict.events / (verified - begun),
        "witness": verdict.events / (seen - verified),
    }


def main() -> None:
    """Print the table; write the same facts where `--json` says."""
    parser = argparse.ArgumentParser(description="Events a second that the ledger acknowledges.")
    parser.add_argument("--folder", type=Path, help="where to write; it must be on the disk in question")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures there")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=chosen.folder) as place, Root.open(place) as root:
        found = measure(root)
        rates = {name: statistics.median(each) for name, each in found.items()} | read(root)
    alone = rates["append"]
    print(f"{'':28} {'events/s':>10} {'x append':>9} {'least':>10} {'most':>10}")
    for name, rate in rates.items():
        spread = found.get(name, [rate])
        print(f"{name:28} {rate:10,.0f} {rate / alone:9.1f} {min(spread):10,.0f} {max(spread):10,.0f}")
    if chosen.json:
        machine = {"python": platform.python_version(), "system": platform.platform(), "rounds": ROUNDS}
        chosen.json.write_text(json.dumps({"machine": machine, "rates": found}, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
