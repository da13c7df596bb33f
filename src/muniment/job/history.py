"""Room `job`: what a job's journal says, folded into one value.  Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from muniment.digest import Digest
from muniment.job.errors import JournalDamaged
from muniment.job.model import Phase, Status
from muniment.job.rules import Standing
from muniment.job.tool_run import BadToolRecord, Pull, Start, ToolRun
from muniment.job.tool_run import Intent as RunIntent
from muniment.message import say
from muniment.record.consent import WitnessKind
from muniment.record.event import Event

BEGIN, END, ABORT = "job.begin", "job.end", "job.abort"
CONFIRMED, INTENT, INTENT_CLOSED = "job.plan_confirmed", "job.submit_intent", "job.submit_closed"
POLLED, ADOPTED, VERIFIED = "job.polled", "job.adopted", "job.verified"


@dataclass(frozen=True, slots=True)
class Pending:
    """A transition that was begun: the registry's sha256 before (empty: there was none) and after."""

    event_id: str
    act: str
    before: str
    after: str
    facts: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Confirmed:
    """A yes to the plan of that digest: the act it was given for, and how it came."""

    plan: Digest
    act: str
    witness: str
    at: str


@dataclass(frozen=True, slots=True)
class Intent:
    """A submission that was announced and whose answer has not been written back."""

    name: str
    plan: Digest
    engine: str


@dataclass(frozen=True, slots=True)
class History:
    """All that the journal knows: `registry` is the sha256 that the registry must have."""

    registry: str = ""
    engine: str = ""
    created: str = ""
    pending: Pending | None = None
    confirmed: Confirmed | None = None
    intent: Intent | None = None
    back: Standing | None = None
    polled: str = ""
    pull: Pull | None = None
    """The last attempt to fetch the tool's image."""
    fetched: Pull | None = None
    """The last one that had it."""
    run_intent: RunIntent | None = None
    """A run of the tool that was announced and of whose end nothing is known yet."""
    runs: tuple[ToolRun, ...] = ()
    """Every attempt to run the tool, oldest first."""
    behind: bool = False
    """Whether the registry has not been written since the last of them."""
    head: str = ""
    count: int = 0


def fold(events: Iterable[Event]) -> History:
    """Read the events in order; kinds that are not known change nothing.

    `JournalDamaged` where an event does not hold what its kind holds: a chain can be whole and its
    events still be nobody's.
    """
    state = History()
    for event in events:
        try:
            state = replace(_step(state, event), head=event.sha256, count=state.count + 1)
        except (KeyError, TypeError, ValueError) as error:
            finding = error if isinstance(error, BadToolRecord) else type(error).__name__
            why = say("event {event}: {finding}", event=event.event_id, finding=finding)
            job = event.subject.removeprefix("job:")
            raise JournalDamaged(where=event.kind, why=why, job=job) from error
    return state


def _step(state: History, event: Event) -> History:
    facts = event.evidence
    match event.kind:
        case "job.begin":
            act, before, after = (_text(facts[name]) for name in ("act", "before", "after"))
            return replace(
                state, pending=Pending(event.event_id, act, before, after, _object(facts["facts"]))
            )
        case "job.end":
            return _ended(state, event)
        case "job.abort":
            return replace(state, pending=None)
        case "job.plan_confirmed":
            return replace(state, confirmed=_yes(facts, facts["act"], event))
        case "job.submit_intent":
            intent = Intent(_text(facts["name"]), Digest(_text(facts["plan"])), _text(facts["engine"]))
            return replace(state, intent=intent)
        case "job.submit_closed":
            # A yes holds once: what was spent on a submission that did not come about is gone.
            return replace(state, intent=None, confirmed=None)
        case "job.polled":
            return replace(state, polled=_text(facts["state"]))
        case "job.tool_pull":
            pull = Pull.from_json(facts)
            return replace(state, pull=pull, fetched=state.fetched if pull.failed else pull, behind=False)
        case "job.tool_intent":
            return replace(state, run_intent=RunIntent.from_json(facts))
        case "job.tool_start":
            return _tool_started(state, Start.from_json(facts))
        case "job.tool_run":
            runs = (*state.runs, ToolRun.from_json(facts))
            return replace(state, run_intent=None, runs=runs, behind=True)
        case "job.adopted":
            back = standing_of(facts.get("back"))
            return replace(state, registry=_text(facts["registry"]), pending=None, back=back)
    return state


def _tool_started(state: History, start: Start) -> History:
    intent = state.run_intent
    if intent is None or intent.run != start.run:
        raise BadToolRecord(f"run: no run {start.run} was announced")
    return replace(state, run_intent=replace(intent, network=start.network, started_at=start.started_at))


def _ended(state: History, event: Event) -> History:
    done = state.pending
    if done is None:
        return state
    engine = _text(done.facts.get("engine", state.engine))
    back = standing_of(done.facts["back"]) if "back" in done.facts else state.back
    new = replace(state, registry=done.after, pending=None, engine=engine, back=back, behind=False)
    if not state.created:
        new = replace(new, created=event.at)
    if done.act in ("submit", "import"):
        new = replace(new, intent=None)
    if "confirmed" in done.facts:
        new = replace(new, confirmed=_yes(_object(done.facts["confirmed"]), "submit", event))
    if done.act in ("plan", "revise"):
        new = replace(new, confirmed=None)
    return new


def standing_of(value: object) -> Standing | None:
    """A standing as events carry it; None when there is none."""
    if not isinstance(value, Mapping):
        return None
    return Standing(Phase(value["phase"]), Status(value["status"]))


def _yes(facts: Mapping[str, Any], act: object, event: Event) -> Confirmed:
    witness = WitnessKind(facts["witness"]).value
    return Confirmed(Digest(_text(facts["plan"])), _text(act), witness, event.at)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("a text was expected")
    return value


def _object(value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise TypeError("an object was expected")
    return value
