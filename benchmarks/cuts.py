"""Measures cut rules: how many extents, how large, and what a day's change sends again.

    python -m benchmarks.cuts TREE TREE_A_DAY_LATER

Nothing here depends on how busy the machine is.
"""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from datetime import UTC, datetime

from muniment.bundle.cuts import MEASURED, CutRules
from muniment.bundle.manifest import Heading
from muniment.bundle.pack import Packing
from muniment.bundle.tree import Tree

K = 1 << 10
VARIANTS: dict[str, CutRules] = {
    "mean 4, cap 16": replace(MEASURED, mean=4 * K, cap=16 * K),
    "mean 8, cap 32": replace(MEASURED, mean=8 * K, cap=32 * K),
    "mean 16, cap 64": MEASURED,
    "mean 16, cap 256": replace(MEASURED, cap=256 * K),
    "mean 32, cap 128": replace(MEASURED, mean=32 * K, cap=128 * K),
    "mean 64, cap 256": replace(MEASURED, mean=64 * K, cap=256 * K),
    "mean 256, cap 1024": replace(MEASURED, mean=256 * K, cap=1024 * K),
    "manifest text 4": replace(MEASURED, text_mean=4 * K),
    "manifest text 8": replace(MEASURED, text_mean=8 * K),
    "pieces 64 to 256": replace(MEASURED, piece_least=64 * K, piece_mean=64 * K, piece_most=256 * K),
    "pieces 128 to 512": replace(MEASURED, piece_least=128 * K, piece_mean=128 * K, piece_most=512 * K),
    "SQLite by 16": replace(MEASURED, page=16 * K),
    "SQLite by 256": replace(MEASURED, page=256 * K),
    "large from 128": replace(MEASURED, large=128 * K),
}


def run(tree: str, rules: CutRules, known: set[bytes]) -> tuple[int, int, int, int, set[bytes]]:
    """Extents, index bytes, new extents, their stored bytes, all ids."""
    fd = os.open(tree, os.O_RDONLY | os.O_DIRECTORY)
    heading = Heading(
        "generic", "default", datetime(2026, 1, 1 + bool(known), tzinfo=UTC), "", ["workspace/tree"]
    )
    new = stored = 0
    seen = set(known)
    with Tree(fd) as source:
        packing = Packing(source.entries("files/workspace"), source, heading, rules=rules, workers=1)
        for extent in packing:
            if extent.id not in seen:
                seen.add(extent.id)
                new += 1
                stored += len(extent.piece or b"")
    os.close(fd)
    index = packing.index
    return len(index), len(index.to_bytes()), new, stored, seen


def main() -> None:
    before, after = sys.argv[1:3]
    wanted = sys.argv[3:] or list(VARIANTS)
    print("| rule (KiB) | extents | index MB | archive MB | new extents | sent MB | with the index MB |")
    print("|---|---|---|---|---|---|---|")
    for name in wanted:
        rules = VARIANTS[name]
        count, _, _, first, seen = run(before, rules, set())
        _, index, new, sent, _ = run(after, rules, seen)
        print(
            f"| {name} | {count:,} | {index / 1e6:.2f} | {first / 1e6:.1f} | {new:,} "
            f"| {sent / 1e6:.2f} | {(sent + index) / 1e6:.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
