"""Job: the acts, over a stand-in for an engine: what they write, what they refuse, what a crash leaves."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from tests.job.registries import awaiting, finished, in_gap, submitted
from tests.job.standin import OTHER, REQUEST, Killed, StandIn, open_service, registry_json

from muniment.canonical import canonical_digest
from muniment.disk.errors import NoSpace
from muniment.disk.write import write_verified
from muniment.errors import MunimentError
from muniment.faces.i18n.language import Language
from muniment.faces.i18n.translate import Translator
from muniment.job.backend import EngineState
from muniment.job.errors import (
    BadJobId,
    BadSummary,
    BadTool,
    EngineRefused,
    EngineUnreachable,
    ForeignWrite,
    JobEnded,
    JobExists,
    JobNotFound,
    JournalDamaged,
    NotConfirmed,
    NothingToAdopt,
    OutputUnsafe,
    PhaseRefused,
    PlanDrifted,
    RegistryRefused,
    StillRunning,
    SubmissionOpen,
    SubmissionUnknown,
    UnboundPort,
    WitnessTooWeak,
)
from muniment.job.planning import PlanRequest
from muniment.job.service import JobService, View
from muniment.job.writer import dump
from muniment.record.consent import WitnessKind
from muniment.record.errors import NotConfirmed as ConsentMissing

TERMINAL = WitnessKind.TERMINAL


@pytest.fixture
def engine() -> StandIn:
    return StandIn()


@pytest.fixture
def service(tmp_path: Path, engine: StandIn) -> JobService:
    return open_service(tmp_path, engine)


def planned(service: JobService, job: str = "j") -> View:
    """A job that awaits its yes."""
    service.init(job, objective="align")
    return service.plan(job, REQUEST)


def confirmed(service: JobService, job: str = "j") -> View:
    """A job whose plan somebody confirmed at a terminal."""
    return service.confirm(job, planned(service, job).plan, TERMINAL)


def running(service: JobService, job: str = "j") -> View:
    """A job that the engine has taken."""
    confirmed(service, job)
    return service.submit(job)


def phase(place: Path, job: str = "j") -> tuple[str, str]:
    """Phase and status as the file says."""
    workflow = registry_json(place, job)["workflow"]
    assert isinstance(workflow, dict)
    return workflow["phase"], workflow["status"]


def kinds(service: JobService, job: str = "j") -> list[str]:
    """The kinds of the job's events, in order."""
    lines = Path(service.store.root.path, job, "journal.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line)["kind"] for line in lines]


def test_the_whole_way(tmp_path: Path, service: JobService, engine: StandIn) -> None:
    view = planned(service)
    assert phase(tmp_path) == ("awaiting_plan_confirmation", "active")
    assert [(one.port, one.source) for one in view.bindings] == [("reads", "heuristic"), ("index", "default")]
    service.confirm("j", view.plan, TERMINAL)
    view = service.submit("j")
    assert registry_json(tmp_path, "j")["execution"]["bioline"]["job"]["id"] == "p_0 ✓"  # type: ignore[index]
    assert phase(tmp_path) == ("submitted", "active") and engine.created == ["openclaw-j"]
    with pytest.raises(StillRunning):
        service.finalize("j")
    engine.state = EngineState.SUCCEEDED
    view = service.finalize("j")
    assert phase(tmp_path) == ("finalize", "complete")
    (output,) = view.registry.execution.downstream.outputs
    assert Path(output.path).read_bytes() == b"aligned\n" and output.size == 8
    report = service.verify("j")
    assert report.good and {one.name for one in report.checks} == {
        "journal",
        "registry",
        "rules",
        "confirmation",
        "files",
    }
    told = [event.kind for event in service.workspace.ledger.events()]
    assert told == ["job.init", "job.plan", "job.ask", "job.confirm", "job.submit", "job.finalize"]


def test_the_same_again_is_recorded_once(service: JobService, engine: StandIn) -> None:
    planned(service)
    before = kinds(service)
    assert not service.plan("j", REQUEST).changed
    assert kinds(service) == before
    service.revise("j")
    before = kinds(service)
    assert not service.revise("j").changed and kinds(service) == before
    view = service.plan("j", REQUEST)
    service.confirm("j", view.plan, TERMINAL)
    service.submit("j")
    assert not service.submit("j").changed and engine.created == ["openclaw-j"]
    service.gap("j", topic="t", reason="why")
    before = kinds(service)
    assert not service.gap("j", topic="t", reason="why").changed and kinds(service) == before
    service.resolve_gap("j")
    assert not service.resolve_gap("j").changed
    service.docs("j", ["d1"])
    before = kinds(service)
    assert not service.docs("j", ["d1"]).changed and kinds(service) == before
    engine.state = EngineState.SUCCEEDED
    service.finalize("j")
    assert not service.finalize("j").changed
    assert not service.poll("j").changed


class TestConsent:
    def test_none(self, service: JobService, engine: StandIn) -> None:
        planned(service)
        with pytest.raises(NotConfirmed):
            service.submit("j")
        assert engine.created == []

    def test_of_another_plan(self, service: JobService) -> None:
        view = planned(service)
        service.revise("j")
        other = service.plan("j", OTHER)
        assert other.plan != view.plan
        with pytest.raises(NotConfirmed):
            service.confirm("j", view.plan, TERMINAL)

    def test_a_changed_plan_voids_it(self, service: JobService, engine: StandIn) -> None:
        confirmed(service)
        service.revise("j")
        service.plan("j", OTHER)
        with pytest.raises(NotConfirmed):
            service.submit("j")
        assert engine.created == []

    def test_taken_back_and_planned_the_same_it_is_void_too(self, service: JobService) -> None:
        confirmed(service)
        service.revise("j")
        service.plan("j", REQUEST)
        with pytest.raises(NotConfirmed):
            service.submit("j")

    def test_passed_on_is_not_enough(self, service: JobService, engine: StandIn) -> None:
        view = service.confirm("j", planned(service).plan, WitnessKind.RELAYED)
        assert view.to_json()["confirmed"] == {
            "plan_sha256": view.plan.hex,
            "witness": "relayed",
            "at": view.history.confirmed.at,  # type: ignore[union-attr]
        }
        with pytest.raises(WitnessTooWeak):
            service.submit("j")
        assert engine.created == []
        service.confirm("j", view.plan, WitnessKind.ELICITATION)
        service.submit("j")

    def test_passed_on_is_enough_where_the_person_said_so(self, tmp_path: Path, engine: StandIn) -> None:
        service = open_service(tmp_path, engine, **{"confirm.relayed": ["plan", "submit"]})
        service.confirm("j", planned(service).plan, WitnessKind.RELAYED)
        service.submit("j")
        # Taken away again, the same record no longer verifies.
        assert not open_service(tmp_path, engine).verify("j").good

    def test_passed_on_for_nothing(self, tmp_path: Path, engine: StandIn) -> None:
        service = open_service(tmp_path, engine, **{"confirm.relayed": ["create"]})
        with pytest.raises(WitnessTooWeak):
            service.confirm("j", planned(service).plan, WitnessKind.RELAYED)

    def test_it_holds_once(self, tmp_path: Path, service: JobService, engine: StandIn) -> None:
        confirmed(service)
        engine.fault = "refuses"
        with pytest.raises(EngineRefused):
            service.submit("j")
        assert phase(tmp_path) == ("awaiting_plan_confirmation", "active")
        with pytest.raises(NotConfirmed):
            service.submit("j")
        service.confirm("j", service.show("j").plan, TERMINAL)
        service.submit("j")
        assert engine.created == ["openclaw-j"]

    def test_the_workspace_s_record_must_have_it_too(self, tmp_path: Path, service: JobService) -> None:
        """A journal copied to another workspace brings no consent with it."""
        confirmed(service)
        shutil.rmtree(tmp_path / "ws" / ".muniment" / "consent")
        with pytest.raises(ConsentMissing):
            service.submit("j")

    def test_an_input_changed_after_the_yes(self, service: JobService, engine: StandIn) -> None:
        confirmed(service)
        engine.contents["/data/input/reads.fastq"] = "cd" * 32
        with pytest.raises(PlanDrifted):
            service.submit("j")
        assert engine.created == []

    @pytest.mark.parametrize("act", ["confirm", "submit", "poll", "finalize"])
    def test_too_early(self, service: JobService, act: str) -> None:
        plan = service.init("j").plan
        with pytest.raises(PhaseRefused):
            service.confirm("j", plan, TERMINAL) if act == "confirm" else getattr(service, act)("j")

    def test_no_import_and_no_adoption_goes_around_it(
        self, tmp_path: Path, service: JobService, engine: StandIn
    ) -> None:
        for number, value in enumerate((submitted(), finished())):
            with pytest.raises(NotConfirmed):
                service.import_yaml(f"old-{number}", dump(value))
            assert not service.store.exists(f"old-{number}")
        gap = submitted()
        gap["workflow"].update(phase="document_gap", status="blocked")
        gap["document_gap"].update(detected=True, blocking_reason="why")
        with pytest.raises(NotConfirmed):
            service.import_yaml("old-gap", dump(gap))
        planned(service)
        forged = registry_json(tmp_path, "j")
        forged["workflow"]["phase"] = "submitted"  # type: ignore[index]
        forged["execution"]["bioline"]["job"]["id"] = "p_forged"  # type: ignore[index]
        (tmp_path / "jobs" / "j" / "registry.yaml").write_bytes(dump(forged))
        with pytest.raises(ForeignWrite):
            service.submit("j")
        with pytest.raises(NotConfirmed):
            service.adopt("j", "it looks right")
        with pytest.raises(ForeignWrite):
            service.show("j")


class TestImport:
    def test_an_open_job(self, tmp_path: Path, service: JobService) -> None:
        view = service.import_yaml("old", dump(awaiting()))
        assert registry_json(tmp_path, "old") == awaiting() and view.history.engine == "cwl"
        service.confirm("old", view.plan, TERMINAL)
        with pytest.raises(JobExists):
            service.import_yaml("old", dump(awaiting()))

    def test_a_finished_job_with_a_witness(self, tmp_path: Path, service: JobService) -> None:
        from muniment.job.plan import plan_digest
        from muniment.job.reader import from_json

        plan = plan_digest("old", "cwl", from_json(finished()))
        with pytest.raises(WitnessTooWeak):
            service.import_yaml("old", dump(finished()), confirmed=(plan, WitnessKind.RELAYED))
        service.import_yaml("old", dump(finished()), confirmed=(plan, TERMINAL))
        assert registry_json(tmp_path, "old") == finished()
        named = {one.name: one.good for one in service.verify("old").checks}
        assert named == {
            "journal": True,
            "registry": True,
            "rules": True,
            "confirmation": True,
            "tool": True,
            "files": False,
        }

    def test_a_gap_leads_back_to_the_beginning(self, tmp_path: Path, service: JobService) -> None:
        service.import_yaml("old", dump(in_gap()))
        service.resolve_gap("old")
        assert phase(tmp_path, "old") == ("initialize", "active")

    def test_what_breaks_a_rule(self, service: JobService) -> None:
        value = awaiting()
        value["execution"]["bindings"][0]["source"] = None
        with pytest.raises(RegistryRefused, match="bindings"):
            service.import_yaml("old", dump(value), where="old.yaml")
        assert list(service.list()) == []


class TestGap:
    @pytest.mark.parametrize("at", ["initialize", "planned", "awaiting", "submitted", "finalize"])
    def test_from_any_phase_and_back(
        self, tmp_path: Path, service: JobService, engine: StandIn, at: str
    ) -> None:
        service.init("j")
        if at in ("awaiting", "planned"):
            service.plan("j", REQUEST)
        if at == "planned":
            service.revise("j")
        if at in ("submitted", "finalize"):
            view = service.plan("j", REQUEST)
            service.confirm("j", view.plan, TERMINAL)
            service.submit("j")
        if at == "finalize":
            engine.state = EngineState.SUCCEEDED
            service.finalize("j")
        before = registry_json(tmp_path, "j")
        service.gap("j", topic="t", reason="why", attempted=["d"], missing=["m"])
        assert phase(tmp_path) == ("document_gap", "blocked")
        assert registry_json(tmp_path, "j")["document_gap"] == {
            "detected": True,
            "topic": "t",
            "attempted_document_ids": ["d"],
            "missing_information": ["m"],
            "blocking_reason": "why",
        }
        service = open_service(tmp_path, engine)
        service.resolve_gap("j")
        assert registry_json(tmp_path, "j") == before
        assert service.verify("j").good

    def test_it_stops_everything(self, service: JobService) -> None:
        confirmed(service)
        service.gap("j", topic="t", reason="why")
        for act in (service.submit, service.poll, service.finalize):
            with pytest.raises(PhaseRefused):
                act("j")
        with pytest.raises(PhaseRefused):
            service.plan("j", REQUEST)

    def test_without_a_reason(self, service: JobService) -> None:
        service.init("j")
        with pytest.raises(RegistryRefused, match="blocking_reason"):
            service.gap("j", topic="t", reason="")


class TestTool:
    SUMMARY: ClassVar[dict[str, Any]] = {"name": "FastQC", "version": 3, "ports": ["reads"]}

    @pytest.fixture
    def done(self, service: JobService, engine: StandIn) -> JobService:
        running(service)
        engine.state = EngineState.SUCCEEDED
        return service

    def test_the_engine_knows_it(self, tmp_path: Path, done: JobService, engine: StandIn) -> None:
        engine.tools["FastQC:3"] = self.SUMMARY
        done.finalize("j", tool="FastQC:3")
        downstream: Any = registry_json(tmp_path, "j")["execution"]["downstream"]  # type: ignore[index]
        assert downstream["tool"] == {
            "reference": "FastQC:3",
            "name": "FastQC",
            "version": 3,
            "summary_sha256": canonical_digest(self.SUMMARY).hex,
        }
        assert downstream["image_tag"] == "fastqc:3"
        assert phase(tmp_path) == ("finalize", "active"), "what has not run is not complete"
        assert not done.finalize("j", tool="FastQC:3").changed
        with pytest.raises(PhaseRefused):
            done.finalize("j", tool="FastQC:4", summary=b'{"name": "FastQC", "version": 4}')

    def test_a_summary_from_a_file(self, done: JobService) -> None:
        view = done.finalize("j", tool="FastQC:3", summary=json.dumps(self.SUMMARY, indent=3).encode())
        assert view.registry.execution.downstream.tool.summary_sha256 == canonical_digest(self.SUMMARY).hex

    @pytest.mark.parametrize(
        "data", [b"", b"[]", b"{", b'{"a": NaN}', b"\xff", b'{"version": 4}', b'{"name": "x"}']
    )
    def test_a_bad_summary(self, done: JobService, data: bytes) -> None:
        with pytest.raises(BadSummary):
            done.finalize("j", tool="FastQC:3", summary=data)

    def test_nobody_knows_it(self, tmp_path: Path, done: JobService, engine: StandIn) -> None:
        done.finalize("j", tool="FastQC:3")
        assert phase(tmp_path) == ("document_gap", "blocked")
        engine.tools["FastQC:3"] = self.SUMMARY
        done.resolve_gap("j")
        assert phase(tmp_path) == ("finalize", "active")
        done.finalize("j", tool="FastQC:3")
        assert phase(tmp_path) == ("finalize", "active") and done.verify("j").good

    @pytest.mark.parametrize(
        "reference",
        ["FastQC", "FastQC:", ":3", "FastQC:latest", "FastQC:1.0", "FastQC:01", "FastQC:0", "FastQC:-1",
         "FastQC:>=1", "FastQC:1 ", " FastQC:1", "FastQC:1-2", "Fast QC:1", "FastQC:٣", "a::1", "a:1\n"],
    )  # fmt: skip
    def test_no_exact_version(self, tmp_path: Path, done: JobService, reference: str) -> None:
        with pytest.raises(BadTool):
            done.finalize("j", tool=reference)
        assert phase(tmp_path) == ("submitted", "active")


class TestLostAnswers:
    """Between the intent and the answer: found again, never twice (spec 2, phases)."""

    @pytest.mark.parametrize("fault", ["dies before", "dies after", "unreachable", "answer lost"])
    def test_found_again_or_surely_not_there(
        self, tmp_path: Path, service: JobService, engine: StandIn, fault: str
    ) -> None:
        confirmed(service)
        engine.fault = fault
        with pytest.raises((Killed, EngineUnreachable)):
            service.submit("j")
        assert phase(tmp_path) == ("awaiting_plan_confirmation", "active")
        assert len(engine.created) == (fault in ("dies after", "answer lost"))
        service = open_service(tmp_path, engine)
        view = service.submit("j")
        assert engine.created == ["openclaw-j"]
        assert view.registry.execution.bioline.job.id == engine.jobs["openclaw-j"]
        assert service.verify("j").good

    def test_meanwhile_nothing_else_is_done(self, service: JobService, engine: StandIn) -> None:
        confirmed(service)
        engine.fault = "dies after"
        with pytest.raises(Killed):
            service.submit("j")
        acts: list[Callable[[], object]] = [
            lambda: service.revise("j"),
            lambda: service.cancel("j"),
            lambda: service.gap("j", topic="t", reason="r"),
        ]
        for act in acts:
            with pytest.raises(SubmissionOpen):
                act()
        service.submit("j")
        assert engine.created == ["openclaw-j"]

    @pytest.mark.parametrize("there", [True, False])
    def test_a_person_decides_where_nobody_can_look(
        self, tmp_path: Path, service: JobService, engine: StandIn, there: bool
    ) -> None:
        engine.looks_up = False
        confirmed(service)
        engine.fault = "dies after" if there else "dies before"
        with pytest.raises(Killed):
            service.submit("j")
        service = open_service(tmp_path, engine)
        for _ in range(2):
            with pytest.raises(SubmissionUnknown):
                service.submit("j")
        assert phase(tmp_path) == ("awaiting_plan_confirmation", "blocked")
        view = service.submit("j", found="p_0 ✓") if there else service.submit("j", absent=True)
        assert engine.created == ["openclaw-j"] and view.registry.execution.bioline.job.id == "p_0 ✓"
        assert phase(tmp_path) == ("submitted", "active") and service.verify("j").good

    def test_a_word_of_a_person_without_need_is_not_taken(self, service: JobService, engine: StandIn) -> None:
        confirmed(service)
        view = service.submit("j", found="p_made_up")
        assert view.registry.execution.bioline.job.id == "p_0 ✓" and engine.created == ["openclaw-j"]


class TestTwoFiles:
    """Between journal and registry: old or new; a foreign write is seen."""

    def break_at(self, monkeypatch: pytest.MonkeyPatch, point: str) -> None:
        """Die before the registry is replaced, or right after."""

        def dies(*args: Any, **how: Any) -> Any:
            if point == "after":
                write_verified(*args, **how)
            raise Killed

        monkeypatch.setattr("muniment.job.store.write_verified", dies)

    @pytest.mark.parametrize(
        ("point", "expected"), [("before", "planned"), ("after", "awaiting_plan_confirmation")]
    )
    def test_killed_between(
        self, tmp_path: Path, service: JobService, engine: StandIn, point: str, expected: str
    ) -> None:
        planned(service)
        service.revise("j")
        original = service.store.move

        def second(opened: Any, after: Any, act: str, facts: Any) -> bool:
            if act == "ask":
                with pytest.MonkeyPatch.context() as patch:
                    self.break_at(patch, point)
                    return original(opened, after, act, facts)
            return original(opened, after, act, facts)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(service.store, "move", second)
            with pytest.raises(Killed):
                service.plan("j", REQUEST)
        service = open_service(tmp_path, engine)
        assert service.show("j").registry.workflow.phase == expected == phase(tmp_path)[0]
        assert kinds(service)[-1] == ("job.end" if point == "after" else "job.abort")
        assert service.verify("j").good

    @pytest.mark.parametrize("point", ["before", "after"])
    def test_killed_while_a_job_is_made(
        self, tmp_path: Path, service: JobService, engine: StandIn, point: str
    ) -> None:
        with pytest.MonkeyPatch.context() as patch:
            self.break_at(patch, point)
            with pytest.raises(Killed):
                service.init("j")
        service = open_service(tmp_path, engine)
        if point == "before":
            assert list(service.list()) == []
            with pytest.raises(JobNotFound):
                service.show("j")
            service.init("j")
        else:
            with pytest.raises(JobExists):
                service.init("j")
        assert service.show("j").registry.workflow.phase == "initialize" and service.verify("j").good

    def test_a_disk_that_is_full_changes_nothing(
        self, tmp_path: Path, service: JobService, engine: StandIn, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        planned(service)
        before = registry_json(tmp_path, "j")

        def full(*args: Any, **how: Any) -> Any:
            raise NoSpace(where="registry.yaml")

        with monkeypatch.context() as patch:
            patch.setattr("muniment.job.store.write_verified", full)
            with pytest.raises(NoSpace):
                service.revise("j")
        assert registry_json(tmp_path, "j") == before
        assert open_service(tmp_path, engine).revise("j").changed

    def test_a_foreign_write(self, tmp_path: Path, service: JobService, engine: StandIn) -> None:
        planned(service)
        path = tmp_path / "jobs" / "j" / "registry.yaml"
        value = registry_json(tmp_path, "j")
        value["workflow"]["objective"] = "something else"  # type: ignore[index]
        path.write_bytes(dump(value))
        acts: list[Callable[[], object]] = [
            lambda: service.show("j"),
            lambda: service.revise("j"),
            lambda: service.plan("j", REQUEST),
            lambda: service.submit("j"),
            lambda: service.poll("j"),
            lambda: service.cancel("j"),
            lambda: service.docs("j", ["d"]),
            lambda: service.gap("j", topic="t", reason="r"),
        ]
        journal = (tmp_path / "jobs" / "j" / "journal.jsonl").read_bytes()
        for act in acts:
            with pytest.raises(ForeignWrite):
                act()
        assert path.read_bytes() == dump(value), "nothing is put right in silence"
        assert (tmp_path / "jobs" / "j" / "journal.jsonl").read_bytes() == journal
        report = service.verify("j")
        assert [one.name for one in report.checks if not one.good] == ["registry"]
        with pytest.raises(MunimentError, match="reason"):
            service.adopt("j", " ")
        service.adopt("j", "the person edited the objective")
        assert service.show("j").registry.workflow.objective == "something else"
        assert service.verify("j").good
        with pytest.raises(NothingToAdopt):
            service.adopt("j", "again")

    @pytest.mark.parametrize("spoil", ["{", "", '{"schema_version": "1.0"}'])
    def test_a_foreign_write_that_breaks_the_schema_is_not_adopted(
        self, tmp_path: Path, service: JobService, spoil: str
    ) -> None:
        planned(service)
        (tmp_path / "jobs" / "j" / "registry.yaml").write_text(spoil)
        with pytest.raises(RegistryRefused):
            service.adopt("j", "why not")
        assert [row.fault for row in service.list()] == ["REGISTRY_REFUSED"]

    def test_a_registry_that_is_gone(self, tmp_path: Path, service: JobService) -> None:
        planned(service)
        (tmp_path / "jobs" / "j" / "registry.yaml").unlink()
        with pytest.raises(ForeignWrite):
            service.show("j")
        assert not service.verify("j").good
        with pytest.raises(JobExists):
            service.init("j")

    def test_a_foreign_write_in_the_middle_of_a_transition(
        self, tmp_path: Path, service: JobService, engine: StandIn
    ) -> None:
        planned(service)
        with pytest.MonkeyPatch.context() as patch:
            self.break_at(patch, "before")
            with pytest.raises(Killed):
                service.revise("j")
        path = tmp_path / "jobs" / "j" / "registry.yaml"
        path.write_bytes(path.read_bytes() + b"\n")
        with pytest.raises(ForeignWrite):
            service.show("j")
        service.adopt("j", "a blank line")
        assert service.show("j").registry.workflow.phase == "awaiting_plan_confirmation"


class TestJournal:
    def test_a_torn_end_is_set_aside_and_named(self, tmp_path: Path, service: JobService) -> None:
        planned(service)
        path = tmp_path / "jobs" / "j" / "journal.jsonl"
        path.write_bytes(path.read_bytes() + b'{"v":1,"half')
        assert service.show("j").registry.workflow.phase == "awaiting_plan_confirmation"
        service.revise("j")
        assert "job.journal_repaired" in kinds(service)
        (torn,) = (tmp_path / "jobs" / "j").glob("journal.torn-*")
        assert torn.read_bytes() == b'{"v":1,"half'
        assert service.verify("j").good

    @pytest.mark.parametrize("how", ["byte", "line out", "another job's"])
    def test_damage_before_the_end_stops(self, tmp_path: Path, service: JobService, how: str) -> None:
        planned(service)
        planned(service, "k")
        path = tmp_path / "jobs" / "j" / "journal.jsonl"
        lines = path.read_bytes().splitlines(keepends=True)
        if how == "byte":
            lines[1] = lines[1].replace(b"job", b"jop", 1)
        elif how == "line out":
            del lines[1]
        else:
            lines = (tmp_path / "jobs" / "k" / "journal.jsonl").read_bytes().splitlines(keepends=True)
        path.write_bytes(b"".join(lines))
        for act in (service.show, service.revise):
            with pytest.raises(JournalDamaged):
                act("j")
        report = service.verify("j")
        assert not report.good and not report.checks[0].good


class TestEnds:
    @pytest.mark.parametrize(("state", "status"), [("failed", "failed"), ("stopped", "cancelled")])
    def test_a_run_that_ends_badly_ends_the_job_where_it_stands(
        self, tmp_path: Path, service: JobService, engine: StandIn, state: str, status: str
    ) -> None:
        running(service)
        engine.state = EngineState(state)
        service.poll("j")
        assert phase(tmp_path) == ("submitted", status)
        assert not service.poll("j").changed
        with pytest.raises(PhaseRefused):
            service.finalize("j")
        with pytest.raises(JobEnded):
            service.gap("j", topic="t", reason="r")

    def test_cancel(self, tmp_path: Path, service: JobService, engine: StandIn) -> None:
        planned(service, "early")
        service.cancel("early")
        assert phase(tmp_path, "early") == ("awaiting_plan_confirmation", "cancelled")
        running(service)
        service.cancel("j")
        assert phase(tmp_path) == ("submitted", "cancelled") and engine.cancelled == ["p_0 ✓"]
        assert not service.cancel("j").changed
        with pytest.raises(PhaseRefused):
            service.submit("early")

    def test_states_are_written_when_they_change(self, service: JobService, engine: StandIn) -> None:
        running(service)
        assert service.poll("j").changed
        assert not service.poll("j").changed
        engine.state = EngineState.SUCCEEDED
        assert service.poll("j").changed
        assert kinds(service).count("job.polled") == 2

    @pytest.mark.parametrize("bad", ["link", "folder link", "pipe", "name"])
    def test_outputs_that_lead_out_are_not_taken(
        self, tmp_path: Path, service: JobService, engine: StandIn, bad: str
    ) -> None:
        running(service)
        engine.state = EngineState.SUCCEEDED
        outputs = tmp_path / "jobs" / "j" / "outputs"
        outputs.mkdir()
        name = "x"
        if bad == "link":
            (outputs / "x").symlink_to("/etc/passwd")
        elif bad == "folder link":
            (outputs / "x").symlink_to("/etc")
        elif bad == "pipe":
            os.mkfifo(outputs / "x")
        else:
            name = "x\udcff"
        engine.results = {name: b"x"}
        with pytest.raises(OutputUnsafe):
            service.finalize("j")
        assert phase(tmp_path) == ("submitted", "active")

    @pytest.mark.parametrize("how", ["changed", "gone", "link"])
    def test_verify_reads_the_outputs_again(
        self, tmp_path: Path, service: JobService, engine: StandIn, how: str
    ) -> None:
        running(service)
        engine.state = EngineState.SUCCEEDED
        service.finalize("j")
        output = tmp_path / "jobs" / "j" / "outputs" / "bam"
        content = output.read_bytes()
        output.unlink()
        if how == "changed":
            output.write_bytes(content[::-1])
        elif how == "link":
            (tmp_path / "same").write_bytes(content)
            output.symlink_to(tmp_path / "same")
        report = service.verify("j")
        (bad,) = [one for one in report.checks if not one.good]
        (detail,) = bad.details
        assert bad.name == "files" and str(output) in str(detail)
        finding = {"gone": "缺失", "changed": " 字节，sha256 ", "link": "链接"}
        assert finding[how] in Translator(Language.CHINESE).text(detail)


class TestNames:
    @pytest.mark.parametrize(
        "job", ["", ".", "..", "a/b", "-a", "a b", "é", "x" * 65, "a\n", ".hidden", "a\0"]
    )
    def test_ids_that_name_no_folder(self, service: JobService, job: str) -> None:
        with pytest.raises(BadJobId):
            service.show(job)
        if job:
            with pytest.raises(BadJobId):
                service.init(job)

    def test_a_link_for_a_job(self, tmp_path: Path, service: JobService) -> None:
        planned(service)
        (tmp_path / "jobs" / "k").symlink_to(tmp_path / "jobs" / "j")
        with pytest.raises(MunimentError):
            service.show("k")
        assert [(row.job, row.fault) for row in service.list()] == [("j", ""), ("k", "OUTSIDE_ROOT")]

    def test_what_else_lies_beside_the_jobs(self, tmp_path: Path, service: JobService) -> None:
        planned(service)
        for name in ("k", "folder"):
            planned(service, name)
        (tmp_path / "jobs" / "k" / "registry.yaml").unlink()
        (tmp_path / "jobs" / "folder" / "registry.yaml").unlink()
        (tmp_path / "jobs" / "folder" / "registry.yaml").mkdir()
        (tmp_path / "jobs" / "a-file").write_text("x")
        (tmp_path / "jobs" / "an-empty-folder").mkdir()
        assert [(row.job, row.fault) for row in service.list()] == [
            ("folder", "WRONG_KIND"),
            ("j", ""),
            ("k", "FOREIGN_WRITE"),
        ]

    def test_an_id_of_its_own(self, service: JobService) -> None:
        one, two = service.init(), service.init()
        assert one.job != two.job and len(one.job) == 26

    def test_an_unbound_port_ends_planning_by_its_name(self, tmp_path: Path, service: JobService) -> None:
        service.init("j")
        with pytest.raises(UnboundPort, match="reads"):
            service.plan("j", PlanRequest("rna"))
        assert phase(tmp_path) == ("initialize", "active")

    def test_no_such_job(self, service: JobService) -> None:
        with pytest.raises(JobNotFound):
            service.show("nobody")


@pytest.fixture(autouse=True)
def close(service: JobService) -> Iterator[None]:
    yield
    service.store.root.close()
    service.workspace.root.close()
