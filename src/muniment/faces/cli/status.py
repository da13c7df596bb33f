"""Faces, command line: `muniment status` and `muniment init`: what stands where, and what to do next."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from muniment.clock import system_clock
from muniment.desk.status import HANDOFFS, JOBS, LOOSE, SNAPSHOTS, Overview
from muniment.errors import MunimentError
from muniment.faces.cli.call import Call
from muniment.faces.cli.frame import command
from muniment.faces.i18n.present import age
from muniment.hosts.session import Session, SessionSource
from muniment.hosts.workspace import Found, Rule
from muniment.message import Message, say, say_count
from muniment.record.event import Draft
from muniment.record.subject import Unfinished

if TYPE_CHECKING:
    from muniment.backup.schedule import Scheduled

_RULES = {
    Rule.FLAG: say("named by --workspace"),
    Rule.ENVIRONMENT: say("from the environment"),
    Rule.HOST: say("from the host"),
    Rule.MARKER: say("it holds .muniment"),
    Rule.GIT: say("top of the git repository"),
    Rule.CURRENT: say("current folder"),
}
_SOURCES = {
    SessionSource.HOST: say("told by the host"),
    SessionSource.SESSION_STATUS: say("from the answer of session_status"),
    SessionSource.FLAG: say("named by --session"),
    SessionSource.COMMAND: say("told by the configured command"),
    SessionSource.FALLBACK: say("stands in, no host tells one"),
}
_STATES = {
    "half_restored": say("restored by half"),
    "announced": say("a snapshot that nobody has said to be stored"),
    "issued": say("issued"),
    "undelivered": say("undelivered"),
    "unknown": say("nobody knows whether it arrived"),
    "dispatched": say("dispatched"),
    "returned": say("returned"),
    "incomplete": say("incomplete"),
    "initialize": say("begun"),
    "planned": say("planned"),
    "awaiting_plan_confirmation": say("awaits your yes"),
    "submitted": say("submitted"),
    "finalize": say("results to take in"),
    "document_gap": say("stopped at a gap"),
}
"""How things stand that are unfinished; anything else is the code of an error."""


@command()
def status(call: Call) -> None:
    """Show the workspace, the session, the ledger and what is still open."""
    _show(call, call.house.overview())


@command(rehearses=False)
def init(call: Call) -> None:
    """Open the record of a workspace and show it."""
    workspace = call.house.workspace
    if not workspace.ledger.last(1):
        workspace.ledger.append(Draft("workspace.opened", workspace.identity.root_id))
    _show(call, call.house.overview())


def _show(call: Call, seen: Overview) -> None:
    def show() -> None:
        terminal = call.terminal
        terminal.lines(
            [
                (
                    say("workspace"),
                    say("{path}  ({rule})", path=str(seen.found.path), rule=_rule(seen.found)),
                ),
                (say("host"), seen.host),
                (say("session"), _session(seen.session)),
                (say("ledger"), _ledger(seen)),
                (say("not archived"), _listed(seen.of(LOOSE), _path)),
                *([(say("half done"), _half_done(seen))] if seen.half_done or seen.of(SNAPSHOTS) else []),
                (say("under way"), _under_way(seen)),
                (say("snapshot"), _snapshot(seen)),
                *([(say("schedule"), _schedule(seen.schedule))] if seen.schedule is not None else []),
                (say("next"), seen.next_step),
            ]
        )

    call.terminal.result(seen.to_json(), show)


def _rule(found: Found) -> Message:
    return _RULES[found.rule]


def _session(session: Session | None) -> Message:
    if session is None:
        return say("none yet")
    return say("{id}  ({source})", id=session.archive_id, source=_SOURCES[session.source])


def _ledger(seen: Overview) -> Message:
    if seen.damage is not None:
        return say("damaged: {finding}", finding=seen.damage)
    if seen.head is None:
        return say("not begun")
    return say_count(
        "{count} event, head {head}", "{count} events, head {head}", seen.head.count, head=seen.head.head[:12]
    )


def _listed(found: Sequence[Unfinished], each: Callable[[Unfinished], Message]) -> Message:
    """The first three of them, and how many more there are."""
    if not found:
        return say("nothing")
    first, more = tuple(each(one) for one in found[:3]), len(found) - 3
    return say("{paths} and {more} more", paths=first, more=more) if more > 0 else say("{paths}", paths=first)


def _path(one: Unfinished) -> Message:
    return say("{path}", path=one.reference)


def _open(one: Unfinished) -> Message:
    return say("{reference} ({state})", reference=one.reference, state=_STATES.get(one.state, one.state))


def _under_way(seen: Overview) -> Message:
    """Handoffs and jobs in one line, since all of this has to fit into ten."""
    rooms = tuple(_listed(found, _open) for found in map(seen.of, (HANDOFFS, JOBS)) if found)
    return say("{rooms}", rooms=rooms) if rooms else say("nothing")


def _half_done(seen: Overview) -> Message:
    acts = [say("{act}", act=act) for act in seen.half_done]
    return say("{acts}", acts=(*acts, *(_open(one) for one in seen.of(SNAPSHOTS))))


def _schedule(schedule: Scheduled | MunimentError) -> Message:
    if isinstance(schedule, MunimentError):
        return say("⚠ it can not be read: {finding}", finding=schedule.why or schedule.message)
    from muniment.faces.cli.schedule_pages import schedule_line

    return schedule_line(schedule)


def _snapshot(seen: Overview) -> Message:
    newest, vault = seen.snapshot, seen.vault
    if newest is None:
        return say("none yet")
    facts = {"id": newest.reference, "age": age(newest.at, system_clock()), "place": vault.address}
    if seen.elsewhere:
        return say("{id}, {age}, ⚠ not in the vault that is set: {place}", **facts)
    if vault.shares_device:
        return say("{id}, {age}, {place} ⚠ on the same device as what it saves", **facts)
    return say("{facts}", facts=tuple(facts.values()))
