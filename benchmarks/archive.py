"""Benchmark: archiving 10,000 files beside `sha256sum` over them, and one large file in flat memory.

    python benchmarks/archive.py [--files 10000] [--bytes 300000000] [--large 4000000000] [--pairs 3] [--json]

Pairs are interleaved in one run and ratios of wall time are what counts; the goals are those of
spec 1: at most 1.3 times `sha256sum`, and memory that does not grow with the file.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path


def make_tree(place: Path, files: int, size: int) -> None:
    """Files of mixed sizes in a hundred folders, the same for the same arguments."""
    chance = random.Random(7)
    mean = size // files
    for number in range(files):
        folder = place / f"{number % 100:02d}"
        folder.mkdir(exist_ok=True, parents=True)
        (folder / f"{number:05d}.bin").write_bytes(chance.randbytes(chance.randrange(1, 2 * mean)))


def run(arguments: Sequence[str], place: Path) -> tuple[float, float, int]:
    """Wall seconds, CPU seconds and peak resident KiB of a process that must succeed."""
    begun = time.monotonic()
    with open(os.devnull, "wb") as nowhere:
        process = subprocess.Popen(arguments, cwd=place, stdout=nowhere, stderr=nowhere)
        _, status, usage = os.wait4(process.pid, 0)
    wall = time.monotonic() - begun
    if os.waitstatus_to_exitcode(status):
        raise SystemExit(f"{arguments} failed")
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss


def pairs(files: int, size: int, count: int) -> dict[str, object]:
    """The folder: sha256sum, then archiving it, so many times."""
    ratios, rows = [], []
    for _ in range(count):
        place = Path(tempfile.mkdtemp(prefix="muniment-bench-"))
        try:
            make_tree(place / "tree", files, size)
            os.sync()
            hashed = run(["sh", "-c", "find tree -type f -print0 | xargs -0 sha256sum"], place)
            kept = run([sys.executable, "-m", "muniment", "archive", "tree", "-w", "."], place)
            ratios.append(kept[0] / hashed[0])
            rows.append({"sha256sum_s": hashed[0], "archive_s": kept[0], "archive_peak_kib": kept[2]})
        finally:
            shutil.rmtree(place)
    return {"files": files, "bytes": size, "pairs": rows, "ratio_median": statistics.median(ratios)}


def large(size: int) -> dict[str, object]:
    """One large file beside a small one: what the difference in peak memory is."""
    peaks = []
    for bytes_ in (1_000_000, size):
        place = Path(tempfile.mkdtemp(prefix="muniment-bench-"))
        try:
            with (place / "large.bin").open("wb") as stream:
                block = random.Random(7).randbytes(1 << 20)
                for _ in range(bytes_ >> 20):
                    stream.write(block)
                stream.write(b"end")
            wall, _, peak = run([sys.executable, "-m", "muniment", "archive", "large.bin", "-w", "."], place)
            peaks.append({"bytes": bytes_, "wall_s": wall, "peak_kib": peak})
        finally:
            shutil.rmtree(place)
    return {"one_file": peaks}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--bytes", type=int, default=300_000_000)
    parser.add_argument("--large", type=int, default=4_000_000_000)
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = {**pairs(options.files, options.bytes, options.pairs), **large(options.large)}
    if options.json:
        print(json.dumps(found))
        return
    for number, pair in enumerate(found["pairs"], 1):  # type: ignore[arg-type,var-annotated]
        print(f"pair {number}: sha256sum {pair['sha256sum_s']:.2f} s, archive {pair['archive_s']:.2f} s")
    print(f"ratio, median: {found['ratio_median']:.2f} (goal: at most 1.3)")
    for row in found["one_file"]:  # type: ignore[attr-defined]
        peak = row["peak_kib"] / 1024
        print(f"one file of {row['bytes']:,} bytes: {row['wall_s']:.1f} s, peak {peak:.0f} MiB")


if __name__ == "__main__":
    main()
