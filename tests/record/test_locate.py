"""Where bytes lie now: moves are followed through the ledger, and the place is read before it is named."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.record.ledgers import Ticking

from muniment.digest import Digest, sha256
from muniment.disk.root import Root
from muniment.disk.tree import measure
from muniment.evidence import Table
from muniment.path import RelPath
from muniment.record.errors import StateDamaged
from muniment.record.event import Draft
from muniment.record.locate import Located, locate_digest, locate_path, moves, path_text, present_place
from muniment.record.state import Workspace, open_workspace


@dataclass(frozen=True, slots=True)
class House:
    """A workspace in which files are made and moved, each move recorded as a room would."""

    workspace: Workspace
    folder: Path

    def write(self, path: str, content: bytes) -> Digest:
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        return sha256(content)

    def move(self, source: str, target: str, subject: str = "arc_1") -> Digest:
        table = measure(self.workspace.root, RelPath.parse(source)).table
        tree = self.workspace.tables.keep(table)
        (self.folder / target).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / source).rename(self.folder / target)
        self.record(source, target, tree, subject)
        return tree

    def record(self, source: str | None, target: str | None, tree: Digest, subject: str = "arc_1") -> None:
        evidence: dict[str, Any] = {
            "from": None if source is None else path_text(RelPath.parse(source)),
            "to": None if target is None else path_text(RelPath.parse(target)),
            "tree": tree.hex,
        }
        self.workspace.ledger.append(Draft("archive.moved", subject, evidence))

    def by_path(self, path: str) -> list[tuple[str, str]]:
        return told(locate_path(*self._record, RelPath.parse(path)))

    def by_digest(self, digest: Digest) -> list[tuple[str, str]]:
        return told(locate_digest(*self._record, digest))

    @property
    def _record(self) -> tuple[Any, Any, Root]:
        return self.workspace.ledger, self.workspace.tables, self.workspace.root


def told(found: list[Located]) -> list[tuple[str, str]]:
    return [(one.path.posix, one.state) for one in found]


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    with Root.open(tmp_path) as root:
        yield House(open_workspace(root, clock=Ticking()), tmp_path)


def test_a_file_moved_several_times(house: House) -> None:
    digest = house.write("out/report.md", b"report")
    house.move("out/report.md", "archives/a/report.md")
    house.move("archives/a/report.md", "archives/b/report.md")
    house.move("archives/b", "archives/c")
    for former in ("out/report.md", "archives/a/report.md", "archives/b/report.md"):
        assert house.by_path(former) == [("archives/c/report.md", "intact")]
    assert house.by_digest(digest) == [("archives/c/report.md", "intact")]
    assert house.by_path("archives/c/report.md") == []
    assert house.by_path("out/other.md") == []
    assert house.by_digest(sha256(b"other")) == []


def test_the_event_and_subject_are_told(house: House) -> None:
    digest = house.write("a", b"1")
    house.move("a", "b", subject="arc_7")
    (event,) = house.workspace.ledger.last(1)
    (found,) = locate_digest(house.workspace.ledger, house.workspace.tables, house.workspace.root, digest)
    assert found == Located(RelPath.parse("b"), digest, event.event_id, "arc_7", "intact")


def test_a_folder_and_what_is_in_it(house: House) -> None:
    inner = house.write("out/deep/er/a.md", b"a")
    house.write("out/b.md", b"b")
    tree = house.move("out", "archives/x")
    assert house.by_path("out") == [("archives/x", "intact")]
    assert house.by_path("out/deep/er/a.md") == [("archives/x/deep/er/a.md", "intact")]
    assert house.by_path("out/deep") == []  # a folder inside has no digest of its own
    assert house.by_path("out/missing") == []
    assert house.by_digest(tree) == [("archives/x", "intact")]
    assert house.by_digest(inner) == [("archives/x/deep/er/a.md", "intact")]
    house.move("archives/x/deep", "elsewhere")
    assert house.by_path("out/deep/er/a.md") == [("elsewhere/er/a.md", "intact")]
    # The whole is no longer there: a part of it was moved away.
    assert house.by_path("out") == [("archives/x", "changed")]


def test_back_and_forth_is_one_place(house: House) -> None:
    digest = house.write("a", b"1")
    house.move("a", "b")
    house.move("b", "a")
    house.move("a", "c")
    assert house.by_path("a") == [("c", "intact")]
    assert house.by_path("b") == [("c", "intact")]
    assert house.by_digest(digest) == [("c", "intact")]


def test_two_things_that_lay_at_one_path(house: House) -> None:
    first = house.write("out/report.md", b"first")
    house.move("out/report.md", "archives/1")
    second = house.write("out/report.md", b"second")
    house.move("out/report.md", "archives/2")
    assert house.by_path("out/report.md") == [("archives/1", "intact"), ("archives/2", "intact")]
    assert house.by_digest(first) == [("archives/1", "intact")]
    assert house.by_digest(second) == [("archives/2", "intact")]


def test_the_same_bytes_at_two_places(house: House) -> None:
    digest = house.write("a", b"same")
    house.write("b", b"same")
    house.move("a", "x/a")
    house.move("b", "x/b")
    assert house.by_digest(digest) == [("x/a", "intact"), ("x/b", "intact")]


def test_a_name_that_begins_alike_is_not_followed(house: House) -> None:
    house.write("out/a", b"1")
    house.move("out/a", "archive/a")
    house.write("archive-2/b", b"2")
    house.move("archive-2", "else")
    assert house.by_path("out/a") == [("archive/a", "intact")]


def test_what_is_there_now_is_read(house: House) -> None:
    digest = house.write("out/a", b"1")
    house.move("out/a", "x/a")
    place = house.folder / "x" / "a"
    place.write_bytes(b"2")
    assert house.by_digest(digest) == [("x/a", "changed")]
    place.unlink()
    assert house.by_digest(digest) == [("x/a", "missing")]
    place.mkdir()
    assert house.by_digest(digest) == [("x/a", "changed")]
    shutil.rmtree(house.folder / "x")
    assert house.by_digest(digest) == [("x/a", "missing")]
    (house.folder / "x").write_bytes(b"")
    assert house.by_digest(digest) == [("x/a", "missing")]


def test_a_link_or_pipe_in_its_place_is_no_match_and_is_not_followed(house: House) -> None:
    digest = house.write("out/a", b"1")
    house.write("other", b"1")
    house.move("out/a", "x/a")
    place = house.folder / "x" / "a"
    place.unlink()
    place.symlink_to(house.folder / "other")
    assert house.by_digest(digest) == [("x/a", "changed")]
    place.unlink()
    os.mkfifo(place)
    assert house.by_digest(digest) == [("x/a", "changed")]
    shutil.rmtree(house.folder / "x")
    (house.folder / "x").symlink_to(house.folder)
    assert house.by_digest(digest) == [("x/a", "changed")]


def test_what_may_not_be_read_is_not_called_changed(house: House) -> None:
    digest = house.write("out/a", b"1")
    house.move("out/a", "x/a")
    (house.folder / "x" / "a").chmod(0)
    user = os.geteuid()
    if user == 0:
        for path in (house.folder, house.folder / ".muniment", *(house.folder / ".muniment").rglob("*")):
            path.chmod(0o755)
        os.seteuid(65534)
    try:
        assert house.by_digest(digest) == [("x/a", "unreadable")]
    finally:
        os.seteuid(user)


def test_a_thing_that_came_from_nowhere_or_went_nowhere(house: House) -> None:
    digest = house.write("x/a", b"1")
    tree = house.workspace.tables.keep(measure(house.workspace.root, RelPath.parse("x/a")).table)
    house.record(None, "x/a", tree)
    assert house.by_digest(digest) == [("x/a", "intact")]
    house.record("x/a", None, tree)
    assert house.by_path("x/a") == []


def test_names_that_are_not_utf_8(house: House) -> None:
    name = os.fsdecode(b"caf\xe9\\x")
    digest = house.write(f"out/{name}", b"1")
    house.move("out", "x")
    assert house.by_digest(digest) == [(f"x/{name}", "intact")]
    assert house.by_path(f"out/{name}") == [(f"x/{name}", "intact")]


HOSTILE: list[dict[str, Any]] = [
    {"from": "../a", "to": "b"},
    {"from": "a", "to": "/etc/passwd"},
    {"from": "a", "to": "b/../../c"},
    {"from": "a", "to": "b\\q"},
    {"from": "a", "to": "b", "tree": "x"},
    {"from": "a", "to": "b", "tree": ""},
    {"from": "a\u0000", "to": "b"},
]


@pytest.mark.parametrize("evidence", HOSTILE, ids=range(len(HOSTILE)))
def test_events_that_could_lead_outside_are_passed_over(house: House, evidence: dict[str, Any]) -> None:
    house.workspace.ledger.append(Draft("archive.moved", "arc_1", {"tree": "0" * 64, **evidence}))
    house.workspace.ledger.append(Draft("note.made", "arc_1", {"inner": {"tree": "0" * 64}}))
    digest = house.write("out/a", b"1")
    house.move("out/a", "x/a")
    assert len(list(moves(house.workspace.ledger))) == 1
    assert house.by_digest(digest) == [("x/a", "intact")]


def test_a_lost_table_is_said_where_it_is_needed(house: House) -> None:
    house.write("out/a", b"1")
    tree = house.move("out", "x")
    (house.folder / ".muniment" / "evidence" / tree.hex).unlink()
    with pytest.raises(StateDamaged):
        house.by_path("out/a")
    assert house.by_digest(tree) == [("x", "intact")]


def test_where_what_an_event_placed_lies_now(house: House) -> None:
    house.write("a", b"1")
    house.move("a", "b")
    (event,) = house.workspace.ledger.last(1)
    house.move("b", "c")
    house.write("b", b"2")
    house.move("b", "d")
    recorded = list(moves(house.workspace.ledger))
    assert present_place(recorded, RelPath.parse("b"), after=event.event_id).posix == "c"


def test_no_moves(house: House) -> None:
    assert house.by_path("a") == [] and house.by_digest(Table.of([]).digest) == []
