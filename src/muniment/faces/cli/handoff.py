"""Faces, command line: `muniment handoff`: the parent's acts: lint, issue, send, check, export."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from muniment.canonical import NotJson, read_json
from muniment.disk.root import Root
from muniment.errors import ExitCode
from muniment.faces.cli.call import Call
from muniment.faces.cli.frame import Entry, Group, argument, command, option
from muniment.faces.cli.usage import wrong
from muniment.faces.cli.values import Word
from muniment.handoff.codes import Finding
from muniment.handoff.documents import fit
from muniment.handoff.export import export as export_folder
from muniment.handoff.export import verify_folder
from muniment.handoff.lint import STANDING_PITFALLS
from muniment.handoff.model import JOURNAL_WRITER, OWN, Target
from muniment.handoff.service import Checked, incomplete
from muniment.handoff.shapes import DOCUMENT_MAX, MODES, PACKET_DRAFT, TARGETS
from muniment.handoff.trace import Trace
from muniment.message import say
from muniment.path import RelPath, printable


def read_input(call: Call, file: str) -> bytes:
    """The bytes of a file that a person names, bounded; `-` reads standard input."""
    if file == "-":
        return call.terminal.streams.read_bytes(DOCUMENT_MAX + 1)
    path = Path(file)
    with Root.open(path.parent) as root:
        return root.read(RelPath((path.name,)), limit=DOCUMENT_MAX)


def _pairs(words: Sequence[str], option_name: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for word in words:
        target, sign, value = word.partition("=")
        if target not in TARGETS or not sign or not value:
            expected = say(
                "{option} wants TARGET=…, one of {targets}", option=option_name, targets=tuple(TARGETS)
            )
            raise wrong(expected, click.get_current_context())
        found[target] = value
    return found


def draft_of(call: Call, packet: str | None, recipient: str | None, words: Mapping[str, Any]) -> Any:
    """The draft from a file, or from the options."""
    if packet is not None:
        try:
            return read_json(read_input(call, packet))
        except NotJson as error:
            raise wrong(
                say("the packet is not strict JSON: {finding}", finding=error), click.get_current_context()
            ) from error
    owed, unneeded = _pairs(words["owe"], "--owe"), _pairs(words["not_owed"], "--not-owed")
    draft: dict[str, Any] = {
        "goal": words["goal"] or "",
        "context_constraints": list(words["context"]),
        "acceptance_criteria": list(words["accept"]),
        "known_pitfalls": [*words["pitfall"], *STANDING_PITFALLS],
    }
    if words["mode"] is not None:
        draft["execution_mode"] = words["mode"]
    for name in ("continuity_required", "allow_mode_degradation"):
        if words[name]:
            draft[name] = True
    if owed or unneeded:
        targets: dict[str, Any] = {}
        for target in Target:
            if target.value in owed:
                writer = recipient or "" if target in OWN else words["board_writer"]
                writer = JOURNAL_WRITER if target is Target.TEAM_JOURNAL else writer
                entry = {"state": "required", "path": owed[target.value], "writer": writer}
                targets[target.value] = {**entry, "verification": []}
            elif target.value in unneeded:
                targets[target.value] = {"state": "not_applicable", "reason": unneeded[target.value]}
        draft["persistence_contract"] = {"targets": targets}
    return fit(say("packet"), PACKET_DRAFT, draft)


def packet_options(act: Any) -> Any:
    """What `new` and `lint` understand alike."""
    options = (
        option("--packet", metavar="FILE", about=say("The packet as JSON; - reads standard input.")),
        option("--goal", metavar="WORDS", about=say("The one bounded result that is wanted.")),
        option("--context", metavar="WORDS", multiple=True, about=say("What the work needs to know.")),
        option(
            "--accept", metavar="WORDS", multiple=True, about=say("What can be observed when it is done.")
        ),
        option("--pitfall", metavar="WORDS", multiple=True, about=say("A trap, besides the standing ones.")),
        option("--mode", type=Word(*MODES), about=say("How the work runs.")),
        option("--continuity-required", is_flag=True, about=say("The work must outlive its parent.")),
        option(
            "--allow-mode-degradation",
            is_flag=True,
            about=say("A sub-agent will do too."),
        ),
        option(
            "--owe",
            metavar="TARGET=PATH",
            multiple=True,
            about=say("A target that is owed, and where."),
        ),
        option(
            "--not-owed",
            metavar="TARGET=REASON",
            multiple=True,
            about=say("A target that is not, and why."),
        ),
        option("--board-writer", metavar="NAME", default="parent", about=say("Who alone writes the board.")),
        option("--to", "recipient", metavar="NAME", about=say("Who gets the work.")),
    )
    for each in reversed(options):
        act = each(act)
    return act


@command(
    more=(say("The recipient's view holds no nonces. Nothing runs yet: `send` records the dispatch."),),
    examples=("muniment handoff new --packet packet.json --to mei",),
)
@packet_options
def new(call: Call, packet: str | None, recipient: str | None, **words: Any) -> ExitCode | None:
    """Issue a packet with its contract."""
    draft = draft_of(call, packet, recipient, words)
    if call.options.dry_run:
        return _lint(call, draft, recipient)
    issued = call.house.handoffs().new(draft, recipient=recipient)
    call.terminal.result(
        {"handoff_id": issued.handoff_id, "depth": issued.depth, "packet": issued.packet.to_json()},
        lambda: call.terminal.say(say("issued {handoff}", handoff=issued.handoff_id)),
    )
    show_findings(call, issued.notes)
    call.terminal.next_step(
        f"muniment handoff send {issued.handoff_id} --host claude --to NAME --answer FILE"
    )
    return None


@command(examples=("muniment handoff lint --packet packet.json",))
@packet_options
def lint(call: Call, packet: str | None, recipient: str | None, **words: Any) -> ExitCode | None:
    """Say what is wrong with a packet; nothing is issued."""
    return _lint(call, draft_of(call, packet, recipient, words), recipient)


def _lint(call: Call, draft: Any, recipient: str | None) -> ExitCode | None:
    found = call.house.handoffs().lint(draft, recipient)
    value = {
        "refused": [each.to_json() for each in found.refusals],
        "notes": [each.to_json() for each in found.notes],
    }
    call.terminal.result(value, lambda: show_findings(call, (*found.refusals, *found.notes)))
    return ExitCode.BLOCKED if found.refusals else None


def show_findings(call: Call, findings: Sequence[Finding]) -> None:
    for each in findings:
        where = printable(each.where)
        call.terminal.note(say("{code}: {where}: {why}", code=each.code.value, where=where, why=each.why))


MARKS = {"verified": "✓", "not_applicable": "–", "pending": "…"}


def show_trace(call: Call, trace: Trace) -> None:
    """The four rows with what was read, then every finding."""
    reasons = {each.where: each.why for each in trace.findings}
    rows: list[list[object]] = []
    for row in trace.rows:
        read = f"{row.read.path} {row.read.sha256[:12]}" if row.read is not None else ""
        why: object = reasons.get(row.target.value, row.reason or "")
        rows.append([MARKS.get(row.status.value, "✗"), row.target.value, row.status.value, read, why])
    if rows:
        call.terminal.table([say("mark"), say("target"), say("status"), say("read"), say("reason")], rows)
    for each in trace.findings:
        where = printable(each.where)
        call.terminal.say(say("✗ {code}: {where}: {why}", code=each.code.value, where=where, why=each.why))
    if trace.complete:
        call.terminal.say(say("✓ complete, as read at {at}", at=trace.at))


@command(
    rehearses=False,
    more=(say("Everything is read again each time; a verdict holds for the instant it names."),),
    examples=("muniment handoff check ho_…", "muniment handoff check ho_… --again"),
)
@option("--again", is_flag=True, about=say("Show the verdict before this one as well."))
@argument("handoff", about=say("A handoff (ho_…)."))
def check(call: Call, handoff: str, again: bool) -> ExitCode | None:
    """Read back what was owed, and say whether it is there."""
    found: Checked = call.house.handoffs().check(handoff)
    value: dict[str, Any] = {"trace": found.trace.to_json()}
    if again:
        value["before"] = dict(found.before) if found.before is not None else None

    def people() -> None:
        if again and found.before is not None:
            word = say("complete") if found.before["complete"] else say("not complete")
            call.terminal.say(say("at {at} it was: {word}", at=found.before["at"], word=word))
        show_trace(call, found.trace)

    call.terminal.result(value, people)
    if not found.trace.complete:
        raise incomplete(found.trace)
    return None


@command(
    rehearses=False,
    more=(say("The nonces go with it, so the handoff is never dispatched again."),),
    examples=("muniment handoff export ho_… proof",),
)
@argument("handoff", about=say("A handoff (ho_…)."))
@argument("folder", about=say("The folder to write; it must not exist."))
def export(call: Call, handoff: str, folder: str) -> None:
    """Write one folder that proves a handoff without this workspace."""
    path = Path.cwd() / folder
    done = export_folder(call.house.handoffs(), handoff, path)
    call.terminal.result(
        {"handoff_id": handoff, "folder": str(path), "files": done.files, "bytes": done.size},
        lambda: call.terminal.say(
            say("exported {handoff} to {path}", handoff=handoff, path=printable(folder))
        ),
    )
    call.terminal.next_step(f"muniment verify {folder}")


def verify_export(call: Call, folder: Path) -> None:
    """Judge an exported folder anew, from its bytes alone, and show its rows."""
    found = verify_folder(folder)
    value: dict[str, Any] = {
        "handoff_id": found.handoff_id,
        "complete": found.now.complete,
        "not_repeated": list(found.not_repeated),
        "trace": found.now.to_json(),
    }
    call.terminal.result(value, lambda: show_trace(call, found.now))
    if found.not_repeated:
        then = tuple(found.not_repeated)
        call.terminal.note(say("taken from the verdict then, not repeated: {names}", names=then))
    if not found.now.complete:
        raise incomplete(found.now)


HANDOFF = Group(
    more=(say("The parent issues, sends and checks; the worker takes, records and returns."),),
    table={
        "new": Entry("muniment.faces.cli.handoff:new", say("Issue a packet with its contract.")),
        "lint": Entry("muniment.faces.cli.handoff:lint", say("Say what is wrong with a packet.")),
        "send": Entry(
            "muniment.faces.cli.dispatched:send", say("Dispatch a packet, or record that the host did.")
        ),
        "run": Entry("muniment.faces.cli.dispatched:run", say("Issue, dispatch, wait and check, in one go.")),
        "look": Entry("muniment.faces.cli.dispatched:look", say("Look up what became of a launch.")),
        "collect": Entry(
            "muniment.faces.cli.dispatched:collect", say("Take in what a worker left as its result.")
        ),
        "message": Entry("muniment.faces.cli.dispatched:message", say("Ask a worker again, on record.")),
        "check": Entry("muniment.faces.cli.handoff:check", say("Read back what was owed.")),
        "take": Entry("muniment.faces.cli.delegated:take", say("Take the work: the packet and its anchors.")),
        "record": Entry("muniment.faces.cli.delegated:record", say("Append one's own work with its anchor.")),
        "return": Entry("muniment.faces.cli.delegated:give_back", say("Return the result.")),
        "show": Entry("muniment.faces.cli.delegated:show", say("Show one handoff.")),
        "list": Entry("muniment.faces.cli.delegated:list_handoffs", say("List all handoffs.")),
        "export": Entry("muniment.faces.cli.handoff:export", say("Write a folder that proves a handoff.")),
    },
    examples=("muniment handoff list", "muniment handoff check ho_…"),
)
