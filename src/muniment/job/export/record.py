"""Room `job`: registry and journal as bytes, read strictly into the facts of an export.  Pure.

Nothing here believes a document: the journal has to be one chain, the registry the one that the
journal knows, its plan the one that was confirmed, and each file on record has to fit both.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from muniment.digest import sha256
from muniment.job import rules
from muniment.job.adopting import submitted_already
from muniment.job.errors import JournalDamaged, RegistryRefused
from muniment.job.export.facts import (
    EXPORT,
    JOURNAL_FILE,
    REGISTRY_FILE,
    VERSION,
    Facts,
    Format,
    Held,
    Request,
    facts_of,
    moment_of,
    request_of,
)
from muniment.job.export.findings import Code, Finding
from muniment.job.history import History, fold
from muniment.job.model import Registry, Status
from muniment.job.plan import plan_digest
from muniment.job.reader import read
from muniment.message import say
from muniment.path import printable
from muniment.record.event import FIRST, BadRecord, Event, read_line


@dataclass(frozen=True, slots=True)
class Chain:
    """The events of a journal up to some point, and the bytes up to there."""

    events: tuple[Event, ...]
    held: Held


class NotOnRecord(Exception):
    """Registry and journal do not carry an export; `findings` say why."""

    def __init__(self, *findings: Finding) -> None:
        self.findings = findings
        super().__init__(findings[0].code.value if findings else "")


def facts_from(registry_bytes: bytes, journal_bytes: bytes, format: Format, head: str | None = None) -> Facts:
    """The facts of the export that the journal asks for with its event `head`, its last one if none is
    named; `NotOnRecord` where the two files do not hold what an export rests on."""
    chain = _chain(journal_bytes, head)
    request = _request(chain.events, format)
    job = chain.events[0].subject.removeprefix("job:")
    history = _history(chain.events)
    registry_file = Held.of(registry_bytes)
    if history.pending is not None or history.registry != registry_file.sha256:
        raise NotOnRecord(
            Finding(Code.REGISTRY, REGISTRY_FILE, history.registry or "-", registry_file.sha256)
        )
    try:
        registry = read(registry_bytes, where=REGISTRY_FILE)
    except RegistryRefused as error:
        raise NotOnRecord(*(_of_registry(one) for one in error.findings)) from error
    odd = [*map(_of_registry, rules.findings(registry)), *_disagreements(job, registry, history)]
    if odd:
        raise NotOnRecord(*odd)
    facts = facts_of(job, registry, registry_file, chain.events, chain.held, request)
    for instant in facts.instants():
        try:
            moment_of(instant)
        except ValueError as error:
            wanted = say("an instant with its zone")
            raise NotOnRecord(Finding(Code.JOURNAL, JOURNAL_FILE, wanted, printable(instant))) from error
    return facts


def _of_registry(found: object) -> Finding:
    path, wanted, value = (getattr(found, name) for name in ("path", "wanted", "found"))
    return Finding(Code.REGISTRY, f"{REGISTRY_FILE}: {path}", str(wanted), str(value))


def _chain(data: bytes, head: str | None) -> Chain:
    """Every line, each whole and each after the one before; in an export none may be torn."""
    events: list[Event] = []
    prev, at, subject = FIRST, 0, None
    for number, line in enumerate(data.splitlines(keepends=True), 1):
        try:
            if not line.endswith(b"\n"):
                raise BadRecord("it has no end")
            event = read_line(line[:-1])
            subject = subject or event.subject
            if event.prev != prev or event.subject != subject or not subject.startswith("job:"):
                raise BadRecord("it does not continue the line before")
        except BadRecord as error:
            where = f"{JOURNAL_FILE}: {number}"
            raise NotOnRecord(
                Finding(Code.JOURNAL, where, say("a whole line of one chain"), str(error))
            ) from error
        events.append(event)
        prev, at = event.sha256, at + len(line)
        if event.sha256 == head:
            break
    if head is not None and prev != head:
        raise NotOnRecord(Finding(Code.JOURNAL, JOURNAL_FILE, head, say("no such event")))
    if not events:
        raise NotOnRecord(Finding(Code.JOURNAL, JOURNAL_FILE, say("at least one event"), say("none")))
    return Chain(tuple(events), Held(at, sha256(data[:at]).hex))


def _request(events: tuple[Event, ...], format: Format) -> Request:
    last = events[-1]
    wanted = say("an event {kind} for {format}", kind=EXPORT, format=format.value)
    request = request_of(last.evidence) if last.kind == EXPORT else None
    if request is None or request.format is not format:
        raise NotOnRecord(
            Finding(Code.JOURNAL, f"{JOURNAL_FILE}: {len(events)}", wanted, printable(last.kind))
        )
    if request.version != VERSION:
        found = Finding(Code.JOURNAL, f"{JOURNAL_FILE}: {len(events)}", str(VERSION), str(request.version))
        raise NotOnRecord(found)
    return request


def _history(events: tuple[Event, ...]) -> History:
    try:
        return fold(events)
    except JournalDamaged as error:
        wanted = say("events as a job writes them")
        raise NotOnRecord(Finding(Code.JOURNAL, JOURNAL_FILE, wanted, error.reason)) from error


def _disagreements(job: str, registry: Registry, history: History) -> Iterator[Finding]:
    """Where journal and registry, each whole in itself, say different things."""
    if submitted_already(registry):
        plan = plan_digest(job, history.engine, registry).hex
        if history.confirmed is None or history.confirmed.plan.hex != plan:
            found = history.confirmed.plan.hex if history.confirmed else "-"
            yield Finding(Code.JOURNAL, f"{JOURNAL_FILE}: confirmation", plan, found)
    if registry.workflow.status is Status.COMPLETE and not rules.is_complete(registry, history.runs):
        place = f"{REGISTRY_FILE}: workflow.status"
        yield Finding(Code.STATUS, place, say("a run of its tool that succeeded"), Status.COMPLETE.value)
    downstream = registry.execution.downstream
    pulled, known = downstream.pull_ledger.post_image_id, {one.sha256 for one in downstream.outputs}
    for run in history.runs:
        if run.succeeded and registry.workflow.status == "complete" and run is history.runs[-1]:
            if run.image.id != pulled:
                place = f"{REGISTRY_FILE}: execution.downstream.pull_ledger.post_image_id"
                yield Finding(Code.IMAGE, place, str(run.image.id), str(pulled))
            for one in run.outputs:
                if one.sha256 not in known:
                    place = f"{REGISTRY_FILE}: execution.downstream.outputs"
                    yield Finding(Code.REGISTRY, place, one.sha256, say("no such output"))
