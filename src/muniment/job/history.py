"""Room `job`: what a job's journal says, folded into one value.  Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from muniment.digest import Digest
from muniment.job.model import Phase, Status
from muniment.job.rules import Standing
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
    head: str = ""
    count: int = 0


def fold(events: Iterable[Event]) -> History:
    """Read the events in order; kinds that are not known change nothing."""
    state = History()
    for event in events:
        state = replace(_step(state, event), head=event.sha256, count=state.count + 1)
    return state


def _step(state: History, event: Event) -> History:
    facts = event.evidence
    match event.kind:
        case "job.begin":
            opened = Pending(event.event_id, facts["act"], facts["before"], facts["after"], facts["facts"])
            return replace(state, pending=opened)
        case "job.end":
            return _ended(state, event)
        case "job.abort":
            return replace(state, pending=None)
        case "job.plan_confirmed":
            plan = Digest(facts["plan"])
            return replace(state, confirmed=Confirmed(plan, facts["act"], facts["witness"], event.at))
        case "job.submit_intent":
            intent = Intent(facts["name"], Digest(facts["plan"]), facts["engine"])
            return replace(state, intent=intent)
        case "job.submit_closed":
            # A yes holds once: what was spent on a submission that did not come about is gone.
            return replace(state, intent=None, confirmed=None)
        case "job.polled":
            return replace(state, polled=facts["state"])
        case "job.adopted":
            back = standing_of(facts.get("back"))
            return replace(state, registry=facts["registry"], pending=None, back=back)
    return state


def _ended(state: History, event: Event) -> History:
    done = state.pending
    if done is None:
        return state
    engine = done.facts.get("engine", state.engine)
    back = standing_of(done.facts["back"]) if "back" in done.facts else state.back
    new = replace(state, registry=done.after, pending=None, engine=engine, back=back)
    if not state.created:
        new = replace(new, created=event.at)
    if done.act in ("submit", "import"):
        new = replace(new, intent=None)
    if "confirmed" in done.facts:
        yes = done.facts["confirmed"]
        new = replace(new, confirmed=Confirmed(Digest(yes["plan"]), "submit", yes["witness"], event.at))
    if done.act in ("plan", "revise"):
        new = replace(new, confirmed=None)
    return new


def standing_of(value: object) -> Standing | None:
    """A standing as events carry it; None when there is none."""
    if not isinstance(value, Mapping):
        return None
    return Standing(Phase(value["phase"]), Status(value["status"]))
