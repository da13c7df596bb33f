"""Job: a stand-in for an engine, in memory: it counts, forgets to answer, and dies on demand."""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from muniment.canonical import Json
from muniment.disk.errors import AlreadyThere
from muniment.disk.root import Root
from muniment.disk.write import write_verified
from muniment.job.backend import (
    OUTPUTS,
    CanNotLookUp,
    Case,
    Collected,
    EngineState,
    FlowFacts,
    Piece,
    Progress,
    Wanted,
)
from muniment.job.bindings import Offer, Port
from muniment.job.errors import EngineRefused, EngineUnreachable
from muniment.job.model import PortType
from muniment.job.opening import service_of
from muniment.job.planning import PlanRequest
from muniment.job.service import JobService
from muniment.job.settings import SETTINGS
from muniment.message import say
from muniment.path import RelPath
from muniment.record.consent import RELAYED
from muniment.record.state import open_workspace
from muniment.settings import Layer, Settings


class Killed(BaseException):
    """The process ends here; nothing of ours runs after it."""


@dataclass
class StandIn:
    """An engine that behaves as told: `fault` names what goes wrong at the next submission."""

    looks_up: bool = True
    fault: str = ""
    state: EngineState = EngineState.RUNNING
    created: list[str] = field(default_factory=list)
    jobs: dict[str, str] = field(default_factory=dict)
    cancelled: list[str] = field(default_factory=list)
    tools: dict[str, Json] = field(default_factory=dict)
    contents: dict[str, str] = field(default_factory=dict)
    results: dict[str, bytes] = field(default_factory=lambda: {"bam": b"aligned\n"})

    name = "cwl"

    def inspect(self, flow: str) -> FlowFacts:
        ports = (
            Port("align", "reads", PortType.FILE, True),
            Port("align", "index", PortType.FILE, False, default="hg38"),
        )
        return FlowFacts(flow, f"{flow}-v1", "rna", ports, (Wanted("align", "bam"),))

    def offers(self, input_path: str) -> list[Offer]:
        return [Offer("", f"{input_path}/reads.fastq", PortType.FILE)] if input_path else []

    def offer(self, reference: str) -> Offer:
        return Offer("", reference, PortType.FILE)

    def pin(self, offer: Offer) -> str:
        return "sha256:" + self.contents.get(offer.filename, "ab" * 32)

    def create(self, case: Case) -> str:
        fault, self.fault = self.fault, ""
        if fault == "refuses":
            raise EngineRefused(engine=self.name, why=say("no"))
        if fault == "dies before":
            raise Killed
        if fault == "unreachable":
            raise EngineUnreachable(engine=self.name)
        engine_id = f"p_{len(self.created)} ✓"
        self.created.append(case.name)
        self.jobs[case.name] = engine_id
        if fault == "dies after":
            raise Killed
        if fault == "answer lost":
            raise EngineUnreachable(engine=self.name)
        return engine_id

    def find(self, case: Case) -> str | None:
        if not self.looks_up:
            raise CanNotLookUp("no way")
        return self.jobs.get(case.name)

    def poll(self, case: Case, engine_id: str) -> Progress:
        assert self.jobs[case.name] == engine_id
        return Progress(self.state, "as told")

    def cancel(self, case: Case, engine_id: str) -> None:
        self.cancelled.append(engine_id)

    def collect(self, case: Case, engine_id: str) -> Collected:
        case.folder.make_folders(OUTPUTS)
        for name, content in self.results.items():
            with contextlib.suppress(AlreadyThere):
                write_verified(case.folder, OUTPUTS / name, content)
        write_verified(case.folder, RelPath(("engine.log",)), b"fine\n", replace=True)
        outputs = tuple(Piece(OUTPUTS / name, name) for name in self.results)
        return Collected(outputs, (Piece(RelPath(("engine.log",)), "log"),))

    def tool(self, case: Case, name: str, version: int) -> Json | None:
        return self.tools.get(f"{name}:{version}")


class Ticking:
    """A clock that goes on by a second each time it is asked."""

    def __init__(self) -> None:
        self.now = datetime(2026, 11, 30, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


def open_service(place: Path, engine: StandIn, **settings: object) -> JobService:
    """A service over `place/jobs` with the record of `place/ws`, as a new process would open it."""
    for name in ("ws", "jobs"):
        (place / name).mkdir(exist_ok=True)
    workspace = open_workspace(Root.open(place / "ws"), clock=Ticking(), entropy=os.urandom)
    known = Settings([*SETTINGS, RELAYED], [Layer("test", settings)])
    return service_of(workspace, Root.open(place / "jobs"), known, engines={engine.name: engine})


REQUEST = PlanRequest("rna", "/data/input", project_id="p-1")
OTHER = PlanRequest("rna", "/data/input", routing={"reads": ("/data/input/other.fastq",)})


def registry_json(place: Path, job: str) -> dict[str, object]:
    """The registry of a job as any JSON reader sees it."""
    value = json.loads((place / "jobs" / job / "registry.yaml").read_text("utf-8"))
    assert isinstance(value, dict)
    return value
