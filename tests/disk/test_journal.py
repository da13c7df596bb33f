"""The journal of two-step acts: there exactly while an act is half done, and hostile when touched."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from muniment.disk.errors import HalfDone
from muniment.disk.journal import Journal
from muniment.disk.root import Root
from muniment.path import RelPath

NOW = datetime(2026, 11, 30, tzinfo=UTC)
ROOT_ID = "01KDVDNA000000000000000000"
FOLDER = RelPath.parse("state/journal")


@pytest.fixture
def journal(root: Root) -> Journal:
    return Journal(root, FOLDER, ROOT_ID)


def test_an_act_is_there_until_it_is_ended(journal: Journal, place: Path) -> None:
    assert journal.pending() == []
    later = journal.begin("b", {"p": "x"}, {"p": "y", "n": [1]}, NOW + timedelta(seconds=1), os.urandom)
    first = journal.begin("a", {}, {}, NOW, os.urandom)
    assert journal.pending() == [first, later]
    assert (place / "state/journal").stat().st_mode & 0o777 == 0o700
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in (place / "state/journal").iterdir())
    journal.end(first)
    assert journal.pending() == [later]
    journal.end(first)
    assert journal.pending() == [later]


def test_a_journal_of_elsewhere_does_not_fit(journal: Journal, root: Root, place: Path) -> None:
    act = journal.begin("a", {}, {}, NOW, os.urandom)
    assert journal.fits(act)
    other = Journal(root, FOLDER, "01KDVDNA000000000000000001")
    assert not other.fits(other.pending()[0])
    path = place / "state/journal" / f"{act.act_id}.json"
    path.write_text(path.read_text().replace(f'"{act.device}"', '"1"'))
    assert not journal.fits(journal.pending()[0])


def test_scratch_files_and_acts_that_end_meanwhile_are_no_acts(
    journal: Journal, root: Root, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    act = journal.begin("a", {}, {}, NOW, os.urandom)
    (place / "state/journal/.muniment-00.tmp").write_bytes(b"half")
    names = Root.names

    def then_gone(self: Root, rel: RelPath) -> list[str]:
        found = names(self, rel)
        journal.end(act)
        return found

    monkeypatch.setattr(Root, "names", then_gone)
    assert journal.pending() == []


GOOD = {
    "v": 1,
    "act_id": ROOT_ID,
    "kind": "a",
    "root_id": ROOT_ID,
    "device": "1",
    "begun": "x",
    "before": {},
    "after": {},
}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        "7",
        '"text"',
        "\0" * 200,
        "[" * 100_000,
        '{"v": 1}',
        '{"v": 1, "v": 1}',
        json.dumps(GOOD | {"v": 2}),
        json.dumps(GOOD | {"v": "1"}),
        json.dumps(GOOD | {"act_id": "01KDVDNA000000000000000001"}),
        json.dumps(GOOD | {"act_id": 7}),
        json.dumps(GOOD | {"kind": None}),
        json.dumps(GOOD | {"before": []}),
        json.dumps(GOOD | {"after": "x"}),
        json.dumps(GOOD | {"device": 1}),
    ],
)
def test_a_journal_that_can_not_be_read_stops_and_stays(journal: Journal, place: Path, text: str) -> None:
    folder = place / "state/journal"
    folder.mkdir(parents=True)
    (folder / f"{ROOT_ID}.json").write_text(text)
    with pytest.raises(HalfDone) as caught:
        journal.pending()
    assert ROOT_ID in caught.value.where
    assert (folder / f"{ROOT_ID}.json").read_text() == text


def test_the_good_one_of_the_table_can_be_read(journal: Journal, place: Path) -> None:
    (place / "state/journal").mkdir(parents=True)
    (place / "state/journal" / f"{ROOT_ID}.json").write_text(json.dumps(GOOD))
    assert [act.act_id for act in journal.pending()] == [ROOT_ID]
