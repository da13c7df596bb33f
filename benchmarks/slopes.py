"""How time and memory grow: the whole program on trees of more and more files, and of more and more bytes.

    python -m benchmarks.slopes WORK [--files 300000] [--bytes 1000]

For each size a workspace is made, saved, saved again unchanged, verified and restored into an empty
folder, by the command line with a vault of its own.  `--bytes` is the most in megabytes: WORK has to hold
three times as much.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TypedDict

from benchmarks.corpus import Speech
from benchmarks.pairs import Taken, apart, as_installed, measure

FILES = (1_000, 10_000, 100_000, 300_000)
BYTES = (10, 100, 1_000, 10_000)
SMALL = 1_500
"""Bytes of a file where files are counted."""


class Slope(TypedDict):
    """One tree: files, megabytes, and what each act took: wall and CPU seconds, MB."""

    files: int
    megabytes: float
    acts: dict[str, Taken]


def many(tree: Path, count: int) -> int:
    """So many small notes, a hundred in a folder."""
    speech = Speech(random.Random(1))
    text = speech.say(20_000).encode()
    for number in range(count):
        folder = tree / f"{number // 10_000:03}" / f"{number // 100 % 100:02}"
        if number % 100 == 0:
            folder.mkdir(parents=True)
        start = number * 7 % (len(text) - SMALL)
        (folder / f"note_{number}.md").write_bytes(b"%d\n" % number + text[start : start + SMALL])
    return count


def much(tree: Path, megabytes: int) -> int:
    """So many megabytes of logs, 5 MB each, of which no two stretches are alike."""
    rng = random.Random(2)
    text = Speech(rng).say(300_000).encode()
    count = max(1, megabytes // 5)
    for number in range(count):
        with (tree / f"log_{number}.jsonl").open("wb") as file:
            while file.tell() < 5_000_000 * min(1, megabytes / 5):
                start = rng.randrange(len(text) - 400)
                file.write(b"%d " % rng.getrandbits(64) + text[start : start + rng.randrange(400)] + b"\n")
    return count


def make(tree: Path, files: int, megabytes: int) -> tuple[int, int]:
    """One of the two trees: its files, and their bytes together."""
    count = many(tree, files) if files else much(tree, megabytes)
    return count, sum(path.stat().st_size for path in tree.rglob("*") if path.is_file())


class Program:
    """The command line, with everything of its own below a folder."""

    def __init__(self, place: Path) -> None:
        self.tree = place / "workspace"
        self.out = place / "out"
        self._environment = {
            **os.environ,
            "MUNIMENT_WORKSPACE": str(self.tree),
            "MUNIMENT_VAULT_URL": (place / "vault").as_uri(),
            "XDG_CACHE_HOME": str(place / "cache"),
            "XDG_CONFIG_HOME": str(place / "config"),
        }

    def ask(self, *arguments: str) -> dict[str, object]:
        """Run it and read what it says."""
        call = [sys.executable, "-m", "muniment", "backup", *arguments, "--json"]
        done = subprocess.run(call, env=self._environment, check=True, capture_output=True)
        found: dict[str, object] = json.loads(done.stdout)
        return found

    def time(self, *arguments: str) -> Taken:
        """Run it and see what it takes."""
        return measure(f"{sys.executable} -m muniment backup {' '.join(arguments)} --json", self._environment)

    def acts(self) -> dict[str, Taken]:
        """Save, save again, verify, restore."""
        (self.tree / ".muniment").mkdir(exist_ok=True)
        self.ask("rules", "default")
        taken: dict[str, Taken] = {}
        for act in ("first", "unchanged"):
            plan = str(self.ask("plan")["plan_id"])
            taken[act] = self.time("create", "--plan", plan, "--yes")
        snapshots = self.ask("list")["backups"]
        assert isinstance(snapshots, list)
        newest = str(snapshots[0]["backup_id"])
        taken["verify"] = self.time("verify", newest)
        taken["restore"] = self.time("restore", newest, "--target", str(self.out))
        return taken


def slope(place: Path, files: int, megabytes: int) -> Slope:
    """One tree, measured and removed; one of the two numbers is 0."""
    place.mkdir(parents=True)
    program = Program(place)
    program.tree.mkdir()
    try:
        count, size = apart(make, program.tree, files, megabytes)
        one: Slope = {"files": count, "megabytes": size / 1e6, "acts": program.acts()}
    finally:
        shutil.rmtree(place)
    told = ", ".join(f"{act} {took.wall:.1f} s {took.memory:.0f} MB" for act, took in one["acts"].items())
    print(f"{one['files']:,} files, {one['megabytes']:,.0f} MB: {told}", flush=True)
    return one


def slopes(work: Path, files: int, megabytes: int) -> dict[str, list[Slope]]:
    """Both rows, as far as they are asked for."""
    as_installed()
    return {
        "files": [slope(work / "slope", one, 0) for one in FILES if one <= files],
        "bytes": [slope(work / "slope", 0, one) for one in BYTES if one <= megabytes],
    }


def main() -> None:
    reader = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    reader.add_argument("work", type=Path)
    reader.add_argument("--files", type=int, default=FILES[-1])
    reader.add_argument("--bytes", type=int, default=1_000)
    asked = reader.parse_args()
    slopes(asked.work, asked.files, asked.bytes)


if __name__ == "__main__":
    main()
