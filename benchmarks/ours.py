"""The format as a program that can be timed beside others: a store of one file a run.

    python -m benchmarks.ours first|second STORE TREE
    python -m benchmarks.ours tar FILE TREE
    python -m benchmarks.ours restore STORE DEST
    python -m benchmarks.ours verify STORE
    python -m benchmarks.ours one STORE PATH

The store is not the vault: no catalogue that others share, no locks.  It shows what the format alone
costs: pieces are appended to a pack and synced, the index beside them; `second` keeps a memory of groups.
"""

from __future__ import annotations

import hashlib
import marshal
import os
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from muniment.backup.cache import Cache, open_base
from muniment.backup.content import Content
from muniment.backup.excludes import Excludes
from muniment.bundle.index import Index
from muniment.bundle.join import join
from muniment.bundle.manifest import Heading
from muniment.bundle.model import Row
from muniment.bundle.pack import Packing
from muniment.bundle.tree import Tree
from muniment.hosts.generic.places import places

HEADING = Heading("generic", "default", datetime(2026, 11, 30, tzinfo=UTC), "bench", ["workspace/tree"])
WORKERS = int(os.environ.get("BENCH_WORKERS", "2"))


class Store:
    """Pieces in packs, found by a table of ids."""

    def __init__(self, place: Path) -> None:
        self.place = place
        place.mkdir(exist_ok=True)
        self.table: dict[bytes, tuple[int, int, int]] = self._load("table")
        self._packs: dict[int, int] = {}

    def _load(self, name: str) -> dict:  # type: ignore[type-arg]
        path = self.place / name
        return marshal.loads(path.read_bytes()) if path.exists() else {}

    def save(self, tree: Path) -> None:
        number = len(list(self.place.glob("pack-*")))
        at = 0
        memory = remembering(self.place / "memory.sqlite", tree)
        memory.trust(self.table.__contains__)
        fresh = False
        with (
            memory,
            (self.place / f"pack-{number}").open("wb", buffering=1 << 20) as pack,
            everything(tree, memory) as content,
        ):
            packing = Packing(
                content,
                content,
                HEADING,
                workers=WORKERS,
                memory=memory,
                have=self.table.__contains__,
                shared=content.shared,
            )
            for extent in packing:
                if extent.piece is not None and extent.id not in self.table:
                    fresh = True
                    self.table[extent.id] = (number, at, len(extent.piece))
                    at += pack.write(extent.piece)
            pack.flush()
            os.fsync(pack.fileno())
            memory.keep({})
        index = packing.index
        (self.place / f"index-{number}").write_bytes(index.to_bytes())
        if fresh:
            (self.place / "table").write_bytes(marshal.dumps(self.table))
        print(f"{packing.files} files, {len(index)} extents, {at + len(index.to_bytes())} bytes new")

    def index(self) -> Index:
        number = len(list(self.place.glob("index-*"))) - 1
        return Index.read((self.place / f"index-{number}").read_bytes())

    def fetch(self, row: Row) -> bytes:
        number, offset, length = self.table[row.id]
        fd = self._packs.get(number)
        if fd is None:
            fd = self._packs[number] = os.open(self.place / f"pack-{number}", os.O_RDONLY)
        return os.pread(fd, length, offset)


def remembering(place: Path, tree: Path) -> Cache:
    """The cache of the program itself, which here believes what lies in memory too; no share is read
    again, since no peer does that."""
    return Cache(open_base(str(place)), time.time_ns(), device=tree.stat().st_dev, share=None)


class Nothing(Excludes):
    """What is left out: no peer leaves out what can be made again."""

    def by_name(self, section: str, folder: str) -> bool:
        return False

    def reason(self, section: str, path: str) -> None:
        return None


def everything(tree: Path, memory: Cache) -> Content:
    """The whole tree, as the program itself walks and opens it; databases are files like any other."""
    return Content(
        places(tree),
        Nothing(),
        {},
        (),
        lambda: HEADING.created_at,
        full=True,
        keep_outside_links=True,
        settled_ns=time.time_ns(),
        device=memory.device,
        ahead=WORKERS > 0,
    )


def tar(out: Path, tree: Path) -> None:
    """The tar.gz alone, hashed as it is written."""
    fd = os.open(tree, os.O_RDONLY | os.O_DIRECTORY)
    state = hashlib.sha256()
    with out.open("wb", buffering=1 << 20) as file, Tree(fd) as source:
        for part in join(Packing(source.entries("files/workspace"), source, HEADING, workers=WORKERS)):
            state.update(part)
            file.write(part)
        file.flush()
        os.fsync(file.fileno())
    print(state.hexdigest())


def one(store: Store, path: str) -> Iterator[int]:
    """The stored bytes that hold one file."""
    wanted = path.encode()
    rows = list(store.index())
    first = max((at for at, row in enumerate(rows) if row.path <= wanted), default=0)
    while first and rows[first].path == wanted:
        first -= 1
    for row in rows[first:]:
        if row.path > wanted:
            return
        yield len(store.fetch(row))


def main() -> None:
    verb, place = sys.argv[1], Path(sys.argv[2])
    if verb in ("first", "second"):
        Store(place).save(Path(sys.argv[3]))
    elif verb == "tar":
        tar(place, Path(sys.argv[3]))
    elif verb == "restore":
        from muniment.bundle.extract import extract_kept
        from muniment.disk.root import Root
        from muniment.path import RelPath

        store, dest = Store(place), Path(sys.argv[3])
        with Root.open(dest.parent) as root:
            where = RelPath.parse(dest.name)
            extract_kept(store.index(), store.fetch, root, where, outside_links=True, workers=WORKERS)
    elif verb == "verify":
        from muniment.bundle.verify import verify_kept

        store = Store(place)
        print(verify_kept(store.index(), store.fetch, workers=WORKERS).files)
    elif verb == "one":
        print(sum(one(Store(place), sys.argv[3])))


if __name__ == "__main__":
    main()
