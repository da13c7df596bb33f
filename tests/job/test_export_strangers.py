"""Job: exports before programs that others wrote: the validator of crates, second readers, the libraries.

Each lives in an environment of its own (`make envs`); CI has them, elsewhere their absence skips
and says so.
"""

from __future__ import annotations

import importlib
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.json_format import ParseDict, ParseError
from tests.house.tree import PROJECT
from tests.job.engines import ENVIRONMENTS, needed
from tests.job.export_twins import CRATES
from tests.job.export_world import IMAGE_ID, MANIFEST, RUN_ID, World, finished, flow_failed, world

from muniment.job.export.facts import Format
from muniment.job.export.reading import verify_crate
from muniment.job.tool_run import RunOutcome

# They come without types.
in_toto: Any = importlib.import_module("in_toto_attestation.v1.statement")
provenance: Any = importlib.import_module("in_toto_attestation.predicates.provenance.v1.provenance_pb2")

SCRIPTS = PROJECT / "tests" / "envs" / "provenance"


def asked(*argv: object) -> str:
    """What a program of others prints."""
    done = subprocess.run(
        [str(word) for word in argv],
        env={"PATH": os.environ["PATH"], "HOME": "/nonexistent", "LC_ALL": "C.UTF-8"},
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("strangers")


ENDS: dict[str, tuple[RunOutcome, int | None]] = {
    "complete": (RunOutcome.EXITED, 0),
    "failed": (RunOutcome.EXITED, 7),
    "never": (RunOutcome.START_FAILED, None),
    "unfetched": (RunOutcome.PULL_FAILED, None),
}


@pytest.fixture(scope="module")
def ended(place: Path) -> dict[str, World]:
    """Jobs that ended in each way, with all their exports."""
    found: dict[str, World] = {}
    for name, (outcome, code) in ENDS.items():
        (place / name).mkdir()
        found[name] = finished(place / name, outcome, code)
        for format in Format:
            found[name].service.export("j", format, place / name / format.value)
    (place / "workflow").mkdir()
    found["workflow"] = world(place / "workflow")
    flow_failed(found["workflow"])
    found["workflow"].service.export("j", Format.RO_CRATE, place / "workflow" / "ro-crate")
    return found


# What the validator has against twins that `muniment verify` refuses: nothing.  They are named here
# so that nobody takes the validator's silence for a check.
LET_THROUGH = {
    "an output's bytes",
    "an output's bytes, the metadata made to fit",
    "another checksum",
    "another manifest",
    "another image id",
    "no image id",
    "another status of the job",
    "another exit code",
    "another status",
    "a checksum in capitals",
    "a file added",
    "the registry edited",
    "an event dropped, the chain made whole",
    "an action without its image",
}


@pytest.fixture(scope="module")
def issues(place: Path, ended: dict[str, World]) -> dict[str, list[list[str]]]:
    """What the public validator has against each crate, at RECOMMENDED and without network."""
    python = needed(ENVIRONMENTS / "validators" / "bin" / "python")
    crates = {name: place / name / "ro-crate" for name in ended}
    for number, twin in enumerate(one for one in CRATES if one.name in LET_THROUGH):
        crates[twin.name] = place / f"twin-{number}"
        shutil.copytree(crates["complete"], crates[twin.name])
        twin.lie(crates[twin.name])
    told: dict[str, Any] = json.loads(
        asked(python, SCRIPTS / "validate.py", place / "cache", *crates.values())
    )
    return {name: told[str(crate)] for name, crate in crates.items()}


def test_the_validator_finds_no_issue(issues: dict[str, list[list[str]]]) -> None:
    assert issues["complete"] == issues["failed"] == []


@pytest.mark.parametrize("name", ["never", "unfetched", "workflow"])
def test_what_has_no_result_names_none(issues: dict[str, list[list[str]]], name: str) -> None:
    """The profile recommends a result for every action; one that never started has none to name."""
    assert issues[name] == [["RECOMMENDED", "The Action SHOULD have a result"]]


def test_the_validator_as_its_users_call_it(place: Path, ended: dict[str, World]) -> None:
    program = needed(ENVIRONMENTS / "validators" / "bin" / "rocrate-validator")
    asked(needed(ENVIRONMENTS / "validators" / "bin" / "python"), SCRIPTS / "validate.py", place / "its")
    options = ["-p", "process-run-crate", "-l", "recommended", "--offline", "--cache-path", place / "its"]
    report = place / "report.json"
    asked(program, "validate", *options, "-f", "json", "-o", report, place / "complete" / "ro-crate")
    found = json.loads(report.read_text("utf-8"))
    assert found["passed"] is True and found["issues"] == []
    assert set(found["statistics"]["profiles"]) == {"process-run-crate-0.5", "ro-crate-1.1"}


def test_what_the_validator_lets_through_is_refused_here(
    place: Path, ended: dict[str, World], issues: dict[str, list[list[str]]]
) -> None:
    twins = [one for one in CRATES if one.name in LET_THROUGH]
    assert {one.name for one in twins} == LET_THROUGH
    for number, twin in enumerate(twins):
        assert issues[twin.name] == [], twin.name
        assert not verify_crate(place / f"twin-{number}").good, twin.name


def test_a_second_reader_reads_the_actions(place: Path, ended: dict[str, World]) -> None:
    program = needed(ENVIRONMENTS / "runcrate" / "bin" / "runcrate")
    told = asked(program, "report", place / "complete" / "ro-crate")
    assert told.count("action: ") == 2 and f"action: #run-{RUN_ID}" in told
    run = told[told.index(f"action: #run-{RUN_ID}") :]
    assert "job/outputs/bam" in run and f"job/tool/{RUN_ID}/outputs/report.txt" in run
    told = asked(program, "report", place / "never" / "ro-crate")
    run = told[told.index(f"action: #run-{RUN_ID}") :]
    assert "started: " not in run and "outputs:" not in run


def test_the_tasks_are_read_by_py_tes(place: Path, ended: dict[str, World]) -> None:
    python = needed(ENVIRONMENTS / "validators" / "bin" / "python")
    tasks = {name: place / name / "tes" for name in ENDS}
    told = json.loads(asked(python, SCRIPTS / "read_task.py", *tasks.values()))
    seen = {name: told[str(file)] for name, file in tasks.items()}
    assert all(one["valid"] for one in seen.values())
    assert {name: one["state"] for name, one in seen.items()} == {
        "complete": "COMPLETE",
        "failed": "EXECUTOR_ERROR",
        "never": "SYSTEM_ERROR",
        "unfetched": "SYSTEM_ERROR",
    }
    assert {name: one["exit_codes"] for name, one in seen.items()} == {
        "complete": [0],
        "failed": [7],
        "never": [],
        "unfetched": [],
    }
    assert seen["complete"]["outputs"] == [["/outputs/report.txt", "9"]]
    assert seen["complete"]["image"] == f"127.0.0.1:5000/lab/counter@{MANIFEST}"


class TestStatements:
    @pytest.mark.parametrize("name", list(ENDS))
    def test_parsed_strictly_by_the_public_library(
        self, place: Path, ended: dict[str, World], name: str
    ) -> None:
        document = json.loads((place / name / "slsa").read_text("utf-8"))
        parsed = ParseDict(document, in_toto.spb.Statement())
        in_toto.Statement.copy_from_pb(parsed).validate()
        told = ParseDict(document["predicate"], provenance.Provenance())
        outputs = [one.name for one in parsed.subject if "outputs/" in one.name]
        assert bool(outputs) == (name == "complete")
        internal = dict(told.build_definition.internal_parameters)
        assert internal.get("imageId") == (None if name == "unfetched" else IMAGE_ID)
        assert told.run_details.metadata.HasField("started_on") == (name in ("complete", "failed"))

    def test_the_library_takes_digests_that_are_none_and_refuses_fields_that_are_none(
        self, place: Path, ended: dict[str, World]
    ) -> None:
        """Its silence about the first is why the form of a digest is checked here."""
        document = json.loads((place / "complete" / "slsa").read_text("utf-8"))
        document["subject"][0]["digest"]["sha256"] = "latest"
        in_toto.Statement.copy_from_pb(ParseDict(document, in_toto.spb.Statement())).validate()
        with pytest.raises(ParseError):
            ParseDict({**document, "complete": True}, in_toto.spb.Statement())
