"""Changes about one file in a hundred, as a day of an agent's work does.

    python -m benchmarks.day TREE [--seed 11]

Edits, adds, removes, renames and touches notes; appends to logs and puts a line near the start of
one; adds and updates rows in a database; upgrades one package of about 4 MB; changes 200 KB inside a
large binary.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
from pathlib import Path

from benchmarks.corpus import Speech

ROWS = """
import os, random, sqlite3, sys
from benchmarks.corpus import Speech
rng = random.Random(int(sys.argv[2]))
speech = Speech(rng, 2500)
db = sqlite3.connect(sys.argv[1])
db.execute("pragma wal_autocheckpoint=0")
top = db.execute("select max(id) from turns").fetchone()[0]
new = [(speech.say(60),) for _ in range(2000)]
db.executemany("insert into turns(session, role, said, at) values('today','user',?,0)", new)
old = [(speech.say(60), rng.randrange(1, top)) for _ in range(500)]
db.executemany("update turns set said=? where id=?", old)
db.commit()
os._exit(0)
"""


def pass_a_day(tree: Path, seed: int) -> None:
    """Change the tree in place."""
    rng = random.Random(seed)
    speech = Speech(rng, 2500)
    notes = sorted(
        path for path in (tree / "workspace").rglob("*") if path.is_file() and not path.is_symlink()
    )
    rng.shuffle(notes)
    share = max(2, len(notes) // 100)
    edited, removed, renamed, touched = (notes[at * share : (at + 1) * share] for at in range(4))
    for path in edited:
        data = path.read_bytes()
        at = rng.randrange(len(data) + 1)
        path.write_bytes(data[:at] + speech.say(30).encode() + data[at:])
    for path in removed[: share // 4]:
        path.unlink()
    for path in renamed[: share // 4]:
        path.rename(path.with_name("renamed_" + path.name))
    for path in touched:
        os.utime(path)
    for number in range(share):
        (rng.choice(notes[4 * share :]).parent / f"new_{number}.md").write_text(
            speech.say(rng.randint(50, 1500))
        )

    logs = sorted((tree / "chats").iterdir())
    for path in rng.sample(logs, max(1, len(logs) // 15)):
        with path.open("a") as file:
            file.writelines(f'{{"role":"user","content":"{speech.say(80)}"}}\n' for _ in range(300))
    path = rng.choice(logs)
    data = path.read_bytes()
    path.write_bytes(data[:1000] + b'{"role":"system","content":"put in"}\n' + data[1000:])

    subprocess.run(
        [sys.executable, "-c", ROWS, str(tree / "state" / "sessions.db"), str(rng.getrandbits(31))],
        check=True,
    )

    sizes = [
        (sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()), folder.name)
        for folder in sorted((tree / ".user-packages").iterdir())
    ]
    _, name = min(sizes, key=lambda one: (abs(one[0] - 4_000_000), one[1]))
    for path in sorted((tree / ".user-packages" / name).rglob("*")):
        if path.is_file() and (data := path.read_bytes()):
            at = rng.randrange(len(data))
            path.with_name("new").write_bytes(data[:at] + b"\n# 2.0 %d\n" % rng.getrandbits(30) + data[at:])
            path.with_name("new").replace(path)

    with min((tree / "media").iterdir()).open("r+b") as file:
        file.seek(5_000_000)
        file.write(rng.randbytes(200_000))


def main() -> None:
    reader = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    reader.add_argument("tree", type=Path)
    reader.add_argument("--seed", type=int, default=11)
    asked = reader.parse_args()
    pass_a_day(asked.tree, asked.seed)


if __name__ == "__main__":
    main()
