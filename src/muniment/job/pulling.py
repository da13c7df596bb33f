"""Room `job`: fetching the image of a job's tool: a step of its own, and always on record.

What was here before and what is here after are looked up by us; that a pull "succeeded" is
believed only when the image is there (spec 2, containers).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from muniment.clock import instant
from muniment.errors import MunimentError
from muniment.job import rules, tool_recovery
from muniment.job.containers import LOCAL, image_reference
from muniment.job.errors import ImageUnknown, NoTool, RuntimeAnswer, ToolDone
from muniment.job.image_registry import manifest_named
from muniment.job.model import Phase, PullLedger, Status, Tool
from muniment.job.rules import Standing
from muniment.job.store import Opened, require_phase
from muniment.job.tool_names import keep_name, require_own_name
from muniment.job.tool_run import PULL, Pull, PullOutcome
from muniment.message import say

if TYPE_CHECKING:
    from muniment.job.container_answers import ImageFacts
    from muniment.job.service import JobService, View


@dataclass(frozen=True, slots=True)
class _Wanted:
    """An image that is about to be fetched, and what was here before."""

    tool: Tool
    reference: str
    before: ImageFacts | None


def pull(service: JobService, job: str) -> View:
    """Fetch the image of the job's tool and put on record what came of it.

    The job is not locked meanwhile: it may take long.  A failure is recorded as well, and then
    raised: `ImageUnknown`, `RegistryUnreachable`, `RegistryDenied`, `ImageCorrupt`, `PullFailed`.
    """
    with service.opened(job) as opened:
        wanted = _begin(service, opened)
    fault: MunimentError | None = None
    after: ImageFacts | None = None
    try:
        after = _fetch(service, wanted)
    except MunimentError as error:
        fault = error
    with service.opened(job) as opened:
        if require_tool(service, opened) != wanted.tool:
            raise RuntimeAnswer(
                runtime=service.containers.runtime.name, why=say("the tool changed meanwhile")
            )
        view = _record(service, opened, wanted, after, fault)
    if fault is not None:
        raise fault
    return view


def require_tool(service: JobService, opened: Opened) -> Tool:
    """The tool of a job that stands where tools are run: `PhaseRefused`, `NoTool`, `ToolDone`,
    `ToolCollision`; a run that was cut short is ended first."""
    tool_recovery.settle(service, opened)
    require_phase(opened, "tool", Phase.FINALIZE)
    tool = opened.registry.execution.downstream.tool
    if not tool.name:
        raise NoTool(where=opened.job, job=opened.job)
    if Standing.of(opened.registry).status is Status.COMPLETE:
        raise ToolDone(where=opened.job, job=opened.job)
    require_own_name(service.store.root, tool)
    return tool


def _begin(service: JobService, opened: Opened) -> _Wanted:
    tool = require_tool(service, opened)
    containers = service.containers
    reference = image_reference(containers.registry, opened.registry.execution.downstream.image_tag)
    containers.runtime.version()
    return _Wanted(tool, reference, containers.runtime.image(reference))


def _fetch(service: JobService, wanted: _Wanted) -> ImageFacts:
    containers, reference = service.containers, wanted.reference
    runtime = containers.runtime
    if not reference.startswith(LOCAL):
        runtime.pull(reference, containers.auth_file)
    elif wanted.before is None:
        why = say("no image of this name was made on this machine")
        raise ImageUnknown(where=runtime.name, why=why, image=reference)
    facts = runtime.image(reference)
    if facts is None:
        raise RuntimeAnswer(runtime=runtime.name, why=say("the image is not there after the pull"))
    return facts


def _record(
    service: JobService,
    opened: Opened,
    wanted: _Wanted,
    after: ImageFacts | None,
    fault: MunimentError | None,
) -> View:
    before = wanted.before.id if wanted.before else None
    now = instant(service.workspace.clock())
    manifest = ("", "")
    if after is None:
        outcome = PullOutcome.FAILED
    else:
        keep_name(service.store.root, wanted.tool)
        local = wanted.reference.startswith(LOCAL)
        named = None if local else manifest_named(wanted.reference, service.containers.auth_file)
        manifest = after.manifest(named)
        outcome = PullOutcome.PRESENT if after.id == before else PullOutcome.PULLED
    told = Pull(
        reference=wanted.reference,
        outcome=outcome,
        pre_image_id=before,
        post_image_id=after.id if after else None,
        preexisting=before is not None,
        moved=after is not None and before is not None and after.id != before,
        pulled_at=now,
        manifest_digest=manifest[0],
        media_type=manifest[1],
        platform=after.platform if after else "",
        why=str(fault) if fault else "",
    )
    service.store.note(opened, PULL, told.to_json())
    registry = opened.registry
    if after is None:
        registry = rules.moved(registry, Phase.FINALIZE, Status.BLOCKED)
    else:
        ledger = PullLedger(before is not None, before, after.id, now)
        downstream = replace(registry.execution.downstream, pull_ledger=ledger)
        registry = replace(registry, execution=replace(registry.execution, downstream=downstream))
        registry = rules.moved(registry, Phase.FINALIZE, Status.ACTIVE)
    service.store.move(opened, registry, "tool_pull", {})
    service.tell(opened.job, "tool_pull", registry, {"outcome": outcome.value, "image": told.post_image_id})
    return service.view(opened, True)
