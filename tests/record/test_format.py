"""The ledger's format as its page has it: the program on the page and `verify` agree on every ledger."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.record.ledgers import Desk, chained, lay
from tests.record.test_torn import BAD, LINES, TORN
from tests.record.test_verify import FORGED

from muniment.record.damage import AFTER_DAMAGE
from muniment.record.event import LINE_LIMIT
from muniment.record.segments import SEGMENT_BYTES
from muniment.record.verify import name_damage

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "formats-ledger.md"


@pytest.fixture(scope="module")
def checker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The one program on the page."""
    (program,) = re.findall(
        r"^```python[^\n]*\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    path = tmp_path_factory.mktemp("page") / "check_ledger.py"
    path.write_text(program, "utf-8")
    return path


def agree(checker: Path, desk: Desk) -> bool:
    """Both read the ledger, come to the same result, count and head; whether it is whole."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(checker), str(desk.folder.parent)],
        capture_output=True,
        text=True,
        check=False,
    )
    verdict = desk.verify()
    *faults, last = done.stdout.splitlines()
    assert done.stderr == ""
    assert done.returncode == (0 if verdict.whole else 4), (faults, verdict)
    assert last == f"{verdict.events} records, head {verdict.head}"
    assert bool(faults) != verdict.whole
    return verdict.whole


def repaired(desk: Desk) -> None:
    """An end was torn, set aside and named."""
    lay(desk, LINES[:2], LINES[2][:70])
    desk.fill(2)


def named(desk: Desk) -> None:
    """A record further up is bad, and the damage was named."""
    lay(desk, [*LINES[:2], b"bad", *LINES[3:]])
    name_damage(desk.ledger(), desk.verify())
    desk.fill(2)


def put_right(desk: Desk) -> None:
    """The same, and then somebody put the bytes right."""
    named(desk)
    lay(desk, LINES)


def gap(desk: Desk) -> None:
    """A segment is missing."""
    lay(desk, LINES[:1], LINES[1:3], LINES[3:])
    (desk.folder / "000002.jsonl").unlink()


def gap_named(desk: Desk) -> None:
    """A segment is missing, and that was named."""
    gap(desk)
    name_damage(desk.ledger(), desk.verify())
    desk.fill(1)


def foreign_names(desk: Desk) -> None:
    """Files that are no segments."""
    lay(desk, LINES)
    for name in ("x.jsonl", "0000001.jsonl", "\u0660\u0660\u0660\u0660\u0660\u0661.jsonl", "000002.json"):
        (desk.folder / name).write_bytes(b"bad\n")


LEDGERS: dict[str, tuple[Callable[[Desk], object], bool]] = {
    "none": (lambda desk: None, True),
    "of one segment": (lambda desk: desk.fill(5), True),
    "of many segments": (lambda desk: desk.fill(9, desk.ledger(segment_bytes=900)), True),
    "with an empty last segment": (lambda desk: lay(desk, LINES, b""), True),
    "with an empty only segment": (lambda desk: lay(desk, b""), True),
    "repaired": (repaired, True),
    "with other files about": (foreign_names, True),
    "named damage": (named, False),
    "named damage that was put right": (put_right, False),
    "a gap": (gap, False),
    "a gap that was named": (gap_named, False),
    "an emptied segment": (lambda desk: lay(desk, LINES[:2], b"", LINES[3:]), False),
    "begun anew in a new segment": (lambda desk: lay(desk, LINES, chained(2)), False),
    "begun anew after damage": (lambda desk: lay(desk, LINES, chained(2, kind=AFTER_DAMAGE)), False),
    "begun after damage from the first": (lambda desk: lay(desk, chained(1, kind=AFTER_DAMAGE)), False),
    "torn in the middle": (lambda desk: lay(desk, LINES[0] + b"\n" + LINES[1][:9], LINES[2:]), False),
}


@pytest.mark.parametrize("name", LEDGERS)
def test_ledgers(checker: Path, desk: Desk, name: str) -> None:
    make, whole = LEDGERS[name]
    make(desk)
    assert agree(checker, desk) == whole


@pytest.mark.parametrize("name", TORN)
def test_torn_ends_before_and_after_their_repair(checker: Path, desk: Desk, name: str) -> None:
    lay(desk, LINES[0] + b"\n" + TORN[name])
    assert not agree(checker, desk)
    desk.fill(1)
    assert agree(checker, desk)


@pytest.mark.parametrize("name", BAD)
def test_bad_records_in_the_middle(checker: Path, desk: Desk, name: str) -> None:
    lay(desk, [*LINES[:2], BAD[name], *LINES[3:]])
    assert not agree(checker, desk)


WHAT_IT_SAYS = {
    "an id that is none",
    "a subject of another type",
    "evidence that is no object",
    "context that is no object",
    "an integer nobody reads exactly",
}
"""Forged with a fitting digest, and bad only in what a member holds: the page leaves that to Muniment."""


@pytest.mark.parametrize("name", sorted(set(FORGED) - WHAT_IT_SAYS))
def test_records_with_a_fitting_hash(checker: Path, desk: Desk, name: str) -> None:
    lay(desk, FORGED[name][0])
    assert not agree(checker, desk)


def test_the_page_s_numbers_are_those_of_the_program() -> None:
    page = PAGE.read_text("utf-8")
    for size in (SEGMENT_BYTES, LINE_LIMIT):
        assert f"{size >> 20} MiB ({size:,} bytes)" in page
    assert AFTER_DAMAGE in page
