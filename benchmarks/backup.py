"""Second snapshots through the whole program: bytes sent for each kind of change, beside restic's.

    python -m benchmarks.backup WORK [--scale 0.2] [--large 200]

WORK is made and should lie on a tmpfs.  For each change a workspace is saved, changed, and saved
again; what the vault grew by is what was sent.  For restic it is what its repository grew by.
`RESTIC` names the program; without one only ours is measured.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from benchmarks.corpus import Speech

MIB = 1 << 20


def main() -> None:
    """Run all changes and print one line a change."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path)
    parser.add_argument("--scale", default="0.2")
    parser.add_argument("--large", type=int, default=200, help="megabytes of the JSON file")
    arguments = parser.parse_args()
    restic = shutil.which(os.environ.get("RESTIC", "restic"))
    arguments.work.mkdir(parents=True)
    print("| change | tree | sent by us | by restic | ratio | ours, s | restic, s |")
    print("|---|---|---|---|---|---|---|")
    for name, make, change in CHANGES:
        place = arguments.work / name.replace(" ", "-")
        tree = place / "workspace"
        tree.mkdir(parents=True)
        make(tree, arguments)
        (tree / ".muniment").mkdir(exist_ok=True)
        size = sum(
            path.stat().st_size for path in tree.rglob("*") if path.is_file() and not path.is_symlink()
        )
        ours = Ours(place, tree)
        theirs = Restic(place, tree, restic) if restic else None
        for one in (ours, theirs):
            if one is not None:
                one.save()
        change(tree, arguments)
        sent, took = ours.grows()
        if theirs is None:
            print(f"| {name} | {size / 1e6:,.0f} MB | {sent:,} | – | – | {took:.2f} | – |")
        else:
            other, other_took = theirs.grows()
            numbers = f"{sent:,} | {other:,} | {sent / other:.2f} | {took:.2f} | {other_took:.2f}"
            print(f"| {name} | {size / 1e6:,.0f} MB | {numbers} |")
        sys.stdout.flush()
        shutil.rmtree(place)


class Ours:
    """The command line, with a vault of its own."""

    def __init__(self, place: Path, tree: Path) -> None:
        self.vault = place / "vault"
        self._environment = {
            **os.environ,
            "MUNIMENT_WORKSPACE": str(tree),
            "MUNIMENT_VAULT_URL": self.vault.as_uri(),
            "XDG_CACHE_HOME": str(place / "cache"),
            "XDG_CONFIG_HOME": str(place / "config"),
        }
        self._run("rules", "default")

    def _run(self, *arguments: str) -> dict[str, object]:
        done = subprocess.run(
            [sys.executable, "-m", "muniment", "backup", *arguments, "--json"],
            env=self._environment,
            check=True,
            capture_output=True,
        )
        found: dict[str, object] = json.loads(done.stdout)
        return found

    def save(self) -> float:
        """One snapshot; seconds that create took."""
        plan = str(self._run("plan")["plan_id"])
        began = time.perf_counter()
        self._run("create", "--plan", plan, "--yes")
        return time.perf_counter() - began

    def grows(self) -> tuple[int, float]:
        """Bytes that packs, index and description of one snapshot take, and seconds."""
        before = weight(self.vault, without="catalogue")
        took = self.save()
        return weight(self.vault, without="catalogue") - before, took


class Restic:
    """restic with its defaults, unencrypted password in a file, its repository on the same disk."""

    def __init__(self, place: Path, tree: Path, program: str) -> None:
        self.repository = place / "restic"
        self._tree = tree
        secret = place / "secret"
        secret.write_text("x")
        self._base = [program, "-q", "-r", str(self.repository), "--password-file", str(secret)]
        self._base += ["--cache-dir", str(place / "restic-cache")]
        subprocess.run([*self._base, "init"], check=True, capture_output=True)

    def save(self) -> float:
        """One snapshot; seconds."""
        began = time.perf_counter()
        subprocess.run([*self._base, "backup", str(self._tree)], check=True, capture_output=True)
        return time.perf_counter() - began

    def grows(self) -> tuple[int, float]:
        """Bytes that the repository grew by, and seconds."""
        before = weight(self.repository)
        took = self.save()
        return weight(self.repository) - before, took


def weight(folder: Path, without: str = "\0") -> int:
    """Bytes of all files below a folder."""
    return sum(
        path.stat().st_size
        for path in folder.rglob("*")
        if path.is_file() and not path.name.startswith(without)
    )


def corpus(tree: Path, arguments: argparse.Namespace) -> None:
    """The agent's folder of `benchmarks.corpus`."""
    call = [sys.executable, "-m", "benchmarks.corpus", str(tree / "agent"), "--scale", arguments.scale]
    subprocess.run(call, check=True, stdout=subprocess.DEVNULL)


def day(tree: Path, arguments: argparse.Namespace) -> None:
    """A day on it."""
    call = [sys.executable, "-m", "benchmarks.day", str(tree / "agent")]
    subprocess.run(call, check=True, stdout=subprocess.DEVNULL)


def logs(tree: Path, arguments: argparse.Namespace) -> None:
    """Twenty logs of 5 MB."""
    speech = Speech(random.Random(3), 2500)
    for number in range(20):
        lines = [f"2026-11-30T12:00:00Z info {speech.say(12)}\n" for _ in range(5_000_000 // 100)]
        (tree / f"{number}.log").write_text("".join(lines))


def append(tree: Path, arguments: argparse.Namespace) -> None:
    """Ten lines more in each."""
    speech = Speech(random.Random(4), 2500)
    for path in sorted(tree.glob("*.log")):
        with path.open("a") as stream:
            stream.writelines(f"2026-12-01T12:00:00Z info {speech.say(12)}\n" for _ in range(10))


def database(tree: Path, arguments: argparse.Namespace) -> None:
    """A database of about 100 MB."""
    speech = Speech(random.Random(5), 2500)
    with closing(sqlite3.connect(tree / "state.db")) as base, base:
        base.execute("CREATE TABLE turns (id INTEGER PRIMARY KEY, said TEXT)")
        rows = ((speech.say(60),) for _ in range(250_000))
        base.executemany("INSERT INTO turns (said) VALUES (?)", rows)


def page(tree: Path, arguments: argparse.Namespace) -> None:
    """One row in the middle, so one page."""
    with closing(sqlite3.connect(tree / "state.db")) as base, base:
        base.execute("UPDATE turns SET said = upper(said) WHERE id = 125000")


def rename(tree: Path, arguments: argparse.Namespace) -> None:
    """The folder with most of it gets another name."""
    (tree / "agent").rename(tree / "renamed")


def large(tree: Path, arguments: argparse.Namespace) -> None:
    """One JSON document of many lines."""
    speech = Speech(random.Random(6), 2500)
    size = 0
    with (tree / "large.json").open("w") as stream:
        stream.write("[\n")
        while size < arguments.large * 1_000_000:
            size += stream.write(json.dumps({"said": speech.say(80), "at": size}) + ",\n")
        stream.write("null]\n")


def line(tree: Path, arguments: argparse.Namespace) -> None:
    """A line in its middle becomes a longer one."""
    path = tree / "large.json"
    data = path.read_bytes()
    middle = data.index(b"\n", len(data) // 2) + 1
    path.write_bytes(data[:middle] + b'{"said": "a line that was not there"},\n' + data[middle:])


Step = Callable[[Path, argparse.Namespace], None]
CHANGES: tuple[tuple[str, Step, Step], ...] = (
    ("nothing", corpus, lambda tree, arguments: None),
    ("a day", corpus, day),
    ("appended logs", logs, append),
    ("one database page", database, page),
    ("a renamed folder", corpus, rename),
    ("a line in a large JSON", large, line),
)


if __name__ == "__main__":
    main()
