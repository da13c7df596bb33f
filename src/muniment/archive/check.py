"""Floor 3, `archive`: how deliverables stand now: each is read again where it lies."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Iterator, Sequence

from muniment.archive.entries import PREFIX, fold
from muniment.archive.errors import UnknownReference
from muniment.archive.model import Checked, Entry, Standing, Track
from muniment.disk.errors import DiskFault, NoPermission, NotThere, WrongKind
from muniment.disk.tree import Progress, measure
from muniment.errors import MunimentError
from muniment.evidence import Table, compare
from muniment.path import RelPath, printable
from muniment.record.errors import StateDamaged
from muniment.record.locate import Move, moves, present_place
from muniment.record.state import Workspace


def entries(workspace: Workspace) -> list[Entry]:
    """Every deliverable that the ledger knows, oldest first."""
    return list(fold(workspace.ledger.events(containing=f'"{PREFIX}_'.encode())).values())


def find_entry(workspace: Workspace, reference: str) -> Entry:
    """The deliverable of a reference, or of the address that it lies at."""
    (entry,) = chosen(workspace, [reference])
    return entry


def chosen(workspace: Workspace, references: Sequence[str]) -> list[Entry]:
    """The deliverables of references or addresses; of none, all that were not taken back."""
    known = entries(workspace)
    if not references:
        return [entry for entry in known if not entry.undone]
    # An address may have been left and taken again: the later one has it.
    by_name = {name: entry for entry in known for name in (entry.path.posix, entry.reference)}
    for reference in references:
        if reference not in by_name:
            raise UnknownReference(where=printable(reference))
    return [by_name[reference] for reference in references]


def check(workspace: Workspace, those: Iterable[Entry], mutable: tuple[str, ...] = ()) -> list[Checked]:
    """Read each deliverable again and compare it with its record."""
    return list(check_each(workspace, those, mutable))


def check_each(
    workspace: Workspace,
    those: Iterable[Entry],
    mutable: tuple[str, ...] = (),
    progress: Progress | None = None,
) -> Iterator[Checked]:
    """The same, one after the other as somebody asks for them.

    What was moved since, by any room, is looked for where the ledger says it lies now.
    """
    recorded = list(moves(workspace.ledger))
    return (_check_one(workspace, entry, recorded, mutable, progress) for entry in those)


def place_of(workspace: Workspace, entry: Entry) -> RelPath:
    """Where a deliverable lies now, by what the ledger says of later moves."""
    return present_place(list(moves(workspace.ledger)), entry.path, after=entry.event_id)


def _check_one(
    workspace: Workspace,
    entry: Entry,
    recorded: Sequence[Move],
    mutable: tuple[str, ...],
    progress: Progress | None,
) -> Checked:
    place = present_place(recorded, entry.path, after=entry.event_id)
    try:
        found = measure(workspace.root, place, cold=True, progress=progress).table
    except (NotThere, WrongKind):
        # A file may also stand where a folder of the address was.
        return Checked(entry, Standing.MISSING, place, differs=place.posix)
    except (NoPermission, DiskFault) as error:
        return Checked(entry, Standing.UNKNOWN, place, differs=str(error))
    except MunimentError as error:
        return Checked(entry, Standing.CHANGED, place, differs=str(error))
    digest = found.digest
    if digest == entry.tree:
        return Checked(entry, Standing.INTACT, place, digest)
    if may_be_edited(entry, mutable):
        return Checked(entry, Standing.EDITED, place, digest)
    return Checked(entry, Standing.CHANGED, place, digest, _first_difference(workspace, entry, found))


def may_be_edited(entry: Entry, mutable: tuple[str, ...]) -> bool:
    """Whether a deliverable is declared to be edited in place: a plan, or one that a pattern names,
    until it is sealed."""
    if entry.sealed:
        return False
    return entry.track is Track.PLAN or any(
        fnmatch.fnmatchcase(entry.path.name, pattern) for pattern in mutable
    )


def _first_difference(workspace: Workspace, entry: Entry, found: Table) -> str:
    try:
        difference = compare(workspace.tables.get(entry.tree), found)
    except StateDamaged as error:
        return str(error)
    odd = (*difference.changed, *difference.missing, *difference.extra)
    return (odd[0] or entry.path.name) if odd else ""
