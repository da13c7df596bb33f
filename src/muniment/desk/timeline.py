"""Floor 3½, `desk`: the ledger as a timeline: what was claimed, and what was proved of it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from muniment.canonical import Json
from muniment.clock import read_instant
from muniment.record.event import Event
from muniment.record.subject import Subject, Weighed, Weight


class Worth(StrEnum):
    """What an event is worth by now: a claim may have been answered since."""

    NOTED = ""
    CLAIMED = "claimed"
    CLAIM_PROVED = "claim_proved"
    CLAIM_REFUTED = "claim_refuted"
    PROVED = "proved"
    REFUTED = "refuted"

    @property
    def unproved(self) -> bool:
        """Whether it is a claim that nothing has proved."""
        return self in (Worth.CLAIMED, Worth.CLAIM_REFUTED)


@dataclass(frozen=True, slots=True)
class Moment:
    """One event, what it is worth by now, the event that answered it, and within what it happened."""

    event: Event
    worth: Worth
    answer: str
    within: tuple[str, ...]

    def to_json(self) -> dict[str, Json]:
        """What programs get."""
        return {
            "event": f"ev_{self.event.event_id}",
            "at": self.event.at,
            "actor": self.event.actor,
            "kind": self.event.kind,
            "subject": self.event.subject,
            "worth": self.worth.value or None,
            "answered_by": f"ev_{self.answer}" if self.answer else None,
            "within": list(self.within),
        }


def within(event: Event) -> tuple[str, ...]:
    """The references of what an event happened in."""
    handoff, job = event.context.get("handoff_id"), event.context.get("job_id")
    found = (handoff, f"job:{job}" if isinstance(job, str) else None)
    return tuple(one for one in found if isinstance(one, str) and one != event.subject)


def timeline(
    events: Iterable[Event], subjects: Sequence[Subject], *, since: datetime | None = None, count: int
) -> list[Moment]:
    """The newest events, oldest first; no more of them are held than are asked for.

    A claim is answered by the newest later event that proves or refutes what it is about.
    """
    kept: deque[tuple[Event, Weighed | None]] = deque(maxlen=count)
    for event in events:
        if since is None or _after(event, since):
            kept.append((event, _weigh(event, subjects)))
    return list(_moments(kept, subjects))


def _moments(kept: Iterable[tuple[Event, Weighed | None]], subjects: Sequence[Subject]) -> Iterator[Moment]:
    later: dict[str, Event] = {}
    found: list[Moment] = []
    for event, weighed in reversed(list(kept)):
        worth, answer = _worth(weighed, later, subjects)
        if weighed is not None and weighed.weight is not Weight.CLAIMED:
            later.setdefault(weighed.about, event)
        found.append(Moment(event, worth, answer, within(event)))
    return reversed(found)


def _worth(
    weighed: Weighed | None, later: Mapping[str, Event], subjects: Sequence[Subject]
) -> tuple[Worth, str]:
    if weighed is None:
        return Worth.NOTED, ""
    if weighed.weight is not Weight.CLAIMED:
        return Worth(weighed.weight.value), ""
    answer = later.get(weighed.about)
    if answer is None:
        return Worth.CLAIMED, ""
    said = _weigh(answer, subjects)
    proved = said is not None and said.weight is Weight.PROVED
    return Worth.CLAIM_PROVED if proved else Worth.CLAIM_REFUTED, answer.event_id


def _weigh(event: Event, subjects: Sequence[Subject]) -> Weighed | None:
    found = (one.weigh(event) for one in subjects)
    return next((one for one in found if one is not None), None)


def _after(event: Event, since: datetime) -> bool:
    try:
        return read_instant(event.at) >= since
    except ValueError:
        return True  # nobody can tell its time; it is rather shown than hidden
