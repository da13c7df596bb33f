"""Makes the tree that is measured: an agent's data folder of about 1 GB, the same for one seed.

    python -m benchmarks.corpus DEST [--scale 1.0] [--seed 7]

| folder | share | what |
|---|---|---|
| `workspace` | 7 % | notes, JSON, code and YAML in nested folders; links, a hard link, empty things |
| `state` | 13 % | SQLite databases left with a live write-ahead log |
| `chats` | 15 % | JSON lines of 1 to 7 MB, some with base64 |
| `venv`, `.user-packages` | 12 %, 43 % | installed packages: very many small files, some large ones |
| `media` | 10 % | noise that does not compress |

Nothing is copied from the machine, so the tree is the same everywhere.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

MB = 1_000_000
SPRING = 1_750_000_000
NANO = 1_000_000_000


class Speech:
    """Made-up words with the frequencies of a language, so that text compresses about threefold."""

    def __init__(self, rng: random.Random, words: int = 5000) -> None:
        onsets = ["b", "d", "f", "g", "k", "l", "m", "n", "p", "r", "s", "t", "v", "st", "br", "tr"]
        cores = ["a", "e", "i", "o", "u", "ai", "ou", "en", "ar", "ist"]
        known: dict[str, None] = {}
        while len(known) < words:
            count = rng.choice((1, 2, 2, 2, 3, 3, 4))
            known["".join(rng.choice(onsets) + rng.choice(cores) for _ in range(count))] = None
        self.words = list(known)
        self._weights: list[float] = []
        total = 0.0
        for rank in range(words):
            total += 1 / (rank + 3)
            self._weights.append(total)
        self.rng = rng

    def say(self, count: int) -> str:
        """So many words in sentences."""
        drawn = self.rng.choices(self.words, cum_weights=self._weights, k=count)
        for end in range(9, count, 11):
            drawn[end] += "."
        return " ".join(drawn)

    def name(self) -> str:
        """A file's or a function's name."""
        return "_".join(self.rng.choices(self.words, k=2))


def write(path: Path, data: bytes, moment: int) -> int:
    """Write a file with its time, in nanoseconds."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    os.utime(path, ns=(moment, moment))
    return len(data)


def moment(rng: random.Random) -> int:
    """Some time in half a year, with nanoseconds."""
    return (SPRING + rng.randrange(15_000_000)) * NANO + rng.randrange(NANO)


def note(rng: random.Random, speech: Speech, size: int) -> tuple[str, bytes]:
    parts = [f"## {speech.say(4)}\n\n{speech.say(max(10, size // 30))}\n" for _ in range(5)]
    return "md", ("# " + speech.name() + "\n\n" + "\n".join(parts)).encode()


def record(rng: random.Random, speech: Speech, size: int) -> tuple[str, bytes]:
    items = [
        {"id": rng.getrandbits(48), "name": speech.name(), "text": speech.say(11)}
        for _ in range(1 + size // 130)
    ]
    return "json", json.dumps({"version": 1, "items": items}, indent=2).encode()


def code(rng: random.Random, speech: Speech, size: int) -> tuple[str, bytes]:
    made = ["import json\nimport os\n"]
    have = 0
    while have < size:
        made.append(
            f"def {speech.name()}(self, value: int = {rng.randrange(999)}) -> dict[str, int]:\n"
            f'    """{speech.say(9)}"""\n'
            f'    if value > {rng.randrange(99)}:\n        raise ValueError("{speech.say(5)}")\n'
            f"    return {{{speech.name()!r}: value * {rng.randrange(99)}}}\n"
        )
        have += len(made[-1])
    return "py", "\n\n".join(made).encode()


def setting(rng: random.Random, speech: Speech, size: int) -> tuple[str, bytes]:
    return "yaml", "".join(
        f"{speech.name()}: {rng.randrange(10**6)}\n" for _ in range(1 + size // 24)
    ).encode()


KINDS: list[Callable[[random.Random, Speech, int], tuple[str, bytes]]] = [note, record, code, setting]


def workspace(root: Path, rng: random.Random, speech: Speech, budget: int) -> None:
    folders = [root.joinpath(*(speech.name() for _ in range(rng.randint(1, 4)))) for _ in range(250)]
    number = 0
    last = root
    while budget > 0:
        kind = rng.choices(KINDS, (45, 25, 22, 8))[0]
        ending, data = kind(rng, speech, min(int(rng.lognormvariate(8.6, 1.1)), 300_000))
        last = rng.choice(folders) / f"{speech.name()}_{number}.{ending}"
        budget -= write(last, data, moment(rng))
        number += 1
    write(root / "empty", b"", moment(rng))
    write(root / "données – 数据.md", "# ö\n".encode(), moment(rng))
    (root / "empty folder").mkdir()
    (root / "latest").symlink_to(last.relative_to(root))
    (root / "nowhere").symlink_to("not/there")
    os.link(last, root / "twin")


DATABASE = """
import os, random, sqlite3, sys
from benchmarks.corpus import Speech
path, seed, budget = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
rng = random.Random(seed)
speech = Speech(rng, 2500)
db = sqlite3.connect(path)
db.execute("pragma journal_mode=wal")
db.executescript("create table turns(id integer primary key, session text, role text, said text, at real);"
    "create table facts(id integer primary key, name text, said text, vector blob);"
    "create index turns_session on turns(session); create index facts_name on facts(name);")
while budget > 0:
    turns = [
        (f"s{rng.randrange(500)}", "user", speech.say(rng.randint(15, 170)), rng.random()) for _ in range(300)
    ]
    facts = [(speech.name(), speech.say(25), rng.randbytes(1536)) for _ in range(50)]
    db.executemany("insert into turns(session, role, said, at) values(?,?,?,?)", turns)
    db.executemany("insert into facts(name, said, vector) values(?,?,?)", facts)
    db.commit()
    budget -= sum(len(turn[2]) + 50 for turn in turns) + sum(len(fact[1]) + 1600 for fact in facts)
db.execute("pragma wal_checkpoint(truncate)")
db.execute("pragma wal_autocheckpoint=0")
for _ in range(20):
    turns = [(speech.say(60),)] * 60
    db.executemany("insert into turns(session, role, said, at) values('live','user',?,0)", turns)
    db.commit()
os._exit(0)  # no close: the log stays
"""


def databases(root: Path, rng: random.Random, budget: int) -> None:
    root.mkdir(parents=True)
    for name, share in (("memory.db", 0.55), ("sessions.db", 0.35), ("cache.db", 0.10)):
        call = [
            sys.executable,
            "-c",
            DATABASE,
            str(root / name),
            str(rng.getrandbits(31)),
            str(int(budget * share)),
        ]
        subprocess.run(call, check=True)


def chats(root: Path, rng: random.Random, speech: Speech, budget: int) -> None:
    number = 0
    while budget > 0:
        lines: list[str] = []
        room = rng.randint(MB, 7 * MB)
        while room > 0:
            kind = rng.random()
            line: dict[str, object] = {"id": f"{rng.getrandbits(128):032x}", "at": rng.randrange(10**9)}
            if kind < 0.75:
                line |= {
                    "role": rng.choice(("user", "assistant")),
                    "content": speech.say(rng.randint(10, 230)),
                }
            elif kind < 0.97:
                line |= {"role": "tool", "name": speech.name(), "result": speech.say(rng.randint(20, 420))}
            else:
                line |= {"role": "tool", "image": base64.b64encode(rng.randbytes(3000)).decode()}
            lines.append(json.dumps(line))
            room -= len(lines[-1])
        budget -= write(root / f"chat-{number:04d}.jsonl", ("\n".join(lines) + "\n").encode(), moment(rng))
        number += 1


def packages(root: Path, rng: random.Random, speech: Speech, budget: int) -> None:
    """Packages as an installer leaves them: small sources, compiled copies, now and then a library."""
    while budget > 0:
        package = root / f"{speech.name()}_{rng.randrange(10**4)}"
        count = min(int(rng.lognormvariate(4.2, 1.0)) + 3, 900)
        folders = [package, *(package / speech.name() for _ in range(count // 12))]
        for number in range(count):
            place = rng.choice(folders)
            _, source = code(rng, speech, min(int(rng.lognormvariate(8.5, 1.2)), 200_000))
            name = f"{speech.name()}_{number}"
            budget -= write(place / f"{name}.py", source, moment(rng))
            if rng.random() < 0.6:
                compiled = b"".join(
                    rng.randbytes(12) + source[at : at + 30] for at in range(0, len(source), 48)
                )
                budget -= write(place / "__pycache__" / f"{name}.cpython-311.pyc", compiled, moment(rng))
        if rng.random() < 0.12:
            blocks = [rng.randbytes(24) + bytes(8) for _ in range(500)]
            library = b"".join(rng.choices(blocks, k=rng.randint(10_000, 150_000)))
            budget -= write(package / "_native.so", library, moment(rng))


def make(root: Path, scale: float, seed: int) -> None:
    """Fill an empty folder."""
    rng = random.Random(seed)
    speech = Speech(rng)
    size = int(MB * scale)
    workspace(root / "workspace", rng, speech, 72 * size)
    databases(root / "state", rng, 130 * size)
    chats(root / "chats", rng, speech, 155 * size)
    packages(root / "venv", rng, speech, 125 * size)
    packages(root / ".user-packages", rng, speech, 440 * size)
    for number in range(6):
        write(root / "media" / f"clip_{number}.bin", rng.randbytes(17 * size), moment(rng))


def main() -> None:
    reader = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    reader.add_argument("dest", type=Path)
    reader.add_argument("--scale", type=float, default=1.0)
    reader.add_argument("--seed", type=int, default=7)
    asked = reader.parse_args()
    asked.dest.mkdir(parents=True, exist_ok=True)
    if any(asked.dest.iterdir()):
        sys.exit(f"{asked.dest} is not empty")
    make(asked.dest, asked.scale, asked.seed)
    files = [path for path in asked.dest.rglob("*") if path.is_file() and not path.is_symlink()]
    print(f"{len(files)} files, {sum(path.stat().st_size for path in files) / MB:.1f} MB")


if __name__ == "__main__":
    main()
