"""Room `job`: all that an export says, read from two files alone: the registry and the journal.  Pure.

The request for an export stands in the job's journal before anything is written.  So its time, the job's
folder and the names that the settings give are on record too, and every document is a function of
the two files: whoever has them can derive it again and compare (decision 310).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any

from muniment.digest import Digest, sha256
from muniment.job.history import History, fold
from muniment.job.model import Artifact, Name, Phase, PortType, Registry, Status
from muniment.job.rules import is_complete
from muniment.job.shape import Evidence, Form, Whole, reader_of
from muniment.job.tool_run import RUN, Pull, ToolRun
from muniment.message import say
from muniment.path import BadPath, RelPath
from muniment.record.event import Event

EXPORT = "job.export"
"""The event that asks for an export."""

VERSION = 1
"""Of the mapping: a document made by another one is derived again by that one."""

REGISTRY_FILE, JOURNAL_FILE = "registry.yaml", "journal.jsonl"

_PATH = Form(r"/[^\u0000]*", say("an absolute path"))
WEB = Form(r"https?://[!-~]+", say("an address that begins with http:// or https://"))


class Format(StrEnum):
    """What a job can be exported as."""

    RO_CRATE = "ro-crate"
    TES = "tes"
    SLSA = "slsa"


class Verdict(StrEnum):
    """How an execution ended, for every document alike.  Only `complete` is a success."""

    COMPLETE = "complete"
    FAILED = "failed"
    STOPPED = "stopped"
    NEVER_STARTED = "never_started"


@dataclass(frozen=True, slots=True)
class Party:
    """A person or an organisation, by name and address."""

    name: Name
    url: Annotated[str, WEB]


@dataclass(frozen=True, slots=True)
class Names:
    """Who and what the settings have documents name; nothing is made up where they are silent."""

    licence: str = ""
    author: Party | None = None
    publisher: Party | None = None


NOBODY = Names()


@dataclass(frozen=True, slots=True)
class Request(Evidence):
    """The evidence of a `job.export`: the format, where the job lay then, and who is named in it."""

    version: Annotated[int, Whole(1)]
    format: Format
    folder: Annotated[str, _PATH]
    licence: Annotated[str, Form(r"|https?://[!-~]+", say("empty, or an address"))] = ""
    author: Party | None = None
    publisher: Party | None = None


@dataclass(frozen=True, slots=True)
class Held:
    """A file's bytes, as far as they matter: how many, and their sha256 in hex."""

    size: int
    sha256: str

    @classmethod
    def of(cls, data: bytes) -> Held:
        """Of bytes in memory."""
        return cls(len(data), sha256(data).hex)


def hex_of(text: str) -> str | None:
    """The digits of `sha256:<64 lower-case hex>`; None for any other text.

    >>> hex_of("sha256:latest") is None
    True
    """
    try:
        return Digest.parse(text).hex
    except ValueError:
        return None


def moment_of(instant: str) -> datetime:
    """An instant in UTC; a `ValueError` for what is none, or says nothing of its zone.

    >>> moment_of("2026-11-30T11:00:00+08:00").hour
    3
    """
    moment = datetime.fromisoformat(instant)
    if moment.tzinfo is None:
        raise ValueError("it has no zone")
    try:
        return moment.astimezone(UTC)
    except OverflowError as error:
        raise ValueError("it lies before or after all time") from error


@dataclass(frozen=True, slots=True)
class Bound:
    """What a port was given; `file_id` is the engine's, which on this machine is a digest."""

    port: str
    type: PortType
    filename: str
    file_id: str

    @property
    def sha256(self) -> str | None:
        """The sha256 of the one file of this machine that it is, in hex; else None."""
        here = self.type is PortType.FILE and self.filename.startswith("/")
        return hex_of(self.file_id) if here else None


@dataclass(frozen=True, slots=True)
class TimedRun:
    """A run of the tool and when its end was written down."""

    run: ToolRun
    at: str


@dataclass(frozen=True, slots=True)
class Facts:
    """One job as its record tells it, up to the event that asked for this export."""

    job: str
    registry: Registry
    history: History
    request: Request
    asked_at: str
    registry_file: Held
    journal_file: Held
    submitted_at: str
    ended_at: str
    detail: str
    runs: tuple[TimedRun, ...]

    @property
    def reference(self) -> str:
        """The job on every face."""
        return f"job:{self.job}"

    @property
    def pull(self) -> Pull | None:
        """The last attempt to fetch the tool's image."""
        return self.history.pull

    def flow_verdict(self) -> Verdict:
        """How the workflow itself ended: its results are taken in only after a success."""
        workflow = self.registry.workflow
        if workflow.phase is Phase.FINALIZE:
            return Verdict.COMPLETE
        return Verdict.STOPPED if workflow.status is Status.CANCELLED else Verdict.FAILED

    def verdict_of(self, run: ToolRun) -> Verdict:
        """How a run of the tool ended; one that exited well but whose job is not complete is none."""
        if not run.started:
            return Verdict.NEVER_STARTED
        status, last = self.registry.workflow.status, run == self.runs[-1].run
        if run.succeeded and (not last or status is Status.COMPLETE):
            return Verdict.COMPLETE
        return Verdict.STOPPED if last and status is Status.CANCELLED else Verdict.FAILED

    def verdict(self) -> Verdict:
        """How the whole job ended; one that has a tool is complete by a run of it alone."""
        if self.runs and self.flow_verdict() is Verdict.COMPLETE:
            return self.verdict_of(self.runs[-1].run)
        if is_complete(self.registry, self.history.runs):
            return Verdict.COMPLETE
        return Verdict.STOPPED if self.registry.workflow.status is Status.CANCELLED else Verdict.FAILED

    def instants(self) -> Iterator[str]:
        """Every time that a document tells."""
        every = [self.asked_at, self.submitted_at, self.ended_at]
        for each in self.runs:
            every += [each.at, each.run.started_at, each.run.ended_at]
        return (one for one in every if one)

    def outputs_of_flow(self) -> tuple[Artifact, ...]:
        """What the workflow made: the outputs on record that no run of the tool left."""
        of_runs = {one.path for each in self.runs for one in each.run.outputs}
        return tuple(one for one in self.registry.execution.downstream.outputs if one.path not in of_runs)

    def logs_of_flow(self) -> tuple[Artifact, ...]:
        """The logs on record that no run of the tool left."""
        of_runs = {one.path for each in self.runs for one in each.run.logs}
        return tuple(one for one in self.registry.execution.downstream.logs if one.path not in of_runs)

    def inner(self, path: str) -> str | None:
        """A recorded path as one of the job's folder; None when it lies elsewhere, or may."""
        folder = self.request.folder.rstrip("/") + "/"
        if not path.startswith(folder):
            return None
        try:
            return RelPath.parse(path.removeprefix(folder)).posix or None
        except BadPath:
            return None

    def flow_inputs(self) -> Iterator[Bound]:
        """Everything that was bound to a port of the workflow."""
        for one in self.registry.execution.bindings:
            if one.source is not None:
                port = f"{one.task}.{one.port}" if one.task else one.port
                yield Bound(port, one.type, one.filename, one.fileId)


_read_request = reader_of(Request)


def request_of(evidence: Mapping[str, Any]) -> Request | None:
    """The request that an event carries, or None when it is none."""
    return _read_request(dict(evidence), [])


def facts_of(job: str, registry: Registry, registry_file: Held, events: tuple[Event, ...], journal: Held,
             request: Request) -> Facts:  # fmt: skip
    """The facts, from events whose last one is the request."""
    submitted, ended, detail = "", "", ""
    for event in events:
        facts = event.evidence
        if event.kind == "job.begin" and facts.get("act") == "submit":
            submitted = event.at
        if event.kind == "job.polled" and facts.get("state") in ("succeeded", "failed", "stopped"):
            ended, detail = event.at, str(facts.get("detail", ""))
        if not ended and event.kind == "job.begin" and facts.get("act") in ("finalize", "cancel", "import"):
            ended = event.at
    runs = tuple(TimedRun(ToolRun.from_json(one.evidence), one.at) for one in events if one.kind == RUN)
    return Facts(
        job, registry, fold(events), request, events[-1].at, registry_file, journal, submitted, ended,
        detail, runs,
    )  # fmt: skip
