"""Room `job`: the port to an engine that runs workflows, and its values.

Three adapters speak it: `cwl` (cwltool, here), `wes` (a GA4GH WES server) and `fkit` (BioLine's
command).  One contract suite holds for all of them (spec 2, engines).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from muniment.canonical import Json
from muniment.disk.root import Root
from muniment.job.bindings import Offer, Port
from muniment.job.model import Registry
from muniment.path import RelPath

OUTPUTS = RelPath(("outputs",))
"""Where the results of an engine lie in the folder of a job."""


class EngineState(StrEnum):
    """How an engine says a job is."""

    WAITING = "waiting"
    RUNNING = "running"
    STOPPING = "stopping"
    STOPPED = "stopped"
    FAILED = "failed"
    SUCCEEDED = "succeeded"


@dataclass(frozen=True, slots=True)
class Wanted:
    """A result of the flow: which task gives it, by which port."""

    task: str
    port: str


@dataclass(frozen=True, slots=True)
class FlowFacts:
    """A flow as its engine knows it.

    `version_id` names exactly one version; `document` is what will be run, byte for byte, where
    the engine is handed the workflow itself (else empty).
    """

    id: str
    version_id: str
    keyword: str
    ports: tuple[Port, ...]
    results: tuple[Wanted, ...]
    document: bytes = b""


@dataclass(frozen=True, slots=True)
class Case:
    """One job as an engine sees it: its own name for look-ups, its folder, its plan."""

    job: str
    name: str
    folder: Root
    registry: Registry
    document: bytes


@dataclass(frozen=True, slots=True)
class Progress:
    """What an engine says of a job; `output_dir` where its own answer names an absolute one."""

    state: EngineState
    detail: str = ""
    output_dir: str = ""


@dataclass(frozen=True, slots=True)
class Piece:
    """A file that an engine left in the folder of the job, and what it is."""

    path: RelPath
    role: str


@dataclass(frozen=True, slots=True)
class Collected:
    """Results and logs, still unread: the service opens, measures and records them."""

    outputs: tuple[Piece, ...]
    logs: tuple[Piece, ...]


class CanNotLookUp(Exception):
    """The engine has no way to find a job by its name; only a person can."""


class WorkflowBackend(Protocol):
    """An engine.  Every method may raise `EngineMissing`, `EngineUnreachable`, `EngineRefused`
    and `EngineAnswer`; none of them writes a registry."""

    @property
    def name(self) -> str:
        """The engine's name on every face."""

    def inspect(self, flow: str) -> FlowFacts:
        """Read a flow by its path or id; `FlowRefused` when it can not be run."""

    def offers(self, input_path: str) -> list[Offer]:
        """The files and folders that lie at an input path; their ids may still be empty."""

    def offer(self, reference: str) -> Offer:
        """The one file or folder that a person named."""

    def pin(self, offer: Offer) -> str:
        """The id under which exactly this content is bound."""

    def create(self, case: Case) -> str:
        """Submit, once, and answer the engine's own id; only what was surely not submitted may
        raise `EngineRefused`."""

    def find(self, case: Case) -> str | None:
        """The id of the job that was submitted under this name, or None; `CanNotLookUp`."""

    def poll(self, case: Case, engine_id: str) -> Progress:
        """How the job is."""

    def cancel(self, case: Case, engine_id: str) -> None:
        """Ask the engine to stop it; silence when it has ended already."""

    def collect(self, case: Case, engine_id: str) -> Collected:
        """Bring results and logs below the folder of the job."""

    def tool(self, case: Case, name: str, version: int) -> Json | None:
        """The summary of exactly this tool, or None when the engine does not know it."""
