"""Faces, command line: `muniment show, find, verify, timeline`: questions that go over all rooms."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click

from muniment.canonical import Json
from muniment.clock import system_clock
from muniment.desk.desk import Story
from muniment.desk.errors import NoReference, NothingRecorded
from muniment.desk.ledger import LEDGER
from muniment.desk.outside import deliverable_at, is_export, judge
from muniment.desk.timeline import Moment, Worth
from muniment.desk.vault import VAULT
from muniment.errors import ExitCode
from muniment.faces.cli.call import Call
from muniment.faces.cli.exported import judge_export
from muniment.faces.cli.frame import argument, command, option
from muniment.faces.cli.handoff import verify_export
from muniment.faces.cli.progress import Advance
from muniment.faces.cli.usage import wrong
from muniment.faces.cli.values import Whole
from muniment.faces.i18n.present import recorded_instant
from muniment.job.export.reading import is_export as is_job_export
from muniment.message import Message, say, say_count
from muniment.path import printable
from muniment.record.reference import read_reference
from muniment.record.subject import Standing, Verdict

_MARKS = {Standing.GOOD: "✓", Standing.OPEN: "…", Standing.BAD: "✗", Standing.UNKNOWN: "?"}
_STYLES = {Standing.GOOD: "green", Standing.OPEN: "", Standing.BAD: "red", Standing.UNKNOWN: "yellow"}
_STANDS: dict[Standing | None, Message] = {
    Standing.GOOD: say("read again: the same"),
    Standing.OPEN: say("open"),
    Standing.BAD: say("read again: NOT the same"),
    Standing.UNKNOWN: say("could not be read"),
    None: say("as recorded"),
}
_WORTHS: dict[Worth, tuple[str, Message, str]] = {
    Worth.NOTED: (" ", say("noted"), ""),
    Worth.CLAIMED: ("?", say("claimed, not proved"), "red"),
    Worth.CLAIM_PROVED: ("✓", say("claimed, proved since"), ""),
    Worth.CLAIM_REFUTED: ("✗", say("claimed, found untrue"), "red"),
    Worth.PROVED: ("✓", say("read back"), "green"),
    Worth.REFUTED: ("✗", say("read back: not so"), "red"),
}
_FINE, _ODD = 100, 1000
"""So many verdicts are shown to a person of those that are fine, and of each kind of the others."""

_DETAILS = 20
"""So many details of one verdict are shown to a person; a program gets all of them."""

_REFERENCE = say("A reference: arc_…, job:…, ho_…, bk_…, ev_…, or sha256:….")


@command(examples=("muniment show job:rna-7", "muniment show ho_01KDVDNA"))
@argument("reference", about=_REFERENCE)
def show(call: Call, reference: str) -> ExitCode | None:
    """Show one thing by its reference; a shortened one has to fit one thing alone."""
    if reference.startswith("sha256:"):
        return _found(call, reference)
    shown = call.house.desk.show(reference)

    def people() -> None:
        call.terminal.lines([(say("reference"), shown.reference), *shown.lines])

    call.terminal.result(shown.value, people)
    if shown.step:
        call.terminal.next_step(shown.step)
    return None


@command(
    more=(
        say(
            "A digest is looked for in the bytes of everything that was kept. Of snapshots only the indexes "
            "and manifests are fetched. A reference also finds what was made within it."
        ),
    ),
    examples=("muniment find report.md", "muniment find sha256:…"),
)
@argument("text", about=say("A part of a name, 8 digits of a sha256 or more, or a reference."))
def find(call: Call, text: str) -> ExitCode | None:
    """Find a text, a digest or a reference in every room and in the snapshots."""
    if not text.strip():
        raise wrong(say("nothing to look for was given"), click.get_current_context())
    return _found(call, text)


def _found(call: Call, text: str) -> ExitCode | None:
    story = call.house.desk.find(text)
    call.terminal.result(story.to_json(), lambda: _tell(call, story))
    first = next((one.reference for one in story.hits if read_reference(one.reference)), "")
    if first:
        call.terminal.next_step(f"muniment show {first}")
    if any(one.standing is Standing.BAD for one in story.hits):
        return ExitCode.NOT_VERIFIED
    return None if story.hits or story.events_total else ExitCode.NOT_FOUND


def _tell(call: Call, story: Story) -> None:
    terminal = call.terminal
    if not story.hits and not story.events_total:
        terminal.say(say("Nothing here holds it."))
        return
    if story.hits:
        columns = [say("reference"), say("what"), say("path"), say("state"), say("made within")]
        rows = [
            [
                one.reference,
                one.role,
                one.path,
                _STANDS[one.standing],
                tuple(story.within.get(one.reference, ())),
            ]
            for one in story.hits
        ]
        terminal.table(columns, rows, [_STYLES[one.standing] if one.standing else "" for one in story.hits])
    if story.events:
        terminal.print()
        terminal.say(
            say_count("{count} event speaks of it:", "{count} events speak of it:", story.events_total)
        )
        rows = [
            [recorded_instant(one.at), one.kind, printable(one.subject), f"ev_{one.event_id}"]
            for one in story.events
        ]
        terminal.table([say("when"), say("event"), say("subject"), say("reference")], rows)


@command(
    more=(
        say(
            "Everything named is read again from where it really lies. With --all that is the ledger and its "
            "witnesses, what every room keeps, and the whole vault. It ends with 4 when anything is not as "
            "it was recorded, or could not be read."
        ),
        say(
            "A folder or file is judged from its own bytes: an exported handoff, job or ledger, an extracted "
            "snapshot, the tar.gz of one, or a card."
        ),
        say(
            "A TES task and a statement are held against the job of that name on this machine, or against "
            "the record in --record; a crate carries its record with it."
        ),
    ),
    examples=("muniment verify --all", "muniment verify job:rna-7 ledger vault", "muniment verify proof"),
)
@option("--record", metavar="FOLDER", about=say("A folder with the job's registry.yaml and journal.jsonl."))
@option(
    "--key", metavar="FILE", about=say("The public key, in PEM, by which the statement has to be signed.")
)
@option("--all", "everything", is_flag=True, about=say("Read everything again."))
@argument("what", nargs=-1, about=say("References, the words ledger and vault, or paths."))
def verify(
    call: Call, what: tuple[str, ...], everything: bool, record: str | None, key: str | None
) -> ExitCode | None:
    """Read things again and compare them with their record."""
    context = click.get_current_context()
    if everything and what:
        raise wrong(say("--all goes with no reference"), context)
    if not everything and not what:
        raise wrong(say("name what to read again, or give --all"), context)
    if record is not None or key is not None:
        if len(what) != 1:
            raise wrong(say("--record and --key go with one export of a job"), context)
        return judge_export(call, Path(what[0]), record, key)
    if len(what) == 1 and is_export(Path(what[0])):
        verify_export(call, Path(what[0]))
        return None
    if len(what) == 1 and is_job_export(Path(what[0])):
        return judge_export(call, Path(what[0]), None, None)
    return _Reading(call).run(what)


class _Reading:
    """One reading of several things: shows each verdict, and what they come to, also when stopped."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._counts: Counter[Standing] = Counter()
        self._kept: list[Json] = []
        self._shown: list[Verdict] = []
        self._step = ""

    def run(self, what: Sequence[str]) -> ExitCode | None:
        call = self._call
        stopped = False
        with call.terminal.progress(say("reading")) as advance:
            verdicts = self._verdicts(what, advance)
            try:
                for verdict in verdicts:
                    self._take(verdict)
            except KeyboardInterrupt:
                stopped = True
        rest = {one.value: self._counts[one] for one in Standing}
        good = not stopped and all(one.fine for one in self._counts)
        value: dict[str, Json] = {
            "good": good,
            "stopped": stopped,
            "counts": dict(rest),
            "verified": self._kept,
        }
        call.terminal.result(value, lambda: self._tell(stopped))
        if stopped:
            return ExitCode.INTERRUPTED
        if self._step:
            call.terminal.next_step(self._step)
        return None if good else ExitCode.NOT_VERIFIED

    def _verdicts(self, what: Sequence[str], advance: Advance) -> Iterator[Verdict]:
        if not what:
            yield from self._call.house.desk.verify((), advance)
            return
        # Nothing is read before everything named is understood.
        targets = [self._target(text) for text in what]
        for target in targets:
            if isinstance(target, Path):
                yield self._outside(target, advance)
            else:
                yield from self._call.house.desk.verify((target,), advance)

    def _target(self, text: str) -> str | Path:
        if text in (LEDGER, VAULT):
            return text
        if read_reference(text) is not None:
            return self._call.house.desk.resolve(text).text
        path = Path(text)
        if not path.exists():
            raise NoReference(where=printable(text[:200]))
        if is_export(path) or is_job_export(path):
            why = say("the export of a handoff or a job is judged alone: {path}", path=printable(text))
            raise wrong(why, click.get_current_context())
        return path

    def _outside(self, path: Path, advance: Advance) -> Verdict:
        house = self._call.house
        try:
            desk = house.desk
        except NothingRecorded:
            return judge(path, None, advance)
        kept = deliverable_at(desk.workspace, path)
        return judge(path, desk.workspace, advance) if kept is None else next(desk.verify((kept,), advance))

    def _take(self, verdict: Verdict) -> None:
        self._counts[verdict.standing] += 1
        if self._call.options.json:
            self._kept.append(verdict.to_json())
        elif self._counts[verdict.standing] <= (_FINE if verdict.standing.fine else _ODD):
            self._shown.append(verdict)
        if not verdict.standing.fine and not self._step:
            self._step = verdict.step or f"muniment show {verdict.reference}"

    def _tell(self, stopped: bool) -> None:
        terminal = self._call.terminal
        if self._shown:
            rows = [[_MARKS[one.standing], one.reference, one.finding] for one in self._shown]
            styles = [_STYLES[one.standing] for one in self._shown]
            terminal.table([say("mark"), say("reference"), say("finding")], rows, styles)
        for one in self._shown:
            if one.details:
                terminal.say(say("{reference}:", reference=one.reference))
            for detail in one.details[:_DETAILS]:
                terminal.say(say("  {detail}", detail=detail))
            if len(one.details) > _DETAILS:
                terminal.say(
                    say_count("  and {count} more", "  and {count} more", len(one.details) - _DETAILS)
                )
        hidden = self._counts.total() - len(self._shown)
        if hidden:
            terminal.say(say_count("and {count} more", "and {count} more", hidden))
        terminal.say(self._summary())
        if stopped:
            terminal.say(say("Stopped: what is not named here was not read."))

    def _summary(self) -> Message:
        counts = self._counts
        read = say_count("{count} was read again", "{count} were read again", counts.total())
        return say(
            "{read}: {good} as recorded, {open} open, {bad} NOT as recorded, {unknown} could not be read",
            read=read,
            good=counts[Standing.GOOD],
            open=counts[Standing.OPEN],
            bad=counts[Standing.BAD],
            unknown=counts[Standing.UNKNOWN],
        )


@command(examples=("muniment timeline", "muniment timeline --since 7d"))
@option(
    "--since",
    metavar="WHEN",
    about=say("Only what came after: an instant, a day such as 2026-11-30, or 12h, 7d."),
)
@option(
    "--count", metavar="N", type=Whole(1, 100_000), default=50, about=say("How many events; 50 if not given.")
)
def timeline(call: Call, since: str | None, count: int) -> None:
    """Show what was recorded, and which claims were proved."""
    moments = call.house.desk.timeline(since=_since(since), count=count)
    open_claims = sum(one.worth.unproved for one in moments)

    def people() -> None:
        if not moments:
            call.terminal.say(say("Nothing was recorded then."))
            return
        columns = [say("when"), say("event"), say("subject"), say("worth"), say("made within")]
        rows = [_moment(one) for one in moments]
        call.terminal.table(columns, rows, [_WORTHS[one.worth][2] for one in moments])
        if open_claims:
            call.terminal.say(
                say_count("{count} claim is not proved.", "{count} claims are not proved.", open_claims)
            )

    call.terminal.result({"events": [one.to_json() for one in moments], "not_proved": open_claims}, people)


def _moment(one: Moment) -> list[object]:
    mark, word, _ = _WORTHS[one.worth]
    worth = say("{mark} {word}", mark=mark, word=word)
    event = one.event
    return [recorded_instant(event.at), event.kind, printable(event.subject), worth, tuple(one.within)]


def _since(text: str | None) -> datetime | None:
    if text is None:
        return None
    ago = re.fullmatch(r"([0-9]{1,5})([hd])", text)
    if ago is not None:
        hours = int(ago[1]) * (24 if ago[2] == "d" else 1)
        return system_clock() - timedelta(hours=hours)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        why = say("--since: {value} is no time", value=printable(text))
        raise wrong(why, click.get_current_context()) from error
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
