"""Faces, command line: `muniment backup rules`: propose, decide, write; or the stock file."""

from __future__ import annotations

from pathlib import Path

from muniment.backup.proposal import Proposal, propose, size_without
from muniment.backup.rules import Category
from muniment.backup.rules_file import DEFAULT_LABEL
from muniment.backup.rules_writing import Decision, write_decision, write_stock
from muniment.backup.service import Backups
from muniment.clock import system_clock
from muniment.faces.cli.call import Call
from muniment.faces.cli.frame import Entry, Group, command, option
from muniment.faces.i18n.present import size
from muniment.message import Message, say
from muniment.path import printable

_LABEL = say("auto-backup {date}", date="{date}")


@command(examples=("muniment backup rules propose", "muniment backup rules propose --json"))
def propose_rules(call: Call) -> None:
    """Look at everything at the top and suggest what to leave out."""
    backups = call.house.backups
    backups.require_no_half_restore()
    proposal = propose(backups.places)
    call.terminal.result(proposal.to_json(), lambda: show_proposal(call, proposal))
    call.terminal.next_step("muniment backup rules write --exclude …")


def show_proposal(call: Call, proposal: Proposal) -> None:
    """The proposal for a person: a suggestion to accept, thin or extend, with the size before and after."""
    terminal = call.terminal
    for one in proposal.entries:
        mark = "✗" if one.category is Category.SKIP else "⚠" if one.advice is not None else "✓"
        why: Message = one.advice or one.reason
        terminal.say(
            say(
                "  {mark} {path}  {size}  {why}",
                mark=mark,
                path=printable(f"{one.section}/{one.name}"),
                size=size(one.size),
                why=why,
            )
        )
    suggested = [one.pattern for one in proposal.suggested]
    if suggested:
        terminal.say(say("Suggested, for you to accept, thin or extend: leave out {paths}", paths=suggested))
    terminal.say(
        say(
            "size before: {before}; after: {after}",
            before=size(proposal.size),
            after=size(size_without(proposal, suggested)),
        )
    )


@command(
    rehearses=False,
    examples=("muniment backup rules write --exclude workspace/output --label 'auto {date}'",),
)
@option("--exclude", metavar="PATTERN", multiple=True, about=say("A line that leaves something out."))
@option("--label", metavar="TEXT", about=say("The label; {date} is the day.", date="{date}"))
@option("--notes", metavar="TEXT", about=say("The reasons, in the words of who decided."))
def write_rules(call: Call, exclude: tuple[str, ...], label: str | None, notes: str | None) -> None:
    """Write the rules file with what was decided, and its inventory."""
    backups = call.house.backups
    backups.require_no_half_restore()
    decision = Decision(exclude, label or _default_label(call), notes or "")
    former = _write(call, backups, propose(backups.places), decision)
    call.terminal.result(
        {"path": str(backups.places.rules), "former": None if former is None else str(former)}, lambda: None
    )


@command(rehearses=False)
def default_rules(call: Call) -> None:
    """Write the stock rules file, unless there is one."""
    ensure_stock(call)
    call.terminal.next_step("muniment backup plan")


def ensure_stock(call: Call) -> None:
    """Write it, and say whether there was one."""
    backups = call.house.backups
    backups.require_no_half_restore()
    place = backups.places.rules
    created = write_stock(place)
    word = "CREATED" if created else "EXISTS "
    call.terminal.result(
        {"path": str(place), "created": created},
        lambda: call.terminal.print(f"{word} {printable(str(place))}"),
    )


def converse(call: Call, backups: Backups) -> None:
    """At a terminal: propose, let the person decide, write."""
    terminal = call.terminal
    terminal.note(say("There are no backup rules yet; this is what there is."))
    proposal = propose(backups.places)
    show_proposal(call, proposal)
    suggested = [one.pattern for one in proposal.suggested]
    chosen = list(suggested)
    answer = terminal.ask_text(
        say("Leave out: nothing to accept the suggestion, “none”, or paths with commas between")
    )
    if answer.lower() in ("none", "无"):
        chosen = []
    elif answer:
        chosen = [part.strip() for part in answer.split(",") if part.strip()]
    label = terminal.ask_text(say("Label, or nothing to keep “{label}”", label=_default_label(call)))
    _write(call, backups, proposal, Decision(tuple(chosen), label or _default_label(call)))


def _write(call: Call, backups: Backups, proposal: Proposal, decision: Decision) -> Path | None:
    translator = call.terminal.translator
    place = backups.places.rules
    date = system_clock().strftime("%Y-%m-%d")
    former = write_decision(
        place, decision, proposal, date, translator.text, lambda count: translator.text(size(count))
    )
    call.terminal.note(say("written: {path}", path=printable(str(place))))
    if former is not None:
        call.terminal.note(say("The rules there were lie at {path}.", path=printable(str(former))))
    return former


def _default_label(call: Call) -> str:
    text = call.terminal.text(_LABEL)
    return text if "{date}" in text else DEFAULT_LABEL


RULES = Group(
    table={
        "propose": Entry(
            "muniment.faces.cli.backup_rules:propose_rules",
            say("Suggest what to save and what not."),
        ),
        "write": Entry(
            "muniment.faces.cli.backup_rules:write_rules", say("Write the rules file with what was decided.")
        ),
        "default": Entry("muniment.faces.cli.backup_rules:default_rules", say("Write the stock rules file.")),
    },
    examples=("muniment backup rules propose", "muniment backup rules default"),
)
