"""Room `job`: the acts on a job, as every face calls them: parse, one call, render.

Each act opens the job under its lock, asks the rules, writes both files, reads them back, and
writes the workspace's ledger; only then does it answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from muniment.canonical import Json, canonical
from muniment.clock import instant
from muniment.digest import Digest, sha256
from muniment.disk.errors import NotThere
from muniment.errors import MunimentError
from muniment.ids import new_ulid
from muniment.job import adopting, pulling, rules, running, tool_recovery, tool_running
from muniment.job.backend import WorkflowBackend
from muniment.job.containers import Containers
from muniment.job.errors import (
    EngineUnknown,
    ForeignWrite,
    NotConfirmed,
    WitnessTooWeak,
)
from muniment.job.export.facts import NOBODY, Format, Names
from muniment.job.history import CONFIRMED, History
from muniment.job.importer import read_yaml
from muniment.job.model import Binding, DocumentGap, Phase, Registry, Status, Workflow
from muniment.job.plan import plan_digest, plan_of
from muniment.job.planning import PlanRequest, keep_document, make_plan
from muniment.job.reader import from_json
from muniment.job.rules import Standing
from muniment.job.shape import plain
from muniment.job.store import JobStore, Opened, check_job_id, require_phase
from muniment.job.verify import Report, verify
from muniment.message import Message, say
from muniment.path import printable
from muniment.record.consent import WitnessKind, suffices
from muniment.record.event import Draft
from muniment.record.state import Workspace

if TYPE_CHECKING:
    from muniment.job.export.writing import Exported


@dataclass(frozen=True, slots=True)
class View:
    """A job as a face shows it; `changed` tells whether this act changed anything."""

    job: str
    registry: Registry
    history: History
    plan: Digest
    changed: bool
    next: Message

    @property
    def bindings(self) -> tuple[Binding, ...]:
        """The binding table."""
        return self.registry.execution.bindings

    @property
    def complete(self) -> bool:
        """Whether the job is at its end, and its tool, if it has one, has run to its own."""
        return rules.is_complete(self.registry, self.history.runs)

    def to_json(self) -> dict[str, Json]:
        """What `--json` and the MCP tools answer."""
        yes = self.history.confirmed
        return {
            "job": self.job,
            "reference": f"job:{self.job}",
            "engine": self.history.engine,
            "created": self.history.created,
            "changed": self.changed,
            "plan_sha256": self.plan.hex,
            "confirmed": {"plan_sha256": yes.plan.hex, "witness": yes.witness, "at": yes.at} if yes else None,
            "submission_open": self.history.intent is not None,
            "registry": plain(self.registry),
            "tool": {
                "pull": self.history.pull.to_json() if self.history.pull else None,
                "open_run": self.history.run_intent.to_json() if self.history.run_intent else None,
                "runs": [run.to_json() for run in self.history.runs],
            },
            "complete": self.complete,
            "next": str(self.next),
        }


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a list; a job that can not be read has a `fault` instead of a standing."""

    job: str
    phase: str
    status: str
    objective: str
    fault: str = ""

    def to_json(self) -> dict[str, Json]:
        """The line for programs."""
        return {
            "job": self.job,
            "phase": self.phase,
            "status": self.status,
            "objective": self.objective,
            "fault": self.fault,
        }


class JobService:
    """The acts of this room on one folder of jobs and one workspace's record."""

    def __init__(
        self,
        store: JobStore,
        workspace: Workspace,
        engines: Mapping[str, WorkflowBackend],
        *,
        default_engine: str = "cwl",
        relayed: tuple[str, ...] = ("plan", "create"),
        named_in_exports: Names = NOBODY,
        containers: Containers | None = None,
    ) -> None:
        self.store = store
        self.workspace = workspace
        self.engines = engines
        self.default_engine = default_engine
        self.relayed = relayed
        self.named_in_exports = named_in_exports
        self.containers = containers or Containers()

    def init(
        self, job: str | None = None, *, objective: str = "", project_id: str = "", engine: str | None = None
    ) -> View:
        """Make a job; without an id it gets a ULID.  `JobExists` when the id is taken."""
        chosen = self.engine(engine or self.default_engine)
        job = check_job_id(job or new_ulid(self.workspace.clock(), self.workspace.entropy).lower())
        registry = Registry(workflow=Workflow(objective=objective))
        if project_id:
            bioline = replace(registry.execution.bioline, project_id=project_id)
            registry = replace(registry, execution=replace(registry.execution, bioline=bioline))
        self.store.create(job, registry, "init", {"engine": chosen.name})
        self.tell(job, "init", registry)
        return self.show(job, changed=True)

    def docs(self, job: str, document_ids: Sequence[str]) -> View:
        """Record which documents the job rests on, and when they were read."""
        with self.opened(job) as opened:
            known = opened.registry.knowledge
            ids = tuple(dict.fromkeys((*known.document_ids, *document_ids)))
            if ids == known.document_ids:
                return self.view(opened, False)
            now = instant(self.workspace.clock())
            after = replace(opened.registry, knowledge=replace(known, document_ids=ids, retrieved_at=now))
            return self.move(opened, after, "docs")

    def plan(self, job: str, request: PlanRequest) -> View:
        """Read the flow, bind its ports, and ask: the job then awaits a confirmation.

        The same plan again changes nothing; another one needs `revise` first.
        """
        with self.opened(job) as opened:
            engine = self.engine(opened.history.engine)
            require_phase(opened, "planned", *rules.BEFORE_SUBMISSION)
            planned, facts = make_plan(engine, opened.registry, request)
            if opened.registry.workflow.phase is Phase.AWAITING:
                return self.move(opened, planned, "plan")
            keep_document(opened.folder, facts)
            self.move(opened, rules.moved(planned, Phase.PLANNED), "plan")
            return self.move(opened, rules.moved(planned, Phase.AWAITING), "ask")

    def preview(self, job: str, request: PlanRequest) -> View:
        """What `plan` would ask, without writing anything of it."""
        with self.opened(job) as opened:
            require_phase(opened, "planned", *rules.BEFORE_SUBMISSION)
            planned, _ = make_plan(self.engine(opened.history.engine), opened.registry, request)
            opened.registry = rules.moved(planned, Phase.AWAITING)
            return self.view(opened, False)

    def awaiting(self, job: str) -> View:
        """A job as the person is asked about it; `PhaseRefused` unless its plan awaits a yes."""
        with self.opened(job) as opened:
            require_phase(opened, "submitted", Phase.AWAITING)
            return self.view(opened, False)

    def revise(self, job: str) -> View:
        """Take the plan back; a confirmation of it is void."""
        with self.opened(job) as opened:
            require_phase(opened, "planned", Phase.AWAITING, Phase.PLANNED)
            return self.move(opened, rules.moved(opened.registry, Phase.PLANNED), "revise")

    def confirm(self, job: str, plan: Digest, witness: WitnessKind) -> View:
        """Record that the person said yes to exactly the plan of this digest, and how that came.

        A yes that an agent passed on counts as `plan`, and reaches no further than the setting
        `confirm.relayed` lets it (spec 0, consent).
        """
        with self.opened(job) as opened:
            require_phase(opened, "submitted", Phase.AWAITING)
            shown = canonical(plan_of(job, opened.history.engine, opened.registry))
            if sha256(shown) != plan:
                why = say(
                    "the plan is now {digest}; what was shown is no longer it", digest=sha256(shown).short
                )
                raise NotConfirmed(where=job, why=why, digest=plan.short, job=job)
            act = "submit" if suffices("submit", witness, self.relayed) else "plan"
            if not suffices(act, witness, self.relayed):
                raise WitnessTooWeak(where=job, witness=witness.value, job=job)
            yes = self.workspace.consents.give(act, shown, witness)
            evidence: dict[str, Json] = {"plan": plan.hex, "act": act, "witness": yes.witness.value}
            self.store.note(opened, CONFIRMED, evidence)
            self.tell(job, "confirm", opened.registry, evidence)
            return self.view(opened, True)

    def gap(
        self,
        job: str,
        *,
        topic: str,
        reason: str,
        attempted: Sequence[str] = (),
        missing: Sequence[str] = (),
    ) -> View:
        """The documents do not say what is needed: stop here, and say what is missing."""
        with self.opened(job) as opened:
            return self.enter_gap(opened, DocumentGap(True, topic, tuple(attempted), tuple(missing), reason))

    def enter_gap(self, opened: Opened, gap: DocumentGap) -> View:
        """Stop an opened job at a gap; the journal keeps where to return."""
        inside = opened.registry.workflow.phase is Phase.DOCUMENT_GAP
        after = replace(rules.moved(opened.registry, Phase.DOCUMENT_GAP, Status.BLOCKED), document_gap=gap)
        if inside:
            return self.move(opened, after, "gap")
        standing = Standing.of(opened.registry)
        back: dict[str, Json] = {"phase": standing.phase.value, "status": standing.status.value}
        return self.move(opened, after, "gap", {"back": back})

    def resolve_gap(self, job: str) -> View:
        """What was missing has been found: go on where the gap was entered; its fields are cleared."""
        with self.opened(job) as opened:
            back = opened.history.back
            if opened.registry.workflow.phase is not Phase.DOCUMENT_GAP or back is None:
                return self.view(opened, False)
            after = rules.moved(opened.registry, back.phase, back.status)
            return self.move(opened, after, "resolve_gap", {"back": None})

    def show(self, job: str, *, changed: bool = False) -> View:
        """A job as it stands."""
        with self.opened(job) as opened:
            return self.view(opened, changed)

    def list(self) -> Iterator[Row]:
        """Every job by id, as its file says; one that can not be read is shown with its fault."""
        for job in self.store.ids():
            try:
                at = self.store.glance(job)
            except MunimentError as error:
                if self.store.looks_made(job):
                    gone = isinstance(error, NotThere)
                    yield Row(job, "", "", "", ForeignWrite.code if gone else error.code)
            else:
                yield Row(job, at.phase.value, at.status.value, at.objective)

    def submit(self, job: str, *, found: str | None = None, absent: bool = False) -> View:
        """Submit the confirmed plan, once; after a crash look it up instead (`muniment.job.running`).

        `found` and `absent` are a person's word where the engine itself can not be asked.
        """
        with self.opened(job) as opened:
            return running.submit(self, opened, found=found, absent=absent)

    def poll(self, job: str) -> View:
        """Ask the engine how it goes; a failed or stopped run ends the job where it stands."""
        with self.opened(job) as opened:
            return running.poll(self, opened)

    def finalize(self, job: str, *, tool: str | None = None, summary: bytes | None = None) -> View:
        """Take in the results of a run that succeeded, and look a tool up when one is named."""
        with self.opened(job) as opened:
            return running.finalize(self, opened, tool=tool, summary=summary)

    def pull(self, job: str) -> View:
        """Fetch the image of the job's tool (`muniment.job.pulling`)."""
        return pulling.pull(self, job)

    def run(
        self, job: str, argv: Sequence[str], *, inputs: Sequence[str] = (), scripts: Sequence[str] = ()
    ) -> View:
        """Run the tool in a container without network, once (`muniment.job.tool_running`)."""
        return tool_running.run_tool(self, job, argv, inputs=inputs, scripts=scripts)

    def cancel(self, job: str) -> View:
        """Stop the job: at its engine when it runs there, and on record."""
        with self.opened(job) as opened:
            tool_recovery.settle(self, opened)
            return running.cancel(self, opened)

    def verify(self, job: str) -> Report:
        """Read everything of a job again and compare it with what is on record."""
        return verify(self, job)

    def export(self, job: str, format: Format, destination: Path, *, key: bytes | None = None) -> Exported:
        """Write what is on record of a job as a document of a public format (`muniment.job.export`).

        The destination must not exist; a private `key` in PEM signs a statement.
        """
        from muniment.job.export.writing import export

        return export(self, job, format, destination, key=key)

    def import_yaml(
        self,
        job: str,
        data: bytes,
        *,
        where: str = "",
        engine: str | None = None,
        confirmed: tuple[Digest, WitnessKind] | None = None,
    ) -> View:
        """Take in a registry that a person wrote as YAML, as a new job.

        One that says it was submitted needs what submitting needs: a confirmation of its plan.
        """
        chosen = self.engine(engine or self.default_engine)
        registry = from_json(read_yaml(data, where=where), where=where)
        facts = adopting.import_facts(self, check_job_id(job), chosen.name, registry, confirmed)
        facts["source_sha256"] = sha256(data).hex
        self.store.create(job, registry, "import", facts)
        self.tell(job, "import", registry, {"source_sha256": sha256(data).hex})
        return self.show(job, changed=True)

    def adopt(self, job: str, reason: str) -> View:
        """Take a registry that somebody else wrote as it is, with the reason on record.

        It must keep every rule, and one that says it was submitted must be the plan that was
        confirmed here.
        """
        registry = adopting.adopt(self.store, job, reason)
        self.tell(job, "adopt", registry, {"reason": reason})
        return self.show(job, changed=True)

    def engine(self, name: str) -> WorkflowBackend:
        """The engine of a name; `EngineUnknown` names those there are."""
        try:
            return self.engines[name]
        except KeyError as error:
            known = ", ".join(sorted(self.engines)) or "-"
            raise EngineUnknown(engine=printable(name) or "-", engines=known) from error

    def opened(self, job: str) -> AbstractContextManager[Opened]:
        """A job under its lock."""
        return self.store.open(job)

    def view(self, opened: Opened, changed: bool) -> View:
        """An opened job as faces see it."""
        plan = plan_digest(opened.job, opened.history.engine, opened.registry)
        facts = self.store.facts(opened.job, opened.registry, opened.history)
        step = rules.next_step(opened.registry, facts, opened.history.polled)
        return View(opened.job, opened.registry, opened.history, plan, changed, step)

    def move(
        self, opened: Opened, after: Registry, act: str, facts: Mapping[str, Json] | None = None
    ) -> View:
        """One transition of an opened job, told to the ledger when it changed anything."""
        changed = self.store.move(opened, after, act, facts or {})
        if changed:
            self.tell(opened.job, act, opened.registry)
        return self.view(opened, changed)

    def tell(self, job: str, act: str, registry: Registry, more: Mapping[str, Json] | None = None) -> None:
        """The workspace's ledger learns what the job's own journal says already."""
        standing = Standing.of(registry)
        evidence: dict[str, Json] = {
            "phase": standing.phase.value,
            "status": standing.status.value,
            **(more or {}),
        }
        self.workspace.ledger.append(Draft(f"job.{act}", f"job:{job}", evidence))
