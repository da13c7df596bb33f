"""Room `job`: what is on record of a tool's image and of its runs, as closed values.  Pure.

The registry has no field for these facts, so they stand in the job's journal: one
`job.tool_pull` for each attempt to fetch the image, one `job.tool_run` for each attempt to run it.
A run that never started has neither times, nor an exit code, nor outputs; that is held here, where
every reader of it comes by, and not left to whoever shows it (spec 2, containers).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Self

from muniment.ids import is_ulid
from muniment.job.finding import Finding, Rule, shown
from muniment.job.model import Artifact, ImageId, Instant, Name
from muniment.job.shape import Evidence, Form, Whole, reader_of
from muniment.message import say

PULL, RUN, RUN_INTENT, RUN_START = "job.tool_pull", "job.tool_run", "job.tool_intent", "job.tool_start"

_Whole = Annotated[int, Whole(1)]
_Digest = Annotated[str, Form(r"|sha256:[0-9a-f]{64}", say("empty, or sha256: and 64 lower-case hex digits"))]
_Argument = Annotated[str, Form(r"[^\u0000]*", say("a text without a zero byte"))]
_Container = Annotated[str, Form(r"muniment-[0-9a-z]{26}", say("the name of a container of ours"))]
Ulid = Annotated[str, Form(r"[0-9A-HJKMNP-TV-Z]{26}", say("a ULID"))]


class BadToolRecord(ValueError):
    """An event about a tool that is none; the text says at which field, and why."""


class PullOutcome(StrEnum):
    """How fetching an image ended: bytes came, it was there already, or neither."""

    PULLED = "pulled"
    PRESENT = "present"
    FAILED = "pull_failed"


class RunOutcome(StrEnum):
    """How a run ended."""

    EXITED = "exited"
    TIMED_OUT = "timed_out"
    OOM = "oom"
    KILLED = "killed"
    START_FAILED = "start_failed"
    PULL_FAILED = "pull_failed"


NEVER_STARTED = (RunOutcome.START_FAILED, RunOutcome.PULL_FAILED)
"""Outcomes of a run of which not one instruction was executed."""


class Engine(StrEnum):
    """What runs containers."""

    PODMAN = "podman"
    DOCKER = "docker"


class Proof(StrEnum):
    """How it is known that a container has no network.

    `read`: the kernel's table of its interfaces, before its program began; `observed`: the same
    table while it ran; `inspected`: the runtime's own word.
    """

    READ = "read"
    INSPECTED = "inspected"
    OBSERVED = "observed"


class _OfATool(Evidence):
    """Evidence about a tool: read strictly, and held together whenever it is read."""

    __slots__ = ()

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """Read the evidence strictly; `BadToolRecord` when it is anything else."""
        faults: list[Finding] = []
        built = reader_of(cls)(value, faults)
        faults.extend(built.findings() if built is not None else ())
        if built is None or faults:
            first = faults[0]
            raise BadToolRecord(f"{first.path}: wanted {first.wanted}, found {first.found}")
        return built

    def findings(self) -> Iterator[Finding]:
        """What of it does not fit together."""
        return iter(())


@dataclass(frozen=True, slots=True)
class Image:
    """The image of a tool; `id` is null and the rest empty where none came."""

    reference: Name
    id: ImageId | None = None
    manifest_digest: _Digest = ""
    media_type: str = ""
    platform: str = ""


@dataclass(frozen=True, slots=True)
class Pull(_OfATool):
    """One attempt to fetch the image of a tool.

    `moved` tells that the tag names another image than the one that was here before.
    """

    reference: Name
    outcome: PullOutcome
    pre_image_id: ImageId | None
    post_image_id: ImageId | None
    preexisting: bool
    moved: bool
    pulled_at: Instant
    manifest_digest: _Digest
    media_type: str
    platform: str
    why: str

    @property
    def failed(self) -> bool:
        """Whether the image could not be had."""
        return self.outcome is PullOutcome.FAILED

    def findings(self) -> Iterator[Finding]:
        """What of a pull does not fit together."""
        if self.preexisting != (self.pre_image_id is not None):
            wanted = say("true exactly when there was an image before")
            yield Finding(("preexisting",), Rule.IMAGE, wanted, shown(self.preexisting))
        if self.failed:
            for name, empty in (("post_image_id", None), ("moved", False), ("manifest_digest", "")):
                if getattr(self, name) != empty:
                    yield Finding(
                        (name,), Rule.IMAGE, say("nothing after a failed pull"), shown(getattr(self, name))
                    )
            return
        if self.post_image_id is None:
            yield Finding(("post_image_id",), Rule.IMAGE, say("the image after the pull"), "null")
        if not self.pulled_at:
            yield Finding(("pulled_at",), Rule.IMAGE, say("the time of the pull"), shown(""))
        moved = self.preexisting and self.pre_image_id != self.post_image_id
        if self.moved != moved:
            wanted = say("true exactly when another image was there before")
            yield Finding(("moved",), Rule.IMAGE, wanted, shown(self.moved))


@dataclass(frozen=True, slots=True)
class Limits:
    """What a run may use: bytes of memory, whole processors, processes, bytes of one file,
    seconds in all, and bytes of its outputs and of its logs."""

    memory_bytes: _Whole
    cpus: _Whole
    pids: _Whole
    file_size_bytes: _Whole
    deadline_s: _Whole
    output_bytes: _Whole


@dataclass(frozen=True, slots=True)
class NoNetwork:
    """How it was seen that the container has no network, and the interfaces it has."""

    proof: Proof
    interfaces: tuple[Name, ...]


@dataclass(frozen=True, slots=True)
class ToolRun(_OfATool):
    """One attempt to run a tool, whatever came of it; `why` says in words what went wrong.

    >>> image = Image("localhost/seqtk:1")
    >>> limits = Limits(1 << 30, 1, 64, 1 << 30, 60, 1 << 30)
    >>> run = ToolRun("01ARZ3NDEKTSV4RRFFQ69G5FAV", "muniment-01arz3ndektsv4rrffq69g5fav",
    ...     Engine.PODMAN, "5.0", image, ("seqtk",), limits, None, RunOutcome.START_FAILED)
    >>> run.started, run.succeeded, ToolRun.from_json(run.to_json()) == run
    (False, False, True)
    """

    run: Ulid
    container: _Container
    engine: Engine
    engine_version: str
    image: Image
    argv: tuple[_Argument, ...]
    limits: Limits
    network: NoNetwork | None
    outcome: RunOutcome
    exit_code: Annotated[int, Whole(0)] | None = None
    started_at: Instant = ""
    ended_at: Instant = ""
    inputs: tuple[Artifact, ...] = ()
    scripts: tuple[Artifact, ...] = ()
    outputs: tuple[Artifact, ...] = ()
    logs: tuple[Artifact, ...] = ()
    collected: bool = False
    """Whether its outputs were taken; what leads out of the job or is too large is refused whole."""
    why: str = ""

    @property
    def started(self) -> bool:
        """Whether its program ever began."""
        return self.outcome not in NEVER_STARTED

    @property
    def succeeded(self) -> bool:
        """Whether it ran to its own end, said so with exit code 0, and what it made was taken:
        nothing else is success."""
        return self.outcome is RunOutcome.EXITED and self.exit_code == 0 and self.collected

    def findings(self) -> Iterator[Finding]:
        """What of a run does not fit together: above all, what never started has left nothing."""
        if not is_ulid(self.run) or self.container != container_of(self.run):
            yield Finding(("container",), Rule.TOOL, say("the container of this run"), shown(self.container))
        if not self.started:
            wanted = say("nothing of a run that never started")
            for name, empty in (("network", None), ("exit_code", None), ("started_at", ""), ("ended_at", ""),
                                ("outputs", ()), ("logs", ()), ("collected", False)):  # fmt: skip
                if getattr(self, name) != empty:
                    yield Finding((name,), Rule.TOOL, wanted, shown(getattr(self, name)))
            return
        if self.image.id is None:
            yield Finding(("image", "id"), Rule.TOOL, say("the image that ran"), "null")
        if self.network is None:
            yield Finding(("network",), Rule.TOOL, say("how it was seen that there is no network"), "null")
        elif self.network.interfaces != ("lo",):
            wanted = say("the loopback interface alone")
            yield Finding(("network", "interfaces"), Rule.TOOL, wanted, shown(self.network.interfaces))
        for name in ("started_at", "ended_at"):
            if not getattr(self, name):
                yield Finding((name,), Rule.TOOL, say("a time"), shown(""))
        if self.outputs and not self.collected:
            yield Finding(("outputs",), Rule.TOOL, say("nothing that was not taken"), shown(self.outputs))
        if self.outcome is RunOutcome.EXITED and self.exit_code is None:
            yield Finding(("exit_code",), Rule.TOOL, say("the code with which it exited"), "null")


@dataclass(frozen=True, slots=True)
class Intent(_OfATool):
    """A run that was announced and of which no end is on record yet.

    `network` and `started_at` are there once its program was about to begin.
    """

    run: Ulid
    container: _Container
    engine: Engine
    engine_version: str
    image: Image
    argv: tuple[_Argument, ...]
    limits: Limits
    inputs: tuple[Artifact, ...] = ()
    scripts: tuple[Artifact, ...] = ()
    network: NoNetwork | None = None
    started_at: Instant = ""


@dataclass(frozen=True, slots=True)
class Start(_OfATool):
    """The program of an announced run is about to begin."""

    run: Ulid
    network: NoNetwork
    started_at: Instant


def container_of(run: str) -> str:
    """The name of the container of a run.

    >>> container_of("01ARZ3NDEKTSV4RRFFQ69G5FAV")
    'muniment-01arz3ndektsv4rrffq69g5fav'
    """
    return f"muniment-{run.lower()}"
