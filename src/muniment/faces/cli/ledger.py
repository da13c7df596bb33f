"""Faces, command line: `muniment ledger`: what was recorded, whether it holds, where bytes lie now."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import click

from muniment.canonical import Json, NotJson, canonical, read_json
from muniment.desk.ledger import ReadWhole, read_whole
from muniment.digest import Digest
from muniment.disk.copy import new_folder
from muniment.disk.root import Root, real_folder
from muniment.disk.write import write_verified
from muniment.errors import ExitCode
from muniment.faces.cli.call import Call
from muniment.faces.cli.frame import Entry, Group, argument, command, option
from muniment.faces.cli.usage import wrong
from muniment.faces.cli.values import Whole
from muniment.faces.i18n.present import recorded_instant
from muniment.message import Message, say, say_count
from muniment.path import RelPath
from muniment.record.errors import NotInLedger
from muniment.record.event import Event
from muniment.record.locate import locate_digest, locate_path
from muniment.record.reference import Kind
from muniment.record.verify import Verdict, name_damage
from muniment.record.witness import Witness, bear_witness

_LATEST = 20


@command()
@option(
    "--count",
    metavar="N",
    type=Whole(1, 100_000),
    default=_LATEST,
    about=say("How many events; 20 if not given."),
)
def tail(call: Call, count: int) -> None:
    """Show the newest events."""
    events = call.house.workspace.ledger.last(count)

    def show() -> None:
        if not events:
            call.terminal.say(say("The ledger is empty."))
            return
        columns = [say("when"), say("event"), say("subject"), say("id")]
        rows = [[recorded_instant(event.at), event.kind, event.subject, event.event_id] for event in events]
        call.terminal.table(columns, rows)

    call.terminal.result({"events": [event.to_json() for event in events]}, show)


@command()
@argument("event_id", about=say("An event (ev_…)."))
def show(call: Call, event_id: str) -> None:
    """Show one event whole."""
    record = call.house.workspace.ledger.find(event_id.removeprefix(Kind.EVENT.value)).to_json()
    call.terminal.result(record, lambda: call.terminal.print(json.dumps(record, indent=2, ensure_ascii=True)))


@command(
    more=(
        say(
            "The chain of digests shows damage. That records were cut off the end is shown only by a witness "
            "that was kept elsewhere. Every snapshot carries one, and those in the vault are compared; an "
            "export has one too."
        ),
        say("Damage that is found is put on record in a new segment, once; with -n it is only shown."),
    )
)
@option(
    "--witness", "files", metavar="FILE", multiple=True, about=say("Compare with the witness in this file.")
)
def verify(call: Call, files: tuple[str, ...]) -> ExitCode | None:
    """Read the whole ledger and check each record and each link."""
    workspace = call.house.workspace
    read = read_whole(workspace, call.house.any_vault, {_witness(Path(file)): file for file in files})
    verdict, carried, error = read.found, read.carried, read.unreachable
    if error is not None:
        what = say("{what} {where}", what=error.message, where=error.where)
        call.terminal.note(say("The vault's witnesses were not compared: {why}", why=what))
    if verdict.foreign:
        raise wrong(
            say("the witness is of another workspace: {root_id}", root_id=verdict.foreign[0].root_id),
            click.get_current_context(),
        )
    named = None if call.options.dry_run else name_damage(workspace.ledger, verdict)
    told = {**_verdict(verdict, carried), "vault_unreachable": error.code if error is not None else None}
    call.terminal.result(told, lambda: _show(call, read))
    if named is not None:
        call.terminal.note(
            say("The damage is now on record: {event_id} begins a new segment.", event_id=named.event_id)
        )
    return None if verdict.whole else ExitCode.NOT_VERIFIED


def _verdict(verdict: Verdict, carried: Mapping[Witness, str]) -> dict[str, Json]:
    return {
        "whole": verdict.whole,
        "events": verdict.events,
        "segments": verdict.segments,
        "bytes": verdict.bytes,
        "head": verdict.head,
        "repaired": verdict.repaired,
        "named_damage": verdict.named_damage,
        "findings": [
            {
                "segment": one.segment,
                "line": one.line,
                "offset": one.offset,
                "why": one.why,
                "torn": one.torn,
            }
            for one in verdict.findings
        ],
        "contradicted": [one.to_json() for one in verdict.contradicted],
        "contradicted_by": [carried[one] for one in verdict.contradicted],
        "newest_witness": verdict.newest_witness.to_json() if verdict.newest_witness else None,
        "newest_witness_from": carried[verdict.newest_witness] if verdict.newest_witness else None,
        "witnesses": len(carried),
    }


def _show(call: Call, read: ReadWhole) -> None:
    terminal, verdict, carried = call.terminal, read.found, read.carried
    if verdict.whole:
        terminal.say(
            say_count(
                "whole: {count} event, head {head}",
                "whole: {count} events, head {head}",
                verdict.events,
                head=verdict.head[:12],
            )
        )
    else:
        terminal.say(
            say_count(
                "NOT whole: {count} event can be read",
                "NOT whole: {count} events can be read",
                verdict.events,
            )
        )
    for detail in read.details():
        terminal.say(say("  {detail}", detail=detail))
    if verdict.named_damage:
        terminal.say(
            say_count(
                "  {count} damage was found before, and a new segment begun",
                "  {count} damages were found before, and new segments begun",
                verdict.named_damage,
            )
        )
    if verdict.repaired:
        terminal.say(
            say_count(
                "  {count} torn end was set aside after a crash",
                "  {count} torn ends were set aside after crashes",
                verdict.repaired,
            )
        )
    newest = verdict.newest_witness
    terminal.say(
        say(
            "  newest witness: {at}, {count} events, in {source}",
            at=newest.at,
            count=newest.count,
            source=carried[newest],
        )
        if newest
        else say("  no witness was compared")
    )


def _witness(path: Path) -> Witness:
    with Root.open(real_folder(path.parent)) as root:
        data = root.read(RelPath.parse(path.name), limit=1 << 16)
    try:
        return Witness.from_json(read_json(data))
    except (NotJson, ValueError) as error:
        raise wrong(
            say("{file} holds no witness: {finding}", file=str(path), finding=error),
            click.get_current_context(),
        ) from error


@command(examples=("muniment ledger locate report.md", "muniment ledger locate sha256:…"))
@argument("query", about=say("A digest (sha256:…) or a path where something used to lie."))
def locate(call: Call, query: str) -> ExitCode | None:
    """Tell where recorded bytes lie now."""
    workspace = call.house.workspace
    if query.startswith("sha256:"):
        try:
            digest = Digest.parse(query)
        except ValueError as error:
            raise wrong(say("{finding}", finding=error), click.get_current_context()) from error
        found = locate_digest(workspace.ledger, workspace.tables, workspace.root, digest)
    else:
        path = workspace.root.relative(query)
        found = locate_path(workspace.ledger, workspace.tables, workspace.root, path)
    if not found:
        raise NotInLedger(where=query)

    def show_them() -> None:
        rows = [[_STATES[one.state], one.path.posix, one.subject, one.digest.short] for one in found]
        call.terminal.table([say("state"), say("path"), say("subject"), say("digest")], rows)

    call.terminal.result(
        {
            "located": [
                {
                    "path": one.path.posix,
                    "state": one.state,
                    "sha256": one.digest.hex,
                    "subject": one.subject,
                    "event_id": one.event_id,
                }
                for one in found
            ]
        },
        show_them,
    )
    return None if all(one.state == "intact" for one in found) else ExitCode.NOT_VERIFIED


_STATES: dict[str, Message] = {
    "intact": say("intact"),
    "changed": say("changed"),
    "missing": say("missing"),
    "unreadable": say("unreadable"),
}


@command(rehearses=False)
@argument("folder", about=say("A new folder for the copy."))
def export(call: Call, folder: str) -> None:
    """Copy the ledger out, with a witness."""
    workspace = call.house.workspace
    place = Path(folder)
    with (
        Root.open(real_folder(place.parent)) as parent,
        new_folder(parent, RelPath.parse(place.name)) as inside,
    ):
        # Others may append meanwhile: the copy ends with the event that the witness saw last.
        witness = bear_witness(workspace.ledger, workspace.identity.root_id)
        write_verified(inside, RelPath.parse("ledger.jsonl"), _until(witness, workspace.ledger.events()))
        write_verified(inside, RelPath.parse("witness.json"), canonical(witness.to_json()) + b"\n")
    call.terminal.result(
        {"folder": str(place), "witness": witness.to_json()},
        lambda: call.terminal.say(
            say_count(
                "{count} event copied to {folder}; keep its witness elsewhere",
                "{count} events copied to {folder}; keep their witness elsewhere",
                witness.count,
                folder=str(place),
            )
        ),
    )


def _until(witness: Witness, events: Iterable[Event]) -> Iterator[bytes]:
    for event in events if witness.count else ():
        yield event.line()
        if event.event_id == witness.event_id:
            return


LEDGER = Group(
    table={
        "tail": Entry("muniment.faces.cli.ledger:tail", say("Show the newest events.")),
        "show": Entry("muniment.faces.cli.ledger:show", say("Show one event whole.")),
        "verify": Entry(
            "muniment.faces.cli.ledger:verify",
            say("Read the whole ledger and check each record and each link."),
        ),
        "locate": Entry("muniment.faces.cli.ledger:locate", say("Tell where recorded bytes lie now.")),
        "export": Entry("muniment.faces.cli.ledger:export", say("Copy the ledger out, with a witness.")),
    },
)
