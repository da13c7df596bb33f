"""Room `job`: everything of a job read again and held against what is on record; changes nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from muniment.canonical import Json
from muniment.errors import MunimentError, NotVerified
from muniment.job import rules
from muniment.job.adopting import submitted_already
from muniment.job.errors import ForeignWrite, OutputsChanged
from muniment.job.history import History, fold
from muniment.job.model import Registry, Status
from muniment.job.outputs import changed
from muniment.job.planning import kept_document
from muniment.job.reader import LARGEST_FILE, read
from muniment.job.store import REGISTRY, registry_digest
from muniment.message import Message, say, say_count

if TYPE_CHECKING:
    from muniment.disk.root import Root
    from muniment.job.journal import JobJournal
    from muniment.job.service import JobService


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at: its name for programs, what was found for people."""

    name: str
    good: bool
    finding: Message
    details: tuple[Message, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """All checks of one job."""

    job: str
    checks: tuple[Check, ...]
    complete: bool = False
    """Whether the record says that the job is at its end: a true record of a failure is true."""

    @property
    def good(self) -> bool:
        """Whether everything is as it was recorded."""
        return all(check.good for check in self.checks)

    def to_json(self) -> dict[str, Json]:
        """What `--json` and the MCP tools answer."""
        return {
            "job": self.job,
            "verified": self.good,
            "complete": self.complete,
            "checks": [
                {
                    "name": one.name,
                    "good": one.good,
                    "finding": str(one.finding),
                    "details": [str(detail) for detail in one.details],
                }
                for one in self.checks
            ],
        }


def verify(service: JobService, job: str) -> Report:
    """Check journal, registry, rules, confirmation, workflow and every recorded file of a job."""
    with service.store.folder(job) as (folder, journal):
        checks: list[Check] = []
        history = _journal(journal, checks)
        if history is not None:
            _two_files(folder, history, job, checks)
        registry = _registry(service, folder, history, job, checks)
        if registry is not None and history is not None:
            _confirmation(service, registry, history, job, checks)
        if registry is not None:
            _flow(folder, registry, job, checks)
            _files(folder, registry, history or History(), checks)
        complete = registry is not None and history is not None and _tool(registry, history, checks)
    return Report(job, tuple(checks), complete)


def _journal(journal: JobJournal, checks: list[Check]) -> History | None:
    try:
        history = fold(journal.events())
    except NotVerified as error:
        detail = say("{where}: {why}", where=error.where, why=error.why or error.message)
        checks.append(Check("journal", False, error.message, (detail,)))
        return None
    found = say_count("{count} event, one chain", "{count} events, one chain", history.count)
    checks.append(Check("journal", history.count > 0, found))
    return history


def _two_files(folder: Root, history: History, job: str, checks: list[Check]) -> None:
    found = registry_digest(folder)
    known = (history.pending.before, history.pending.after) if history.pending else (history.registry,)
    if found and found in known:
        checks.append(Check("registry", True, say("the registry is the one that the journal knows")))
    else:
        error = ForeignWrite(where=f"{job}/{REGISTRY}", job=job)
        checks.append(
            Check("registry", False, error.message, (say("sha256 {found}", found=found or say("missing")),))
        )


def _registry(
    service: JobService, folder: Root, history: History | None, job: str, checks: list[Check]
) -> Registry | None:
    try:
        registry = read(folder.read(REGISTRY, LARGEST_FILE + 1), where=f"{job}/{REGISTRY}")
        facts = service.store.facts(job, registry, history or History())
        service.store.require_sound(registry, facts, f"{job}/{REGISTRY}")
    except MunimentError as error:
        every = getattr(error, "findings", ())
        details = tuple(
            say("{path}: {rule}: {found}", path=one.path, rule=one.rule.value, found=one.found)
            for one in every
        )
        checks.append(Check("rules", False, error.message, details))
        return None
    checks.append(Check("rules", True, say("every field keeps the schema and the rules")))
    return registry


def _confirmation(
    service: JobService, registry: Registry, history: History, job: str, checks: list[Check]
) -> None:
    if not submitted_already(registry):
        return
    try:
        rules.confirmed(registry, service.store.facts(job, registry, history))
    except MunimentError as error:
        checks.append(Check("confirmation", False, error.message))
        return
    witness = history.confirmed.witness if history.confirmed else ""
    checks.append(
        Check("confirmation", True, say("exactly this plan was confirmed ({witness})", witness=witness))
    )


def _flow(folder: Root, registry: Registry, job: str, checks: list[Check]) -> None:
    if not registry.execution.bioline.flow.version_id.startswith("sha256:"):
        return
    try:
        kept_document(folder, registry, job)
    except MunimentError as error:
        checks.append(Check("flow", False, error.message))
        return
    checks.append(Check("flow", True, say("the workflow is the one that was planned")))


def _tool(registry: Registry, history: History, checks: list[Check]) -> bool:
    """What the journal says of the tool against what the registry says of the job; whether the job
    is at its end."""
    complete = rules.is_complete(registry, history.runs)
    downstream = registry.execution.downstream
    if not downstream.tool.name:
        return complete
    post = downstream.pull_ledger.post_image_id
    if post is not None and (history.pull is not None and history.pull.post_image_id not in (post, None)):
        checks.append(Check("tool", False, say("the image is not the one that was fetched last")))
    elif registry.workflow.status is Status.COMPLETE and history.runs and not complete:
        checks.append(Check("tool", False, say("the job is said to be complete; its tool's last run is not")))
    elif complete and not set(history.runs[-1].outputs) <= set(downstream.outputs):
        checks.append(Check("tool", False, say("results of the tool are not on record")))
    else:
        checks.append(Check("tool", True, _last_run(history)))
    return complete


def _last_run(history: History) -> Message:
    if history.run_intent is not None:
        return say("a run of the tool has been announced and not ended")
    if not history.runs:
        return say("no run of the tool is on record here")
    last = history.runs[-1]
    if last.succeeded:
        return say("the last run of the tool succeeded")
    return say(
        "the last run of the tool did NOT succeed: {outcome}, {why}", outcome=last.outcome.value, why=last.why
    )


def _files(folder: Root, registry: Registry, history: History, checks: list[Check]) -> None:
    downstream = registry.execution.downstream
    runs = [one for run in history.runs for one in (*run.scripts, *run.outputs, *run.logs)]
    listed = (*downstream.generated_scripts, *downstream.outputs, *downstream.logs)
    every = tuple(dict.fromkeys((*listed, *runs)))
    if not every:
        return
    wrong = changed(folder, every)
    if wrong:
        error = OutputsChanged(checked=len(every), wrong=len(wrong))
        checks.append(Check("files", False, error.message, tuple(wrong)))
    else:
        found = say_count(
            "{count} recorded file, hashed again", "{count} recorded files, hashed again", len(every)
        )
        checks.append(Check("files", True, found))
