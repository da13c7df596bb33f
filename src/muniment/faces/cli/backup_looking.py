"""Faces, command line: `muniment backup show, ls, cat, find, diff, fetch, delete`: one snapshot."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from muniment.backup.model import deleted_json, snapshot_json
from muniment.backup.reading import Reading, compare
from muniment.backup.service import picked_bytes
from muniment.backup.whole import Whole
from muniment.bundle.model import Packed
from muniment.bundle.verify import Verified
from muniment.canonical import Json
from muniment.disk.root import Root, real_folder
from muniment.disk.write import Written, write_verified
from muniment.errors import ExitCode, Interrupted
from muniment.evidence import spell
from muniment.faces.cli.backup_pages import pick, show_snapshots
from muniment.faces.cli.call import Call
from muniment.faces.cli.frame import argument, command, option
from muniment.faces.cli.progress import Advance
from muniment.faces.cli.restore import lay_out
from muniment.faces.cli.usage import wrong
from muniment.faces.errors import NobodyToAsk
from muniment.faces.i18n.present import size
from muniment.message import say, say_count
from muniment.path import RelPath, printable
from muniment.record.consent import WitnessKind

_ID = say("A snapshot (bk_…).")


def _file(packed: Packed) -> dict[str, Json]:
    return {"path": spell(packed.path), "size": packed.size, "sha256": packed.sha256}


@command(examples=("muniment backup show bk_20261130_142800_ab12",))
@argument("snapshot", about=_ID)
def show(call: Call, snapshot: str) -> None:
    """Show one snapshot: what it is, what it left out, what was to mind."""
    reading = call.house.backups.reading(snapshot)
    facts = reading.contents.facts
    value: dict[str, Json] = {**snapshot_json(reading.snapshot), "manifest": facts}

    def people() -> None:
        terminal, one = call.terminal, reading.snapshot
        summary = facts.get("plan_summary", {})
        terminal.lines(
            [
                (say("snapshot"), one.id),
                (say("label"), one.label),
                (say("taken"), one.created_at),
                (say("mode"), str(facts.get("mode", ""))),
                (say("files"), summary.get("total_files", 0)),
                (say("size of the files"), size(int(summary.get("total_size_bytes", 0)))),
                (say("size of the archive"), size(one.size)),
                (say("root"), str(one.root)),
                (say("sections"), tuple(printable(name) for name in one.sections)),
            ]
        )
        for warning in summary.get("warnings", []):
            terminal.say(say("  ⚠ {warning}", warning=printable(str(warning))))

    call.terminal.result(value, people)


@command(examples=("muniment backup ls bk_20261130_142800_ab12 workspace/memory",))
@argument("snapshot", about=_ID)
@argument("path", required=False, about=say("Only what lies at or below this path."))
def ls(call: Call, snapshot: str, path: str | None) -> None:
    """List the files of a snapshot."""
    reading = call.house.backups.reading(snapshot)
    files = reading.files(path or "")

    def people() -> None:
        for packed in files:
            call.terminal.print(f"{packed.size:>12}  {printable(packed.path)}")

    call.terminal.result({"backup_id": reading.snapshot.id, "files": [_file(one) for one in files]}, people)


@command(examples=("muniment backup cat bk_20261130_142800_ab12 workspace/memory/MEMORY.md",))
@option("--output", metavar="FILE", about=say("Write it to this new file instead of printing it."))
@argument("snapshot", about=_ID)
@argument("path", about=say("The file, as `ls` shows it."))
def cat(call: Call, snapshot: str, path: str, output: str | None) -> None:
    """Print one file of a snapshot; only what is needed of the vault is read."""
    reading = call.house.backups.reading(snapshot)
    chunks = reading.read(path)
    if output is None:
        if call.options.json:
            raise wrong(say("with --json the file goes to --output"), click.get_current_context())
        for part in chunks:
            call.terminal.streams.out_bytes(part)
        return
    target = Path(output).absolute()
    with Root.open(real_folder(target.parent)) as root:
        written = write_verified(root, RelPath((target.name,)), chunks)
    call.terminal.result(
        {"path": spell(path), "output": str(target), "size": written.size, "sha256": written.digest.hex},
        lambda: call.terminal.say(say("wrote {path}, {size}", path=str(target), size=size(written.size))),
    )


@command(examples=("muniment backup find MEMORY.md",))
@argument("text", about=say("A part of a path, or at least 8 digits of a sha256."))
def find(call: Call, text: str) -> ExitCode | None:
    """Find a file in all snapshots."""
    backups = call.house.backups
    found: list[tuple[str, Packed]] = []
    for one in backups.list().snapshots:
        found += [(one.id, packed) for packed in backups.reading(one.id).find(text)]

    def people() -> None:
        for snapshot, packed in found:
            call.terminal.print(f"{snapshot}  {packed.size:>12}  {printable(packed.path)}")
        if not found:
            call.terminal.say(say("No snapshot holds it."))

    call.terminal.result({"found": [{"backup_id": one, **_file(packed)} for one, packed in found]}, people)
    return None if found else ExitCode.NOT_FOUND


@command(examples=("muniment backup diff bk_20261129_142800_ab12 bk_20261130_142800_cd34",))
@argument("before", about=say("The older snapshot."))
@argument("after", about=say("The newer snapshot."))
def diff(call: Call, before: str, after: str) -> None:
    """Show which files differ between two snapshots."""
    backups = call.house.backups
    changes = compare(backups.reading(before), backups.reading(after))
    rows: list[Json] = [one.to_json() for one in changes]
    marks = {"added": "+", "removed": "-", "changed": "~"}

    def people() -> None:
        for one in changes:
            call.terminal.print(f"{marks[one.kind]} {printable(one.path)}")
        call.terminal.say(say_count("{count} file differs.", "{count} files differ.", len(changes)))

    call.terminal.result({"before": before, "after": after, "changes": rows}, people)


@command(
    rehearses=False,
    examples=(
        "muniment backup fetch bk_20261130_142800_ab12",
        "muniment backup fetch bk_20261130_142800_ab12 --output snapshot.tar.gz",
    ),
)
@option("--output", metavar="FILE", about=say("Write the tar.gz to this new file instead."))
@argument("snapshot", about=_ID)
def fetch(call: Call, snapshot: str, output: str | None) -> None:
    """Lay a snapshot out beside the workspace, or copy it out as a tar.gz; verified."""
    if output is None:
        lay_out(call, snapshot)
        return
    reading: Reading = call.house.backups.reading(snapshot)
    target = Path(output).absolute()
    with (
        Root.open(real_folder(target.parent)) as root,
        call.terminal.progress(say("fetching"), reading.snapshot.size) as advance,
    ):
        written, verified = _write_whole(root, RelPath((target.name,)), reading, advance)
    call.terminal.result(
        {
            "backup_id": reading.snapshot.id,
            "output": str(target),
            "size_bytes": written.size,
            "sha256": written.digest.hex,
            "files": verified.files,
            "content_bytes": verified.size,
        },
        lambda: call.terminal.say(
            say_count(
                "wrote {path}, {size}: {count} file verified",
                "wrote {path}, {size}: {count} files verified",
                verified.files,
                path=str(target),
                size=size(written.size),
            )
        ),
    )


def _write_whole(root: Root, rel: RelPath, reading: Reading, advance: Advance) -> tuple[Written, Verified]:
    """The tar.gz goes to a new file in one pass, which verifies it; after an error nothing is left."""
    whole = Whole(reading)

    def chunks() -> Iterator[bytes]:
        told = 0
        for part in whole:
            files = whole.files
            advance(len(part), files - told, whole.path.removeprefix("files/"))
            told = files
            yield part

    written = write_verified(root, rel, chunks())
    if whole.verified is None:  # it ended, so it was verified
        raise RuntimeError("a snapshot was written that nobody verified")
    return written, whole.verified


@command(
    rehearses=False,
    more=(say("You are asked twice: whether, and then for the whole id. Elsewhere --confirm gives the id."),),
    examples=("muniment backup delete bk_… --confirm bk_…",),
)
@option("--confirm", metavar="ID", about=say("The whole id once more, typed by the person."))
@argument("snapshot", required=False, about=_ID)
def delete(call: Call, snapshot: str | None, confirm: str | None) -> None:
    """Delete one snapshot for good."""
    terminal, backups = call.terminal, call.house.backups
    warn_of_half_restore(call)
    consents = call.house.workspace.consents
    if terminal.can_ask:
        listing = backups.list()
        one = pick(call, listing) if snapshot is None else backups.open_vault().show(snapshot)
        terminal.note(say("{id}  {label}", id=one.id, label=one.label))
        if not terminal.ask(say("Delete this snapshot for good?")):
            raise Interrupted(where=one.id)
        typed = terminal.ask_text(say("Type its whole id"))
        witness = WitnessKind.TERMINAL
    else:
        if snapshot is None or confirm is None:
            raise NobodyToAsk(why=say("the snapshot is named, and its id given again by --confirm"))
        one, typed, witness = backups.open_vault().show(snapshot), confirm, WitnessKind.RELAYED
    shown = picked_bytes(one)
    if typed.strip() == one.id:
        consents.give("delete", shown, witness)
    gone, remaining = backups.delete(one.id, typed, shown)
    terminal.result(
        deleted_json(gone, remaining),
        lambda: terminal.say(say("deleted {id}", id=gone.id)),
    )
    show = backups.list()
    if not call.options.json:
        show_snapshots(call, show)


def warn_of_half_restore(call: Call) -> None:
    """Say that a restore is half done, where the act may go on all the same (spec 4, step 0)."""
    half = call.house.backups.half_restore()
    if half is not None:
        done, of = half.progress
        call.terminal.note(
            say(
                "⚠ the restore of {id} is half done: {done} of {of} sections",
                id=printable(half.backup_id),
                done=done,
                of=of,
            )
        )
