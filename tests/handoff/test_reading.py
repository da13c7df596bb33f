"""Reading targets and artifacts from a real disk: whatever stands there becomes a fact, never a crash."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.handoff.world import CT, HO, a_root, digest

from muniment.disk.root import Root
from muniment.handoff import reading
from muniment.handoff.facts import Baseline
from muniment.handoff.model import Contract, Required, Target
from muniment.handoff.model import Root as Facts
from muniment.handoff.reading import read_baselines, read_file, read_targets
from muniment.handoff.verification import read_checks
from muniment.path import RelPath

MEMORY, JOURNAL = Target.EMPLOYEE_MEMORY, Target.TEAM_JOURNAL


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Root]:
    with Root.open(tmp_path) as found:
        yield found


def contract(path: str, target: Target = MEMORY, checks: tuple[str, ...] = ()) -> Contract:
    wanted = read_checks([{"check": "command", "name": name} for name in checks])
    return Contract(CT, HO, Facts.from_json(a_root()), {
        **dict.fromkeys(Target, Required("x", "mei", (), "0" * 64)),
        target: Required(path, "mei", wanted, "0" * 64),
    })  # fmt: skip


def test_what_was_there_and_what_was_added(root: Root, tmp_path: Path) -> None:
    (tmp_path / "m").write_bytes(b"old\nold\n")
    before = read_baselines(root, contract("m"))[MEMORY]
    assert (before.exists, before.size, before.sha256) == (True, 8, digest("old\nold\n"))
    with (tmp_path / "m").open("ab") as stream:
        stream.write(b"new\n")
    read = read_targets(root, contract("m"), {MEMORY: before}, None)[MEMORY]
    assert (read.state, read.size, read.added, read.prefix_lines) == ("file", 12, b"new\n", 2)
    assert (read.prefix_sha256, read.sha256) == (before.sha256, digest("old\nold\nnew\n"))
    (tmp_path / "m").write_bytes(b"old")
    assert read_targets(root, contract("m"), {MEMORY: before}, None)[MEMORY].prefix_sha256 is None


def test_a_journal_is_the_sum_of_its_segments(root: Root, tmp_path: Path) -> None:
    folder = tmp_path / "j"
    folder.mkdir()
    wanted = contract("j", JOURNAL)
    assert not read_baselines(root, wanted)[JOURNAL].exists
    (folder / "000001.jsonl").write_bytes(b"1\n2\n")
    for name in ("lock", "\u0660\u0660\u0660\u0660\u0660\u0661.jsonl", "0000001.jsonl"):
        (folder / name).write_bytes(b"no part of it\n")
    before = read_baselines(root, wanted)[JOURNAL]
    (folder / "000002.jsonl").write_bytes(b"3\n")
    read = read_targets(root, wanted, {JOURNAL: before}, None)[JOURNAL]
    assert (read.size, read.added, read.prefix_lines) == (6, b"3\n", 2)
    assert read.prefix_sha256 == before.sha256


@pytest.mark.parametrize("kind", ["folder", "pipe", "link", "nothing", "under a file"])
def test_what_is_no_file(root: Root, tmp_path: Path, kind: str) -> None:
    match kind:
        case "folder":
            (tmp_path / "m").mkdir()
        case "pipe":
            os.mkfifo(tmp_path / "m")
        case "link":
            (tmp_path / "m").symlink_to("/etc/passwd")
        case "under a file":
            (tmp_path / "m").write_text("x")
    path = "m/m" if kind == "under a file" else "m"
    read = read_targets(root, contract(path), {}, None)[MEMORY]
    assert read.state == ("missing" if kind in ("nothing", "folder") else "unreadable")
    assert read.added == b""


def test_an_addition_without_end_is_not_read_into_memory(
    root: Root, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "ADDED_MAX", 1 << 20)
    with (tmp_path / "m").open("wb") as stream:
        stream.truncate(1 << 40)  # a sparse file of a tebibyte
    read = read_targets(root, contract("m"), {MEMORY: Baseline(False)}, None)[MEMORY]
    assert read.state == "unreadable"


def test_commands_get_the_work_without_anchors(root: Root, tmp_path: Path) -> None:
    (tmp_path / "m").write_bytes(b"work\nev1-0123456789ABCDEFGHJKMNPQRS\n")
    heard: list[tuple[str, bytes]] = []

    def run(name: str, work: bytes) -> int:
        heard.append((name, work))
        return 3

    read = read_targets(root, contract("m", checks=("spell",)), {}, run)[MEMORY]
    assert heard == [("spell", b"work\n")] and read.commands == {"spell": 3}
    assert read_targets(root, contract("m", checks=("spell",)), {}, None)[MEMORY].commands == {"spell": None}


def nowhere(_: RelPath) -> tuple[RelPath, ...]:
    return ()


@pytest.mark.parametrize(
    ("path", "state"),
    [
        ("a", "read"),
        ("./a", "read"),
        ("d", "read"),
        ("e", "read"),
        ("b", "missing"),
        ("d/b", "missing"),
        ("a/b", "unreadable"),
        ("pipe", "unreadable"),
        ("link", "outside"),
        ("way/a", "outside"),
        ("../a", "outside"),
        ("/etc/passwd", "outside"),
        (".", "outside"),
        ("", "outside"),
        ("a\x00", "outside"),
        ("x" * 300, "outside"),
    ],
)
def test_artifacts(root: Root, tmp_path: Path, path: str, state: str) -> None:
    (tmp_path / "a").write_text("hello")
    (tmp_path / "d").mkdir()
    (tmp_path / "d/c").write_text("hello")
    (tmp_path / "e").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("a")
    (tmp_path / "way").symlink_to(".")
    read = read_file(root, path, nowhere)
    assert read.state == state
    if state == "read":
        assert (read.size, read.files) == ((0, 0) if path == "e" else (5, 1))
    if path == "a":
        assert read.sha256 == digest("hello")


def test_a_moved_artifact_is_read_where_it_lies_now(root: Root, tmp_path: Path) -> None:
    (tmp_path / "now").write_text("hello")
    read = read_file(root, "then", lambda _: (RelPath.parse("now"),))
    assert (read.path, read.state, read.now, read.sha256) == ("then", "read", "now", digest("hello"))
