"""Faces, command line: `muniment status` and `muniment init`: what stands where, and what to do next."""

from __future__ import annotations

from muniment.desk.status import Overview
from muniment.faces.cli.call import Call
from muniment.faces.cli.frame import command
from muniment.hosts.session import Session, SessionSource
from muniment.hosts.workspace import Found, Rule
from muniment.message import Message, say, say_count
from muniment.record.event import Draft

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
                (say("not archived"), _loose(seen)),
                *([(say("half done"), ", ".join(seen.half_done))] if seen.half_done else []),
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


def _loose(seen: Overview) -> Message:
    if not seen.loose:
        return say("nothing")
    first = ", ".join(path.posix for path in seen.loose[:3])
    more = len(seen.loose) - 3
    return say("{paths} and {more} more", paths=first, more=more) if more > 0 else say("{paths}", paths=first)
