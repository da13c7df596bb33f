"""Faces, command line: how plans, receipts and snapshots look, and how one snapshot is picked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from muniment.backup.errors import Partial
from muniment.backup.model import Receipt
from muniment.backup.rules_file import RulesFile
from muniment.bundle.vault import Listing, Snapshot, Soundness
from muniment.clock import system_clock
from muniment.errors import Interrupted
from muniment.faces.cli.call import Call
from muniment.faces.i18n.present import age, size
from muniment.message import Message, say, say_count
from muniment.path import printable

_ORIGINS = {
    "excluded_default_rule": say("left out by default"),
    "excluded_user_rule": say("left out by your rules"),
    "excluded_self_loop": say("Muniment's own scratch"),
    "outside_link": say("a link that leads outside"),
    "special_file": say("neither a file nor a folder"),
    "folded_into_database": say("part of the database beside it"),
    "unreadable": say("could not be read"),
    "absent": say("not there"),
}


def origin(status: str) -> Message:
    """Why something is left out, for people."""
    return _ORIGINS.get(status) or say("{status}", status=status)


def show_plan(call: Call, plan: Mapping[str, Any], rules: RulesFile | None = None) -> None:
    """A plan as a person reads it: what the rules gave, what goes in, what stays out, what to mind."""
    terminal = call.terminal
    facts: list[tuple[Message, object]] = [
        (say("label"), plan["label"]),
        (say("mode"), plan["mode"]),
        (say("workspace"), plan["workspace_dir"]),
    ]
    if plan["data_dir"] != plan["workspace_dir"]:
        facts.append((say("data folder"), plan["data_dir"]))
    if rules is not None:
        facts.append((say("excludes of the rules"), tuple(rules.excludes) or say("none")))
        facts.append((say("further paths of the rules"), tuple(rules.paths) or say("none")))
    terminal.lines(facts)
    rows = [*plan["items"], *({**one, "section": "extra", "rel": one["src"]} for one in plan["extra_paths"])]
    rows += [{**one, "section": "api", "rel": one["file"]} for one in plan["api"] if one["status"] == "ok"]
    kept = sorted((row for row in rows if row["status"] == "ok"), key=lambda row: -row["size_bytes"])
    for row in kept:
        terminal.say(say("  ✓ {path}  {size}", path=_place(row), size=size(row["size_bytes"])))
    for row in rows:
        if row["status"] not in ("ok", "absent"):
            why = origin(row["status"])
            terminal.say(
                say("  ✗ {path}  {size}  {why}", path=_place(row), size=size(row["size_bytes"]), why=why)
            )
    for warning in plan["warnings"]:
        terminal.say(say("  ⚠ {warning}", warning=warning))
    terminal.say(
        say_count(
            "{count} file, {size}",
            "{count} files, {size}",
            plan["total_files"],
            size=size(plan["total_size_bytes"]),
        )
    )
    terminal.say(say("plan {plan_id}", plan_id=plan["plan_id"]))


def _place(row: Mapping[str, Any]) -> str:
    return printable(row["rel"] if row["section"] == "extra" else f"{row['section']}/{row['rel']}")


def show_receipt(call: Call, receipt: Receipt) -> None:
    """What came of a snapshot."""
    terminal = call.terminal
    one = receipt.snapshot
    terminal.say(say("stored {id}: {label}", id=one.id, label=one.label))
    terminal.lines(
        [
            (say("files"), (receipt.files, size(receipt.size))),
            (say("stored"), say("{size}, {sent} of it new", size=size(one.size), sent=size(receipt.sent))),
            (say("root"), str(one.root)),
            (say("confirmed"), receipt.witness),
        ]
    )
    for warning in receipt.warnings:
        terminal.say(say("  ⚠ {warning}", warning=warning))
    for fault in receipt.faults:
        terminal.say(say("  ✗ {path}: {finding}", path=printable(fault.path), finding=fault.finding))
    if receipt.partial:
        terminal.say(say("The snapshot is PARTIAL: what is named above is not in it as it is on disk."))
    if receipt.remaining is not None:
        terminal.say(say_count("{count} slot is left.", "{count} slots are left.", receipt.remaining))


class Shown(Protocol):
    """A snapshot, as far as a list shows it."""

    @property
    def id(self) -> str: ...
    @property
    def label(self) -> str: ...
    @property
    def created_at(self) -> datetime: ...
    @property
    def size(self) -> int: ...
    @property
    def sections(self) -> tuple[str, ...]: ...


def show_snapshots(call: Call, listing: Listing) -> None:
    """The numbered list."""
    show_numbered(call, listing.snapshots, listing.limits.snapshots or say("no limit"))


def show_numbered(call: Call, snapshots: Sequence[Shown], cap: object) -> None:
    """Snapshots, numbered, of so many that there may be; None where nobody knows how many."""
    terminal = call.terminal
    if not snapshots:
        terminal.say(say("There is no snapshot yet."))
        return
    terminal.say(say("{count} / {cap}", count=len(snapshots), cap="?" if cap is None else cap))
    now = system_clock()
    for number, one in enumerate(snapshots, 1):
        terminal.say(say("[{number}] {id}  {label}", number=number, id=one.id, label=_label(one)))
        terminal.say(
            say(
                "    {when} ({age})  {size}  {sections}",
                when=one.created_at,
                age=age(one.created_at, now),
                size=size(one.size),
                sections=_short(one.sections),
            )
        )
        if isinstance(one, Snapshot) and one.scheduled:
            terminal.say(say("    taken by the schedule"))
        if isinstance(one, Snapshot) and one.soundness is Soundness.DAMAGED:
            terminal.say(say("    ⚠ damaged in the vault"))


def _label(one: Shown) -> object:
    return printable(one.label) if one.label else say("(no label)")


def _short(sections: Sequence[str], most: int = 6) -> object:
    shown = tuple(printable(one) for one in sections[:most])
    return (*shown, say("{count} more", count=len(sections) - most)) if len(sections) > most else shown


def partial_of(receipt: Receipt) -> Partial:
    """That a snapshot which was stored lacks something."""
    lacking = receipt.lacking
    where = printable(lacking[0].path)
    return Partial(id=receipt.snapshot.id, count=len(lacking), where=where, why=lacking[0].finding)


def pick(call: Call, listing: Listing) -> Snapshot:
    """Let the person pick from the numbered list; nothing is preselected, unclear answers ask again."""
    terminal = call.terminal
    show_snapshots(call, listing)
    if not listing.snapshots:
        raise Interrupted()
    while True:
        answer = terminal.ask_text(say("Number or id, or “cancel”"))
        if answer.lower() in ("cancel", "取消"):
            raise Interrupted()
        for number, one in enumerate(listing.snapshots, 1):
            if answer in (str(number), one.id):
                return one
