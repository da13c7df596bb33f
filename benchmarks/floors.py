"""What the parts cost that nobody can leave out, each alone and on both cores.

    python -m benchmarks.floors start|walk|read|deflate|pieces|inflate|hash|create TREE STORE DEST

`start` does nothing; `walk` looks at every entry; `read` reads every file and hashes it once; `deflate` does
that and deflates in stretches of 1 MiB; `pieces` deflates in shorter ones, as the pieces of this tree
are in the mean (22 KiB of small files, 124 KiB of large ones), and hashes each; `inflate` inflates every
extent of a store of `benchmarks.ours`; `hash` inflates and hashes each byte twice, for its extent and for
its file; `create` makes every file with its bytes, as they were read.  Two processes share the work, and
nothing else is done: no order, no index, no manifest.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks.ours import Store
from muniment.bundle.deflate import deflate, inflater

LARGE, GROUP, PIECE = 512 << 10, 22 << 10, 124 << 10


def files(tree: Path) -> list[str]:
    """The paths of all files."""
    found, todo = [], [str(tree)]
    while todo:
        with os.scandir(todo.pop()) as listing:
            for item in listing:
                item.stat(follow_symlinks=False)
                if item.is_dir(follow_symlinks=False):
                    todo.append(item.path)
                elif item.is_file(follow_symlinks=False):
                    found.append(item.path)
    return found


def content(path: str) -> bytes:
    fd = os.open(path, os.O_RDONLY)
    try:
        parts = []
        while part := os.read(fd, 8 << 20):
            parts.append(part)
        return b"".join(parts)
    finally:
        os.close(fd)


def shared(count: int, work: Callable[[range], object]) -> None:
    """Two processes, each with a half of the numbers."""
    pid = os.fork()
    work(range(1 if pid else 0, count, 2))
    if not pid:
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    if status:
        sys.exit("a process failed")


def main() -> None:
    verb, tree, place, dest = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4]
    if verb == "start":
        return
    if verb in ("inflate", "hash"):
        store = Store(place)
        rows = list(store.index())

        def inflate(numbers: range) -> None:
            for number in numbers:
                row = rows[number]
                raw = inflater().decompress(store.fetch(row), row.length + 1)
                if verb == "hash":
                    hashlib.sha256(raw).digest()
                    hashlib.sha256(raw).digest()

        shared(len(rows), inflate)
        return
    paths = files(tree)
    if verb == "walk":
        return

    def cut(raw: bytes, size: int) -> None:
        for start in range(0, len(raw), size):
            piece = raw[start : start + size]
            hashlib.sha256(piece).digest()
            deflate(piece)

    def read(numbers: range) -> None:
        held, size = [], 0
        for number in numbers:
            data = content(paths[number])
            if verb == "create":
                fd = os.open(f"{dest}/{number}", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
                view = memoryview(data)
                while view:
                    view = view[os.write(fd, view) :]
                os.fchmod(fd, 0o644)
                os.utime(fd, ns=(0, 0))
                os.close(fd)
                continue
            hashlib.sha256(data).digest()
            if verb == "pieces" and len(data) > LARGE:
                cut(data, PIECE)
                continue
            held.append(data)
            size += len(data)
            if verb == "deflate" and size >= 1 << 20:
                raw = b"".join(held)
                for start in range(0, len(raw), 1 << 20):
                    deflate(raw[start : start + (1 << 20)])
            if verb == "pieces" and size >= 1 << 20:
                cut(b"".join(held), GROUP)
            if size >= 1 << 20:
                held, size = [], 0

    if verb == "create":
        os.makedirs(dest)
    shared(len(paths), read)


if __name__ == "__main__":
    main()
