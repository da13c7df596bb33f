"""Faces, command line: `muniment archive`: deliverables are kept, and looked after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from muniment.archive.accept import source_errors
from muniment.archive.card import blocked_card, blocked_line, card_text, status_text
from muniment.archive.content import read_requirement
from muniment.archive.model import ARCHIVES, Receipt, Request, Track
from muniment.archive.settings import FORMAT
from muniment.canonical import Json
from muniment.disk.root import Root, real_folder
from muniment.errors import MunimentError
from muniment.faces.cli.call import Call
from muniment.faces.cli.frame import Entry, Group, Option, argument, command, option
from muniment.faces.cli.usage import wrong
from muniment.faces.cli.values import Word
from muniment.hosts.session import SessionSource
from muniment.message import say
from muniment.path import RelPath

if TYPE_CHECKING:
    from muniment.archive.service import Archive

_ANSWER_LIMIT = 1 << 20


def _ends_with_valued(word: str, valued: set[str]) -> bool:
    """Whether letters behind one dash end with one whose value is the next word.

    >>> [_ends_with_valued(word, {"-w"}) for word in ("-qw", "-q", "-wq", "-qw/home/w", "--w")]
    [True, False, False, False, False]
    """
    if word[:1] != "-" or word[1:2] in ("", "-"):
        return False
    takes = next((at for at, letter in enumerate(word[1:], 1) if f"-{letter}" in valued), None)
    return takes == len(word) - 1


class ArchiveGroup(Group):
    """`muniment archive PATH…`: a first word that is no verb is a path to keep (spec 1, surface)."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the verb `keep` before arguments that begin with a path (called by click)."""
        bare = ctx.resilient_parsing and not args  # a shell asks what may stand first
        if (
            not bare
            and self._first_word(ctx, args) not in self.table
            and not {"--help", "-h"}.intersection(args)
        ):
            args = ["keep", *args]
        return super().parse_args(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Verbs that fit; when none does, paths to keep, and the options of that (called by click)."""
        keep = self.get_command(ctx, "keep")
        if incomplete[:1] == "-" and keep is not None:
            return keep.shell_complete(ctx, incomplete)
        return super().shell_complete(ctx, incomplete) or [CompletionItem(incomplete, type="file")]

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
            if word in valued or _ends_with_valued(word, valued):
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
@option(
    "--kind",
    type=Word("plan", "file"),
    about=say("Refuse a path that is not of this kind: the plan, or any other file."),
)
@option("--name", "display_name", metavar="NAME", about=say("Show this name on the card."))
@option("--format", "style", type=Word("status", "card"), about=say("Print a status line, or cards."))
@option(
    "--require",
    "demands",
    metavar="PATTERN=DEMAND",
    multiple=True,
    about=say("Refuse files of this pattern without this heading (# …) or JSON pointer (/…)."),
)
@option("--session", "key", metavar="KEY", about=say("The host's session key."))
@option(
    "--session-status",
    "status_file",
    metavar="FILE",
    about=say("The host's raw answer to session_status, in a file; - reads standard input."),
)
@argument("paths", nargs=-1, required=True, about=say("Files or folders inside the workspace."))
def keep(
    call: Call,
    paths: tuple[str, ...],
    kind: str | None,
    display_name: str | None,
    style: str | None,
    demands: tuple[str, ...],
    key: str | None,
    status_file: str | None,
) -> None:
    """Move deliverables into the archive and read them back."""
    if display_name is not None and len(paths) > 1:
        raise wrong(say("--name goes with one path only"), click.get_current_context())
    try:
        style = style or dialect(call)
        call.house.use_session(key, _status_answer(call, status_file))
        _keep(call, paths, kind, display_name, style, _required(demands))
    except MunimentError as error:
        tell_blocked(call, error, style)
        raise


def _keep(
    call: Call,
    paths: Sequence[str],
    kind: str | None,
    display_name: str | None,
    style: str,
    require: Mapping[str, tuple[str, ...]],
) -> None:
    house, terminal = call.house, call.terminal
    track = Track(kind) if kind else None
    here = str(Path.cwd())
    base = here if Path(here).is_relative_to(house.root.path) else None
    with source_errors():
        requests = [Request(house.root.relative(path, base), track, display_name) for path in paths]
    if not call.options.dry_run:
        keep_all(call, house.archive(require), requests, style)
        return
    with terminal.progress(say("reading")) as advance:
        accepted = house.archive(require).survey(requests, lambda files, read: advance(read))
    would: list[Json] = [one.request.source.posix for one in accepted]
    terminal.result(
        {"would_archive": would},
        lambda: terminal.say(say("would be archived: {paths}", paths=tuple(would))),
    )


def keep_all(
    call: Call,
    archive: Archive,
    requests: Sequence[Request],
    style: str,
    told: Mapping[str, Json] | None = None,
) -> None:
    """Archive all of it, and tell what was read back in this dialect; `told` goes before the receipts."""
    terminal = call.terminal
    # What cards will show is settled before anything moves.
    card_root = call.house.card_root() if style == "card" else ARCHIVES
    with terminal.progress(say("reading")) as advance:
        receipts = archive.keep(requests, card_root=card_root, progress=lambda files, read: advance(read))
    shown: list[Json] = [one.to_json() for one in receipts]
    terminal.result({**(told or {}), "receipts": shown}, lambda: _print(call, receipts, style))
    for receipt in receipts:
        terminal.note(
            say(
                "moved {source} → {address}; undo: muniment archive undo {reference}",
                source=receipt.source.posix,
                address=receipt.address.path.posix,
                reference=receipt.reference,
            )
        )
        for warning in receipt.warnings:
            terminal.note(say("warning: {warning}", warning=warning))


def dialect(call: Call) -> str:
    """The dialect of the command line: the one that is set, else the status line."""
    return call.house.settings().get(FORMAT) or "status"


def tell_blocked(call: Call, error: MunimentError, style: str | None) -> None:
    """The refusal in the dialect of the call, on standard output, before the error itself is told."""
    if not call.options.json:
        call.terminal.print(blocked_card(error) if style == "card" else blocked_line(error))


def _required(demands: Sequence[str]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for demand in demands:
        try:
            pattern, wanted = read_requirement(demand)
        except ValueError as error:
            raise wrong(error.args[0], click.get_current_context()) from error
        found[pattern] = (*found.get(pattern, ()), wanted)
    return found


def _status_answer(call: Call, file: str | None) -> bytes | None:
    """The host's answer, bounded; it is the host's words, so nothing in it is believed unread."""
    if file is None:
        return None
    if file == "-":
        return call.terminal.streams.read_bytes(_ANSWER_LIMIT + 1)
    path = Path(file)
    with Root.open(real_folder(path.parent)) as root:
        return root.read(RelPath.parse(path.name), limit=_ANSWER_LIMIT)


def _print(call: Call, receipts: Sequence[Receipt], style: str) -> None:
    cards = [receipt.card for receipt in receipts]
    first = receipts[0]
    from_host = first.id_source is not SessionSource.FALLBACK
    text = card_text(cards) if style == "card" else status_text(first.address.archive_id, cards, from_host)
    call.terminal.print(text)


ARCHIVE = ArchiveGroup(
    more=(
        say(
            "A first word that is no command is a path to archive: `muniment archive report.md`. A file "
            "that is named like a command is written with its folder: `./list`."
        ),
    ),
    table={
        "keep": Entry(
            "muniment.faces.cli.archive:keep",
            say("Move files or folders into the archive; the word may be left out."),
        ),
        "list": Entry("muniment.faces.cli.archived:list_entries", say("List what was archived.")),
        "show": Entry("muniment.faces.cli.archived:show", say("Show one deliverable and its card.")),
        "verify": Entry(
            "muniment.faces.cli.archived:verify",
            say("Read deliverables again and compare them with their record."),
        ),
        "undo": Entry(
            "muniment.faces.cli.archived:undo_entry", say("Move a deliverable back where it came from.")
        ),
        "copy": Entry(
            "muniment.faces.cli.archived:copy_entry", say("Copy a deliverable out of the archive.")
        ),
        "seal": Entry(
            "muniment.faces.cli.archived:seal_entry", say("Record a deliverable as it is, for good.")
        ),
        "status": Entry("muniment.faces.cli.loose:status", say("Show what was made and is not archived.")),
        "sweep": Entry("muniment.faces.cli.loose:sweep", say("Archive everything that is not archived.")),
        "identity": Entry(
            "muniment.faces.cli.loose:identity", say("Prove that the identity files were read.")
        ),
        "session": Entry("muniment.faces.cli.loose:session", say("Show the working session, or end it.")),
    },
    examples=("muniment archive report.md", "muniment archive verify --all"),
)
