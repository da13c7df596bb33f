"""Power loss: the order of calls that makes what was acknowledged survive, read from a trace.

No test can pull the plug here.  What a disk that honours flushes needs is an order: the bytes are
synced before the name leads to them, the folders are synced after, and the read-back opens the
file by its new name after that.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.faults.harness import Harness, need_strace

ACTS = "tests.faults.acts"


def lines_of(act: str, stage: str, scratch: Path) -> list[str]:
    """The calls of an act, each with the paths of its descriptors."""
    need_strace()
    lines = Harness(f"{ACTS}.{act}", stage, scratch, workers=1).trace().lines
    return [re.sub(r"/[^<>\"]*/place", "", line) for line in lines]


def at(lines: list[str], *patterns: str) -> list[int]:
    """Where calls stand that match; there must be one at least."""
    found = [
        number for number, line in enumerate(lines) if any(re.search(pattern, line) for pattern in patterns)
    ]
    assert found, (patterns, lines)
    return found


def one(lines: list[str], pattern: str) -> int:
    """Where the only call that matches stands."""
    found = at(lines, pattern)
    assert len(found) == 1, (pattern, [lines[number] for number in found])
    return found[0]


@pytest.mark.parametrize("act", ["write_new", "write_replace"])
def test_a_write(act: str, tmp_path: Path) -> None:
    lines = lines_of(act, "one file system", tmp_path)
    name = "report.md" if act == "write_new" else "state.json"
    written = at(lines, r" write\(\d+</to/\.muniment-\w+\.tmp>")
    synced = one(lines, r" fdatasync\(\d+</to/\.muniment-\w+\.tmp>\) += 0")
    renamed = one(lines, rf" renameat2\(.*\.tmp\", \d+</to>, \"{name}\", RENAME_(NOREPLACE|EXCHANGE)\) += 0")
    folder = one(lines, r" fsync\(\d+</to>\) += 0")
    opened = at(lines, rf" openat\(\d+</to>, \"{name}\", O_RDONLY")
    read = at(lines, rf" read\(\d+</to/{name}>")
    said = one(lines, r" write\(\d+<.*said>")
    assert max(written) < synced < renamed < folder < min(opened) < min(read) < max(read) < said
    if act == "write_replace":
        assert max(read) < one(lines, r" unlinkat\(") < said


@pytest.mark.parametrize("kind", ["file", "tree"])
def test_a_move_by_renaming(kind: str, tmp_path: Path) -> None:
    lines = lines_of(f"move_{kind}", "one file system", tmp_path)
    call = "fdatasync" if kind == "file" else "syncfs"
    synced = one(lines, rf" {call}\(\d+</from/work>\) += 0")
    renamed = one(lines, r" renameat2\(\d+</from>, \"work\", \d+</to>, \"kept\", RENAME_NOREPLACE\) += 0")
    new, old = one(lines, r" fsync\(\d+</to>\) += 0"), one(lines, r" fsync\(\d+</from>\) += 0")
    read = at(lines, r" readv\(\d+</to/kept(/.*)?>")
    opened = at(lines, r" openat\(\d+</to>, \"kept\", O_RDONLY.*O_NOFOLLOW")
    said = one(lines, r" write\(\d+<.*said>")
    assert synced < renamed < new < old < min(read) and max(read) < said
    assert renamed < min(opened) and any(old < number < min(read) for number in opened)
    # What was read before the rename was read at the source, and all of it was read again.
    assert len(read) == len(at(lines, r" readv\(\d+</from/work(/.*)?>"))
    if kind == "tree":
        assert renamed < one(lines, r" fsync\(\d+</to/kept>\) += 0") < new


@pytest.mark.parametrize("kind", ["file", "tree"])
def test_a_move_by_copying(kind: str, tmp_path: Path) -> None:
    lines = lines_of(f"move_{kind}", "onto tmpfs", tmp_path)
    staging, aside = r"\.muniment-the-act-new\.tmp", r"\.muniment-the-act-aside\.tmp"
    refused = one(lines, r" renameat2\(\d+</from>, \"work\", \d+</to>, \"kept\".* EXDEV")
    written = at(lines, rf" write\(\d+</to/{staging}")
    call = "fdatasync" if kind == "file" else "syncfs"
    synced = one(lines, rf" {call}\(\d+</to/{staging}>\) += 0")
    placed = one(lines, rf" renameat2\(\d+</to>, \"{staging}\", \d+</to>, \"kept\", RENAME_NOREPLACE\) += 0")
    folder = one(lines, r" fsync\(\d+</to>\) += 0")
    read = at(lines, r" readv\(\d+</to/kept(/.*)?>")
    set_aside = one(lines, rf" renameat2\(\d+</from>, \"work\", \d+</from>, \"{aside}\".*\) += 0")
    source_folder = at(lines, r" fsync\(\d+</from>\) += 0")
    read_again = at(lines, rf" readv\(\d+</from/{aside}(/.*)?>")
    removed = at(lines, r" unlinkat\(")
    assert refused < min(written) and max(written) < synced < placed < folder < min(read)
    assert max(read) < set_aside < source_folder[0] < min(read_again)
    assert max(read_again) < min(removed) and max(removed) < source_folder[-1]
    assert source_folder[-1] < one(lines, r" write\(\d+<.*said>")


def test_an_event(tmp_path: Path) -> None:
    lines = lines_of("ledger_append_many", "one file system", tmp_path)
    locked = one(lines, r" flock\(\d+</to/ledger/lock>, LOCK_EX\) += 0")
    written = one(lines, r" write\(\d+</to/ledger/\d+\.jsonl>")
    synced = [
        number for number in at(lines, r" fdatasync\(\d+</to/ledger/\d+\.jsonl>\) += 0") if number > written
    ]
    read = [number for number in at(lines, r" pread64\(\d+</to/ledger/\d+\.jsonl>") if number > written]
    assert locked < written < synced[0] < read[0] < one(lines, r" write\(\d+<.*said>")


def test_a_two_step_act(tmp_path: Path) -> None:
    lines = lines_of("journal_two_steps", "one file system", tmp_path)
    begun = one(lines, r" renameat2\(.*</to/journal>, \"\w+\.json\", RENAME_NOREPLACE\) += 0")
    durable = at(lines, r" fsync\(\d+</to/journal>\) += 0")
    acted = one(lines, r" renameat2\(\d+</to>, \"before\", \d+</to>, \"after\"")
    act_durable = [number for number in at(lines, r" fsync\(\d+</to>\) += 0") if number > acted]
    ended = one(lines, r" unlinkat\(\d+</to/journal>, \"\w+\.json\"")
    assert begun < durable[0] < acted < act_durable[0] < ended < durable[-1]
