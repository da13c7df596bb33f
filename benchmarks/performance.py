"""Measures backups beside others and writes `docs/performance.md`.

    python -m benchmarks.performance WORK DISK [--scale 1.0] [--pairs 3] [--files 300000] [--bytes 1000]
    python -m benchmarks.performance --again

WORK is made, removed afterwards, and should lie on a tmpfs with room for 4 GB.  DISK too is made and removed;
the command itself is measured there, since it believes nothing of a tmpfs unchanged: it needs 4 GB, and
three times `--bytes` megabytes.  `RESTIC` and `BORG` name the programs; who is not there is left out.  What
was measured is kept in `benchmarks/measured.json`; `--again` writes the page from it and measures nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shlex
import shutil
import statistics
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.page import page
from benchmarks.pairs import BORG, COMMAND, RESTIC, apart, compare, measure, phases_of
from benchmarks.slopes import slopes

HERE = Path(__file__).parent
MEASURED = HERE / "measured.json"
PAGE = HERE.parent / "docs" / "performance.md"
PROGRAMS = {"restic": RESTIC, "borg": BORG, "zstd": "zstd", "pigz": "pigz"}
FLOORS = ("start", "walk", "read", "deflate", "pieces", "inflate", "hash", "create")


def machine() -> dict[str, Any]:
    """What it was measured on, and what else went on."""
    text = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    names = {line.partition(":")[2].strip() for line in text.splitlines() if line.startswith("model name")}
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "processor": ", ".join(sorted(names)) or platform.machine(),
        "cores": os.cpu_count(),
        "memory": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "load": os.getloadavg()[0],
    }


def versions() -> dict[str, str]:
    """The peers that are there, and what they say of themselves."""
    found = {}
    for peer, program in PROGRAMS.items():
        if shutil.which(program):
            call = [program, "version" if peer == "restic" else "--version"]
            said = subprocess.run(call, capture_output=True, text=True, check=True)
            found[peer] = (said.stdout or said.stderr).splitlines()[0]
    return found


def floors(tree: Path, work: Path, pairs: int) -> dict[str, dict[str, float]]:
    """Medians of wall and CPU seconds."""
    store = work / "floor"
    python = f"cd {shlex.quote(str(HERE.parent))} && {shlex.quote(sys.executable)} -m"
    measure(f"{python} benchmarks.ours first {store} {tree}")
    found = {}
    for verb in FLOORS:
        rows = []
        for _ in range(pairs):
            rows.append(measure(f"{python} benchmarks.floors {verb} {tree} {store} {work}/made"))
            shutil.rmtree(work / "made", ignore_errors=True)
        walls, cpus = [row.wall for row in rows], [row.cpu for row in rows]
        found[verb] = {"wall": statistics.median(walls), "cpu": statistics.median(cpus)}
        print(f"floor {verb}: {found[verb]['wall']:.2f} s, CPU {found[verb]['cpu']:.2f} s", flush=True)
    shutil.rmtree(store)
    return found


def plant(tree: Path, scale: float) -> dict[str, float]:
    """The tree, and what it holds."""
    call = [sys.executable, "-m", "benchmarks.corpus", str(tree), "--scale", str(scale)]
    subprocess.run(call, cwd=HERE.parent, check=True)
    return apart(weigh, tree)


def weigh(tree: Path) -> dict[str, float]:
    """How many files, and megabytes in them."""
    sizes = [path.stat().st_size for path in tree.rglob("*") if path.is_file() and not path.is_symlink()]
    return {"files": len(sizes), "megabytes": sum(sizes) / 1e6}


def everything(
    work: Path, disk: Path, scale: float, pairs: int, files: int, megabytes: int
) -> dict[str, Any]:
    """All measurements, in about twenty minutes at full scale."""
    found: dict[str, Any] = {"machine": machine(), "versions": versions(), "pairs": []}
    tree = work / "tree"
    work.mkdir(parents=True)
    try:
        found["tree"] = plant(tree, scale)
        found["floors"] = floors(tree, work, pairs)
        for peer in found["versions"]:
            count = pairs if peer == "restic" else min(pairs, 2)
            found["pairs"] += compare(tree, work / "pairs", peer, phases_of(peer), count)
            shutil.rmtree(work / "pairs")
        shutil.rmtree(tree)
        if "restic" in found["versions"]:
            plant(disk / "tree", scale)
            found["command"] = compare(
                disk / "tree", disk / "pairs", "restic", phases_of("restic"), pairs, COMMAND
            )
            shutil.rmtree(disk)
        found["slopes"] = slopes(disk, files, megabytes)
    finally:
        shutil.rmtree(work)
        shutil.rmtree(disk, ignore_errors=True)
    found["machine"]["load_at_the_end"] = os.getloadavg()[0]
    return found


def main() -> None:
    reader = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for place in ("work", "disk"):
        reader.add_argument(place, type=lambda text: Path(text).resolve(), nargs="?")
    reader.add_argument("--again", action="store_true")
    reader.add_argument("--scale", type=float, default=1.0)
    reader.add_argument("--pairs", type=int, default=3)
    reader.add_argument("--files", type=int, default=300_000)
    reader.add_argument("--bytes", type=int, default=1_000, help="megabytes of the largest tree")
    asked = reader.parse_args()
    if not asked.again:
        if asked.disk is None:
            reader.error("WORK and DISK are needed")
        found = everything(asked.work, asked.disk, asked.scale, asked.pairs, asked.files, asked.bytes)
        MEASURED.write_text(json.dumps(found, indent=1) + "\n")
    PAGE.write_text(page(json.loads(MEASURED.read_text())))


if __name__ == "__main__":
    main()
