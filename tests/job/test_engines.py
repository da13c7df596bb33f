"""Job: one contract over all engines: cwltool, two WES servers that others wrote, fkit's stand-in."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.job.engines import Engine, engine_named, fkit, open_real, until_ended, wait_for
from tests.job.standin import Killed

from muniment.job.backend import Case
from muniment.job.errors import (
    EngineRefused,
    EngineUnreachable,
    FlowRefused,
    PlanDrifted,
    SubmissionUnknown,
    UnboundPort,
)
from muniment.job.fkit import FkitBackend
from muniment.job.launching import Done, SystemLauncher
from muniment.job.planning import PlanRequest
from muniment.job.running import case_of
from muniment.job.service import JobService, View
from muniment.record.consent import WitnessKind

ENGINES = ["cwl", "sapporo", "wes-service", "fkit"]


@pytest.fixture(scope="module", params=ENGINES)
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with engine_named(request.param, tmp_path_factory.mktemp(request.param)) as one:
        yield one


@pytest.fixture
def service(tmp_path: Path, engine: Engine) -> JobService:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / engine.reads).write_text("@a\nACGT\n+\nIIII\n@b\nAC\n+\nII\n")
    return open_real(tmp_path, engine)


def ready(service: JobService, engine: Engine, place: Path, job: str, flow: str = "count") -> View:
    """A job of a flow whose plan was confirmed."""
    service.init(job, objective="count the reads")
    view = service.plan(job, PlanRequest(engine.flows[flow], str(place / "in")))
    return service.confirm(job, view.plan, WitnessKind.TERMINAL)


def test_a_job_runs_to_its_end(tmp_path: Path, service: JobService, engine: Engine) -> None:
    ready(service, engine, tmp_path, "whole")
    view = service.submit("whole")
    assert view.registry.execution.bioline.job.id
    assert until_ended(service, "whole").history.polled == "succeeded"
    view = service.finalize("whole")
    assert view.registry.workflow.status == "complete"
    (report,) = view.registry.execution.downstream.outputs
    assert Path(report.path).name == "report.txt" and Path(report.path).read_text() == "reads: 2\n"
    assert view.registry.execution.downstream.logs and service.verify("whole").good
    assert engine.count(tmp_path / "jobs", "whole") == 1


def wrapped(service: JobService, engine: Engine, how: str) -> None:
    """Put an end to our process right before the engine is asked, or right after it answered."""
    real = engine.backend

    @dataclasses.dataclass
    class Dying:
        name: str = real.name

        def __getattr__(self, name: str) -> Any:
            return getattr(real, name)

        def create(self, case: Case) -> str:
            if how == "after":
                real.create(case)
            raise Killed

    service.engines = {real.name: Dying()}


@pytest.mark.parametrize("how", ["before", "after"])
def test_killed_between_intent_and_answer(
    tmp_path: Path, service: JobService, engine: Engine, how: str
) -> None:
    job = f"killed-{how}"
    ready(service, engine, tmp_path, job)
    wrapped(service, engine, how)
    with pytest.raises(Killed):
        service.submit(job)
    service = open_real(tmp_path, engine)
    if engine.looks_up:
        view = service.submit(job)
    else:
        with pytest.raises(SubmissionUnknown):
            service.submit(job)
        assert engine.count(tmp_path / "jobs", job) == (how == "after")
        view = service.submit(job, found="p_2") if how == "after" else service.submit(job, absent=True)
    assert view.registry.workflow.phase == "submitted"
    if engine.looks_up:
        assert until_ended(service, job).history.polled == "succeeded"
    assert engine.count(tmp_path / "jobs", job) == 1


def test_a_run_that_fails(tmp_path: Path, service: JobService, engine: Engine) -> None:
    flow = "fails" if "fails" in engine.flows else "count"
    (tmp_path / "in" / engine.reads).rename(tmp_path / "in" / "broken.fastq")
    ready(service, engine, tmp_path, "bad", flow)
    service.submit("bad")
    view = until_ended(service, "bad")
    assert (view.registry.workflow.phase, view.registry.workflow.status) == ("submitted", "failed")


def test_a_run_is_stopped(tmp_path: Path, service: JobService, engine: Engine) -> None:
    if not engine.can_cancel:
        if engine.backend.name == "fkit":
            ready(service, engine, tmp_path, "stopped")
            service.submit("stopped")
            with pytest.raises(EngineRefused):
                service.cancel("stopped")
            assert service.show("stopped").registry.workflow.status == "active"
        return
    ready(service, engine, tmp_path, "stopped", "sleeps")
    view = service.submit("stopped")
    engine_id = view.registry.execution.bioline.job.id
    assert service.cancel("stopped").registry.workflow.status == "cancelled"
    with service.opened("stopped") as opened:
        case = case_of(service, opened)
        wait_for(lambda: engine.backend.poll(case, engine_id).state.value == "stopped", "stop")


def test_an_input_exchanged_after_the_yes(tmp_path: Path, service: JobService, engine: Engine) -> None:
    ready(service, engine, tmp_path, "drift")
    reads = tmp_path / "in" / engine.reads
    if engine.backend.name == "fkit":
        return  # The platform's ids name contents; what they promise is the platform's.
    reads.write_text("@other\nA\n+\nI\n")
    with pytest.raises(PlanDrifted, match="sample"):
        service.submit("drift")
    assert engine.count(tmp_path / "jobs", "drift") == 0


def test_a_required_port_without_a_file(tmp_path: Path, service: JobService, engine: Engine) -> None:
    (tmp_path / "in" / engine.reads).unlink()
    service.init("empty")
    with pytest.raises(UnboundPort, match="reads"):
        service.plan("empty", PlanRequest(engine.flows["count"], str(tmp_path / "in")))


def test_a_flow_that_is_not_there(tmp_path: Path, service: JobService, engine: Engine) -> None:
    service.init("none")
    with pytest.raises((FlowRefused, EngineUnreachable)):
        service.plan("none", PlanRequest(str(tmp_path / "nothing.cwl"), str(tmp_path / "in")))


def test_the_tool_source(tmp_path: Path, service: JobService, engine: Engine) -> None:
    if engine.backend.name == "wes":
        return  # The workflow is the same document as cwl's; nothing of the server is asked.
    ready(service, engine, tmp_path, "tool")
    service.submit("tool")
    until_ended(service, "tool")
    view = service.finalize("tool", tool="Counter:3")
    assert view.registry.execution.downstream.image_tag == "counter:3"
    assert view.registry.workflow.status == "active"


def test_results_may_take_longer_to_fetch_than_questions_to_answer(tmp_path: Path) -> None:
    """A download of many gigabytes is no answer that is overdue."""
    told: dict[str, float] = {}

    class Timed(SystemLauncher):
        def run(
            self, argv: Sequence[str], *, deadline: float, keep: Sequence[int] = (), cwd: str | None = None
        ) -> Done:
            told[argv[3]] = deadline
            return super().run(argv, deadline=deadline, keep=keep, cwd=cwd)

    engine = fkit(tmp_path / "platform")
    assert isinstance(engine.backend, FkitBackend)
    engine.backend = dataclasses.replace(engine.backend, launcher=Timed())
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / engine.reads).write_text("@a\nACGT\n+\nIIII\n")
    service = open_real(tmp_path, engine)
    ready(service, engine, tmp_path, "whole")
    service.submit("whole")
    service.finalize("whole")
    assert told["download"] >= 6 * 3600 > told["pipeline"]
