"""Job: `muniment job export` and `muniment verify` as people and programs call them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.job.export_twins import REPORT_AT
from tests.job.export_world import World, finished, submitted
from tests.job.program import Program

from muniment.job.tool_run import RunOutcome


@pytest.fixture
def made(tmp_path: Path) -> World:
    return finished(tmp_path)


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    """The program in the folder of the test."""
    monkeypatch.chdir(tmp_path)
    return Program(tmp_path)


@pytest.mark.parametrize(
    ("format", "name"),
    [("ro-crate", "j-ro-crate"), ("tes", "j-tes.json"), ("slsa", "j-slsa.json")],
)
def test_there_and_back(tmp_path: Path, made: World, call: Program, format: str, name: str) -> None:
    said = call("job", "export", "j", "--format", format, "--json")
    assert said.code == 0 and said.object["path"] == str(tmp_path / name)
    assert said.object["verdict"] == "complete" and said.object["left_out"] == []
    assert ("job.publisher" in said.err) == (format == "ro-crate")
    said = call("verify", name, "--json")
    assert said.code == 0 and said.object["verified"] is True and said.object["job"] == "j"
    assert call("job", "export", "j", "--format", format).code == 5
    events = (made.jobs / "j" / "journal.jsonl").read_text("utf-8").splitlines()
    assert json.loads(events[-1])["kind"] == "job.export"
    ledger = "".join(file.read_text("utf-8") for file in (tmp_path / "ws/.muniment/ledger").glob("*.jsonl"))
    assert said.object["journal_head"] in ledger


def test_a_twin_is_refused_with_its_place(tmp_path: Path, made: World, call: Program) -> None:
    call("job", "export", "j", "--format", "ro-crate", "--output", "crate")
    (tmp_path / "crate" / REPORT_AT).write_bytes(b"reads: 2\n")
    said = call("verify", "crate")
    assert said.code == 4 and f"✗ CHECKSUM: {REPORT_AT}: wanted " in said.out
    said = call("verify", "crate", "--json")
    assert said.code == 4 and said.object["verified"] is False
    assert [one["code"] for one in said.object["findings"]] == ["CHECKSUM"]


def test_a_crate_against_the_jobs_own_record(tmp_path: Path, made: World, call: Program) -> None:
    call("job", "export", "j", "--format", "ro-crate", "--output", "crate")
    assert "not looked at: record" in call("verify", "crate").err
    said = call("verify", "crate", "--record", "jobs/j")
    assert said.code == 0 and "not looked at" not in said.err


def test_a_failed_job_is_exported_and_called_failed(tmp_path: Path, call: Program) -> None:
    finished(tmp_path, RunOutcome.START_FAILED, None)
    said = call("job", "export", "j", "--format", "tes")
    assert said.code == 0 and "exported j (never_started) to " in said.out
    said = call("verify", "j-tes.json")
    assert said.code == 0 and "never_started" in said.out and "complete" not in said.out


def test_what_is_refused(tmp_path: Path, made: World, call: Program) -> None:
    submitted(made, "going")
    assert call("job", "export", "going", "--format", "slsa").code == 3
    assert call("job", "export", "nobody", "--format", "slsa").code == 7
    assert call("job", "export", "j", "--format", "pdf").code == 2
    assert call("job", "export", "j").code == 2
    assert call("job", "export", "j", "--format", "tes", "--key", "k").code == 2
    assert call("job", "export", "j", "--format", "tes", "-n").code == 2
    assert call("job", "export", "j", "--format", "tes", "--output", "no/such/folder").code == 7
    assert sorted(one.name for one in tmp_path.iterdir()) == ["in", "jobs", "ws"]
    (tmp_path / "file").write_text("{}")
    assert call("verify", "file").code == 2
    assert call("verify", "nothing").code == 7
    assert call("verify", "jobs", "--record", "jobs/j").code == 2
    call("job", "export", "j", "--format", "tes", "--output", "task")
    assert call("verify", "task", "--record", "ws").code == 7


def test_it_makes_no_workspace_of_where_a_crate_is_looked_at(
    tmp_path: Path, made: World, call: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    call("job", "export", "j", "--format", "ro-crate", "--output", "crate")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "crate").rename(tmp_path / "elsewhere" / "crate")
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert call("verify", "crate").code == 0
    assert [one.name for one in (tmp_path / "elsewhere").iterdir()] == ["crate"]
