"""Faces, command line: how schedules and prunings look to a person."""

from __future__ import annotations

from muniment.backup.prune import Choice
from muniment.backup.schedule import LastRun, Scheduled
from muniment.backup.schedule_rules import Policy, Terms
from muniment.bundle.vault import Snapshot
from muniment.clock import system_clock
from muniment.faces.cli.call import Call
from muniment.faces.i18n.present import age, size
from muniment.message import Message, say, say_count
from muniment.path import printable

_STOPS = {
    "rules_changed": say("the backup rules changed since the consent"),
    "vault_changed": say("another vault is set than the one consented to"),
    "layout_changed": say("the mode or the layout is another one than consented to"),
    "item_appeared": say("something at the top appeared since the consent"),
    "item_vanished": say("something at the top vanished since the consent"),
    "too_large": say("more is to be saved than the consent is for"),
}


def show_terms(call: Call, terms: Terms) -> None:
    """What a person consents to; on stderr, since the result is another."""
    note = call.terminal.note
    note(
        say(
            "Every day at {time}, without being asked, as long as the rules and the things above stay the "
            "same and no more than {size} are to be saved.",
            time=terms.daily,
            size=size(terms.most_bytes),
        )
    )
    if terms.policy is not None:
        note(say("After each run: {policy}", policy=policy_text(terms.policy)))


def policy_text(policy: Policy) -> Message:
    """A policy in words."""
    return say(
        "scheduled snapshots of the last {daily} days and the last {weekly} weeks are kept, older ones go",
        daily=policy.daily,
        weekly=policy.weekly,
    )


def show_schedule(call: Call, found: Scheduled) -> None:
    """How the schedule stands."""
    terms = found.standing.terms
    rows: list[tuple[Message, object]] = [
        (say("every day at"), terms.daily),
        (say("timer"), found.standing.timer or say("none was set from here")),
        (say("consent"), say("{at}, {witness}", at=found.standing.confirmation.at, witness=_witness(found))),
        (say("most to save"), size(terms.most_bytes)),
        (say("kept"), say("everything") if terms.policy is None else policy_text(terms.policy)),
        (say("last run"), last_run(found)),
        (say("next run"), found.next),
    ]
    call.terminal.lines(rows)


def _witness(found: Scheduled) -> str:
    return found.standing.confirmation.witness.value


def schedule_line(found: Scheduled) -> Message:
    """The schedule in one line, for `status`."""
    return say("daily at {time}, last run {last}", time=found.standing.terms.daily, last=last_run(found))


def last_run(found: Scheduled) -> Message:
    """How the last run ended, and whether one was missed since."""
    last = found.last
    told = say("none yet") if last is None else _ended(last)
    if found.missed:
        return say("{last}; ⚠ the run that was due after it never came", last=told)
    return told


def _ended(last: LastRun) -> Message:
    when = age(last.at, system_clock())
    if last.snapshot is not None and last.partial:
        return say("{when}: ⚠ {id}, partial", when=when, id=last.snapshot)
    if last.snapshot is not None:
        return say("{when}: {id}", when=when, id=last.snapshot)
    if last.reason:
        why = _STOPS.get(last.reason, last.reason)
        if last.item:
            return say("{when}: ⚠ stopped, {why}: {item}", when=when, why=why, item=printable(last.item))
        return say("{when}: ⚠ stopped, {why}", when=when, why=why)
    return say("{when}: ⚠ failed, {code}", when=when, code=last.code)


def show_choice(call: Call, choice: Choice) -> None:
    """What a policy keeps, and what it does not."""
    note = call.terminal.note
    for one in choice.stay:
        note(_row("✓", one))
    for one in choice.go:
        note(_row("✗", one))
    if choice.needed is not None:
        note(say("{id} stays: a restore from it is half done.", id=printable(choice.needed)))
    note(
        say_count(
            "{count} scheduled snapshot would go, {kept} stay.",
            "{count} scheduled snapshots would go, {kept} stay.",
            len(choice.go),
            kept=len(choice.stay),
        )
    )


def _row(mark: str, one: Snapshot) -> Message:
    return say(
        "  {mark} {id}  {when}  {size}  {label}",
        mark=mark,
        id=one.id,
        when=one.created_at,
        size=size(one.size),
        label=printable(one.label),
    )
