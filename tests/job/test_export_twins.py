"""Job: every tampered twin of an export is refused, with the right code at the right place."""

from __future__ import annotations

import copy
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.job.export_twins import CRATES, REPORT_AT, STATEMENTS, TASKS, Twin, metadata
from tests.job.export_world import World, finished, flow_done, world

from muniment.disk.root import Root
from muniment.job.export import ro_crate
from muniment.job.export.checking import check_crate, check_document, head_of
from muniment.job.export.facts import Format
from muniment.job.export.folder import held_below, held_of
from muniment.job.export.reading import Checked, verify_crate, verify_document
from muniment.job.export.record import facts_from
from muniment.path import RelPath


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> World:
    """One job of which all three exports were made, before anything is changed."""
    one = finished(tmp_path_factory.mktemp("twins"))
    for format in Format:
        one.service.export("j", format, one.place / format.value)
    return one


def document(made: World, file: Path) -> Checked:
    return verify_document(file, lambda: str(made.jobs))


def said(found: Checked) -> list[tuple[str, str]]:
    return [(one.code.value, one.where) for one in found.findings]


def test_the_originals_are_believed(made: World) -> None:
    assert verify_crate(made.place / "ro-crate").good
    assert verify_crate(made.place / "ro-crate", made.jobs / "j").not_repeated == ()
    assert document(made, made.place / "tes").good and document(made, made.place / "slsa").good


def refused(found: Checked, twin: Twin) -> None:
    assert not found.good
    assert any(code == twin.code and twin.where in where for code, where in said(found)), said(found)


@pytest.mark.parametrize("twin", CRATES, ids=lambda twin: twin.name)
def test_a_crate(made: World, tmp_path: Path, twin: Twin) -> None:
    crate = tmp_path / "crate"
    shutil.copytree(made.place / "ro-crate", crate)
    twin.lie(crate)
    refused(verify_crate(crate), twin)


@pytest.mark.parametrize("twin", TASKS, ids=lambda twin: twin.name)
def test_a_task(made: World, tmp_path: Path, twin: Twin) -> None:
    file = Path(shutil.copy(made.place / "tes", tmp_path / "task.json"))
    twin.lie(file)
    refused(document(made, file), twin)


@pytest.mark.parametrize("twin", STATEMENTS, ids=lambda twin: twin.name)
def test_a_statement(made: World, tmp_path: Path, twin: Twin) -> None:
    file = Path(shutil.copy(made.place / "slsa", tmp_path / "statement.json"))
    twin.lie(file)
    refused(document(made, file), twin)


@pytest.mark.parametrize("format", [Format.TES, Format.SLSA])
def test_bytes_that_changed_after_the_export(tmp_path: Path, format: Format) -> None:
    made = finished(tmp_path)
    made.service.export("j", format, tmp_path / "document")
    report = made.jobs / "j" / REPORT_AT.removeprefix("job/")
    report.write_bytes(b"reads: 2\n")
    assert ("CHECKSUM", REPORT_AT.removeprefix("job/")) in said(document(made, tmp_path / "document"))
    report.unlink()
    assert ("MISSING_FILE", REPORT_AT.removeprefix("job/")) in said(document(made, tmp_path / "document"))


def test_a_whole_forgery_is_seen_by_the_jobs_own_record(made: World, tmp_path: Path) -> None:
    """A crate of another job of the same name is whole in itself; only the record tells it apart."""
    other = finished(tmp_path)
    other.service.export("j", Format.RO_CRATE, tmp_path / "crate")
    assert verify_crate(tmp_path / "crate").good
    found = verify_crate(tmp_path / "crate", made.jobs / "j")
    assert {code for code, _ in said(found)} == {"JOURNAL", "REGISTRY"}


def test_an_input_may_be_left_out_of_a_crate_but_not_quietly(tmp_path: Path) -> None:
    made = world(tmp_path)
    flow_done(made)
    (tmp_path / "in" / "reads 样本.fastq").write_bytes(b"other\n")
    done = made.service.export("j", Format.RO_CRATE, tmp_path / "crate")
    assert done.left_out == (str(tmp_path / "in" / "reads 样本.fastq"),)
    assert not (tmp_path / "crate" / "inputs").exists() and verify_crate(tmp_path / "crate").good


def leaves(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The place of every value in a JSON document, lists and objects included."""
    if place:
        yield place
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, inner in steps:
        yield from leaves(inner, (*place, step))


def papers_of(folder: Path) -> tuple[bytes, bytes]:
    """Registry and journal."""
    return (folder / "registry.yaml").read_bytes(), (folder / "journal.jsonl").read_bytes()


OTHERS: tuple[Any, ...] = (
    None,
    False,
    True,
    0,
    1,
    0.0,
    "",
    "x",
    "COMPLETE",
    [],
    [[]],
    {},
    {"@id": []},
    ["a"],
    {"sha256": []},
)


@pytest.mark.parametrize("format", list(Format))
def test_every_value_of_a_document_exchanged_for_others(made: World, format: Format) -> None:
    """None may be another or missing, and whatever stands there, the check itself goes on."""
    papers = papers_of(made.jobs / "j")
    if format is Format.RO_CRATE:
        crate = made.place / "ro-crate"
        papers = papers_of(crate / "job")
        original = json.loads(metadata(crate).read_bytes())
        files, _ = held_below(Root.open(made.place), RelPath(("ro-crate",)))
    else:
        original = json.loads((made.place / format.value).read_bytes())
        facts = facts_from(*papers, format, head_of(format, original))
        files = held_of(Root.open(made.jobs / "j"), [part.source for part in ro_crate.in_folder(facts)])

    def check(value: Any) -> bool:
        data = json.dumps(value).encode()
        if format is Format.RO_CRATE:
            return not check_crate(files, data, *papers)
        return not check_document(format, data, papers[0], papers[1], files)

    assert check(original)
    tried = 0
    for number, place in enumerate(leaves(original)):
        for new in (*OTHERS[number % 6 :: 6], KeyError):
            value = copy.deepcopy(original)
            inner = value
            for step in place[:-1]:
                inner = inner[step]
            if new is KeyError:
                del inner[place[-1]]
            elif json.dumps(inner[place[-1]]) == json.dumps(new):
                continue
            else:
                inner[place[-1]] = new
            assert not check(value), (place, new)
            tried += 1
    assert tried > 150
