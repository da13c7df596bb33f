"""What a standing consent covers, when a run is due, what a policy keeps: tables and properties."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.backup.schedule_rules import (
    Dated,
    Policy,
    Terms,
    due_after,
    due_before,
    is_daily,
    kept,
    stop,
    was_missed,
)

TERMS = Terms(
    daily="03:30",
    layout="generic",
    mode="default",
    rules_sha256="a" * 64,
    items=(("workspace", "memory"), ("workspace", "notes")),
    extra=("/srv/more",),
    api=("profile.json",),
    api_dir="/srv/api",
    most_bytes=1000,
    vault="01VAULT",
    policy=Policy(7, 4),
)


def zone(name: str) -> tuple[Callable[[datetime], datetime], Callable[[datetime], datetime]]:
    there = ZoneInfo(name)
    return (lambda when: when.astimezone(there)), (lambda here: here.replace(tzinfo=there).astimezone(UTC))


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


# What is covered


def test_what_is_as_it_was_consented_to_goes_on() -> None:
    assert stop(TERMS, TERMS, 1000) is None


@pytest.mark.parametrize(
    ("change", "reason", "item"),
    [
        ({"rules_sha256": "b" * 64}, "rules_changed", ""),
        ({"vault": "01OTHER"}, "vault_changed", ""),
        ({"mode": "full"}, "layout_changed", ""),
        ({"layout": "starchild"}, "layout_changed", ""),
        ({"api_dir": None}, "layout_changed", ""),
        ({"items": (*TERMS.items, ("workspace", "new"))}, "item_appeared", "workspace/new"),
        ({"items": (("workspace", "memory"),)}, "item_vanished", "workspace/notes"),
        ({"items": (("data", "memory"), ("workspace", "notes"))}, "item_appeared", "data/memory"),
        ({"extra": ()}, "item_vanished", "/srv/more"),
        ({"extra": ("/srv/more", "/srv/yet")}, "item_appeared", "/srv/yet"),
        ({"api": ()}, "item_vanished", "profile.json"),
    ],
)
def test_each_change_stops_it(change: dict[str, Any], reason: str, item: str) -> None:
    found = stop(TERMS, replace(TERMS, **change), 1)
    assert found is not None
    assert (found.reason, found.item) == (reason, item)


def test_the_cap_is_a_cap() -> None:
    found = stop(TERMS, TERMS, 1001)
    assert found is not None
    assert found.reason == "too_large"


def test_terms_come_back_as_they_were_shown() -> None:
    odd = replace(TERMS, items=(("workspace", "a\udcff"), ("workspace", "b\\c")), policy=None, api_dir=None)
    for terms in (TERMS, odd):
        assert Terms.from_json(terms.to_json()) == terms
    assert odd.shown != TERMS.shown


def test_other_terms_are_refused() -> None:
    told = TERMS.to_json()
    for change in ({"daily": "3:30"}, {"more": 1}, {"most_bytes": "1000"}, {"items": [["workspace"]]}):
        with pytest.raises((ValueError, KeyError, TypeError)):
            Terms.from_json({**told, **change})


# When it is due


@pytest.mark.parametrize("text", ["00:00", "09:05", "23:59"])
def test_a_time_of_day(text: str) -> None:
    assert is_daily(text)


@pytest.mark.parametrize("text", ["", "9:05", "24:00", "12:60", "12:5", "12:05 ", "१२:०५", "12.05"])
def test_no_time_of_day(text: str) -> None:
    assert not is_daily(text)


@pytest.mark.parametrize(
    ("place", "now", "after", "before"),
    [
        ("UTC", "2026-11-30T03:29:59+00:00", "2026-11-30T03:30:00+00:00", "2026-11-29T03:30:00+00:00"),
        ("UTC", "2026-11-30T03:30:00+00:00", "2026-12-01T03:30:00+00:00", "2026-11-30T03:30:00+00:00"),
        (
            "Asia/Shanghai",
            "2026-12-31T20:00:00+00:00",
            "2027-01-01T19:30:00+00:00",
            "2026-12-31T19:30:00+00:00",
        ),
        # The clocks went forward at one, so half past three came an hour sooner.
        (
            "Europe/London",
            "2026-03-29T00:00:00+00:00",
            "2026-03-29T02:30:00+00:00",
            "2026-03-28T03:30:00+00:00",
        ),
        (
            "America/New_York",
            "2026-11-01T12:00:00+00:00",
            "2026-11-02T08:30:00+00:00",
            "2026-11-01T08:30:00+00:00",
        ),
        # Samoa had no 30 December 2011 at all.
        (
            "Pacific/Apia",
            "2011-12-30T09:00:00+00:00",
            "2011-12-30T13:30:00+00:00",
            "2011-12-29T13:30:00+00:00",
        ),
    ],
)
def test_due_by_the_calendar_of_the_place(place: str, now: str, after: str, before: str) -> None:
    local, instant = zone(place)
    assert due_after("03:30", at(now), local, instant) == at(after)
    assert due_before("03:30", at(now), local, instant) == at(before)


@pytest.mark.parametrize(
    ("consented", "last", "now", "missed"),
    [
        ("2026-11-29T12:00", None, "2026-11-30T03:00", False),
        ("2026-11-29T12:00", None, "2026-11-30T04:29", False),
        ("2026-11-29T12:00", None, "2026-11-30T04:31", True),
        ("2026-11-29T12:00", "2026-11-30T03:31", "2026-11-30T04:31", False),
        ("2026-11-29T12:00", "2026-11-30T03:31", "2026-12-01T04:31", True),
        ("2026-11-30T04:00", None, "2026-11-30T23:00", False),
    ],
)
def test_a_run_that_never_came(consented: str, last: str | None, now: str, missed: bool) -> None:
    local, instant = zone("UTC")
    times = [None if one is None else at(one + "+00:00") for one in (consented, last, now)]
    begun, ran, moment = times
    assert begun is not None
    assert moment is not None
    assert was_missed("03:30", begun, ran, moment, local, instant) is missed


# What is kept


def dated(*texts: str, partial: tuple[str, ...] = ()) -> list[Dated]:
    return [Dated(text, at(f"{text}:00+00:00"), text not in partial) for text in texts]


UTC_DAYS = zone("UTC")[0]


@pytest.mark.parametrize(
    ("daily", "weekly", "stay"),
    [
        (0, 0, {"2026-11-30T03"}),
        (1, 0, {"2026-11-30T03"}),
        (2, 0, {"2026-11-30T03", "2026-11-29T09"}),
        # The 28th has none; the third day that has any is the 27th.
        (3, 0, {"2026-11-30T03", "2026-11-29T09", "2026-11-27T03"}),
        # Monday the 30th begins a week; the 29th, a Sunday, ends the one before.
        (0, 2, {"2026-11-30T03", "2026-11-29T09"}),
        (0, 3, {"2026-11-30T03", "2026-11-29T09", "2026-11-20T03"}),
        (1, 3, {"2026-11-30T03", "2026-11-29T09", "2026-11-20T03"}),
    ],
)
def test_days_and_weeks(daily: int, weekly: int, stay: set[str]) -> None:
    all_of_them = dated("2026-11-20T03", "2026-11-27T03", "2026-11-29T03", "2026-11-29T09", "2026-11-30T03")
    assert kept(all_of_them, Policy(daily, weekly), UTC_DAYS) == stay


def test_days_are_those_of_the_place() -> None:
    """20:00 and 22:00 UTC are one day in London and two in Athens, where midnight lies between."""
    both = dated("2026-11-29T20", "2026-11-29T22")
    assert kept(both, Policy(2, 0), zone("Europe/London")[0]) == {"2026-11-29T22"}
    assert kept(both, Policy(2, 0), zone("Europe/Athens")[0]) == {"2026-11-29T20", "2026-11-29T22"}


def test_a_week_over_new_year_is_one_week() -> None:
    both = dated("2026-12-31T03", "2027-01-03T03")
    assert kept(both, Policy(0, 2), UTC_DAYS) == {"2027-01-03T03"}


def test_a_partial_snapshot_takes_no_whole_ones_place() -> None:
    partial = ("2026-11-30T09",)
    found = dated("2026-11-30T03", "2026-11-30T09", partial=partial)
    assert kept(found, Policy(1, 0), UTC_DAYS) == {"2026-11-30T03", "2026-11-30T09"}
    many = dated(
        "2026-11-01T03", "2026-11-29T03", "2026-11-30T03", partial=("2026-11-29T03", "2026-11-30T03")
    )
    assert kept(many, Policy(2, 0), UTC_DAYS) == {"2026-11-01T03", "2026-11-29T03", "2026-11-30T03"}
    assert kept(many, Policy(0, 0), UTC_DAYS) == {"2026-11-01T03", "2026-11-30T03"}


def test_nothing_of_nothing() -> None:
    assert kept([], Policy(7, 4), UTC_DAYS) == frozenset()


MOMENTS = st.datetimes(datetime(2026, 1, 1), datetime(2026, 3, 15), timezones=st.just(UTC))
SNAPSHOTS = st.lists(st.tuples(MOMENTS, st.booleans()), max_size=40).map(
    lambda found: [Dated(f"{number:02}", when, whole) for number, (when, whole) in enumerate(found)]
)
POLICIES = st.builds(Policy, st.integers(0, 20), st.integers(0, 8))
PLACES = st.sampled_from(["UTC", "Asia/Shanghai", "America/New_York", "Pacific/Kiritimati"])


@given(SNAPSHOTS, POLICIES, PLACES)
def test_what_a_policy_promises(snapshots: list[Dated], policy: Policy, place: str) -> None:
    local = zone(place)[0]
    stay = kept(snapshots, policy, local)
    by_id = {one.id: one for one in snapshots}
    assert stay <= set(by_id)
    assert len(stay) <= policy.daily + policy.weekly + 2
    if snapshots:
        assert max(snapshots, key=lambda one: (one.at, one.id)).id in stay
    whole = [one for one in snapshots if one.whole]
    if whole:
        assert max(whole, key=lambda one: (one.at, one.id)).id in stay
    days: set[date] = {local(one.at).date() for one in snapshots}
    for day in sorted(days, reverse=True)[: policy.daily]:
        of_day = [one for one in snapshots if local(one.at).date() == day]
        left = [one for one in of_day if one.id in stay]
        assert left
        assert any(one.whole for one in left) or not any(one.whole for one in of_day)
    mondays = {local(one.at).date() - timedelta(days=local(one.at).weekday()) for one in snapshots}
    for monday in sorted(mondays, reverse=True)[: policy.weekly]:
        assert any(monday <= local(by_id[one].at).date() < monday + timedelta(days=7) for one in stay)


@given(SNAPSHOTS, POLICIES, PLACES)
def test_pruning_again_changes_nothing(snapshots: list[Dated], policy: Policy, place: str) -> None:
    local = zone(place)[0]
    stay = kept(snapshots, policy, local)
    assert kept([one for one in snapshots if one.id in stay], policy, local) == stay


@given(SNAPSHOTS, POLICIES, PLACES)
def test_a_wider_policy_keeps_no_less(snapshots: list[Dated], policy: Policy, place: str) -> None:
    local = zone(place)[0]
    wider = Policy(policy.daily + 1, policy.weekly + 1)
    assert kept(snapshots, policy, local) <= kept(snapshots, wider, local)
