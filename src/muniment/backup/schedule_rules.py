"""Floor 3, `backup`: the decisions of runs that nobody watches: what was consented to, when one is
due, which scheduled snapshots a policy keeps; facts in, verdict out (spec 4, list, delete, keep)."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from muniment.backup.model import OK, Plan
from muniment.canonical import Json, canonical
from muniment.evidence import spell, unspell
from muniment.message import Message, say

KEPT_MOST = 3660
"""No policy keeps more days, or weeks."""

LATE = timedelta(hours=1)
"""A run that has not begun so long after its time was missed."""

Local = Callable[[datetime], datetime]
"""Turns an instant into the person's own time of day."""

Instant = Callable[[datetime], datetime]
"""Turns a time of day without a zone into an instant."""

_DAILY = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])")


def is_daily(text: str) -> bool:
    """Whether a text is a time of day, `HH:MM`.

    >>> is_daily("03:30"), is_daily("3:30"), is_daily("24:00")
    (True, False, False)
    """
    return _DAILY.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class Policy:
    """How many days and weeks of scheduled snapshots are kept."""

    daily: int
    weekly: int

    def to_json(self) -> dict[str, Json]:
        """The policy as it is shown and kept."""
        return {"keep_daily": self.daily, "keep_weekly": self.weekly}


@dataclass(frozen=True, slots=True)
class Terms:
    """What a person consents to once for many runs.

    `items` and `extra` are what goes in at the top; `most_bytes` caps the bytes to save, before
    deflating; `vault` is the id of the one vault it goes to; `policy` says which older scheduled
    snapshots may go, None that none may.
    """

    daily: str
    layout: str
    mode: str
    rules_sha256: str
    items: tuple[tuple[str, str], ...]
    extra: tuple[str, ...]
    api: tuple[str, ...]
    api_dir: str | None
    most_bytes: int
    vault: str
    policy: Policy | None = None

    def to_json(self) -> dict[str, Json]:
        """The terms as they are shown and kept."""
        return {
            "daily": self.daily,
            "layout": self.layout,
            "mode": self.mode,
            "rules_sha256": self.rules_sha256,
            "items": [[section, spell(rel)] for section, rel in self.items],
            "extra": [spell(src) for src in self.extra],
            "api": list(self.api),
            "api_dir": None if self.api_dir is None else spell(self.api_dir),
            "most_bytes": self.most_bytes,
            "vault": self.vault,
            "policy": None if self.policy is None else self.policy.to_json(),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Terms:
        """The reverse; a `ValueError`, `KeyError` or `TypeError` when it is none."""
        policy, api_dir = value["policy"], value["api_dir"]
        terms = cls(
            str(value["daily"]),
            str(value["layout"]),
            str(value["mode"]),
            str(value["rules_sha256"]),
            tuple((str(section), unspell(rel)) for section, rel in value["items"]),
            tuple(map(unspell, value["extra"])),
            tuple(map(str, value["api"])),
            None if api_dir is None else unspell(api_dir),
            int(value["most_bytes"]),
            str(value["vault"]),
            None if policy is None else Policy(int(policy["keep_daily"]), int(policy["keep_weekly"])),
        )
        if not is_daily(terms.daily) or terms.to_json() != value:
            raise ValueError("it is no consent as it is kept")
        return terms

    @property
    def shown(self) -> bytes:
        """The bytes that the consent binds to."""
        return canonical({"act": "schedule", "v": 1, "terms": self.to_json()})


def terms_of(
    plan: Plan,
    *,
    daily: str,
    layout: str,
    rules_sha256: str,
    api_dir: str | None,
    most_bytes: int,
    vault: str,
    policy: Policy | None = None,
) -> Terms:
    """The terms under which what a plan shows would be saved every day."""
    return Terms(
        daily,
        layout,
        plan.mode,
        rules_sha256,
        tuple(sorted((one.section, one.rel) for one in plan.items if one.status == OK)),
        tuple(sorted(one.src for one in plan.extra_paths if one.status == OK)),
        tuple(sorted(one.file for one in plan.api if one.status == OK)),
        api_dir,
        most_bytes,
        vault,
        policy,
    )


@dataclass(frozen=True, slots=True)
class Stop:
    """Why a standing consent does not cover what there is now: a word for programs, the thing it is
    about, and the sentence."""

    reason: str
    item: str
    why: Message


def stop(terms: Terms, now: Terms, size: int) -> Stop | None:
    """Why a run stops; None while everything is as it was consented to.

    Rules, mode, vault or layout changed; something at the top that goes in appeared or vanished; the
    size cap is passed.  What the rules leave out may come and go.
    """
    if now.rules_sha256 != terms.rules_sha256:
        return Stop("rules_changed", "", say("the backup rules changed since the consent"))
    if now.vault != terms.vault:
        return Stop("vault_changed", "", say("another vault is set than the one consented to"))
    if (now.mode, now.layout, now.api_dir) != (terms.mode, terms.layout, terms.api_dir):
        return Stop("layout_changed", "", say("the mode or the layout is another one than consented to"))
    for before, after in (
        ({f"{section}/{rel}" for section, rel in terms.items}, {f"{s}/{rel}" for s, rel in now.items}),
        (set(terms.extra), set(now.extra)),
        (set(terms.api), set(now.api)),
    ):
        for item in sorted(after - before):
            return Stop("item_appeared", item, say("{where} appeared since the consent", where=spell(item)))
        for item in sorted(before - after):
            return Stop("item_vanished", item, say("{where} vanished since the consent", where=spell(item)))
    if size > terms.most_bytes:
        most = terms.most_bytes
        why = say("{size} bytes are to be saved, and the consent is for {most} at most", size=size, most=most)
        return Stop("too_large", "", why)
    return None


def due_after(daily: str, moment: datetime, local: Local, instant: Instant) -> datetime:
    """The first run after an instant, by the person's calendar.

    >>> from datetime import UTC
    >>> utc = lambda when: when.replace(tzinfo=UTC)
    >>> due_after("03:30", datetime(2026, 11, 30, 3, 30, tzinfo=UTC), utc, utc).isoformat()
    '2026-12-01T03:30:00+00:00'
    """
    return next(due for due in _dues(daily, moment, local, instant, (-1, 0, 1, 2)) if due > moment)


def due_before(daily: str, moment: datetime, local: Local, instant: Instant) -> datetime:
    """The last run that was due at an instant or before it."""
    return next(due for due in _dues(daily, moment, local, instant, (1, 0, -1, -2)) if due <= moment)


def _dues(
    daily: str, moment: datetime, local: Local, instant: Instant, days: Sequence[int]
) -> Iterable[datetime]:
    here = local(moment)
    hour, minute = map(int, daily.split(":"))
    for days_on in days:
        day = here.date() + timedelta(days=days_on)
        yield instant(datetime(day.year, day.month, day.day, hour, minute))


def was_missed(
    daily: str, consented: datetime, last: datetime | None, now: datetime, local: Local, instant: Instant
) -> bool:
    """Whether the run that was due last never came, an hour after its time."""
    due = due_before(daily, now - LATE, local, instant)
    return due > consented and (last is None or last < due)


@dataclass(frozen=True, slots=True)
class Dated:
    """A scheduled snapshot, as far as a policy looks at it; a `whole` one lacks nothing."""

    id: str
    at: datetime
    whole: bool = True


def kept(snapshots: Iterable[Dated], policy: Policy, local: Local) -> frozenset[str]:
    """The ids that a policy keeps.

    Of each of the last so many calendar days, and of the last so many weeks from Monday to Sunday, that
    have any, in the person's own time: the newest whole snapshot, or the newest where none is whole.
    The newest always stays, and so does the newest whole one.

    >>> from datetime import UTC
    >>> two = [Dated("a", datetime(2026, 11, 30, hour, tzinfo=UTC)) for hour in (1, 2)]
    >>> kept([two[0], Dated("b", two[1].at)], Policy(1, 0), lambda when: when)
    frozenset({'b'})
    """
    newest_first = sorted(snapshots, key=lambda one: (one.at, one.id), reverse=True)
    stay = {one.id for one in newest_first[:1]}
    stay |= {one.id for one in [one for one in newest_first if one.whole][:1]}
    days = _newest_of(newest_first, lambda one: _day(local(one.at)))
    weeks = _newest_of(newest_first, lambda one: local(one.at).isocalendar()[:2])
    return frozenset([*stay, *days[: policy.daily], *weeks[: policy.weekly]])


def _day(when: datetime) -> date:
    return when.date()


def _newest_of(newest_first: Sequence[Dated], span: Callable[[Dated], Hashable]) -> list[str]:
    """The id that stands for each span of time, newest span first."""
    found: dict[Hashable, Dated] = {}
    for one in newest_first:
        there = found.setdefault(span(one), one)
        if one.whole and not there.whole:
            found[span(one)] = one
    return [one.id for one in found.values()]
