"""Job: the command line: the same gates as in the library, and nothing written by a rehearsal."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.faces.calling import Answer
from tests.job.engines import HERE, RememberingCwl, until_ended
from tests.job.program import Program
from tests.job.registries import awaiting, finished

from muniment.app import House
from muniment.job import opening
from muniment.job.writer import dump

FLOW = str(HERE / "flows" / "count.cwl")


class Jobs(Program):
    """The commands of jobs, in a workspace with one input."""

    def __init__(self, place: Path) -> None:
        super().__init__(place, "job")
        (place / "ws" / "in").mkdir(parents=True)
        (place / "ws" / "in" / "sample.fastq").write_text("@a\nACGT\n+\nIIII\n")

    def plan(self, job: str, *more: str, typed: str | None = None) -> Answer:
        place = str(self.place / "ws" / "in")
        return self("plan", job, "--flow", FLOW, "--input", place, *more, typed=typed)


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Jobs:
    monkeypatch.setattr(opening, "CwlBackend", RememberingCwl)
    return Jobs(tmp_path)


def test_at_a_terminal_the_table_is_shown_and_the_yes_is_the_person_s(tmp_path: Path, program: Jobs) -> None:
    assert program("init", "j", "--objective", "count").code == 0
    said = program.plan("j", typed="y\n")
    assert said.code == 0 and "sample.fastq" in said.out and "heuristic" in said.out
    assert "Submit exactly this plan of j?" in said.err and "muniment job submit j" in said.err
    said = program("submit", "j", "--json")
    assert said.code == 0 and said.object["confirmed"]["witness"] == "terminal"
    house = House(workspace=None, environment=program.environment, note=lambda message: None)
    until_ended(house.jobs, "j")
    house.close()
    said = program("finalize", "j")
    assert "report.txt" in said.out and "finalize (complete)" in said.out
    assert program("verify", "j").code == 0
    output = tmp_path / "jobs" / "j" / "outputs" / "report.txt"
    output.write_text("reads: 9\n")
    said = program("verify", "j")
    assert said.code == 4 and "✗ files" in said.out and str(output) in said.out
    assert [one["status"] for one in program("list", "--json").object["jobs"]] == ["complete"]


def test_a_no_leaves_it_waiting(program: Jobs) -> None:
    program("init", "j")
    said = program.plan("j", typed="n\n")
    assert said.code == 0 and "muniment job confirm j" in said.err
    assert program("submit", "j").code == 3
    assert program("confirm", "j", typed="n\n").code == 130
    assert program("submit", "j").code == 3


def test_off_a_terminal_it_stops_and_names_the_command(program: Jobs) -> None:
    program("init", "j")
    said = program.plan("j", "--json")
    assert said.code == 0 and said.object["registry"]["workflow"]["phase"] == "awaiting_plan_confirmation"
    assert said.object["confirmed"] is None and "muniment job confirm j" in said.object["next"]
    plan = said.object["plan_sha256"]
    assert program("confirm", "j").code == 3, "nobody to ask"
    assert program("confirm", "j", "--yes").code == 2, "what was shown must be named"
    assert program("confirm", "j", "--yes", "--plan", "0" * 64).code == 3
    assert program("confirm", "j", "--yes", "--plan", "x").code == 2
    assert (
        program("confirm", "j", "--yes", "--plan", plan, "--json").object["confirmed"]["witness"] == "relayed"
    )
    said = program("submit", "j", "--json")
    assert said.code == 3 and said.object["error"] == "JOB_WITNESS_TOO_WEAK"
    # At a terminal a yes in advance is the person's own.
    assert program("confirm", "j", "--yes", typed="").code == 0
    assert program("show", "j", "--json").object["confirmed"]["witness"] == "terminal"


def test_a_rehearsal_writes_nothing(tmp_path: Path, program: Jobs) -> None:
    program("init", "j")
    before = {path: path.read_bytes() for path in (tmp_path / "jobs").rglob("*") if path.is_file()}
    said = program.plan("j", "-n")
    assert said.code == 0 and "sample.fastq" in said.out
    assert {path: path.read_bytes() for path in (tmp_path / "jobs").rglob("*") if path.is_file()} == before
    assert program("submit", "j", "-n").code == 2


def test_a_job_is_named_by_its_reference_too(program: Jobs) -> None:
    """As `find` and `show` spell it; each is refused for what it asks, none for the name."""
    program("init", "j")
    for words in (("poll",), ("pull",), ("run",), ("submit",), ("export", "--format", "slsa")):
        plain, spelled = (program(words[0], name, *words[1:], "--json").object for name in ("j", "job:j"))
        assert plain == spelled and plain["error"] != "BAD_JOB_ID"


def test_a_gap_and_back(program: Jobs) -> None:
    program("init", "j")
    said = program(
        "gap", "j", "--topic", "kit", "--reason", "unknown", "--missing", "its name", "--attempted", "d1"
    )
    assert said.code == 0 and "document_gap (blocked)" in said.out and "its name" in said.out
    assert "resolve-gap" in said.err
    assert program.plan("j").code == 3
    assert program("resolve-gap", "j").code == 0
    assert program("docs", "j", "d1", "d2", "--json").object["registry"]["knowledge"]["document_ids"] == [
        "d1",
        "d2",
    ]


def test_import_and_its_yes(tmp_path: Path, program: Jobs) -> None:
    (tmp_path / "open.yaml").write_bytes(dump(awaiting()))
    (tmp_path / "done.yaml").write_bytes(dump(finished()))
    assert program("import", "a", str(tmp_path / "open.yaml")).code == 0
    assert program("import", "b", str(tmp_path / "done.yaml"), "--yes").code == 3
    assert program("import", "b", str(tmp_path / "done.yaml"), typed="n\n").code == 3
    assert program("import", "b", str(tmp_path / "done.yaml"), typed="y\n").code == 0
    (tmp_path / "bad.yaml").write_text("a: &x 1\n")
    said = program("import", "c", str(tmp_path / "bad.yaml"))
    assert said.code == 3 and "line 1, a" in said.err


def test_adopt_needs_a_reason_and_a_stranger(tmp_path: Path, program: Jobs) -> None:
    program("init", "j")
    assert program("adopt", "j").code == 2
    assert program("adopt", "j", "--reason", "why").code == 3
    path = tmp_path / "jobs" / "j" / "registry.yaml"
    path.write_text(path.read_text().replace('"objective": ""', '"objective": "edited"'))
    assert program("show", "j").code == 5
    assert program("adopt", "j", "--reason", "edited by hand").code == 0
    assert "edited" in program("show", "j").out


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("show", "nobody"), 7),
        (("init", "a/b"), 2),
        (("init", "j", "--engine", "docker"), 2),
        (("plan", "j", "--flow", "x.cwl", "--bind", "noequals"), 2),
        (("submit", "j", "--found", "x", "--absent"), 2),
        (("finalize", "j", "--summary", "x"), 2),
        (("poll", "j"), 3),
    ],
)
def test_refusals(program: Jobs, words: tuple[str, ...], code: int) -> None:
    program("init", "j")
    assert program(*words).code == code
    assert program(*words, "--json").object["exit_code"] == code


def test_hostile_text_moves_no_cursor(tmp_path: Path, program: Jobs) -> None:
    program("init", "j", "--objective", "x\x1b[2Jy\u202e")
    for words in (("show", "j"), ("list",)):
        said = program(*words)
        assert "\x1b" not in said.out and "\u202e" not in said.out, words
