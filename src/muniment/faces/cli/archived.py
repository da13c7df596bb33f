"""Faces, command line: `muniment archive list, show, verify, undo, copy, seal`: what was archived."""

from __future__ import annotations

from pathlib import Path

import click

from muniment.archive.card import fenced
from muniment.archive.check import check, chosen, entries, find_entry
from muniment.archive.keepers import copy_out, seal, undo
from muniment.archive.model import Card, Checked, Entry, Standing, Track
from muniment.archive.settings import MUTABLE
from muniment.clock import read_instant
from muniment.disk.root import Root, real_folder
from muniment.errors import ExitCode
from muniment.faces.cli.call import Call
from muniment.faces.cli.frame import argument, command, option
from muniment.faces.cli.usage import wrong
from muniment.faces.i18n.present import instant, size
from muniment.message import Message, say, say_count
from muniment.path import RelPath

_STANDINGS = {
    Standing.INTACT: say("intact"),
    Standing.EDITED: say("edited"),
    Standing.CHANGED: say("changed"),
    Standing.MISSING: say("missing"),
    Standing.UNKNOWN: say("unknown"),
}


@command(examples=("muniment archive list", "muniment archive list a3f2b1c-0416-1430"))
@argument("archive_id", required=False, about=say("Only what this archive id holds."))
def list_entries(call: Call, archive_id: str | None) -> None:
    """List what was archived, newest first."""
    found = [one for one in reversed(entries(call.house.workspace)) if archive_id in (None, one.archive_id)]

    def show_them() -> None:
        if not found:
            call.terminal.say(say("Nothing has been archived yet."))
            return
        columns = [say("when"), say("reference"), say("size"), say("address")]
        rows = [
            [instant(read_instant(one.at)), one.reference, size(one.size), _address(one)] for one in found
        ]
        call.terminal.table(columns, rows)

    call.terminal.result({"archived": [one.to_json() for one in found]}, show_them)


def _address(one: Entry) -> object:
    return say("{path} (taken back)", path=one.path.posix) if one.undone else one.path.posix


@command()
@argument("reference", about=say("A reference (arc_…) or an address below archives/."))
def show(call: Call, reference: str) -> ExitCode | None:
    """Show one deliverable as it was recorded and as it stands, with its card."""
    workspace = call.house.workspace
    entry = find_entry(workspace, reference)
    (checked,) = check(workspace, [entry], call.house.settings().get(MUTABLE))
    # A card speaks of what lies at its address; of anything else there is none.
    card = _card(entry) if checked.standing.good and not entry.undone else None

    def show_it() -> None:
        terminal = call.terminal
        terminal.lines(
            [
                (say("reference"), entry.reference),
                (say("state"), _STANDINGS[checked.standing]),
                (say("from"), entry.origin.posix),
                (say("lies at"), checked.place.posix),
                (say("archived"), instant(read_instant(entry.at))),
                (say("content"), _content(entry)),
                (say("digest"), str(entry.tree)),
                (say("event"), entry.event_id),
            ]
        )
        if card is not None:
            terminal.print(fenced(card.to_json()))

    shown = card.to_json() if card is not None else None
    call.terminal.result({**entry.to_json(), **checked.to_json(), "card": shown}, show_it)
    return None if checked.standing.good else ExitCode.NOT_VERIFIED


def _card(entry: Entry) -> Card:
    root = entry.path.parts[:2]
    return Card(entry.kind, "/".join(root), "/".join(entry.path.parts[2:]), entry.name)


def _content(entry: Entry) -> Message:
    files = say_count("{count} file", "{count} files", entry.count)
    return say("{facts}", facts=(files, size(entry.size)))


@command(examples=("muniment archive verify --all",))
@option("--all", "everything", is_flag=True, about=say("Read every deliverable again."))
@argument("references", nargs=-1, about=say("References (arc_…) or addresses; none: all of them."))
def verify(call: Call, references: tuple[str, ...], everything: bool) -> ExitCode | None:
    """Read deliverables again and compare them with their record."""
    house = call.house
    if everything and references:
        raise wrong(say("--all goes with no reference"), click.get_current_context())
    found = check(house.workspace, chosen(house.workspace, references), house.settings().get(MUTABLE))

    def show_them() -> None:
        if not found:
            call.terminal.say(say("Nothing has been archived yet."))
            return
        columns = [say("state"), say("reference"), say("what")]
        rows = [[_STANDINGS[one.standing], one.entry.reference, _what(one)] for one in found]
        call.terminal.table(columns, rows)

    call.terminal.result({"verified": [one.to_json() for one in found]}, show_them)
    return None if all(one.standing.good for one in found) else ExitCode.NOT_VERIFIED


def _what(one: Checked) -> Message:
    if one.standing.good:
        return say("{path}: {content}", path=one.place.posix, content=_content(one.entry))
    if one.standing is Standing.MISSING:
        return say("{path} is not there", path=one.place.posix)
    if one.standing is Standing.UNKNOWN:
        return say("{path} can not be read: {why}", path=one.place.posix, why=one.differs)
    return say("{path}: {differs} is not what was recorded", path=one.place.posix, differs=one.differs)


@command(rehearses=False)
@argument("reference", about=say("A reference (arc_…) or an address below archives/."))
def undo_entry(call: Call, reference: str) -> None:
    """Move a deliverable back, if it is unchanged and its old path is free."""
    workspace = call.house.workspace
    entry = find_entry(workspace, reference)
    origin = undo(workspace, entry)
    call.terminal.result(
        {"reference": entry.reference, "path": origin.posix, "sha256": entry.tree.hex},
        lambda: call.terminal.say(
            say("{reference} is back at {path}", reference=entry.reference, path=origin.posix)
        ),
    )


@command(rehearses=False)
@argument("reference", about=say("A reference (arc_…) or an address below archives/."))
@argument(
    "target", required=False, about=say("A free path for the copy; none: its own name, in this folder.")
)
def copy_entry(call: Call, reference: str, target: str | None) -> None:
    """Copy a deliverable out of the archive and read the copy back."""
    workspace = call.house.workspace
    entry = find_entry(workspace, reference)
    place = Path(target) if target is not None else Path(entry.path.name)
    with Root.open(real_folder(place.parent)) as root:
        copy_out(workspace, entry, root, RelPath((place.name,)))
        written = f"{root.path}/{place.name}"
    call.terminal.result(
        {"reference": entry.reference, "path": written, "sha256": entry.tree.hex},
        lambda: call.terminal.say(
            say("{reference} is copied to {path}", reference=entry.reference, path=written)
        ),
    )


@command(
    rehearses=False,
    more=(say("A plan, and what archive.mutable names, may be edited in place until it is sealed."),),
)
@argument("reference", about=say("A reference (arc_…) or an address below archives/."))
def seal_entry(call: Call, reference: str) -> None:
    """Record a deliverable as it is now; from then on any edit counts as a change."""
    workspace = call.house.workspace
    entry = find_entry(workspace, reference)
    seal(workspace, entry, call.house.settings().get(MUTABLE))
    sealed = find_entry(workspace, entry.reference)
    what: Message = say("plan") if sealed.track is Track.PLAN else say("file")
    call.terminal.result(
        {"reference": sealed.reference, "sha256": sealed.tree.hex},
        lambda: call.terminal.say(
            say(
                "{what} {reference} is sealed at {digest}",
                what=what,
                reference=reference,
                digest=sealed.tree.short,
            )
        ),
    )
