"""Documentation: the checker of the ledger's format, taken from the page and run (spec 0, ledger)."""

from __future__ import annotations

import hashlib
import json
import random
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.docs.tables import REFERENCE

from muniment.canonical import Json
from muniment.clock import system_clock
from muniment.digest import sha256
from muniment.disk.root import Root
from muniment.evidence import Kind, Row, Table
from muniment.path import RelPath
from muniment.record.event import Draft
from muniment.record.ledger import Ledger
from muniment.record.state import open_workspace
from muniment.record.verify import verify

ZEROS = "0" * 64


@pytest.fixture(scope="module")
def checker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program as it stands on the page."""
    page = (REFERENCE / "formats-ledger.md").read_text("utf-8")
    programs = re.findall(r'^```python title="check_ledger\.py"\n(.*?)^```$', page, re.MULTILINE | re.DOTALL)
    assert len(programs) == 1
    path = tmp_path_factory.mktemp("checker") / "check_ledger.py"
    path.write_text(programs[0], "utf-8")
    return path


def run(checker: Path, room: Path) -> tuple[int, str]:
    """What the program says about a room, with nothing but the standard library in reach."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(checker), str(room)], capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    return done.returncode, done.stdout


def chain(kinds: list[str], prev: str = ZEROS) -> list[bytes]:
    """Records as the page describes them, written here a second time and not by the program under test."""
    lines = []
    for number, kind in enumerate(kinds):
        record: dict[str, object] = {
            "v": 1,
            "event_id": f"{number:026}",
            "at": f"2026-11-30T14:28:{number % 60:02}.000000Z",
            "actor": 'Ada "Ä" \u007f\n\\',
            "kind": kind,
            "subject": "arc_\u4e16\U0001f9f5",
            "context": {},
            "evidence": {"count": number, "mtime_ns": "1764512885000000001"},
            "prev": prev,
        }
        body = json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        prev = record["sha256"] = hashlib.sha256(body.encode()).hexdigest()
        lines.append(json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode())
    return lines


def head(line: bytes) -> str:
    """The digest that a record carries."""
    return str(json.loads(line)["sha256"])


def lay(room: Path, *segments: bytes) -> Path:
    """A room with these segments and one evidence table."""
    (room / "ledger").mkdir(parents=True)
    (room / "evidence").mkdir()
    for number, content in enumerate(segments, 1):
        (room / "ledger" / f"{number:06}.jsonl").write_bytes(content)
    row = b'{"kind":"file","path":"","sha256":"' + b"0" * 64 + b'","size":0}\n'
    (room / "evidence" / hashlib.sha256(row).hexdigest()).write_bytes(row)
    return room


def joined(lines: list[bytes]) -> bytes:
    """Records as a segment's bytes."""
    return b"".join(line + b"\n" for line in lines)


def test_a_sound_ledger_over_two_segments(checker: Path, tmp_path: Path) -> None:
    lines = chain(["archive.created"] * 5)
    room = lay(tmp_path / "room", joined(lines[:3]), joined(lines[3:]))
    assert run(checker, room) == (0, f"5 records, head {head(lines[-1])}\n")


def test_an_empty_room_is_sound(checker: Path, tmp_path: Path) -> None:
    assert run(checker, tmp_path) == (0, f"0 records, head {ZEROS}\n")


def flipped(lines: list[bytes]) -> bytes:
    """One letter of a middle record is another."""
    return joined([lines[0], lines[1].replace(b"archive", b"archivf"), *lines[2:]])


def rehashed(lines: list[bytes]) -> bytes:
    """A middle record was rewritten with a digest that fits: only the next link can tell."""
    return joined([lines[0], chain(["forged"], head(lines[0]))[0], *lines[2:]])


def spaced(lines: list[bytes]) -> bytes:
    """The same values in another spelling."""
    return joined([lines[0], lines[1].replace(b'"v":1', b'"v": 1'), *lines[2:]])


def doubled(lines: list[bytes]) -> bytes:
    """A key stands twice, and the second is the sound one."""
    return joined([lines[0], lines[1].replace(b"{", b'{"kind":"x",', 1), *lines[2:]])


BAD: dict[str, tuple[Callable[[list[bytes]], bytes], str]] = {
    "a letter flipped": (flipped, "line 2: not a whole record"),
    "rewritten with a fitting digest": (rehashed, "line 3: does not follow"),
    "spelled with a blank": (spaced, "line 2: not a whole record"),
    "a key twice": (doubled, "line 2: not a whole record"),
    "a record left out": (lambda lines: joined([lines[0], *lines[2:]]), "line 2: does not follow"),
    "two in the other order": (
        lambda lines: joined([lines[1], lines[0], *lines[2:]]),
        "line 1: does not follow",
    ),
    "one twice": (lambda lines: joined([lines[0], lines[0], *lines[1:]]), "line 2: does not follow"),
    "no line feed at the end": (lambda lines: joined(lines)[:-1], "last line is torn"),
    "torn within a record": (lambda lines: joined(lines)[:-40], "last line is torn"),
    "padded with NUL": (lambda lines: joined(lines) + bytes(512), "last line is torn"),
    "two fused": (lambda lines: lines[0] + joined(lines[1:]), "line 1: not a whole record"),
    "an empty line": (lambda lines: joined([lines[0], b"", *lines[1:]]), "line 2: not a whole record"),
    "not an object": (lambda lines: joined([b"[]", *lines]), "line 1: not a whole record"),
    "nested without end": (lambda lines: joined([b"[" * 100_000, *lines]), "line 1: not a whole record"),
    "not UTF-8": (lambda lines: joined([b'{"v":"\xff"}', *lines]), "line 1: not a whole record"),
}


@pytest.mark.parametrize("name", BAD)
def test_damage_is_named(checker: Path, tmp_path: Path, name: str) -> None:
    damage, finding = BAD[name]
    code, said = run(checker, lay(tmp_path / "room", damage(chain(["archive.created"] * 4))))
    assert code == 4
    assert finding in said.splitlines()[0]


def test_a_segment_after_damage_begins_a_new_chain_and_the_damage_stays_named(
    checker: Path, tmp_path: Path
) -> None:
    lines = chain(["archive.created"] * 3)
    after = chain(["ledger.segment_after_damage", "archive.created"])
    code, said = run(checker, lay(tmp_path / "room", flipped(lines), joined(after)))
    assert code == 4
    assert "000001.jsonl line 2: not a whole record" in said
    assert "000002.jsonl line 1: a new chain begins after damage" in said
    assert "000002.jsonl line 2" not in said


def test_a_new_chain_elsewhere_is_a_fault(checker: Path, tmp_path: Path) -> None:
    room = lay(tmp_path / "room", joined(chain(["a.b"] * 2)), joined(chain(["archive.created"])))
    code, said = run(checker, room)
    assert (code, said.splitlines()[0]) == (4, "000002.jsonl line 1: does not follow the record before it")


def test_a_missing_segment_is_named(checker: Path, tmp_path: Path) -> None:
    lines = chain(["a.b"] * 3)
    room = lay(tmp_path / "room", joined(lines[:1]), joined(lines[1:2]), joined(lines[2:]))
    (room / "ledger" / "000002.jsonl").unlink()
    code, said = run(checker, room)
    assert code == 4 and "000003.jsonl: segment 2 is missing before it" in said


def test_a_changed_evidence_table_is_named(checker: Path, tmp_path: Path) -> None:
    room = lay(tmp_path / "room", joined(chain(["a.b"])))
    (table,) = (room / "evidence").iterdir()
    table.write_bytes(table.read_bytes().replace(b"file", b"filf"))
    code, said = run(checker, room)
    assert code == 4 and f"evidence/{table.name}" in said


# The same, on ledgers that the program itself wrote: page and program must agree.


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Root]:
    """A workspace's root."""
    (tmp_path / "workspace").mkdir()
    with Root.open(str(tmp_path / "workspace")) as opened:
        yield opened


def ledger_of(root: Root, segment_bytes: int = 1500) -> Ledger:
    """A ledger of small segments in that workspace, with a table kept beside it."""
    workspace = open_workspace(root, clock=system_clock)
    table = Table.of([Row("", Kind.DIRECTORY), Row("caf\u00e9 \udcff\\", Kind.FILE, 2, sha256(b"hi"))])
    workspace.tables.keep(table)
    return Ledger(
        root,
        RelPath.parse(".muniment/ledger"),
        clock=system_clock,
        actor="test",
        segment_bytes=segment_bytes,
    )


SPECIAL: dict[str, Json] = {"nested": {"z": [1, None, True], "a": {}}, "name": '\u4e16\U0001f9f5"\\\x1f\x7f'}
"""Evidence with what JSON spells in a special way."""


def fill(ledger: Ledger, count: int = 9) -> None:
    """So many events more."""
    for number in range(count):
        ledger.append(Draft("test.happened", f"arc_{number}", {**SPECIAL, "count": number}))


def segments(root: Root) -> list[Path]:
    """The segments as files."""
    return sorted((Path(root.path) / ".muniment" / "ledger").glob("*.jsonl"))


def test_checker_and_program_agree_on_a_sound_ledger(checker: Path, root: Root) -> None:
    ledger = ledger_of(root)
    fill(ledger)
    assert len(segments(root)) > 2
    verdict = verify(ledger)
    assert verdict.whole and verdict.events == 9
    code, said = run(checker, Path(root.path) / ".muniment")
    assert (code, said) == (0, f"9 records, head {verdict.head}\n")


@pytest.mark.parametrize("torn", [b"", b"{", bytes(600)], ids=["cut", "begun", "NUL"])
def test_they_agree_after_a_repair(checker: Path, root: Root, torn: bytes) -> None:
    ledger = ledger_of(root)
    fill(ledger)
    last = segments(root)[-1]
    last.write_bytes((last.read_bytes()[:-30] if not torn else last.read_bytes()) + torn)
    assert run(checker, Path(root.path) / ".muniment")[0] == 4
    assert not verify(ledger).whole
    fill(ledger, 1)
    assert verify(ledger).whole and verify(ledger).repaired == 1
    assert run(checker, Path(root.path) / ".muniment")[0] == 0


def test_they_agree_on_a_segment_after_damage(checker: Path, root: Root) -> None:
    ledger = ledger_of(root, 1 << 20)
    fill(ledger, 4)
    (only,) = segments(root)
    lines = only.read_bytes().splitlines(keepends=True)
    only.write_bytes(b"".join([*lines[:2], lines[2].replace(b"test", b"tost"), lines[3]]))
    fill(ledger, 2)
    assert len(segments(root)) == 2
    verdict = verify(ledger)
    assert not verdict.whole and verdict.named_damage == 1
    code, said = run(checker, Path(root.path) / ".muniment")
    assert code == 4
    assert said.splitlines()[0].startswith("000001.jsonl line 3: not a whole record")
    assert "000002.jsonl line 1: a new chain begins after damage" in said
    assert said.splitlines()[-1].endswith(verdict.head)


def test_they_agree_on_damage_of_any_kind(checker: Path, root: Root) -> None:
    """Sixty ledgers, each harmed at random places: where one finds fault, so does the other."""
    ledger = ledger_of(root)
    fill(ledger)
    sound = {path: path.read_bytes() for path in segments(root)}
    chance = random.Random(20261130)
    for turn in range(60):
        path = chance.choice(list(sound))
        content = bytearray(sound[path])
        at = chance.randrange(len(content))
        length = chance.choice([1, 1, 7, 200])
        match turn % 5:
            case 0:
                content[at] ^= 1 << chance.randrange(8)
            case 1:
                del content[at : at + length]
            case 2:
                content[at:at] = content[at : at + length]
            case 3:
                content[at:at] = bytes(length)
            case _:
                del content[at:]
        path.write_bytes(content)
        found = verify(ledger)
        code, said = run(checker, Path(root.path) / ".muniment")
        assert (code == 0) == found.whole, f"{turn}: {said}\n{found}"
        path.write_bytes(sound[path])
