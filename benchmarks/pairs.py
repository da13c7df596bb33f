"""Interleaved pairs: Muniment's format and a peer take turns on one tree, and the ratios are printed.

    python -m benchmarks.pairs TREE WORK [--pairs 3] [--peer restic] [--phases first,second,…] [--json FILE]

TREE is changed in place, as `benchmarks.day` does, before `second`: give it a copy.

Wall and CPU seconds are those of the whole process, from `wait4`.  Peak memory is that of its largest
process or the sum of what all its processes hold at one time, each shared page once (`smaps_rollup`),
whichever is more.  Put everything on a
tmpfs, or the disk is measured.  `RESTIC` and `BORG` name the programs.  restic encrypts and Muniment does
not (AES-GCM would add about 0.05 s here); borg runs unencrypted with lz4.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import shutil
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple, ParamSpec, TypedDict, TypeVar

import muniment
from benchmarks.day import pass_a_day

P = ParamSpec("P")
T = TypeVar("T")

RESTIC = os.environ.get("RESTIC", "restic")
BORG = os.environ.get("BORG", "borg")
OURS = f"{sys.executable} -m benchmarks.ours"

Commands = dict[str, str]
MUNIMENT: Commands = {
    "init": "true",
    "first": OURS + " first {repo}/store {tree}",
    "second": OURS + " second {repo}/store {tree}",
    "unchanged": OURS + " second {repo}/store {tree}",
    "restore": OURS + " restore {repo}/store {repo}/out",
    "verify": OURS + " verify {repo}/store",
}
_OWN = (
    "export MUNIMENT_WORKSPACE={tree} MUNIMENT_VAULT_URL=file://{repo}/vault"
    f" XDG_CACHE_HOME={{repo}}/c XDG_CONFIG_HOME={{repo}}/config; B='{sys.executable} -m muniment backup'; "
)
_ID = """grep -o '"%s": *"[^"]*"' | head -1 | cut -d'"' -f4"""
_SAVE = f"{_OWN} id=$($B plan --json | {_ID % 'plan_id'}); $B create --plan $id --yes --json"
_NEWEST = f"{_OWN} id=$($B list --json | {_ID % 'backup_id'}); "
COMMAND: Commands = {
    "init": _OWN + "mkdir -p {tree}/.muniment; $B rules default",
    "first": _SAVE,
    "second": _SAVE,
    "unchanged": _SAVE,
    "restore": _NEWEST + "$B restore $id --target {repo}/out --json",
    "verify": _NEWEST + "$B verify $id --json",
}
"""The same by the command line, with plan, ledger, rules, cache and vault."""
_R = f"{RESTIC} --repo {{repo}}/r --cache-dir {{repo}}/c --password-file {{work}}/password -q"
_B = f"export BORG_BASE_DIR={{repo}}/base BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK=yes; {BORG}"
_SUMS = "(cd {tree} && find . -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum) > {repo}/sums"
PEERS: dict[str, Commands] = {
    "restic": {
        "init": f"{_R} init",
        "first": f"cd {{tree}} && {_R} backup .",
        "second": f"cd {{tree}} && {_R} backup .",
        "unchanged": f"cd {{tree}} && {_R} backup .",
        "restore": f"{_R} restore latest --target {{repo}}/out",
        "verify": f"{_R} check --read-data",
    },
    "borg": {
        "init": f"mkdir -p {{repo}}/base; {_B} init -e none {{repo}}/r",
        "first": f"cd {{tree}} && {_B} create -C lz4 {{repo}}/r::one .",
        "second": f"cd {{tree}} && {_B} create -C lz4 {{repo}}/r::two .",
        "unchanged": f"cd {{tree}} && {_B} create -C lz4 {{repo}}/r::n{{number}} .",
        "restore": f"mkdir {{repo}}/out; cd {{repo}}/out && {_B} extract {{repo}}/r::two",
        "verify": f"{_B} check --verify-data {{repo}}/r",
    },
    "pigz": {"init": "true", "first": "tar -cf - -C {tree} . | pigz -n > {repo}/t.tgz && " + _SUMS},
    "zstd": {"init": "true", "first": "tar -cf - -C {tree} . | zstd -q -3 -T0 > {repo}/t.zst && " + _SUMS},
}


class Compared(TypedDict):
    """One phase beside one peer: medians, and the ratio's median, least and most; MB added by each."""

    peer: str
    phase: str
    pairs: int
    added: list[float]
    measures: dict[str, dict[str, float]]


class Taken(NamedTuple):
    wall: float
    cpu: float
    memory: float


SAMPLE_S = 0.05


def below(pid: int) -> list[int]:
    """A process and all that it has begun."""
    found = [pid]
    for one in found:
        try:
            for task in os.listdir(f"/proc/{one}/task"):
                found += map(int, Path(f"/proc/{one}/task/{task}/children").read_text().split())
        except (OSError, ValueError):
            continue
    return found


def held(pid: int) -> float:
    """Kilobytes that a process and its children hold now, each shared page counted once."""
    total = 0
    for one in below(pid):
        try:
            text = Path(f"/proc/{one}/smaps_rollup").read_text()
        except OSError:
            continue
        total += next((int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:")), 0)
    return total


def as_installed() -> None:
    """Compile our modules, as installing them does: the environment may keep Python from it."""
    for place in (muniment.__path__[0], str(Path(__file__).parent)):
        compileall.compile_dir(place, quiet=1)


def apart(act: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
    """Do something in a process of its own: whatever is measured begins as large as this one ever was."""
    with ProcessPoolExecutor(1, get_context("spawn")) as other:
        return other.submit(act, *arguments, **named).result()


def measure(command: str, environment: dict[str, str] | None = None) -> Taken:
    """Run a shell command to its end; seconds, seconds, MB."""
    most = 0.0
    ended = threading.Event()
    start = time.monotonic()
    process = subprocess.Popen(
        ["bash", "-c", f"set -eo pipefail; {command}"], stdout=subprocess.DEVNULL, env=environment
    )

    def watch() -> None:
        nonlocal most
        while not ended.wait(SAMPLE_S):
            most = max(most, held(process.pid))

    watcher = threading.Thread(target=watch)
    watcher.start()
    _, status, used = os.wait4(process.pid, 0)
    took = time.monotonic() - start
    ended.set()
    watcher.join()
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"failed: {command}")
    return Taken(took, used.ru_utime + used.ru_stime, max(used.ru_maxrss, most) / 1024)


def size(folder: Path) -> int:
    """Bytes of all files of a repository, but for the cache."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file() and "c" not in path.parts)


def main() -> None:
    reader = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name in ("tree", "work"):
        reader.add_argument(name, type=lambda text: Path(text).resolve())
    reader.add_argument("--pairs", type=int, default=3)
    reader.add_argument("--peer", choices=PEERS, default="restic")
    reader.add_argument("--command", action="store_true", help="our command line, not the format alone")
    reader.add_argument("--phases", default="first,second,unchanged,restore,verify")
    reader.add_argument("--json", type=Path, help="a file to which the numbers are written as well")
    asked = reader.parse_args()
    ours = COMMAND if asked.command else MUNIMENT
    found = compare(asked.tree, asked.work, asked.peer, asked.phases.split(","), asked.pairs, ours)
    if asked.json:
        asked.json.write_text(json.dumps(found, indent=1))


def phases_of(peer: str) -> list[str]:
    """What a peer can do."""
    return [phase for phase in ("first", "second", "unchanged", "restore", "verify") if phase in PEERS[peer]]


def compare(
    tree: Path, work: Path, peer: str, phases: Sequence[str], pairs: int, ours: Commands = MUNIMENT
) -> list[Compared]:
    """Take turns, print what was found and give it."""
    found: list[Compared] = []
    as_installed()
    work.mkdir(parents=True, exist_ok=True)
    (work / "password").write_text("x")
    sides = {"muniment": ours, peer: PEERS[peer]}
    here = f"cd {Path.cwd()} && " if "PYTHONPATH" in os.environ else ""

    def command(side: str, verb: str, number: int = 0) -> str:
        places = {
            "repo": work / side,
            "work": work,
            "tree": tree,
            "number": number,
        }
        return (here if side == "muniment" else "") + sides[side][verb].format(**places)

    for phase in phases:
        rows: list[list[Taken]] = []
        added: list[float] = []
        if phase == "second":
            apart(pass_a_day, tree, 11)
        for number in range(pairs):
            row = []
            for side in sides:
                repo = work / side
                if phase == "first":
                    shutil.rmtree(repo, ignore_errors=True)
                    repo.mkdir()
                    subprocess.run(
                        ["bash", "-c", command(side, "init")], check=True, stdout=subprocess.DEVNULL
                    )
                elif phase == "second":
                    if number == 0:
                        shutil.copytree(repo, work / f"{side}-kept", symlinks=True)
                    shutil.rmtree(repo)
                    shutil.copytree(work / f"{side}-kept", repo, symlinks=True)
                shutil.rmtree(repo / "out", ignore_errors=True)
                before = apart(size, repo)
                row.append(measure(command(side, phase, number)))
                if number == pairs - 1 and phase in ("first", "second"):
                    added.append((apart(size, repo) - before) / 1e6)
                    print(f"{phase} {side}: {added[-1]:.1f} MB added", flush=True)
                shutil.rmtree(repo / "out", ignore_errors=True)
            rows.append(row)
        compared: Compared = {"peer": peer, "phase": phase, "pairs": pairs, "added": added, "measures": {}}
        for name in Taken._fields:
            mine, others = ([getattr(row[side], name) for row in rows] for side in (0, 1))
            ratios = [one / other for one, other in zip(mine, others, strict=True)]
            told = {
                "ours": statistics.median(mine),
                "theirs": statistics.median(others),
                "ratio": statistics.median(ratios),
                "least": min(ratios),
                "most": max(ratios),
            }
            compared["measures"][name] = told
            print(
                f"{phase:9} {name:6} muniment {told['ours']:7.2f}  {peer} {told['theirs']:7.2f}"
                f"  ratio {told['ratio']:.2f} ({told['least']:.2f} to {told['most']:.2f})",
                flush=True,
            )
        found.append(compared)
        if phase == "second":
            for side in sides:
                shutil.rmtree(work / f"{side}-kept")
    return found


if __name__ == "__main__":
    main()
