"""Room `job`: from a request to a plan: the flow read, the files bound and pinned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from muniment.digest import Digest, sha256
from muniment.disk.errors import AlreadyThere, NotThere
from muniment.disk.root import Root
from muniment.disk.write import write_verified
from muniment.errors import MunimentError
from muniment.job.backend import FlowFacts, WorkflowBackend
from muniment.job.bindings import Bound, Declared, Offer, bind
from muniment.job.errors import BadBinding, PlanDrifted
from muniment.job.model import Binding, BoundBy, Flow, Registry, SelectedArtifact
from muniment.message import say
from muniment.path import RelPath, printable

_DOCUMENT_LIMIT = 64 << 20


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """What a person asks for.

    `flow` is the workflow's path or id; `routing` names files by `task.port` or `port`;
    `select` names the results that are wanted (all when empty), each as `port` or `task.port`.
    `objective` and `project_id` leave what stands when they are None.
    """

    flow: str
    input_path: str = ""
    routing: Mapping[str, Sequence[str]] = field(default_factory=dict)
    force_default: frozenset[str] = frozenset()
    no_default: frozenset[str] = frozenset()
    select: tuple[str, ...] = ()
    objective: str | None = None
    project_id: str | None = None


def make_plan(
    engine: WorkflowBackend, registry: Registry, request: PlanRequest
) -> tuple[Registry, FlowFacts]:
    """The registry with the plan in it (its phase unchanged), and the flow; writes nothing.

    Raises `FlowRefused`, `BadBinding`, `UnboundPort` and the engine's errors.
    """
    facts = engine.inspect(request.flow)
    routing = {name: tuple(engine.offer(one) for one in files) for name, files in request.routing.items()}
    offers = engine.offers(request.input_path)
    bound = bind(facts.ports, offers, Declared(routing, request.force_default, request.no_default))
    bound = _pinned(engine, bound)
    bioline = replace(
        registry.execution.bioline,
        input_path=request.input_path,
        flow=Flow(facts.id, facts.version_id, facts.keyword),
    )
    if request.project_id is not None:
        bioline = replace(bioline, project_id=request.project_id)
    execution = replace(
        registry.execution,
        bioline=bioline,
        bindings=bound.bindings,
        defaults_used=bound.defaults_used,
        selected_artifacts=_selected(facts, request.select),
    )
    workflow = registry.workflow
    if request.objective is not None:
        workflow = replace(workflow, objective=request.objective)
    return replace(registry, workflow=workflow, execution=execution), facts


def _pinned(engine: WorkflowBackend, bound: Bound) -> Bound:
    rows = []
    for row in bound.bindings:
        if row.source is not None and not row.fileId and row.source is not BoundBy.DEFAULT:
            row = replace(row, fileId=engine.pin(Offer("", row.filename, row.type)))
        rows.append(row)
    return Bound(tuple(rows), bound.defaults_used)


def _selected(facts: FlowFacts, names: tuple[str, ...]) -> tuple[SelectedArtifact, ...]:
    rows: list[SelectedArtifact] = []
    for one in facts.results:
        keys = (one.port, f"{one.task}.{one.port}")
        if not names or any(name in keys for name in names):
            rows.append(SelectedArtifact(one.task, one.port, "", one.port))
    known = {name for one in facts.results for name in (one.port, f"{one.task}.{one.port}")}
    for name in names:
        if name not in known:
            there = tuple(one.port for one in facts.results) or "-"
            why = say("the flow has no such result; it has {results}", results=there)
            raise BadBinding(port=printable(name), why=why)
    return tuple(rows)


def keep_document(folder: Root, facts: FlowFacts) -> None:
    """Keep the flow's document under its own digest: it is what will be run."""
    if facts.document:
        rel = _document(sha256(facts.document))
        try:
            write_verified(folder, rel, facts.document)
        except AlreadyThere:
            if sha256(folder.read(rel, _DOCUMENT_LIMIT)) != sha256(facts.document):
                write_verified(folder, rel, facts.document, replace=True)


def kept_document(folder: Root, registry: Registry, job: str) -> bytes:
    """The document of the planned flow, read again and compared; empty where the engine has its own."""
    version = registry.execution.bioline.flow.version_id
    try:
        digest = Digest.parse(version)
    except ValueError:
        return b""
    rel = _document(digest)
    try:
        document = folder.read(rel, _DOCUMENT_LIMIT)
    except NotThere as error:
        raise PlanDrifted(path=rel.posix, job=job, why=say("it is gone")) from error
    if sha256(document) != digest:
        raise PlanDrifted(path=rel.posix, job=job, why=say("its sha256 is another"))
    return document


def require_inputs(engine: WorkflowBackend, bindings: Sequence[Binding], job: str) -> None:
    """Read every bound input again: `PlanDrifted` when one is not what the plan was made with."""
    for row in bindings:
        if row.source is None or row.source is BoundBy.DEFAULT:
            continue
        try:
            now = engine.pin(Offer(row.fileId, row.filename, row.type))
        except MunimentError as error:
            raise PlanDrifted(path=printable(row.filename), job=job, why=error.message) from error
        if now != row.fileId:
            raise PlanDrifted(path=printable(row.filename), job=job, why=say("its content is another"))


def _document(digest: Digest) -> RelPath:
    return RelPath((f"flow-{digest.hex}.json",))
