"""Room `job`: the rules of a registry and of its phases, pure: facts in, verdict out.

`findings` holds one registry's fields against each other; `judge` decides whether one registry
may follow another.  Whatever act writes a registry passes through `judge`, so that no act can
reach `submitted` without a confirmation of exactly its plan (spec 2, phases).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from muniment.digest import Digest
from muniment.job.errors import (
    Frozen,
    JobEnded,
    NotConfirmed,
    PhaseRefused,
    SubmissionOpen,
    ToolRunning,
    WitnessTooWeak,
)
from muniment.job.finding import Finding, Place, Rule, shown
from muniment.job.image_name import image_tag_of
from muniment.job.model import BoundBy, DocumentGap, Downstream, Phase, Registry, Status
from muniment.job.plan import plan_digest
from muniment.job.tool_run import ToolRun
from muniment.message import Message, say

EDGES: Mapping[Phase, tuple[Phase, ...]] = {
    Phase.INITIALIZE: (Phase.PLANNED,),
    Phase.PLANNED: (Phase.AWAITING,),
    Phase.AWAITING: (Phase.SUBMITTED, Phase.PLANNED),
    Phase.SUBMITTED: (Phase.FINALIZE,),
    Phase.FINALIZE: (),
    Phase.DOCUMENT_GAP: (),
}
"""Where each phase leads, beside `document_gap` (from any) and back from it."""

ENDED = (Status.FAILED, Status.CANCELLED)
"""A job that ended so never changes again."""

BEFORE_SUBMISSION = (Phase.INITIALIZE, Phase.PLANNED, Phase.AWAITING)
_WITH_ID = (Phase.SUBMITTED, Phase.FINALIZE)


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a job stands: its phase and its status."""

    phase: Phase
    status: Status

    @classmethod
    def of(cls, registry: Registry) -> Standing:
        """The standing of a registry."""
        return cls(registry.workflow.phase, registry.workflow.status)


@dataclass(frozen=True, slots=True)
class Confirmation:
    """Somebody said yes to the plan of that digest; `enough` tells whether a witness of this
    kind suffices for submitting."""

    plan: Digest
    witness: str
    enough: bool


@dataclass(frozen=True, slots=True)
class Facts:
    """What the journal and the disk know and the registry can not say.

    `back` is where the document gap was entered from; `lies_at` tells for each path of the
    registry that leads below `/data/authoring` where it really lies; `intent` that a submission was
    announced whose answer is not known yet; `running` names the container of a run of the tool
    of which the same is true.
    """

    job: str
    engine: str
    confirmation: Confirmation | None = None
    back: Standing | None = None
    lies_at: Mapping[str, str] | None = None
    intent: bool = False
    running: str = ""


def findings(registry: Registry, facts: Facts | None = None) -> list[Finding]:
    """Every field that breaks a rule, in the template's order of the rules.

    >>> findings(Registry())
    []
    """
    found: list[Finding] = []
    for rule in (_phase, _gap, _bindings, _defaults, _downstream_empty, _tool, _pull):
        found.extend(rule(registry))
    if facts is not None:
        found.extend(_authoring(registry, facts.lies_at or {}))
        if facts.back is not None:
            found.extend(_downstream_in_gap(registry, facts.back))
    return found


def _phase(registry: Registry) -> Iterator[Finding]:
    standing, job = Standing.of(registry), registry.execution.bioline.job
    place = ("execution", "bioline", "job")
    if standing.status is Status.COMPLETE and standing.phase is not Phase.FINALIZE:
        wanted = say("complete in finalize only")
        yield Finding(("workflow", "status"), Rule.PHASE, wanted, shown(standing.status.value))
    if standing.phase in BEFORE_SUBMISSION:
        if job.id:
            yield Finding((*place, "id"), Rule.PHASE, say("nothing before submission"), shown(job.id))
        if job.output_dir:
            yield Finding(
                (*place, "output_dir"), Rule.PHASE, say("nothing before submission"), shown(job.output_dir)
            )
    if standing.phase in _WITH_ID and not job.id:
        yield Finding((*place, "id"), Rule.PHASE, say("the id that the engine gave"), shown(job.id))


def _gap(registry: Registry) -> Iterator[Finding]:
    gap, inside = registry.document_gap, registry.workflow.phase is Phase.DOCUMENT_GAP
    if gap.detected != inside:
        wanted = say("true in document_gap and in no other phase")
        yield Finding(("document_gap", "detected"), Rule.GAP, wanted, shown(gap.detected))
    if bool(gap.blocking_reason) != gap.detected:
        wanted = say("a reason when a gap is detected, and only then")
        yield Finding(("document_gap", "blocking_reason"), Rule.GAP, wanted, shown(gap.blocking_reason))
    if not gap.detected:
        for name in ("topic", "attempted_document_ids", "missing_information"):
            if getattr(gap, name):
                wanted = say("nothing while no gap is detected")
                yield Finding(("document_gap", name), Rule.GAP, wanted, shown(getattr(gap, name)))


def _bindings(registry: Registry) -> Iterator[Finding]:
    asked = registry.workflow.phase in (Phase.AWAITING, *_WITH_ID)
    for number, one in enumerate(registry.execution.bindings):
        place: Place = ("execution", "bindings", number)
        if one.source is None:
            if one.required and asked:
                wanted = say("what bound this required port")
                yield Finding((*place, "source"), Rule.BINDING, wanted, "null")
            for name in ("fileId", "filename"):
                if getattr(one, name):
                    wanted = say("nothing while nothing is bound")
                    yield Finding((*place, name), Rule.BINDING, wanted, shown(getattr(one, name)))
        elif not one.filename:
            yield Finding((*place, "filename"), Rule.BINDING, say("the file that is bound"), shown(""))
        if one.no_default and (one.source is BoundBy.DEFAULT or one.force_default):
            wanted = say("false while the port uses its default")
            yield Finding((*place, "no_default"), Rule.BINDING, wanted, shown(True))
        if one.force_default and one.source in (BoundBy.ROUTING, BoundBy.HEURISTIC):
            wanted = say("false while something else is bound")
            yield Finding((*place, "force_default"), Rule.BINDING, wanted, shown(True))


def _defaults(registry: Registry) -> Iterator[Finding]:
    """`defaults_used` lists the bindings that a default made: all of them, nothing else."""
    bound = {
        (one.task, one.port, one.filename): number
        for number, one in enumerate(registry.execution.bindings)
        if one.source is BoundBy.DEFAULT
    }
    listed: set[tuple[str, str, str]] = set()
    for number, row in enumerate(registry.execution.defaults_used):
        key = (row.task, row.port, row.filename)
        if key in listed or key not in bound:
            wanted = say("one row for each port bound by its default")
            yield Finding(("execution", "defaults_used", number), Rule.DEFAULT, wanted, shown(row.filename))
        listed.add(key)
    for key, number in bound.items():
        if key not in listed:
            wanted = say("a row in defaults_used for this port")
            place = ("execution", "bindings", number, "source")
            yield Finding(place, Rule.DEFAULT, wanted, shown("default"))


def _downstream_empty(registry: Registry) -> Iterator[Finding]:
    early = registry.workflow.phase in (*BEFORE_SUBMISSION, Phase.SUBMITTED)
    if early or (registry.workflow.phase is Phase.DOCUMENT_GAP and not registry.execution.bioline.job.id):
        yield from _filled_downstream(registry.execution.downstream)


def _downstream_in_gap(registry: Registry, back: Standing) -> Iterator[Finding]:
    if (
        registry.workflow.phase is Phase.DOCUMENT_GAP
        and back.phase is not Phase.FINALIZE
        and registry.execution.bioline.job.id
    ):
        yield from _filled_downstream(registry.execution.downstream)


def _filled_downstream(downstream: Downstream) -> Iterator[Finding]:
    empty, place = Downstream(), ("execution", "downstream")
    wanted = say("nothing before finalize")
    for part in ("tool", "pull_ledger"):
        now, then = getattr(downstream, part), getattr(empty, part)
        for name in now.__dataclass_fields__:
            if getattr(now, name) != getattr(then, name):
                found = shown(getattr(now, name))
                yield Finding((*place, part, name), Rule.DOWNSTREAM, wanted, found)
    for name in ("image_tag", "generated_scripts", "outputs", "logs"):
        if getattr(downstream, name):
            yield Finding((*place, name), Rule.DOWNSTREAM, wanted, shown(getattr(downstream, name)))


def _tool(registry: Registry) -> Iterator[Finding]:
    downstream = registry.execution.downstream
    tool, place = downstream.tool, ("execution", "downstream", "tool")
    chosen = bool(tool.name)
    reference = f"{tool.name}:{tool.version}" if chosen else ""
    if tool.reference != reference:
        wanted = say("{reference}, the name and the version", reference=shown(reference))
        yield Finding((*place, "reference"), Rule.TOOL, wanted, shown(tool.reference))
    if not chosen and tool.version != 1:
        yield Finding((*place, "version"), Rule.TOOL, say("1 while no tool is chosen"), shown(tool.version))
    if bool(tool.summary_sha256) != chosen:
        wanted = say("the digest of the tool's summary, and only when a tool is chosen")
        yield Finding((*place, "summary_sha256"), Rule.TOOL, wanted, shown(tool.summary_sha256))
    tag = image_tag_of(tool.name, tool.version) if chosen else ""
    if tag is None:
        wanted = say("a name that makes a legal image reference in lower case")
        yield Finding((*place, "name"), Rule.IMAGE, wanted, shown(tool.name))
    elif downstream.image_tag != tag:
        wanted = say("{tag}, the tool's name in lower case and its version", tag=shown(tag))
        place_of_tag = ("execution", "downstream", "image_tag")
        yield Finding(place_of_tag, Rule.IMAGE, wanted, shown(downstream.image_tag))


def _pull(registry: Registry) -> Iterator[Finding]:
    pull, place = registry.execution.downstream.pull_ledger, ("execution", "downstream", "pull_ledger")
    if pull.preexisting != (pull.pre_image_id is not None):
        wanted = say("true exactly when there was an image before")
        yield Finding((*place, "preexisting"), Rule.IMAGE, wanted, shown(pull.preexisting))
    pulled = pull.post_image_id is not None
    if bool(pull.pulled_at) != pulled:
        wanted = say("the time of the pull, and only after one")
        yield Finding((*place, "pulled_at"), Rule.IMAGE, wanted, shown(pull.pulled_at))
    if pull.pre_image_id is not None and not pulled:
        yield Finding((*place, "post_image_id"), Rule.IMAGE, say("the image after the pull"), "null")


def paths(registry: Registry) -> Iterator[tuple[Place, str]]:
    """Every absolute path of a registry with its place: what the disk is asked about."""
    bioline, downstream = registry.execution.bioline, registry.execution.downstream
    top: Place = ("execution", "bioline")
    every: list[tuple[Place, str]] = [
        ((*top, "input_path"), bioline.input_path),
        ((*top, "job", "output_dir"), bioline.job.output_dir),
    ]
    for number, one in enumerate(registry.execution.bindings):
        every.append((("execution", "bindings", number, "filename"), one.filename))
    for number, row in enumerate(registry.execution.defaults_used):
        every.append((("execution", "defaults_used", number, "filename"), row.filename))
    for number, wanted in enumerate(registry.execution.selected_artifacts):
        every.append((("execution", "selected_artifacts", number, "path"), wanted.path))
    for name in ("generated_scripts", "outputs", "logs"):
        for number, artifact in enumerate(getattr(downstream, name)):
            every.append((("execution", "downstream", name, number, "path"), artifact.path))
    return ((place, path) for place, path in every if path.startswith("/"))


def _authoring(registry: Registry, lies_at: Mapping[str, str]) -> Iterator[Finding]:
    for place, path in paths(registry):
        if path in lies_at:
            wanted = say("a path that does not lead below /data/authoring")
            yield Finding(
                place,
                Rule.AUTHORING,
                wanted,
                say("{path}, which lies at {place}", path=shown(path), place=shown(lies_at[path])),
            )


def judge(before: Registry, after: Registry, facts: Facts) -> None:
    """Refuse an `after` that may not follow `before`; silence is consent.

    `PhaseRefused` for a way that does not exist, `NotConfirmed` and `WitnessTooWeak` for a
    submission without its witness, `Frozen` for a field that no longer changes.
    """
    old, new = Standing.of(before), Standing.of(after)
    if old.status in ENDED:
        raise JobEnded(where=facts.job, status=old.status.value)
    if facts.running and before != after:
        # Its end is written first: nothing may look finished, or ended, while it goes on.
        raise ToolRunning(where=facts.job, job=facts.job, container=facts.running)
    leaves = new.phase is not old.phase or new.status in ENDED or _changed(before, after)
    if facts.intent and new.phase is not Phase.SUBMITTED and leaves:
        # It may run already: until that is known, nothing may make room for a second one.
        raise SubmissionOpen(where=facts.job, job=facts.job)
    _may_move(old, new, facts)
    if new.phase is Phase.SUBMITTED and old.phase is Phase.AWAITING:
        confirmed(after, facts)
    if old.phase in _WITH_ID or (old.phase is Phase.DOCUMENT_GAP and before.execution.bioline.job.id):
        _frozen(before, after, facts)
    elif (
        before.execution.bioline.job.id != after.execution.bioline.job.id and new.phase is not Phase.SUBMITTED
    ):
        raise Frozen(where=facts.job, path="execution.bioline.job.id")
    if new.phase is Phase.AWAITING and old.phase is Phase.AWAITING and _changed(before, after):
        why = say("a plan changes only after it was taken back")
        raise _refusal(old, new, facts, why)


def _may_move(old: Standing, new: Standing, facts: Facts) -> None:
    if new.phase is old.phase:
        if (
            old.status is Status.COMPLETE
            and new.status is not Status.COMPLETE
            and new.status is not Status.ACTIVE
        ):
            raise _refusal(old, new, facts)
        return
    if old.phase is Phase.DOCUMENT_GAP:
        if facts.back is None or new.phase is not facts.back.phase:
            why = say("a gap leads back to where it was entered")
            raise _refusal(old, new, facts, why)
        return
    if new.status in ENDED:
        why = say("a job ends in the phase where it stands")
        raise _refusal(old, new, facts, why)
    if new.phase is Phase.DOCUMENT_GAP or new.phase in EDGES[old.phase]:
        return
    raise _refusal(old, new, facts)


def confirmed(registry: Registry, facts: Facts) -> None:
    """Refuse unless somebody confirmed exactly this plan, with a witness that suffices."""
    plan = plan_digest(facts.job, facts.engine, registry)
    if facts.confirmation is None or facts.confirmation.plan != plan:
        why = (
            say("another plan was confirmed; a changed plan needs a new yes") if facts.confirmation else None
        )
        raise NotConfirmed(where=facts.job, why=why, digest=plan, job=facts.job)
    if not facts.confirmation.enough:
        raise WitnessTooWeak(where=facts.job, witness=facts.confirmation.witness, job=facts.job)


_FROZEN: tuple[tuple[str, Callable[[Registry], object]], ...] = (
    ("workflow.objective", lambda r: r.workflow.objective),
    ("execution.bioline.input_path", lambda r: r.execution.bioline.input_path),
    ("execution.bioline.project_id", lambda r: r.execution.bioline.project_id),
    ("execution.bioline.flow", lambda r: r.execution.bioline.flow),
    ("execution.bioline.job.id", lambda r: r.execution.bioline.job.id),
    ("execution.bindings", lambda r: r.execution.bindings),
    ("execution.defaults_used", lambda r: r.execution.defaults_used),
    ("execution.selected_artifacts", lambda r: r.execution.selected_artifacts),
)


def _frozen(before: Registry, after: Registry, facts: Facts) -> None:
    for path, field in _FROZEN:
        if field(before) != field(after):
            raise Frozen(where=facts.job, path=path)
    old, new = before.execution.bioline.job.output_dir, after.execution.bioline.job.output_dir
    if old and old != new:
        raise Frozen(where=facts.job, path="execution.bioline.job.output_dir")


def _changed(before: Registry, after: Registry) -> bool:
    return any(field(before) != field(after) for _, field in _FROZEN)


def _refusal(old: Standing, new: Standing, facts: Facts, why: Message | None = None) -> PhaseRefused:
    target = new.phase.value if new.phase is not old.phase else new.status.value
    return refusal(facts.job, old, target, why)


def refusal(job: str, standing: Standing, target: str, why: Message | None = None) -> PhaseRefused:
    """What says that a job can not go to the target from where it stands."""
    phase, status = standing.phase.value, standing.status.value
    return PhaseRefused(where=job, why=why, phase=phase, status=status, target=target, job=job)


def moved(registry: Registry, phase: Phase, status: Status = Status.ACTIVE) -> Registry:
    """The registry in another phase; leaving a gap clears what it said."""
    workflow = replace(registry.workflow, phase=phase, status=status)
    gap = registry.document_gap if phase is Phase.DOCUMENT_GAP else DocumentGap()
    return replace(registry, workflow=workflow, document_gap=gap)


def next_step(registry: Registry, facts: Facts, polled: str = "") -> Message:
    """What comes next, for a person: one command.  `polled` is the engine's last word."""
    standing, job = Standing.of(registry), facts.job
    if standing.status in ENDED:
        return say("The job has ended; `muniment job show {job}` shows what is recorded.", job=job)
    if facts.intent:
        return say("Find out what became of the submission: muniment job submit {job}", job=job)
    if standing.phase is Phase.AWAITING and _has_its_yes(registry, facts):
        return say("Submit it: muniment job submit {job}", job=job)
    if standing.phase is Phase.SUBMITTED and polled == "succeeded":
        return say("Take the results in: muniment job finalize {job}", job=job)
    plan = say("Plan it: muniment job plan {job} --flow FILE", job=job)
    return {
        Phase.INITIALIZE: plan,
        Phase.PLANNED: plan,
        Phase.AWAITING: say("The person confirms the plan: muniment job confirm {job}", job=job),
        Phase.SUBMITTED: say("Ask how it goes: muniment job poll {job}", job=job),
        Phase.FINALIZE: _next_of_tool(registry, facts),
        Phase.DOCUMENT_GAP: say("Find what is missing, then: muniment job resolve-gap {job}", job=job),
    }[standing.phase]


def _next_of_tool(registry: Registry, facts: Facts) -> Message:
    downstream, job = registry.execution.downstream, facts.job
    if registry.workflow.status is Status.COMPLETE or not downstream.tool.name:
        return say("Check the record at any time: muniment job verify {job}", job=job)
    if facts.running:
        return say("The tool runs; once it has ended: muniment job show {job}", job=job)
    if downstream.pull_ledger.post_image_id is None:
        return say("Fetch the image of its tool: muniment job pull {job}", job=job)
    return say("Run its tool: muniment job run {job} -- PROGRAM ARGUMENT…", job=job)


def is_complete(registry: Registry, runs: Sequence[ToolRun]) -> bool:
    """Whether a job is at its end: its status says so, and if it has a tool, the last run of that
    was one that succeeded."""
    if Standing.of(registry) != Standing(Phase.FINALIZE, Status.COMPLETE):
        return False
    return not registry.execution.downstream.tool.name or bool(runs and runs[-1].succeeded)


def _has_its_yes(registry: Registry, facts: Facts) -> bool:
    yes = facts.confirmation
    return yes is not None and yes.enough and yes.plan == plan_digest(facts.job, facts.engine, registry)
