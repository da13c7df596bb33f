"""Room `job`: submitting once, asking how it goes, taking the results in, stopping.

Before the engine is called, the journal holds the intent with the name under which the job will be
known there.  Whatever happens then, the next call looks that name up; an engine that can not
look up leaves it to a person (spec 2, phases).
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from muniment.canonical import Json, NotJson, canonical, canonical_digest, read_json
from muniment.disk.root import Root
from muniment.job import rules
from muniment.job.backend import CanNotLookUp, Case, EngineState, Progress
from muniment.job.errors import (
    BadSummary,
    BadTool,
    EngineAnswer,
    EngineMissing,
    EngineRefused,
    StillRunning,
    SubmissionOpen,
    SubmissionUnknown,
)
from muniment.job.history import INTENT, INTENT_CLOSED, POLLED
from muniment.job.image_name import image_tag_of
from muniment.job.model import DocumentGap, Downstream, Phase, Registry, Status, Tool
from muniment.job.outputs import measure_pieces, table_of
from muniment.job.plan import plan_digest, plan_of
from muniment.job.planning import kept_document, require_inputs
from muniment.job.rules import Standing
from muniment.job.store import Opened, refusal
from muniment.job.tool_names import require_own_name
from muniment.message import say
from muniment.path import RelPath, printable

if TYPE_CHECKING:
    from muniment.job.service import JobService, View

_REFERENCE = re.compile(r"([^:\s](?:[^\s]*[^:\s])?):([1-9][0-9]{0,14})")
_SETTLED = ("job.person_found", "job.person_absent")


def name_of(job: str) -> str:
    """The name under which an engine knows a job.

    >>> name_of("rna-7")
    'openclaw-rna-7'
    """
    return f"openclaw-{job}"


def submit(service: JobService, opened: Opened, *, found: str | None, absent: bool) -> View:
    """Submit, or find out what became of the submission that was begun."""
    standing = Standing.of(opened.registry)
    if standing.phase in (Phase.SUBMITTED, Phase.FINALIZE):
        return service.view(opened, False)
    if standing.phase is not Phase.AWAITING or standing.status in rules.ENDED:
        raise refusal(opened, "submitted")
    if opened.history.intent is None:
        engine_id = _first(service, opened)
    elif found:
        service.store.note(opened, _SETTLED[0], {"id": found})
        engine_id = found
    elif absent:
        service.store.note(opened, _SETTLED[1], {})
        engine_id = _create(service, opened)
    else:
        engine_id = _again(service, opened)
    bioline = opened.registry.execution.bioline
    bioline = replace(bioline, job=replace(bioline.job, id=engine_id))
    execution = replace(opened.registry.execution, bioline=bioline)
    after = rules.moved(replace(opened.registry, execution=execution), Phase.SUBMITTED)
    view = service.move(opened, after, "submit", {"id": engine_id})
    _claim(service, opened)
    return view


def _first(service: JobService, opened: Opened) -> str:
    """Ask the rules, read the inputs again, announce, spend the yes, submit."""
    engine = service.engine(opened.history.engine)
    rules.confirmed(opened.registry, service.store.facts(opened.job, opened.registry, opened.history))
    kept_document(opened.folder, opened.registry, opened.job)
    require_inputs(engine, opened.registry.execution.bindings, opened.job)
    shown = canonical(plan_of(opened.job, engine.name, opened.registry))
    plan = plan_digest(opened.job, engine.name, opened.registry)
    yes = opened.history.confirmed
    act = yes.act if yes else "submit"
    service.workspace.consents.spend(act, shown, service.relayed)
    evidence: dict[str, Json] = {
        "name": name_of(opened.job),
        "plan": plan.hex,
        "engine": engine.name,
        "witness": yes.witness if yes else "",
    }
    service.store.note(opened, INTENT, evidence)
    return _create(service, opened)


def _create(service: JobService, opened: Opened) -> str:
    engine = service.engine(opened.history.engine)
    case = case_of(service, opened)
    try:
        engine_id = engine.create(case)
    except (EngineRefused, EngineMissing) as error:
        # Surely not submitted: the announcement is over, and the yes with it.
        service.store.note(opened, INTENT_CLOSED, {"code": error.code, "reason": error.reason})
        raise
    if not engine_id:
        raise EngineAnswer(engine=engine.name, why=say("an empty id"))
    return engine_id


def _again(service: JobService, opened: Opened) -> str:
    """An announced submission: found by its name, or, when it is surely not there, made now."""
    engine = service.engine(opened.history.engine)
    case = case_of(service, opened)
    try:
        engine_id = engine.find(case)
    except CanNotLookUp as error:
        blocked = rules.moved(opened.registry, Phase.AWAITING, Status.BLOCKED)
        service.move(opened, blocked, "unknown", {"reason": str(error)})
        raise SubmissionUnknown(
            where=opened.job, name=case.name, job=opened.job, why=say("{reason}", reason=error)
        ) from error
    return engine_id if engine_id else _create(service, opened)


def case_of(service: JobService, opened: Opened) -> Case:
    """An opened job as its engine sees it."""
    document = kept_document(opened.folder, opened.registry, opened.job)
    return Case(opened.job, name_of(opened.job), opened.folder, opened.registry, document)


def poll(service: JobService, opened: Opened) -> View:
    """Ask, write down what is new, and end the job when its run has ended badly."""
    if opened.registry.workflow.phase is not Phase.SUBMITTED:
        if opened.registry.workflow.phase is Phase.FINALIZE:
            return service.view(opened, False)
        raise refusal(opened, "poll")
    if opened.registry.workflow.status in rules.ENDED:
        return service.view(opened, False)
    return _progress(service, opened)[0]


def _progress(service: JobService, opened: Opened) -> tuple[View, Progress]:
    engine = service.engine(opened.history.engine)
    engine_id = opened.registry.execution.bioline.job.id
    progress = engine.poll(case_of(service, opened), engine_id)
    changed = progress.state.value != opened.history.polled
    if changed:
        service.store.note(opened, POLLED, {"state": progress.state.value, "detail": progress.detail})
    after = opened.registry
    if progress.output_dir and not after.execution.bioline.job.output_dir:
        after = _with_output_dir(after, progress.output_dir)
    if progress.state is EngineState.FAILED:
        after = rules.moved(after, Phase.SUBMITTED, Status.FAILED)
    elif progress.state is EngineState.STOPPED:
        after = rules.moved(after, Phase.SUBMITTED, Status.CANCELLED)
    view = service.move(opened, after, "poll", {"state": progress.state.value, "detail": progress.detail})
    if after.workflow.status in rules.ENDED:
        service.workspace.claims.end_all(f"job:{opened.job}")
    return replace(view, changed=changed or view.changed), progress


def finalize(service: JobService, opened: Opened, *, tool: str | None, summary: bytes | None) -> View:
    """Results first, whatever becomes of the tool; an unknown tool is a document gap."""
    wanted = read_reference(tool) if tool else None
    standing = Standing.of(opened.registry)
    if standing.phase is Phase.SUBMITTED and standing.status not in rules.ENDED:
        view, progress = _progress(service, opened)
        if progress.state is EngineState.SUCCEEDED:
            view = _take_in(service, opened, Status.ACTIVE if wanted else Status.COMPLETE)
        elif opened.registry.workflow.status in rules.ENDED:
            raise refusal(opened, "finalize")
        else:
            raise StillRunning(where=opened.job, state=progress.state.value, job=opened.job)
    elif standing.phase is Phase.FINALIZE:
        view = service.view(opened, False)
    else:
        raise refusal(opened, "finalize")
    return _choose_tool(service, opened, wanted, summary) if wanted else view


def _take_in(service: JobService, opened: Opened, status: Status) -> View:
    engine = service.engine(opened.history.engine)
    collected = engine.collect(case_of(service, opened), opened.registry.execution.bioline.job.id)
    outputs = measure_pieces(opened.folder, collected.outputs)
    logs = measure_pieces(opened.folder, collected.logs)
    table = service.workspace.tables.keep(table_of(opened.folder, outputs))
    registry = opened.registry
    if not registry.execution.bioline.job.output_dir:
        registry = _with_output_dir(registry, f"{opened.folder.path}/outputs")
    execution = replace(registry.execution, downstream=Downstream(outputs=outputs, logs=logs))
    after = rules.moved(replace(registry, execution=execution), Phase.FINALIZE, status)
    view = service.move(opened, after, "finalize", {"outputs_table": table.hex})
    service.workspace.claims.end_all(f"job:{opened.job}")
    return view


def read_reference(text: str) -> tuple[str, int]:
    """A tool by exact `NAME:VERSION`; `BadTool` for a range, `latest`, `01` and the like.

    >>> read_reference("FastQC:3")
    ('FastQC', 3)
    """
    found = _REFERENCE.fullmatch(text)
    if found is None:
        raise BadTool(tool=printable(text) or "-", why=say("NAME:VERSION was expected"))
    name, version = found[1], int(found[2])
    if image_tag_of(name, version) is None:
        raise BadTool(tool=printable(text), why=say("no registry takes an image of this name"))
    return name, version


def _choose_tool(service: JobService, opened: Opened, wanted: tuple[str, int], summary: bytes | None) -> View:
    name, version = wanted
    reference = f"{name}:{version}"
    downstream = opened.registry.execution.downstream
    described = _summary(service, opened, name, version, summary)
    if described is None:
        gap = DocumentGap(
            detected=True,
            topic=reference,
            attempted_document_ids=opened.registry.knowledge.document_ids,
            missing_information=(f"the summary of {reference}",),
            blocking_reason=f"{opened.history.engine} does not know {reference}",
        )
        return service.enter_gap(opened, gap)
    digest = canonical_digest(described)
    require_own_name(service.store.root, Tool(reference, name, version))
    chosen = Tool(reference, name, version, digest.hex)
    if downstream.tool == chosen:
        return service.view(opened, False)
    if downstream.tool.name:
        why = say("its tool is {tool} already", tool=downstream.tool.reference)
        raise refusal(opened, reference, why)
    downstream = replace(downstream, tool=chosen, image_tag=image_tag_of(name, version) or "")
    execution = replace(opened.registry.execution, downstream=downstream)
    after = rules.moved(replace(opened.registry, execution=execution), Phase.FINALIZE, Status.ACTIVE)
    return service.move(opened, after, "tool", {"summary": described})


def _summary(
    service: JobService, opened: Opened, name: str, version: int, summary: bytes | None
) -> Json | None:
    if summary is None:
        engine = service.engine(opened.history.engine)
        return engine.tool(case_of(service, opened), name, version)
    try:
        value = read_json(summary)
    except NotJson as error:
        raise BadSummary(why=say("{finding}", finding=error)) from error
    if not isinstance(value, dict):
        raise BadSummary(why=say("it is no object"))
    for key, want in (("name", name), ("version", version)):
        if key in value and value[key] != want:
            raise BadSummary(why=say("it describes another {key}", key=key))
    found: Json = value
    return found


def cancel(service: JobService, opened: Opened) -> View:
    """Stop it at its engine first; on record only when that was said to be so."""
    standing = Standing.of(opened.registry)
    if standing.status in rules.ENDED:
        return service.view(opened, False)
    if standing.status is Status.COMPLETE:
        raise refusal(opened, "cancelled")
    if opened.history.intent is not None:
        raise SubmissionOpen(where=opened.job, job=opened.job)
    at_engine = opened.registry.execution.bioline.job.id and not opened.registry.execution.downstream.outputs
    if at_engine and standing.phase is not Phase.FINALIZE:
        engine = service.engine(opened.history.engine)
        case = case_of(service, opened)
        engine.cancel(case, opened.registry.execution.bioline.job.id)
    after = rules.moved(opened.registry, standing.phase, Status.CANCELLED)
    view = service.move(opened, after, "cancel")
    service.workspace.claims.end_all(f"job:{opened.job}")
    return view


def _claim(service: JobService, opened: Opened) -> None:
    """While it runs, nobody moves the job's folder away, where it lies in the workspace."""
    inside = _inside(service.workspace.root, opened.folder)
    if inside is not None:
        service.workspace.claims.make(inside, f"job:{opened.job}")


def _inside(root: Root, folder: Root) -> RelPath | None:
    if not folder.path.startswith(root.path.rstrip("/") + "/"):
        return None
    return RelPath.parse(folder.path[len(root.path.rstrip("/")) + 1 :])


def _with_output_dir(registry: Registry, path: str) -> Registry:
    bioline = registry.execution.bioline
    bioline = replace(bioline, job=replace(bioline.job, output_dir=path))
    return replace(registry, execution=replace(registry.execution, bioline=bioline))
