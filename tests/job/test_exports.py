"""Job: exports: when there is one, what each says of how a job ended, and what stays when one fails."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tests.job.export_world import (
    BAM,
    IMAGE_ID,
    MANIFEST,
    READS,
    REPORT,
    RUN_ID,
    STDOUT,
    World,
    finished,
    flow_done,
    flow_failed,
    run_of,
    sha,
    submitted,
    tool_ran,
    world,
)

from muniment.disk.copy import copy_unchecked
from muniment.disk.errors import NoSpace
from muniment.errors import MunimentError
from muniment.job.errors import (
    BadKey,
    ExportLibraryMissing,
    ForeignWrite,
    JobExportExists,
    NoExport,
    NotEnded,
    NoToolRun,
    OutputsChanged,
    RecordNotHere,
)
from muniment.job.export import ro_crate, writing
from muniment.job.export.facts import EXPORT, Facts, Format, Held, Request
from muniment.job.export.reading import verify_crate, verify_document
from muniment.job.export.record import NotOnRecord, facts_from
from muniment.job.model import Status
from muniment.job.tool_run import RUN_INTENT, Intent, RunOutcome

SCHEMA = json.loads((Path(__file__).parent / "tes-1.1.json").read_text("utf-8"))
RUN_AT = f"#run-{RUN_ID}"
COMPLETED, FAILED = "http://schema.org/CompletedActionStatus", "http://schema.org/FailedActionStatus"


def exported(made: World, format: Format) -> Any:
    """The document of a new export, or the metadata of a crate."""
    place = made.place / f"out-{format.value}"
    made.service.export("j", format, place)
    file = place / "ro-crate-metadata.json" if format is Format.RO_CRATE else place
    return json.loads(file.read_text("utf-8"))


def entities(crate: Any) -> dict[str, Any]:
    return {one["@id"]: one for one in crate["@graph"]}


def listed(value: Any) -> list[str]:
    """The ids that a property refers to."""
    return [one["@id"] for one in (value if isinstance(value, list) else [value])]


class TestComplete:
    def test_a_crate(self, tmp_path: Path) -> None:
        made = finished(tmp_path)
        all = entities(exported(made, Format.RO_CRATE))
        root = all["./"]
        assert root["creativeWorkStatus"] == "complete" and root["license"]["@id"].endswith("CC-BY-4.0")
        assert listed(root["mentions"]) == ["#workflow", RUN_AT]
        flow, run = all["#workflow"], all[RUN_AT]
        assert flow["actionStatus"] == run["actionStatus"] == COMPLETED
        assert flow["agent"]["@id"] == run["agent"]["@id"] == "https://people.example/mei"
        assert "job/outputs/bam" in listed(flow["result"])
        report = f"job/tool/{RUN_ID}/outputs/report.txt"
        assert listed(run["object"]) == ["job/outputs/bam"] and report in listed(run["result"])
        assert (all[report]["sha256"], all[report]["contentSize"]) == (sha(REPORT), str(len(REPORT)))
        image = all[run["containerImage"]["@id"]]
        assert image["@type"] == "ContainerImage" and image["sha256"] == MANIFEST.removeprefix("sha256:")
        assert (image["identifier"], image["registry"], image["name"], image["tag"]) == (
            IMAGE_ID, "127.0.0.1:5000", "lab/counter", "3",
        )  # fmt: skip
        assert all[f"{RUN_AT}-exit-code"]["value"] == 0

    def test_its_files_are_the_bytes_themselves(self, tmp_path: Path) -> None:
        made = finished(tmp_path)
        exported(made, Format.RO_CRATE)
        crate = tmp_path / "out-ro-crate"
        found = {str(one.relative_to(crate)): one.read_bytes() for one in crate.rglob("*") if one.is_file()}
        assert found["job/outputs/bam"] == BAM and found[f"job/tool/{RUN_ID}/stdout.log"] == STDOUT
        assert found[f"inputs/{sha(READS)}/reads 样本.fastq"] == READS
        for name in ("registry.yaml", "journal.jsonl"):
            assert found[f"job/{name}"] == (made.jobs / "j" / name).read_bytes()

    def test_a_task(self, tmp_path: Path) -> None:
        task = exported(finished(tmp_path), Format.TES)
        jsonschema.Draft202012Validator(SCHEMA).validate(task)
        assert task["state"] == "COMPLETE" and task["id"] == RUN_ID
        assert task["executors"] == [
            {"image": f"127.0.0.1:5000/lab/counter@{MANIFEST}", "command": ["count", "--in", "/inputs/bam"]}
        ]
        (log,) = task["logs"]
        assert [one["exit_code"] for one in log["logs"]] == [0]
        assert [(one["path"], one["size_bytes"]) for one in log["outputs"]] == [("/outputs/report.txt", "9")]
        assert [one["path"] for one in task["inputs"]] == ["/inputs/bam"]

    def test_a_statement(self, tmp_path: Path) -> None:
        statement = exported(finished(tmp_path), Format.SLSA)
        assert [(one["name"], one["digest"]) for one in statement["subject"]] == [
            ("outputs/bam", {"sha256": sha(BAM)}),
            (f"tool/{RUN_ID}/outputs/report.txt", {"sha256": sha(REPORT)}),
        ]

    def test_a_workflow_without_a_tool(self, tmp_path: Path) -> None:
        made = world(tmp_path)
        flow_done(made)
        all = entities(exported(made, Format.RO_CRATE))
        assert all["#workflow"]["actionStatus"] == COMPLETED and listed(all["./"]["mentions"]) == [
            "#workflow"
        ]
        assert [one["name"] for one in exported(made, Format.SLSA)["subject"]] == ["outputs/bam"]
        with pytest.raises(NoToolRun):
            exported(made, Format.TES)

    def test_nothing_is_made_up_where_nobody_is_named(self, tmp_path: Path) -> None:
        made = finished(tmp_path, settings={"job.licence": "", "job.author": "", "job.publisher": ""})
        all = entities(exported(made, Format.RO_CRATE))
        assert not {"author", "publisher"} & set(all["./"]) and "agent" not in all[RUN_AT]
        licence = all[all["./"]["license"]["@id"]]
        assert licence["@id"] == "http://spdx.org/rdf/terms#noassertion" and "No licence" in licence["name"]

    def test_names_that_are_hard_to_write(self, tmp_path: Path) -> None:
        made = world(tmp_path)
        made.engine.results = {"a b%20#?.txt": b"1", "样本 \U0001f600.bam": b"2", '"q"\\.txt': b"3"}
        flow_done(made)
        all = entities(exported(made, Format.RO_CRATE))
        assert all["job/outputs/a%20b%2520%23%3F.txt"]["sha256"] == sha(b"1")
        assert verify_crate(tmp_path / "out-ro-crate", made.jobs / "j").good


# outcome, exit code, the state of the task, the exit codes in its log (spec 2: states of TES 1.1)
ENDS: list[tuple[RunOutcome, int | None, str, list[int]]] = [
    (RunOutcome.EXITED, 7, "EXECUTOR_ERROR", [7]),
    (RunOutcome.OOM, 137, "EXECUTOR_ERROR", [137]),
    (RunOutcome.TIMED_OUT, 137, "SYSTEM_ERROR", [137]),
    (RunOutcome.KILLED, None, "SYSTEM_ERROR", []),
    (RunOutcome.START_FAILED, None, "SYSTEM_ERROR", []),
    (RunOutcome.PULL_FAILED, None, "SYSTEM_ERROR", []),
]


def require_nothing_looks_complete(made: World, state: str, codes: list[int]) -> None:
    """Registry, list, crate, task and statement, each by what a stranger would look at."""
    assert made.registry()["workflow"]["status"] != "complete"
    (row,) = made.service.list()
    assert row.status != "complete"
    crate = exported(made, Format.RO_CRATE)
    all, text = entities(crate), json.dumps(crate)
    run = all[RUN_AT]
    assert run["actionStatus"] == FAILED and run["error"]
    assert "It is complete" not in text and all["./"]["creativeWorkStatus"] != "complete"
    started = "startTime" in run
    results = listed(run["result"]) if "result" in run else []
    assert results == ([f"job/tool/{RUN_ID}/stdout.log"] if started else [])
    assert (f"{RUN_AT}-exit-code" in all) == bool(codes) and sha(REPORT) not in text
    task = exported(made, Format.TES)
    jsonschema.Draft202012Validator(SCHEMA).validate(task)
    assert task["state"] == state and task["outputs"] == task["logs"][0]["outputs"] == []
    assert [one["exit_code"] for one in task["logs"][0]["logs"]] == codes
    statement = exported(made, Format.SLSA)
    attested = {one["name"] for one in statement["subject"]}
    logs = {"engine.log", *([f"tool/{RUN_ID}/stdout.log"] if started else [])}
    assert attested == {"registry.yaml", *logs}
    assert sha(BAM) not in {one["digest"]["sha256"] for one in statement["subject"]}
    for format in Format:
        place = made.place / f"out-{format.value}"
        found = (
            verify_crate(place)
            if format is Format.RO_CRATE
            else verify_document(place, lambda: str(made.jobs))
        )
        assert found.good and found.verdict != "complete"


@pytest.mark.parametrize(("outcome", "code", "state", "codes"), ENDS, ids=lambda one: str(one))
def test_what_did_not_succeed_looks_complete_nowhere(
    tmp_path: Path, outcome: RunOutcome, code: int | None, state: str, codes: list[int]
) -> None:
    require_nothing_looks_complete(finished(tmp_path, outcome, code), state, codes)


def test_a_run_whose_outputs_were_not_taken(tmp_path: Path) -> None:
    made = world(tmp_path)
    flow_done(made, tool=True)
    tool_ran(made, RunOutcome.EXITED, 0, collected=False)
    require_nothing_looks_complete(made, "SYSTEM_ERROR", [0])


def test_a_job_cancelled_after_a_failed_run(tmp_path: Path) -> None:
    made = finished(tmp_path, RunOutcome.EXITED, 7)
    made.service.cancel("j")
    require_nothing_looks_complete(made, "CANCELED", [7])


def test_a_failed_workflow(tmp_path: Path) -> None:
    made = world(tmp_path)
    flow_failed(made)
    all = entities(exported(made, Format.RO_CRATE))
    flow = all["#workflow"]
    assert flow["actionStatus"] == FAILED and "result" not in flow and flow["error"] == "It failed. as told"
    assert [one["name"] for one in exported(made, Format.SLSA)["subject"]] == ["registry.yaml"]
    with pytest.raises(NoToolRun):
        exported(made, Format.TES)


def test_a_failed_run_and_then_a_good_one(tmp_path: Path) -> None:
    made = finished(tmp_path, RunOutcome.EXITED, 7)
    second = "01JDXR4Z0000000000000000B2"
    tool_ran(made, RunOutcome.EXITED, 0, run=second)
    all = entities(exported(made, Format.RO_CRATE))
    assert (all[RUN_AT]["actionStatus"], all[f"#run-{second}"]["actionStatus"]) == (FAILED, COMPLETED)
    assert listed(all["./"]["mentions"]) == ["#workflow", RUN_AT, f"#run-{second}"]
    assert exported(made, Format.TES)["id"] == second
    assert f"tool/{RUN_ID}/outputs/report.txt" not in json.dumps(exported(made, Format.SLSA))


@pytest.mark.parametrize(
    "inner", ["outputs//bam", "../j/outputs/bam", "outputs/./bam", "tool/../outputs/bam"]
)
def test_an_input_whose_path_only_looks_as_if_it_lay_in_the_job(tmp_path: Path, inner: str) -> None:
    """As a registry from elsewhere may spell it: it is an input like any other."""
    made = world(tmp_path)
    flow_done(made)
    with made.service.opened("j") as opened:
        first, *rest = opened.registry.execution.bindings
        odd = replace(first, filename=f"{opened.folder.path}/{inner}", fileId=f"sha256:{sha(BAM)}")
        execution = replace(opened.registry.execution, bindings=(odd, *rest))
        registry = replace(opened.registry, execution=execution)
        facts = Facts(
            "j", registry, opened.history, Request(1, Format.RO_CRATE, opened.folder.path), "", Held(0, ""),
            Held(0, ""), "", "", "", (),
        )  # fmt: skip
        (part,) = (one for one in ro_crate.parts(facts) if one.role.startswith("input"))
        assert part.optional and part.source == odd.filename
        assert part.crate_path == f"inputs/{sha(BAM)}/bam"


class TestGates:
    def test_what_has_not_ended(self, tmp_path: Path) -> None:
        made = world(tmp_path)
        service = made.service
        service.init("new")
        submitted(made)
        flow_done(made, "tool", tool=True)
        service.init("gone")
        service.cancel("gone")
        for job in ("new", "j", "tool", "gone"):
            before = (made.jobs / job / "journal.jsonl").read_bytes()
            for format in Format:
                with pytest.raises(NotEnded):
                    service.export(job, format, tmp_path / "out")
            assert (made.jobs / job / "journal.jsonl").read_bytes() == before
        assert not (tmp_path / "out").exists()

    def test_a_run_that_goes_on(self, tmp_path: Path) -> None:
        made = finished(tmp_path, RunOutcome.EXITED, 7)
        other = run_of(made, "j", RunOutcome.PULL_FAILED, None, "01JDXR4Z0000000000000000B2", False)
        intent = Intent(other.run, other.container, other.engine, "5", other.image, other.argv, other.limits)
        with made.service.opened("j") as opened:
            made.service.store.note(opened, RUN_INTENT, intent.to_json())
            with pytest.raises(NotEnded):
                writing.require_ended("j", opened.registry, opened.history, Format.RO_CRATE)

    def test_a_registry_that_a_stranger_wrote(self, tmp_path: Path) -> None:
        made = finished(tmp_path)
        file = made.jobs / "j" / "registry.yaml"
        file.write_text(file.read_text("utf-8").replace("count the reads", "x"), "utf-8")
        with pytest.raises(ForeignWrite):
            made.service.export("j", Format.SLSA, tmp_path / "out")

    @pytest.mark.parametrize("name", ["outputs/bam", "engine.log", f"tool/{RUN_ID}/outputs/report.txt"])
    def test_files_that_are_not_what_was_recorded(self, tmp_path: Path, name: str) -> None:
        made = finished(tmp_path)
        (made.jobs / "j" / name).write_bytes(b"other")
        for format in Format:
            with pytest.raises(OutputsChanged):
                made.service.export("j", format, tmp_path / "out")
        assert not (tmp_path / "out").exists()

    def test_nothing_is_overwritten(self, tmp_path: Path) -> None:
        made = finished(tmp_path)
        taken = [tmp_path / "file", tmp_path / "folder", tmp_path / "link"]
        taken[0].write_text("mine")
        taken[1].mkdir()
        taken[2].symlink_to(tmp_path / "nowhere")
        for place in taken:
            for format in Format:
                with pytest.raises(JobExportExists):
                    made.service.export("j", format, place)
        assert taken[0].read_text() == "mine" and not (tmp_path / "nowhere").exists()


class TestFailures:
    @pytest.mark.parametrize("format", list(Format))
    def test_a_full_disk_leaves_nothing(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: Format
    ) -> None:
        made = finished(tmp_path)
        before = sorted(os.listdir(tmp_path))

        def full(*_: Any, **__: Any) -> Any:
            raise NoSpace(where="here")

        monkeypatch.setattr(writing, "write_verified", full)
        with pytest.raises(NoSpace):
            made.service.export("j", format, tmp_path / "out")
        monkeypatch.undo()
        assert sorted(os.listdir(tmp_path)) == before
        assert made.service.export("j", format, tmp_path / "out").verdict == "complete"

    def test_a_copy_that_went_wrong_is_taken_away(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        made = finished(tmp_path)

        def wrong(source: Any, source_rel: Any, target: Any, target_rel: Any) -> None:
            copy_unchecked(source, source_rel, target, target_rel)
            if target_rel.name == "report.txt":
                Path(target.path, *target_rel.parts).write_bytes(b"reads: 9\n")

        monkeypatch.setattr("muniment.job.export.writing.copy_unchecked", wrong)
        with pytest.raises(MunimentError, match=r"report\.txt"):
            made.service.export("j", Format.RO_CRATE, tmp_path / "out")
        assert not (tmp_path / "out").exists() and not [n for n in os.listdir(tmp_path) if n.startswith(".")]

    @pytest.mark.parametrize("format", [Format.RO_CRATE, Format.SLSA])
    def test_without_the_library_nothing_happens(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: Format
    ) -> None:
        made = finished(tmp_path)

        def missing(name: str) -> Any:
            raise ModuleNotFoundError(name=name)

        monkeypatch.setattr("muniment.job.export.strangers.importlib.import_module", missing)
        before = (made.jobs / "j" / "journal.jsonl").read_bytes()
        with pytest.raises(ExportLibraryMissing) as caught:
            made.service.export("j", format, tmp_path / "out")
        assert "pip install 'muniment[provenance]'" in str(caught.value.next_step)
        assert (made.jobs / "j" / "journal.jsonl").read_bytes() == before


class TestReading:
    def test_a_record_that_is_not_here(self, tmp_path: Path) -> None:
        made = finished(tmp_path)
        exported(made, Format.TES)
        with pytest.raises(RecordNotHere):
            verify_document(tmp_path / "out-tes", lambda: str(tmp_path / "nowhere"))
        (tmp_path / "empty").mkdir()
        with pytest.raises(RecordNotHere):
            verify_document(tmp_path / "out-tes", lambda: "", tmp_path / "empty")

    def test_a_document_never_says_where_its_record_is(self, tmp_path: Path) -> None:
        made = finished(tmp_path)
        task = exported(made, Format.TES)
        for name in ("../j", "/etc", "", "a/b", ".", "j\0"):
            task["tags"]["muniment.job"] = name
            (tmp_path / "lie").write_text(json.dumps(task))
            with pytest.raises(NoExport):
                verify_document(tmp_path / "lie", lambda: str(made.jobs))

    @pytest.mark.parametrize(
        "text", ["", "{", "[]", "7", '{"a": 1}', '{"payloadType": 1}', '{"executors": 1, "executors": 2}']
    )
    def test_what_is_no_export(self, tmp_path: Path, text: str) -> None:
        (tmp_path / "file").write_text(text)
        with pytest.raises(NoExport):
            verify_document(tmp_path / "file", lambda: str(tmp_path))

    def test_a_record_that_went_on(self, tmp_path: Path) -> None:
        """More exports only lengthen the journal: what was said of its beginning stays true."""
        made = finished(tmp_path)
        for format in Format:
            exported(made, format)
        for format in (Format.TES, Format.SLSA):
            assert verify_document(tmp_path / f"out-{format.value}", lambda: str(made.jobs)).good
        assert verify_crate(tmp_path / "out-ro-crate", made.jobs / "j").good

    def test_a_crate_moved_elsewhere_and_its_job_gone(self, tmp_path: Path) -> None:
        made = finished(tmp_path)
        for format in (Format.TES, Format.SLSA, Format.RO_CRATE):
            exported(made, format)
        shutil.move(tmp_path / "out-ro-crate", tmp_path / "elsewhere")
        shutil.rmtree(made.jobs)
        assert verify_crate(tmp_path / "elsewhere").good
        for format in (Format.TES, Format.SLSA):
            found = verify_document(
                tmp_path / f"out-{format.value}", lambda: "", tmp_path / "elsewhere" / "job"
            )
            assert found.good


class TestSignatures:
    @pytest.fixture
    def keys(self) -> tuple[bytes, bytes]:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.serialization import (
            Encoding,
            NoEncryption,
            PrivateFormat,
            PublicFormat,
        )

        key = Ed25519PrivateKey.generate()
        return (
            key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
            key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo),
        )

    def test_signed_and_checked(self, tmp_path: Path, keys: tuple[bytes, bytes]) -> None:
        made = finished(tmp_path)
        made.service.export("j", Format.SLSA, tmp_path / "signed", key=keys[0])

        def found(file: Path, key: bytes | None) -> tuple[bool, set[str], tuple[str, ...]]:
            one = verify_document(file, lambda: str(made.jobs), key=key)
            return one.good, {each.code.value for each in one.findings}, one.not_repeated

        assert found(tmp_path / "signed", keys[1]) == (True, set(), ("inputs",))
        assert found(tmp_path / "signed", None) == (True, set(), ("inputs", "signature"))
        made.service.export("j", Format.SLSA, tmp_path / "plain")
        assert found(tmp_path / "plain", keys[1])[:2] == (False, {"SIGNATURE"})
        envelope = json.loads((tmp_path / "signed").read_text())
        envelope["signatures"][0]["sig"] = envelope["signatures"][0]["sig"][::-1]
        (tmp_path / "forged").write_text(json.dumps(envelope))
        assert found(tmp_path / "forged", keys[1])[:2] == (False, {"SIGNATURE"})

    def test_keys_that_are_none(self, tmp_path: Path, keys: tuple[bytes, bytes]) -> None:
        made = finished(tmp_path)
        for key in (b"", b"no key", keys[1]):
            with pytest.raises(BadKey):
                made.service.export("j", Format.SLSA, tmp_path / "out", key=key)
        assert not (tmp_path / "out").exists()


def test_a_status_that_says_complete_without_a_run_is_not_believed(tmp_path: Path) -> None:
    """A registry from elsewhere may say complete; a job that has a tool has to have run it."""
    made = world(tmp_path)
    flow_done(made, tool=True)
    with made.service.opened("j") as opened:
        workflow = replace(opened.registry.workflow, status=Status.COMPLETE)
        made.service.store.move(opened, replace(opened.registry, workflow=workflow), "test", {})
        request = Request(1, Format.SLSA, opened.folder.path)
        made.service.store.note(opened, EXPORT, request.to_json())
    with pytest.raises(NotEnded):
        exported(made, Format.RO_CRATE)
    registry, journal = ((made.jobs / "j" / name).read_bytes() for name in ("registry.yaml", "journal.jsonl"))
    with pytest.raises(NotOnRecord) as caught:
        facts_from(registry, journal, Format.SLSA)
    assert [one.code.value for one in caught.value.findings] == ["STATUS"]
