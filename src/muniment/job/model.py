"""Room `job`: the registry, schema 1.0, as closed values (spec 2, schema).

Every class below is one JSON object; its fields stand in the template's order, and their
defaults are the template.  Names are the wire's, also where Python would write them otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from muniment.job.shape import Constant, Form, Whole
from muniment.message import say

KNOWLEDGE_SOURCE = "https://www.bioline.cloud/ai/commandLineAndFkit/"
AUTHORING = "/data/authoring"
"""Where workflows are written; no path of an execution may lie in it."""

_DAY = r"[0-9]{4}-[01][0-9]-[0-3][0-9]"
_TIME = r"[0-2][0-9]:[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,9})?(?:Z|[+-][0-2][0-9]:[0-5][0-9])"
_INSTANT = f"|{_DAY}T{_TIME}"
_PATH = r"(?!/data/authoring(?:/|$))(?:/(?!\.\.?(?:/|$))[^/\u0000]+)+"

Instant = Annotated[str, Form(_INSTANT, say("empty, or an instant such as 2026-11-30T14:28:00Z"))]
AbsolutePath = Annotated[
    str, Form(f"|{_PATH}", say("empty, or an absolute path without . and .. and outside /data/authoring"))
]
Language = Annotated[str, Form(r"[a-z]{2,8}(?:-[A-Za-z0-9]{1,8})*", say("a language such as ch"))]
MaybeHex = Annotated[str, Form(r"|[0-9a-f]{64}", say("empty, or 64 lower-case hex digits"))]
Hex = Annotated[str, Form(r"[0-9a-f]{64}", say("64 lower-case hex digits"))]
ImageId = Annotated[str, Form(r"sha256:[0-9a-f]{64}", say("null, or sha256: and 64 lower-case hex digits"))]
Name = Annotated[str, Form(r"[^\u0000]+", say("a text that is not empty"))]


class Phase(StrEnum):
    """Where a job stands; the six names that are attested."""

    INITIALIZE = "initialize"
    PLANNED = "planned"
    AWAITING = "awaiting_plan_confirmation"
    SUBMITTED = "submitted"
    FINALIZE = "finalize"
    DOCUMENT_GAP = "document_gap"


class Status(StrEnum):
    """How it stands there."""

    ACTIVE = "active"
    BLOCKED = "blocked"
    FAILED = "failed"
    CANCELLED = "cancelled"
    COMPLETE = "complete"


class PortType(StrEnum):
    """What a port takes."""

    FILE = "FILE"
    DIR = "DIR"


class BoundBy(StrEnum):
    """What bound a port, strongest first."""

    ROUTING = "routing"
    HEURISTIC = "heuristic"
    DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class Knowledge:
    """Which documents the execution rests on."""

    source: Annotated[str, Constant(KNOWLEDGE_SOURCE)] = KNOWLEDGE_SOURCE
    language: Language = "ch"
    document_ids: tuple[Name, ...] = ()
    retrieved_at: Instant = ""
    skill_fallback_allowed: Annotated[bool, Constant(False)] = False


@dataclass(frozen=True, slots=True)
class Workflow:
    """What is to be done, and how far it is."""

    lane: Annotated[str, Constant("execution")] = "execution"
    objective: str = ""
    phase: Phase = Phase.INITIALIZE
    status: Status = Status.ACTIVE


@dataclass(frozen=True, slots=True)
class Flow:
    """The workflow that runs; `version_id` names exactly one version of it."""

    id: str = ""
    version_id: str = ""
    keyword: str = ""


@dataclass(frozen=True, slots=True)
class EngineJob:
    """The engine's own answer: its id, byte for byte, and where its results lie."""

    id: str = ""
    output_dir: AbsolutePath = ""


@dataclass(frozen=True, slots=True)
class Bioline:
    """The execution as the engine sees it."""

    input_path: AbsolutePath = ""
    project_id: str = ""
    flow: Flow = Flow()
    job: EngineJob = EngineJob()


@dataclass(frozen=True, slots=True)
class Binding:
    """What one port of one task is given, and by which rule; `source` is null while nothing is."""

    task: str
    port: Name
    type: PortType
    required: bool
    source: BoundBy | None = None
    fileId: str = ""
    filename: str = ""
    force_default: bool = False
    no_default: bool = False


@dataclass(frozen=True, slots=True)
class DefaultUsed:
    """A port that got the flow's own file."""

    task: str
    port: Name
    filename: Name


@dataclass(frozen=True, slots=True)
class SelectedArtifact:
    """A result that is wanted; its path stays empty until it is known."""

    task: str
    port: Name
    path: AbsolutePath
    role: str


@dataclass(frozen=True, slots=True)
class Artifact:
    """A file that was read back: a script, an output, a log.  `size` in bytes."""

    path: Annotated[
        str,
        Form(_PATH, say("an absolute path without . and .. and outside /data/authoring")),
    ]
    size: Annotated[int, Whole(0)]
    sha256: Hex
    role: str


@dataclass(frozen=True, slots=True)
class Tool:
    """The tool that runs on the results, by exact `NAME:VERSION`."""

    reference: str = ""
    name: str = ""
    version: Annotated[int, Whole(1)] = 1
    summary_sha256: MaybeHex = ""


@dataclass(frozen=True, slots=True)
class PullLedger:
    """Which image was here before the pull, and which after."""

    preexisting: bool = False
    pre_image_id: ImageId | None = None
    post_image_id: ImageId | None = None
    pulled_at: Instant = ""


@dataclass(frozen=True, slots=True)
class Downstream:
    """What is done with the results; empty until `finalize`."""

    tool: Tool = Tool()
    pull_ledger: PullLedger = PullLedger()
    image_tag: str = ""
    generated_scripts: tuple[Artifact, ...] = ()
    outputs: tuple[Artifact, ...] = ()
    logs: tuple[Artifact, ...] = ()


@dataclass(frozen=True, slots=True)
class Execution:
    """The execution: inputs, plan and results."""

    bioline: Bioline = Bioline()
    bindings: tuple[Binding, ...] = ()
    defaults_used: tuple[DefaultUsed, ...] = ()
    selected_artifacts: tuple[SelectedArtifact, ...] = ()
    downstream: Downstream = Downstream()


@dataclass(frozen=True, slots=True)
class DocumentGap:
    """What the documents do not say and why nothing can go on without it."""

    detected: bool = False
    topic: str = ""
    attempted_document_ids: tuple[Name, ...] = ()
    missing_information: tuple[Name, ...] = ()
    blocking_reason: str = ""


@dataclass(frozen=True, slots=True)
class Registry:
    """The factual record of one job.

    >>> Registry().workflow.phase
    <Phase.INITIALIZE: 'initialize'>
    """

    schema_version: Annotated[str, Constant("1.0")] = "1.0"
    knowledge: Knowledge = Knowledge()
    workflow: Workflow = Workflow()
    execution: Execution = Execution()
    document_gap: DocumentGap = DocumentGap()
