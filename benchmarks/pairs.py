"""Interleaved pairs: Muniment's format and a peer take turns on one tree, and the ratios are printed.

    python -m benchmarks.pairs TREE WORK [--pairs 3] [--peer restic] [--phases first,second,…]

TREE is changed in place, as `benchmarks.day` does, before `second`: give it a copy.

Wall and CPU seconds and peak memory are those of the whole process, from `wait4`.  Put everything on a
tmpfs, or the disk is measured.  `RESTIC` and `BORG` name the programs.  restic encrypts and Muniment does
not (AES-GCM would add about 0.05 s here); borg runs unencrypted with lz4.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from benchmarks.day import pass_a_day

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


class Taken(NamedTuple):
    wall: float
    cpu: float
    memory: float


def measure(command: str) -> Taken:
    """Run a shell command to its end; seconds, seconds, MB."""
    start = time.monotonic()
    process = subprocess.Popen(["bash", "-c", f"set -eo pipefail; {command}"], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"failed: {command}")
    return Taken(time.monotonic() - start, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def size(folder: Path) -> int:
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file() and "c" not in path.parts)


def main() -> None:
    reader = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name in ("tree", "work"):
        reader.add_argument(name, type=lambda text: Path(text).resolve())
    reader.add_argument("--pairs", type=int, default=3)
    reader.add_argument("--peer", choices=PEERS, default="restic")
    reader.add_argument("--phases", default="first,second,unchanged,restore,verify")
    asked = reader.parse_args()
    asked.work.mkdir(parents=True, exist_ok=True)
    (asked.work / "password").write_text("x")
    sides = {"muniment": MUNIMENT, asked.peer: PEERS[asked.peer]}
    here = f"cd {Path.cwd()} && " if "PYTHONPATH" in os.environ else ""

    def command(side: str, verb: str, number: int = 0) -> str:
        places = {
            "repo": asked.work / side,
            "work": asked.work,
            "tree": asked.tree,
            "number": number,
        }
        return (here if side == "muniment" else "") + sides[side][verb].format(**places)

    for phase in asked.phases.split(","):
        rows: list[list[Taken]] = []
        if phase == "second":
            pass_a_day(asked.tree, 11)
        for number in range(asked.pairs):
            row = []
            for side in sides:
                repo = asked.work / side
                if phase == "first":
                    shutil.rmtree(repo, ignore_errors=True)
                    repo.mkdir()
                    subprocess.run(
                        ["bash", "-c", command(side, "init")], check=True, stdout=subprocess.DEVNULL
                    )
                elif phase == "second":
                    if number == 0:
                        shutil.copytree(repo, asked.work / f"{side}-kept", symlinks=True)
                    shutil.rmtree(repo)
                    shutil.copytree(asked.work / f"{side}-kept", repo, symlinks=True)
                shutil.rmtree(repo / "out", ignore_errors=True)
                before = size(repo)
                row.append(measure(command(side, phase, number)))
                if number == asked.pairs - 1 and phase in ("first", "second"):
                    print(f"{phase} {side}: {(size(repo) - before) / 1e6:.1f} MB added", flush=True)
                shutil.rmtree(repo / "out", ignore_errors=True)
            rows.append(row)
        for name in Taken._fields:
            ours, theirs = ([getattr(row[side], name) for row in rows] for side in (0, 1))
            ratios = [one / other for one, other in zip(ours, theirs, strict=True)]
            print(
                f"{phase:9} {name:6} muniment {statistics.median(ours):7.2f}"
                f"  {asked.peer} {statistics.median(theirs):7.2f}"
                f"  ratio {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})",
                flush=True,
            )
        if phase == "second":
            for side in sides:
                shutil.rmtree(asked.work / f"{side}-kept")


if __name__ == "__main__":
    main()
