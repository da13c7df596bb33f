"""Faces, command line: `muniment archive`: deliverables are kept, and looked after."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from muniment.archive.accept import source_errors
from muniment.archive.card import blocked_card, blocked_line, card_text, status_text
from muniment.archive.check import check, entries, find_entry
from muniment.archive.model import ARCHIVES, Checked, Receipt, Request, Standing, Track
from muniment.archive.settings import CARD_PREFIX, FORMAT, MUTABLE
from muniment.canonical import Json
from muniment.errors import ExitCode, MunimentError
from muniment.faces.cli.call import Call
from muniment.faces.cli.frame import Entry, Group, Option, argument, command, option
from muniment.faces.cli.usage import wrong
from muniment.faces.cli.values import Word
from muniment.faces.i18n.present import size
from muniment.message import Message, say, say_count

_STANDINGS = {
    Standing.INTACT: say("intact"),
    Standing.EDITED: say("edited"),
    Standing.CHANGED: say("changed"),
    Standing.MISSING: say("missing"),
    Standing.UNKNOWN: say("unknown"),
}


class ArchiveGroup(Group):
    """`muniment archive PATH…`: a first word that is no verb is a path to keep (spec 1, surface)."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the verb `keep` before arguments that begin with a path (called by click)."""
        if self._first_word(ctx, args) not in self.table and not {"--help", "-h"}.intersection(args):
            args = ["keep", *args]
        return super().parse_args(ctx, args)

    def _first_word(self, ctx: click.Context, args: Sequence[str]) -> str | None:
        keep = self.get_command(ctx, "keep")
        assert keep is not None
        valued = {
            spelling
            for parameter in keep.get_params(ctx)
            if isinstance(parameter, Option) and not (parameter.is_flag or parameter.count)
            for spelling in parameter.opts
        }
        words = iter(args)
        for word in words:
            if word == "--":
                return None
            if word in valued:
                next(words, None)
            elif not word.startswith("-"):
                return word
        return None


@command(
    more=(
        say(
            "Each path is moved to archives/ID/TIME/NAME below the workspace and read back there; a second "
            "call can not overwrite it. When anything is not right, nothing is moved."
        ),
    ),
    examples=("muniment archive report.md", "muniment archive PLAN.md results/ --format card"),
)
@option("--kind", type=Word("plan", "file"), about=say("Insist on the track: the plan, or any other file."))
@option("--name", "display_name", metavar="NAME", about=say("Show this name on the card."))
@option("--format", "style", type=Word("status", "card"), about=say("Print a status line, or cards."))
@argument("paths", nargs=-1, required=True, about=say("Files or folders inside the workspace."))
def keep(
    call: Call, paths: tuple[str, ...], kind: str | None, display_name: str | None, style: str | None
) -> ExitCode | None:
    """Move deliverables into the archive and read them back."""
    if display_name is not None and len(paths) > 1:
        raise wrong(say("--name goes with one path only"), click.get_current_context())
    try:
        style = style or call.house.settings().get(FORMAT)
        return _keep(call, paths, kind, display_name, style or "status")
    except MunimentError as error:
        if not call.options.json:
            call.terminal.print(blocked_card(error) if style == "card" else blocked_line(error))
        raise


def _keep(
    call: Call, paths: Sequence[str], kind: str | None, display_name: str | None, style: str
) -> ExitCode | None:
    house, terminal = call.house, call.terminal
    track = Track(kind) if kind else None
    here = str(Path.cwd())
    base = here if Path(here).is_relative_to(house.root.path) else None
    with source_errors():
        requests = [Request(house.root.relative(path, base), track, display_name) for path in paths]
    archive = house.archive()
    with terminal.progress(say("reading")) as advance:
        if call.options.dry_run:
            accepted = archive.survey(requests, lambda files, read: advance(read))
            would: list[Json] = [one.request.source.posix for one in accepted]
            terminal.result(
                {"would_archive": would},
                lambda: terminal.say(say("would be archived: {paths}", paths=", ".join(map(str, would)))),
            )
            return None
        prefix = house.settings().get(CARD_PREFIX) or house.root.path
        card_root = f"{prefix}/{ARCHIVES}" if style == "card" else ARCHIVES
        receipts = archive.keep(requests, card_root=card_root, progress=lambda files, read: advance(read))
    terminal.result({"receipts": [one.to_json() for one in receipts]}, lambda: _print(call, receipts, style))
    for receipt in receipts:
        terminal.note(
            say(
                "moved {source} → {address}; verify: muniment archive verify {reference}",
                source=receipt.source.posix,
                address=receipt.address.path.posix,
                reference=receipt.reference,
            )
        )
        for warning in receipt.warnings:
            terminal.note(say("warning: {warning}", warning=warning))
    return None


def _print(call: Call, receipts: Sequence[Receipt], style: str) -> None:
    cards = [receipt.card for receipt in receipts]
    first = receipts[0]
    from_host = first.id_source.value != "fallback"
    text = card_text(cards) if style == "card" else status_text(first.address.archive_id, cards, from_host)
    call.terminal.print(text)


@command(examples=("muniment archive verify --all",))
@option("--all", "everything", is_flag=True, about=say("Read every deliverable again."))
@argument("references", nargs=-1, about=say("References (arc_…) or addresses; none: all of them."))
def verify(call: Call, references: tuple[str, ...], everything: bool) -> ExitCode | None:
    """Read deliverables again and compare them with their record."""
    house = call.house
    if everything and references:
        raise wrong(say("--all goes with no reference"), click.get_current_context())
    workspace = house.workspace
    chosen = [find_entry(workspace, each) for each in references] or entries(workspace)
    found = check(workspace, chosen, house.settings().get(MUTABLE))

    def show() -> None:
        if not found:
            call.terminal.say(say("Nothing has been archived yet."))
            return
        columns = [say("state"), say("reference"), say("what")]
        rows = [[_STANDINGS[one.standing], one.entry.reference, _what(one)] for one in found]
        call.terminal.table(columns, rows)

    call.terminal.result({"verified": [one.to_json() for one in found]}, show)
    return None if all(one.standing.good for one in found) else ExitCode.NOT_VERIFIED


def _what(one: Checked) -> Message:
    if one.standing.good:
        return say(
            "{path}: {files}, {size}",
            path=one.entry.path.posix,
            files=say_count("{count} file", "{count} files", one.entry.count),
            size=size(one.entry.size),
        )
    if one.standing is Standing.MISSING:
        return say("{path} is not there", path=one.differs)
    return say("{path}: {differs} is not what was recorded", path=one.entry.path.posix, differs=one.differs)


ARCHIVE = ArchiveGroup(
    table={
        "keep": Entry(
            "muniment.faces.cli.archive:keep",
            say("Move files or folders into the archive; the verb may be left out."),
        ),
        "verify": Entry(
            "muniment.faces.cli.archive:verify",
            say("Read deliverables again and compare them with their record."),
        ),
    },
    examples=("muniment archive report.md", "muniment archive verify --all"),
)
