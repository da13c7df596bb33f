"""Job: jobs to export: run by the stand-in for an engine, their tool's runs written as facts.

No container is started here.  The facts of a run are those that a runtime would have left,
put down through the same closed values and the same journal.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.job.standin import StandIn, open_service

from muniment.job.backend import EngineState, FlowFacts, Wanted
from muniment.job.bindings import Offer, Port
from muniment.job.local_files import LocalFiles
from muniment.job.model import Artifact, PortType, PullLedger
from muniment.job.planning import PlanRequest
from muniment.job.service import JobService
from muniment.job.tool_recovery import record
from muniment.job.tool_run import (
    PULL,
    Engine,
    Image,
    Limits,
    NoNetwork,
    Proof,
    Pull,
    PullOutcome,
    RunOutcome,
    ToolRun,
    container_of,
)
from muniment.record.consent import WitnessKind

FLOW = b'{"class": "Workflow", "cwlVersion": "v1.2"}\n'
READS = b"@a\nACGT\n+\nIIII\n"
BAM, REPORT, STDOUT = b"aligned\n", b"reads: 1\n", b"done\n"
IMAGE_ID, MANIFEST = "sha256:" + "1a" * 32, "sha256:" + "2b" * 32
REFERENCE = "127.0.0.1:5000/lab/counter:3"
RUN_ID = "01JDXR4Z0000000000000000A1"
SETTINGS = {
    "job.licence": "https://spdx.org/licenses/CC-BY-4.0",
    "job.author": "Mei Lin <https://people.example/mei>",
    "job.publisher": "The Lab <https://lab.example/>",
}
LIMITS = Limits(1 << 30, 2, 64, 1 << 30, 600, 1 << 30)


def sha(data: bytes) -> str:
    """The sha256 of bytes, by the standard library."""
    return hashlib.sha256(data).hexdigest()


class Local(StandIn):
    """The stand-in with a workflow's document and inputs that lie on this machine."""

    def inspect(self, flow: str) -> FlowFacts:
        ports = (
            Port("", "reads", PortType.FILE, True),
            Port("", "index", PortType.FILE, False, default="hg38"),
        )
        return FlowFacts(flow, f"sha256:{sha(FLOW)}", "count", ports, (Wanted("", "bam"),), FLOW)

    def offers(self, input_path: str) -> list[Offer]:
        return LocalFiles().offers(input_path)

    def offer(self, reference: str) -> Offer:
        return LocalFiles().offer(reference)

    def pin(self, offer: Offer) -> str:
        return LocalFiles().pin(offer)


@dataclass
class World:
    """A service, the folder of its jobs, and the engine behind it."""

    place: Path
    engine: Local
    service: JobService

    @property
    def jobs(self) -> Path:
        return self.place / "jobs"

    def registry(self, job: str = "j") -> dict[str, Any]:
        """The registry as any JSON reader sees it."""
        value: dict[str, Any] = json.loads((self.jobs / job / "registry.yaml").read_bytes())
        return value


def world(place: Path, settings: Mapping[str, object] | None = None) -> World:
    """A service with one input that lies outside the jobs."""
    (place / "in").mkdir(exist_ok=True)
    (place / "in" / "reads 样本.fastq").write_bytes(READS)
    engine = Local()
    return World(place, engine, open_service(place, engine, **{**SETTINGS, **(settings or {})}))


def submitted(made: World, job: str = "j") -> None:
    """A job that its engine has taken."""
    service = made.service
    service.init(job, objective="count the reads")
    view = service.plan(job, PlanRequest("/flows/count.cwl", str(made.place / "in")))
    service.confirm(job, view.plan, WitnessKind.TERMINAL)
    service.submit(job)


def flow_failed(made: World, job: str = "j") -> None:
    """A job whose workflow failed at its engine."""
    submitted(made, job)
    made.engine.state = EngineState.FAILED
    made.service.poll(job)


def flow_done(made: World, job: str = "j", *, tool: bool = False) -> None:
    """A job whose workflow ran to its end; with `tool` it waits for its tool."""
    submitted(made, job)
    made.engine.state = EngineState.SUCCEEDED
    made.engine.tools["Counter:3"] = {"name": "Counter", "version": 3}
    made.service.finalize(job, tool="Counter:3" if tool else None)


def run_of(made: World, job: str, outcome: RunOutcome, exit_code: int | None, run: str,
           collected: bool) -> ToolRun:  # fmt: skip
    """What a runtime would have left of a run of the tool, its files written."""
    folder = made.jobs / job / "tool" / run
    pulled = outcome is not RunOutcome.PULL_FAILED
    image = Image(REFERENCE, IMAGE_ID, MANIFEST, "application/vnd.oci.image.manifest.v1+json", "linux/amd64")
    bam = Artifact(str(made.jobs / job / "outputs" / "bam"), len(BAM), sha(BAM), "bam")
    one = ToolRun(
        run, container_of(run), Engine.PODMAN, "5.4.0", image if pulled else Image(REFERENCE),
        ("count", "--in", "/inputs/bam"), LIMITS, None, outcome, inputs=(bam,),
        why="no such image" if not pulled else "",
    )  # fmt: skip
    if not one.started:
        return one
    (folder / "outputs").mkdir(parents=True)
    (folder / "stdout.log").write_bytes(STDOUT)
    logs = (Artifact(str(folder / "stdout.log"), len(STDOUT), sha(STDOUT), "stdout"),)
    one = replace(
        one, network=NoNetwork(Proof.READ, ("lo",)), exit_code=exit_code, logs=logs,
        started_at="2026-11-30T13:00:00.000000Z", ended_at="2026-11-30T13:00:07.250000Z",
    )  # fmt: skip
    if exit_code != 0 or not collected:
        return one
    (folder / "outputs" / "report.txt").write_bytes(REPORT)
    made_by = (Artifact(str(folder / "outputs" / "report.txt"), len(REPORT), sha(REPORT), "report"),)
    return replace(one, outputs=made_by, collected=True)


def tool_ran(made: World, outcome: RunOutcome, exit_code: int | None = None, job: str = "j",
             run: str = RUN_ID, collected: bool = True) -> ToolRun:  # fmt: skip
    """Put a pull, a run and what they make of the registry on record, as `job pull` and `run` do."""
    service, at = made.service, "2026-11-30T12:59:00.000000Z"
    failed = outcome is RunOutcome.PULL_FAILED
    pull = Pull(
        REFERENCE, PullOutcome.FAILED if failed else PullOutcome.PULLED, None, None if failed else IMAGE_ID,
        False, False, "" if failed else at, "" if failed else MANIFEST, "", "linux/amd64",
        "no" if failed else "",
    )  # fmt: skip
    one = run_of(made, job, outcome, exit_code, run, collected)
    with service.opened(job) as opened:
        service.store.note(opened, PULL, pull.to_json())
        if not failed:
            downstream = replace(
                opened.registry.execution.downstream, pull_ledger=PullLedger(False, None, IMAGE_ID, at)
            )
            execution = replace(opened.registry.execution, downstream=downstream)
            service.store.move(opened, replace(opened.registry, execution=execution), "tool_pull", {})
        record(service, opened, one)
    return one


def finished(place: Path, outcome: RunOutcome = RunOutcome.EXITED, exit_code: int | None = 0,
             settings: Mapping[str, object] | None = None) -> World:  # fmt: skip
    """A job with its workflow done and its tool run to this end."""
    made = world(place, settings)
    flow_done(made, tool=True)
    tool_ran(made, outcome, exit_code)
    return made
