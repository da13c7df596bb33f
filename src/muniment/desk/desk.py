"""Floor 3½, `desk`: one reference, one text, or everything: asked of every room at once."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from muniment.bundle.vault import Vault
from muniment.canonical import Json
from muniment.desk.errors import NoReference, ReferenceAmbiguous, ReferenceUnknown
from muniment.desk.ledger import LEDGER, read_whole
from muniment.desk.timeline import Moment, timeline, within
from muniment.desk.vault import VAULT, Whole
from muniment.message import Message, say
from muniment.path import printable
from muniment.record.event import Event
from muniment.record.reference import Kind, Reference, read_reference
from muniment.record.state import Workspace
from muniment.record.subject import Hit, Shown, Sought, Standing, Subject, Verdict, Watch, unwatched

EVENTS_TOLD = 50
"""So many events of what is looked for are told; the newest of them."""


@dataclass(frozen=True, slots=True)
class Story:
    """Everything that was found: the things, the newest events that speak of it and how many there
    are in all, and within what each thing was made, by its reference."""

    hits: tuple[Hit, ...]
    events: tuple[Event, ...]
    events_total: int
    within: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def to_json(self) -> dict[str, Json]:
        """What programs get."""
        hits: list[Json] = [
            {**one.to_json(), "within": list(self.within.get(one.reference, ()))} for one in self.hits
        ]
        return {
            "hits": hits,
            "events": [one.to_json() for one in self.events],
            "events_total": self.events_total,
        }


@dataclass(frozen=True, slots=True)
class Desk:
    """The desk of one workspace: its record, its rooms, and the vault, if there is one.

    `vault` opens any vault that is set and there; `whole` only one that lies on this machine.
    """

    workspace: Workspace
    subjects: Sequence[Subject]
    vault: Callable[[], Vault | None]
    whole: Whole

    # --- references

    def resolve(self, text: str) -> Reference:
        """The whole reference that a text means; a shortened one has to fit one thing alone.

        Raises `NoReference`, `ReferenceUnknown`, `ReferenceAmbiguous`.
        """
        found = read_reference(text)
        if found is None:
            raise NoReference(where=printable(text[:200]))
        if found.whole and found.kind is not Kind.JOB:
            return found
        fitting = found.fitting(self._known(found.kind))
        if not fitting:
            raise ReferenceUnknown(reference=printable(text), where=printable(text))
        if len(fitting) > 1:
            shown = tuple(fitting[:8])
            raise ReferenceAmbiguous(
                reference=printable(text),
                where=printable(text),
                why=say("it fits {references}", references=shown),
            )
        return Reference(found.kind, fitting[0].removeprefix(found.kind.value))

    def _known(self, kind: Kind) -> Iterable[str]:
        if kind is Kind.EVENT:
            return (f"{kind.value}{event.event_id}" for event in self.workspace.ledger.events())
        return (one for subject in self._of(kind) for one in subject.references())

    def _of(self, kind: Kind) -> list[Subject]:
        return [one for one in self.subjects if one.prefix == kind.value]

    # --- showing

    def show(self, text: str) -> Shown:
        """One thing: what is kept of it, within what it was made, and what was recorded of it last."""
        reference = self.resolve(text)
        if reference.kind is Kind.EVENT:
            return self._event(reference)
        for subject in self._of(reference.kind):
            shown = subject.show(reference.text)
            links = self._within([reference.text]).get(reference.text, ())
            lines = [*shown.lines, *((say("made within"), one) for one in links)]
            newest = list(self._about(reference.text))[-1:]
            lines += [(say("last event"), say("{kind}, {at}", kind=one.kind, at=one.at)) for one in newest]
            value: dict[str, Json] = {"reference": shown.reference, "within": list(links), **shown.value}
            return Shown(shown.reference, lines, value, shown.step)
        raise ReferenceUnknown(reference=reference.text, where=reference.text)

    def _event(self, reference: Reference) -> Shown:
        event = self.workspace.ledger.find(reference.rest)
        lines: list[tuple[Message, object]] = [
            (say("when"), event.at),
            (say("event"), event.kind),
            (say("subject"), printable(event.subject)),
            (say("actor"), printable(event.actor)),
            *((say("made within"), one) for one in within(event)),
            (say("digest"), f"sha256:{event.sha256}"),
        ]
        step = f"muniment show {event.subject}" if read_reference(event.subject) else "muniment timeline"
        return Shown(reference.text, lines, event.to_json(), step)

    def _about(self, reference: str) -> Iterator[Event]:
        events = self.workspace.ledger.events(containing=f'"subject":"{reference}"'.encode())
        return (event for event in events if event.subject == reference)

    # --- finding

    def find(self, text: str) -> Story:
        """Everything that holds a text, or bytes of a digest (whole, or 8 digits and more): things of
        every room, and events of the ledger."""
        reference = read_reference(text)
        sought = Sought(text)
        if reference is not None and reference.kind is Kind.DIGEST:
            sought = Sought(reference.rest, reference.rest)
        elif reference is not None:
            sought = Sought(reference.text)
        every = (hit for subject in self.subjects for hit in subject.find(sought))
        hits = list({(one.reference, str(one.role), one.path, one.digest): one for one in every}.values())
        named = [hit.reference for hit in hits]
        if reference is not None and not sought.digest:
            hits += self._made_within(reference.text, set(named))
            named = [hit.reference for hit in hits]
        # A file's digest stands in an evidence table; the event names the table alone.
        keepers = {one for one in named if sought.digest and one.startswith(Kind.ARCHIVE.value)}
        events, total = self._events(sought, keepers)
        return Story(tuple(hits), tuple(events), total, self._within(named))

    def _events(self, sought: Sought, keepers: set[str]) -> tuple[list[Event], int]:
        """The newest events that hold the text, or by which one of the deliverables came."""
        wanted = (sought.text.removeprefix(Kind.EVENT.value) or sought.text).encode(
            "utf-8", "surrogateescape"
        )
        newest: deque[Event] = deque(maxlen=EVENTS_TOLD)
        total = 0
        for event in self.workspace.ledger.events(containing=b"" if keepers else wanted):
            if not keepers or event.subject in keepers or wanted in event.line():
                total += 1
                newest.append(event)
        return list(newest), total

    def _made_within(self, reference: str, known: set[str]) -> list[Hit]:
        """What was made in a handoff or by a job, by what the ledger says."""
        found: dict[str, Hit] = {}
        needle = reference.removeprefix(Kind.JOB.value).encode()
        for event in self.workspace.ledger.events(containing=needle):
            about = read_reference(event.subject)
            if reference in within(event) and about is not None and event.subject not in known:
                found.setdefault(event.subject, Hit(event.subject, say("made within it")))
        return list(found.values())

    def _within(self, references: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Within what each of these was made or changed, by the contexts of its events."""
        wanted = set(references)
        found: dict[str, dict[str, None]] = {}
        for event in self.workspace.ledger.events() if wanted else ():
            if event.subject in wanted:
                found.setdefault(event.subject, {}).update(dict.fromkeys(within(event)))
        return {reference: tuple(links) for reference, links in found.items() if links}

    # --- verifying

    def verify(self, texts: Sequence[str] = (), watch: Watch = unwatched) -> Iterator[Verdict]:
        """Read things again and judge them, one after the other; without any named, everything: the
        ledger with its witnesses, every room's things, and the vault.

        References are resolved before the first is read.
        """
        self.whole.watch = watch
        if not texts:
            return self._everything(watch)
        chosen = [text if text in (LEDGER, VAULT) else self.resolve(text) for text in texts]
        return self._chosen(chosen, watch)

    def _everything(self, watch: Watch) -> Iterator[Verdict]:
        watch(0, 0, LEDGER)
        yield read_whole(self.workspace, self.vault).verdict()
        vault = self.whole.verdict()
        for subject in self.subjects:
            yield from subject.verify(subject.references(), watch)
        if vault is not None:
            yield vault

    def _chosen(self, chosen: Sequence[Reference | str], watch: Watch) -> Iterator[Verdict]:
        for one in chosen:
            if one == LEDGER:
                yield read_whole(self.workspace, self.vault).verdict()
            elif one == VAULT:
                found = self.whole.verdict()
                finding = say("none of this machine is set, or there is none yet")
                yield found or Verdict(VAULT, Standing.UNKNOWN, finding, step="muniment vault status")
            elif isinstance(one, Reference):
                yield from self._one(one, watch)

    def _one(self, reference: Reference, watch: Watch) -> Iterator[Verdict]:
        rooms = self._of(reference.kind)
        if reference.kind is Kind.EVENT:
            yield self._event_holds(reference)
        elif reference.kind is Kind.DIGEST:
            yield self._digest_holds(reference)
        elif not rooms:
            raise ReferenceUnknown(reference=reference.text, where=reference.text)
        for room in rooms:
            if reference.text not in room.references():
                room.show(reference.text)  # raises what the room says of one that it does not know
            yield from room.verify([reference.text], watch)

    def _event_holds(self, reference: Reference) -> Verdict:
        """An event that can be read has the hash in it; whether its chain holds says the whole ledger."""
        event = self.workspace.ledger.find(reference.rest)
        ledger = read_whole(self.workspace, self.vault).verdict()
        finding = say(
            "{kind} of {at}; the ledger: {finding}", kind=event.kind, at=event.at, finding=ledger.finding
        )
        return Verdict(
            reference.text, ledger.standing, finding, ledger.details, f"muniment show {reference.text}"
        )

    def _digest_holds(self, reference: Reference) -> Verdict:
        """Bytes of a digest hold when each place that was read again has them."""
        hits = self.find(reference.text).hits
        step = f"muniment find {reference.text}"
        read = [one for one in hits if one.standing is not None]
        bad = [one for one in read if one.standing is not Standing.GOOD]
        details = tuple(say("{reference} {path}", reference=one.reference, path=one.path) for one in bad)
        if not hits:
            raise ReferenceUnknown(reference=reference.text, where=reference.text)
        if bad:
            standing = Standing.BAD if any(one.standing is Standing.BAD for one in bad) else Standing.UNKNOWN
            return Verdict(reference.text, standing, say("not every place has these bytes"), details, step)
        if not read:
            finding = say("it is recorded, and lies nowhere where it was read again")
            return Verdict(reference.text, Standing.UNKNOWN, finding, step=step)
        finding = say("{count} places were read and have these bytes", count=len(read))
        return Verdict(reference.text, Standing.GOOD, finding, step=step)

    # --- the ledger as a timeline

    def timeline(self, *, since: datetime | None = None, count: int = 50) -> list[Moment]:
        """The newest events, oldest first, each with what it is worth by now."""
        return timeline(self.workspace.ledger.events(), self.subjects, since=since, count=count)
