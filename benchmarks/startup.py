"""Benchmark: what a start of the program costs, in processor seconds, beside an empty Python.

`python benchmarks/startup.py [--json FILE]`.  Processor time (user and system) of the child as
the kernel accounts it, the median of nine runs, the commands taking turns so that a busy moment
of the machine falls on all of them.  Nothing is asserted; the budgets are in the table to compare.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import sysconfig
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

RUNS = 9
PROGRAM = str(Path(sysconfig.get_path("scripts")) / "muniment")


@dataclass(frozen=True, slots=True)
class Measured:
    """One command: processor seconds, and the largest resident size in MiB."""

    name: str
    budget: float | None
    median: float
    least: float
    most: float
    resident: float


COMMANDS: tuple[tuple[str, tuple[str, ...], float | None], ...] = (
    ("python -c pass", (sys.executable, "-c", "pass"), None),
    ("muniment --version", (PROGRAM, "--version"), None),
    ("muniment --help", (PROGRAM, "--help"), 0.25),
    ("muniment status", (PROGRAM, "status"), None),
)
"""Name, what to run, and the budget where there is one (design, house rules)."""


def once(command: tuple[str, ...], folder: str) -> tuple[float, float]:
    """Run it and give its processor seconds and its largest resident size in MiB."""
    child = subprocess.Popen(
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stderr is not None
    with child.stderr as stream:
        complaint = stream.read()
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {child.returncode}:\n{complaint}")
    unit = 1 if sys.platform == "darwin" else 1024  # the kernels disagree: bytes there, KiB here
    return used.ru_utime + used.ru_stime, used.ru_maxrss * unit / 2**20


def measure() -> list[Measured]:
    """Every command, RUNS times, after one run of each that only fills the caches."""
    found: dict[str, list[tuple[float, float]]] = {name: [] for name, _, _ in COMMANDS}
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(RUNS + 1):
            for name, command, _ in COMMANDS:
                result = once(command, folder)
                if turn:
                    found[name].append(result)
    return [
        Measured(
            name,
            budget,
            statistics.median(seconds for seconds, _ in found[name]),
            min(seconds for seconds, _ in found[name]),
            max(seconds for seconds, _ in found[name]),
            max(size for _, size in found[name]),
        )
        for name, _, budget in COMMANDS
    ]


def main() -> None:
    """Print the table; write the same facts where `--json` says."""
    parser = argparse.ArgumentParser(description="Start-up cost in processor seconds.")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures there")
    chosen = parser.parse_args()
    results = measure()
    print(f"{'processor seconds':22} {'median':>7} {'least':>7} {'most':>7} {'budget':>7} {'MiB':>6}")
    for one in results:
        budget = f"{one.budget:.2f}" if one.budget is not None else ""
        times = f"{one.median:7.3f} {one.least:7.3f} {one.most:7.3f}"
        print(f"{one.name:22} {times} {budget:>7} {one.resident:6.1f}")
    if chosen.json:
        machine = {"python": platform.python_version(), "system": platform.platform(), "runs": RUNS}
        facts = {"machine": machine, "results": [asdict(one) for one in results]}
        chosen.json.write_text(json.dumps(facts, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
