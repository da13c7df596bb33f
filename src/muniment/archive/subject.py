"""Floor 3, `archive`: all that the desk knows of it: what there is, how it stands, what is not archived."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from shlex import quote

from muniment.archive.check import check_each, entries, find_entry, place_of
from muniment.archive.entries import COPIED, KEPT, SEALED, UNDONE
from muniment.archive.errors import UnknownReference
from muniment.archive.model import Checked, Entry, Standing
from muniment.canonical import Json
from muniment.message import Message, say, say_count
from muniment.path import RelPath, printable
from muniment.record import subject
from muniment.record.errors import StateDamaged
from muniment.record.event import Event
from muniment.record.locate import moves, present_place, state_at
from muniment.record.reference import Kind
from muniment.record.state import Workspace
from muniment.record.subject import (
    Hit,
    Newest,
    Shown,
    Sought,
    Unfinished,
    Verdict,
    Watch,
    Weighed,
    Weight,
    newest_of,
    unsearched,
    unwatched,
)

_STANDS: dict[Standing, subject.Standing] = {
    Standing.INTACT: subject.Standing.GOOD,
    Standing.EDITED: subject.Standing.GOOD,
    Standing.CHANGED: subject.Standing.BAD,
    Standing.MISSING: subject.Standing.BAD,
    Standing.UNKNOWN: subject.Standing.UNKNOWN,
}


class ArchiveSubject:
    """The desk's view of the archive; `workspace` is None while there is no record of one.

    What `mutable` names may be edited in place.
    """

    prefix = Kind.ARCHIVE.value

    def __init__(
        self,
        loose: Callable[[], Sequence[RelPath]],
        workspace: Workspace | None,
        mutable: Callable[[], tuple[str, ...]] = tuple,
    ) -> None:
        self._loose = loose
        self._workspace = workspace
        self._mutable = mutable

    def _entries(self) -> list[Entry]:
        return entries(self._workspace) if self._workspace else []

    def references(self) -> list[str]:
        """Every deliverable that was not taken back."""
        return [one.reference for one in self._entries() if not one.undone]

    def show(self, reference: str) -> Shown:
        """One deliverable as it was recorded, and where it lies by what was recorded since."""
        if self._workspace is None:
            raise UnknownReference(where=reference)
        entry = find_entry(self._workspace, reference)
        place = place_of(self._workspace, entry)
        state = (
            say("taken back") if entry.undone else say("sealed") if entry.sealed else say("in the archive")
        )
        lines: list[tuple[Message, object]] = [
            (say("state"), state),
            (say("from"), printable(entry.origin.posix)),
            (say("lies at"), printable(place.posix)),
            (say("content"), _content(entry)),
            (say("digest"), str(entry.tree)),
        ]
        value: dict[str, Json] = {**entry.to_json(), "lies_at": place.posix}
        return Shown(entry.reference, lines, value, f"muniment verify {entry.reference}")

    def find(self, sought: Sought) -> Iterator[Hit]:
        """Deliverables by reference, name, path or digest; of a digest each place is read again."""
        if self._workspace is None:
            return
        recorded = list(moves(self._workspace.ledger))
        for entry in self._entries():
            if entry.undone:
                continue
            place = present_place(recorded, entry.path, after=entry.event_id)
            if sought.is_digest(entry.tree.hex):
                state = _read_now(self._workspace, place, entry.tree.hex)
                yield Hit(entry.reference, say("deliverable"), printable(place.posix), state, entry.tree.hex)
            names = (entry.reference, entry.name, entry.origin.posix, entry.path.posix)
            if not sought.digest and sought.is_in(*names):
                yield Hit(entry.reference, say("deliverable"), printable(place.posix), digest=entry.tree.hex)
            else:
                yield from self._inside(self._workspace, entry, place, sought)

    @staticmethod
    def _inside(workspace: Workspace, entry: Entry, place: RelPath, sought: Sought) -> Iterator[Hit]:
        """The files of a deliverable by digest, or by their paths in it."""
        try:
            table = workspace.tables.get(entry.tree)
        except StateDamaged as error:
            yield unsearched(entry.reference, error.message)
            return
        for row in table.files:
            digest = row.digest.hex if row.digest is not None else ""
            inner = place / RelPath.parse(row.path)
            if sought.is_digest(digest):
                state = _read_now(workspace, inner, digest)
                yield Hit(entry.reference, say("archived file"), printable(inner.posix), state, digest)
            elif not sought.digest and sought.is_in(row.path):
                yield Hit(entry.reference, say("archived file"), printable(inner.posix), None, digest)

    def verify(self, references: Iterable[str], watch: Watch = unwatched) -> Iterator[Verdict]:
        """Read deliverables again where they lie and compare them with their record."""
        if self._workspace is None:
            return
        known = {one.reference: one for one in self._entries()}
        chosen: list[Entry] = []
        for reference in references:
            if reference in known:
                chosen.append(known[reference])
            else:
                finding = say("the ledger knows no such deliverable")
                yield Verdict(reference, subject.Standing.BAD, finding, step="muniment archive list")
        found = check_each(
            self._workspace, chosen, self._mutable(), lambda files, size: watch(size, files, "")
        )
        for one in found:
            watch(0, 0, one.place.posix)
            yield self._with_its_table(self._workspace, one)

    @staticmethod
    def _with_its_table(workspace: Workspace, one: Checked) -> Verdict:
        """What the ledger knows of a deliverable is the digest of a table; that has to be there too."""
        found = _verdict(one)
        if found.standing is subject.Standing.GOOD:
            try:
                workspace.tables.get(one.entry.tree)
            except StateDamaged as error:
                finding = say("{where}: {why}", where=error.where, why=error.why or error.message)
                return Verdict(found.reference, subject.Standing.BAD, finding, step=found.step)
        return found

    def weigh(self, event: Event) -> Weighed | None:
        """Nothing is recorded of the archive that was not read back."""
        if event.kind in (KEPT, UNDONE, SEALED, COPIED):
            return Weighed(Weight.PROVED, event.subject)
        return None

    def unfinished(self) -> list[Unfinished]:
        """What was made and is not archived."""
        return [
            Unfinished(path.posix, "loose", f"muniment archive {quote(path.posix)}") for path in self._loose()
        ]

    def newest(self) -> Newest | None:
        """The deliverable that was archived last, wherever it has gone since."""
        return newest_of(self._workspace.ledger.newest(b'"kind":"archive.kept"') if self._workspace else None)


def _read_now(workspace: Workspace, place: RelPath, digest: str) -> subject.Standing:
    return {
        "intact": subject.Standing.GOOD,
        "unreadable": subject.Standing.UNKNOWN,
    }.get(state_at(workspace.root, place, digest), subject.Standing.BAD)


def _content(entry: Entry) -> Message:
    files = say_count("{count} file", "{count} files", entry.count)
    return say("{files}, {size} bytes", files=files, size=entry.size)


def _verdict(one: Checked) -> Verdict:
    place, entry = printable(one.place.posix), one.entry
    step = f"muniment archive show {entry.reference}"
    if entry.undone:
        finding = say("{path}: taken back; it is not in the archive", path=place)
        return Verdict(entry.reference, subject.Standing.OPEN, finding, step=step)
    standing = _STANDS[one.standing]
    if standing is subject.Standing.GOOD:
        finding = say("{path}: {content}", path=place, content=_content(entry))
        return Verdict(entry.reference, standing, finding, step=step)
    if one.standing is Standing.MISSING:
        return Verdict(entry.reference, standing, say("{path} is not there", path=place), step=step)
    odd = printable(one.differs)
    if standing is subject.Standing.UNKNOWN:
        finding = say("{path} can not be read: {why}", path=place, why=odd)
        return Verdict(entry.reference, standing, finding, step=step)
    finding = say("{path}: {differs} is not what was recorded", path=place, differs=odd)
    return Verdict(entry.reference, standing, finding, step=step)
