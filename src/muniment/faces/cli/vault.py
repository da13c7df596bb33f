"""Faces, command line: `muniment vault`: where snapshots are stored, looked after by its keeper."""

from __future__ import annotations

from typing import TYPE_CHECKING

from muniment.bundle.vault import Listing, Soundness
from muniment.canonical import Json
from muniment.clock import system_clock
from muniment.desk.vault import PARTS
from muniment.errors import ExitCode, MunimentError
from muniment.faces.cli.call import Call
from muniment.faces.cli.frame import Entry, Group, command, option
from muniment.faces.cli.notices import tell_of_damage
from muniment.faces.i18n.present import size
from muniment.message import Message, say, say_count
from muniment.path import printable
from muniment.vault.collect import collect
from muniment.vault.examine import Examined, Part, examine
from muniment.vault.mark import Check, note_check
from muniment.vault.open import rebuild_directory
from muniment.vault.place import address_of

if TYPE_CHECKING:
    from muniment.vault.remote import RemoteVault

_SHOWN = 100
"""So many findings are shown to a person; a program gets all of them."""


@command(examples=("muniment vault status",))
def status(call: Call) -> None:
    """Tell where the vault lies and what is in it."""
    if call.house.remote is not None:
        _show_remote(call, call.house.remote)
        return
    vault = call.house.vault
    holdings = vault.catalogue.holdings()
    values, rows = _told(address_of(call.house.vault_folder), vault.identity, vault.list())
    call.terminal.result(
        {
            **values,
            "packs": holdings.packs,
            "bytes": holdings.bytes,
            "unneeded_bytes": holdings.dead_bytes,
            "extents": holdings.extents,
        },
        lambda: call.terminal.lines(
            [
                *rows,
                (say("stored"), size(holdings.bytes)),
                (say("needed by nothing"), size(holdings.dead_bytes)),
            ]
        ),
    )


def _show_remote(call: Call, vault: RemoteVault) -> None:
    """What a client may know of a vault that a server keeps."""
    listing = vault.list()
    values, rows = _told(vault.url, vault.identity, listing)
    if listing.remaining is not None:
        rows.append((say("slots left"), listing.remaining))
    call.terminal.result({**values, "remaining": listing.remaining}, lambda: call.terminal.lines(rows))


def _told(
    address: str, identity: str, listing: Listing
) -> tuple[dict[str, Json], list[tuple[Message, object]]]:
    """What is told of any vault, to programs and to people."""
    damaged = [one.id for one in listing.snapshots if one.soundness is Soundness.DAMAGED]
    count = len(listing.snapshots)
    values: dict[str, Json] = {
        "url": address,
        "id": identity,
        "snapshots": count,
        "damaged": list(damaged),
        "uploading": listing.uploading,
    }
    return values, [
        (say("place"), address),
        (say("id"), identity),
        (say("snapshots"), count),
        (say("damaged"), tuple(damaged) or "0"),
        (say("under way"), listing.uploading),
    ]


@command(
    more=(
        say(
            "With --repair sound pieces are moved out of damaged files, damaged ones are forgotten, so that "
            "the next backup sends them again, and snapshots that need them are marked damaged. With -n "
            "nothing is repaired."
        ),
    ),
    examples=("muniment vault fsck", "muniment vault fsck --repair"),
)
@option("--repair", is_flag=True, about=say("Mend what can be mended."))
def fsck(call: Call, repair: bool) -> ExitCode | None:
    """Read everything in the vault and check it."""
    vault, terminal = call.house.vault, call.terminal
    repair = repair and not call.options.dry_run
    with terminal.progress(say("checking"), vault.catalogue.holdings().bytes) as advance:
        found = examine(vault, repair=repair, progress=advance)
    if not call.options.dry_run:
        _note(call, found)
    findings: list[Json] = [
        {"part": one.part.value, "name": one.name, "why": str(one.why)} for one in found.findings
    ]
    told: Json = None
    if not found.sound and not call.options.dry_run:
        first = found.findings[0]
        told = tell_of_damage(call, printable(first.name), first.why)
    terminal.result(
        {
            "sound": found.sound,
            "notified": told,
            "repaired": repair,
            "packs": found.packs,
            "extents": found.extents,
            "bytes": found.bytes,
            "findings": findings,
        },
        lambda: _show_findings(call, found),
    )
    if not found.sound:
        terminal.next_step("muniment vault rebuild" if found.names(Part.UNKNOWN) else _next(repair))
    return None if found.sound else ExitCode.NOT_VERIFIED


def _note(call: Call, found: Examined) -> None:
    """Write down when the vault was checked; one that can not be written is checked all the same."""
    try:
        note_check(call.house.vault_folder, Check(system_clock(), found.sound))
    except MunimentError as error:
        call.terminal.note(say("The check could not be noted in the vault: {what}", what=error.message))


def _next(repaired: bool) -> str:
    return "muniment backup create" if repaired else "muniment vault fsck --repair"


def _show_findings(call: Call, found: Examined) -> None:
    terminal = call.terminal
    pieces = say_count("{count} piece", "{count} pieces", found.extents)
    if found.sound:
        terminal.say(say("whole: {pieces}, {size}", pieces=pieces, size=size(found.bytes)))
        return
    terminal.say(say("NOT whole: {pieces}, {size}", pieces=pieces, size=size(found.bytes)))
    rows = [[PARTS[one.part], one.name, one.why] for one in found.findings[:_SHOWN]]
    terminal.table([say("what"), say("name"), say("finding")], rows)
    if len(found.findings) > _SHOWN:
        terminal.say(say_count("and {count} more", "and {count} more", len(found.findings) - _SHOWN))
    if found.repaired:
        terminal.say(say("What could be mended was mended."))


@command(
    more=(say("What nothing needs is kept for a day, since somebody may still read it."),), rehearses=False
)
def gc(call: Call) -> None:
    """Remove what no snapshot needs any more."""
    done = collect(call.house.vault)
    call.terminal.result(
        {
            "uploads_ended": done.uploads,
            "packs_marked": done.marked,
            "packs_removed": done.packs,
            "snapshots_removed": done.snapshots,
            "unfinished_removed": done.unfinished,
        },
        lambda: call.terminal.say(
            say(
                "removed {removed}; {marked} can go in a day; {uploads} given up",
                removed=say_count("{count} file of pieces", "{count} files of pieces", done.packs),
                marked=say_count("{count} file", "{count} files", done.marked),
                uploads=say_count("{count} upload", "{count} uploads", done.uploads),
            )
        ),
    )


@command(
    more=(
        say(
            "Everything in the vault is read. Nobody else may use it meanwhile. A snapshot whose creation or "
            "deletion was cut off may come back by it."
        ),
    ),
    rehearses=False,
)
def rebuild(call: Call) -> ExitCode | None:
    """Make the vault's catalogue again from what is stored."""
    terminal = call.terminal
    with terminal.progress(say("reading")) as advance:
        done = rebuild_directory(call.house.vault_folder, clock=system_clock, progress=advance)

    def show() -> None:
        terminal.say(
            say(
                "found {snapshots}, {damaged} of them damaged, and {pieces}",
                snapshots=say_count("{count} snapshot", "{count} snapshots", done.snapshots),
                damaged=done.damaged,
                pieces=say_count("{count} piece", "{count} pieces", done.extents),
            )
        )
        for one in done.refused:
            terminal.say(say("  refused: {file}: {why}", file=one.blob, why=one.why))

    terminal.result(
        {
            "snapshots": done.snapshots,
            "damaged": done.damaged,
            "packs": done.packs,
            "extents": done.extents,
            "extents_lost": done.lost,
            "refused": [{"name": one.blob, "why": str(one.why)} for one in done.refused],
        },
        show,
    )
    whole = not (done.damaged or done.lost or done.refused)
    return None if whole else ExitCode.NOT_VERIFIED


VAULT = Group(
    table={
        "status": Entry(
            "muniment.faces.cli.vault:status", say("Tell where the vault lies and what is in it.")
        ),
        "fsck": Entry("muniment.faces.cli.vault:fsck", say("Read everything in the vault and check it.")),
        "gc": Entry("muniment.faces.cli.vault:gc", say("Remove what no snapshot needs any more.")),
        "token": Entry(
            "muniment.faces.cli.vault_token:token",
            say("Make tokens for users of a served vault, and change its keys."),
            extra="serve",
        ),
        "rebuild": Entry(
            "muniment.faces.cli.vault:rebuild", say("Make the vault's catalogue again from what is stored.")
        ),
    },
    examples=("muniment vault status", "muniment vault fsck --repair"),
)
