"""Faces, command line: `muniment journal`: the team's journal: append, tail, verify."""

from __future__ import annotations

from typing import Any

import click

from muniment.errors import ExitCode
from muniment.faces.cli.call import Call
from muniment.faces.cli.frame import Entry, Group, command, option
from muniment.faces.cli.handoff import read_input
from muniment.faces.cli.usage import wrong
from muniment.handoff.settings import JOURNAL as WHERE
from muniment.handoff.team_journal import TeamJournal
from muniment.handoff.worker import Worker
from muniment.message import say, say_count
from muniment.path import printable

_PATH = option("--path", metavar="FOLDER", about=say("Another journal than the one that is set."))


def _journal(call: Call, path: str | None) -> TeamJournal:
    rel = call.house.root.relative(path or call.house.settings().get(WHERE))
    return TeamJournal(call.house.workspace, rel)


@command(
    rehearses=False,
    more=(
        say(
            "Within a handoff that owes the journal, the entry goes to the journal of its contract and "
            "carries the anchor; the receipt goes with the return."
        ),
    ),
    examples=("muniment journal append --text 'The parser reads all forty files.'",),
)
@option("--text", metavar="WORDS", about=say("The entry."))
@option("--file", metavar="FILE", about=say("The entry, in a file; - reads standard input."))
@option("--handoff", metavar="HANDOFF", about=say("The handoff that owes it."))
@_PATH
def append(call: Call, text: str | None, file: str | None, handoff: str | None, path: str | None) -> None:
    """Append an entry, and find it again."""
    if (text is None) == (file is None):
        raise wrong(say("give either --text or --file"), click.get_current_context())
    if handoff is not None and path is not None:
        raise wrong(say("give either --handoff or --path"), click.get_current_context())
    words = text if text is not None else read_input(call, file or "").decode("utf-8", "replace")
    if handoff is not None:
        found = Worker(call.house.handoffs()).journal(handoff, words)
    else:
        found = dict(_journal(call, path).append(words).to_json())
    call.terminal.result(
        {"entry": found},
        lambda: call.terminal.say(
            say(
                "entry {number} of the journal: {event_id}",
                number=found["version"],
                event_id=found["event_id"],
            )
        ),
    )


@command(rehearses=False, examples=("muniment journal tail --count 5",))
@option(
    "--count",
    metavar="N",
    type=click.IntRange(1, 10_000),
    default=20,
    about=say("How many entries; 20 if not given."),
)
@_PATH
def tail(call: Call, count: int, path: str | None) -> None:
    """Show the newest entries."""
    events = _journal(call, path).tail(count)

    def people() -> None:
        if not events:
            call.terminal.say(say("The journal is empty."))
        for event in events:
            text = printable(str(event.evidence.get("text")))
            call.terminal.say(
                say("{at} {actor}: {text}", at=event.at, actor=printable(event.actor), text=text)
            )

    call.terminal.result({"entries": [event.to_json() for event in events]}, people)


@command(rehearses=False)
@_PATH
def verify(call: Call, path: str | None) -> ExitCode | None:
    """Read the whole journal and check each record and each link."""
    found = _journal(call, path).verify()
    value: dict[str, Any] = {
        "whole": found.whole,
        "events": found.events,
        "repaired": found.repaired,
        "head": found.head,
        "findings": [
            {"segment": one.segment, "line": one.line, "offset": one.offset, "why": one.why}
            for one in found.findings
        ],
    }

    def people() -> None:
        if found.whole:
            call.terminal.say(
                say_count(
                    "the journal is whole: {count} record",
                    "the journal is whole: {count} records",
                    found.events,
                )
            )
        for one in found.findings:
            call.terminal.say(
                say("{segment}, byte {offset}: {why}", segment=one.segment, offset=one.offset, why=one.why)
            )

    call.terminal.result(value, people)
    return None if found.whole else ExitCode.NOT_VERIFIED


JOURNAL = Group(
    table={
        "append": Entry("muniment.faces.cli.journal:append", say("Append an entry, and find it again.")),
        "tail": Entry("muniment.faces.cli.journal:tail", say("Show the newest entries.")),
        "verify": Entry("muniment.faces.cli.journal:verify", say("Check each record and each link.")),
    },
)
