"""Floor 1, `record`: where bytes of a digest, or of a former path, lie now.

Every event that moves something says so in its evidence by three members: `from` and `to`
(paths below the workspace, or null) and `tree` (the tree digest of what was moved).  Following
them in order leads to the present place, which is read before it is named.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from muniment.digest import Digest
from muniment.disk.errors import DiskFault, NoPermission, NotThere, WrongKind
from muniment.disk.root import Root
from muniment.disk.tree import measure
from muniment.errors import MunimentError
from muniment.evidence import Table, spell, unspell
from muniment.path import BadPath, RelPath
from muniment.record.errors import StateDamaged
from muniment.record.event import Event
from muniment.record.ledger import Ledger
from muniment.record.tables import EvidenceTables


@dataclass(frozen=True, slots=True)
class Move:
    """One recorded move."""

    event: Event
    source: RelPath | None
    target: RelPath | None
    tree: Digest


@dataclass(frozen=True, slots=True)
class Located:
    """A present place of what was asked for.

    `state` is `intact` when the bytes there were read and are those recorded, `changed` when
    they are others, `missing` when nothing is there, `unreadable` when they could not be read.
    """

    path: RelPath
    digest: Digest
    event_id: str
    subject: str
    state: str


def moves(ledger: Ledger) -> Iterator[Move]:
    """All recorded moves, in order."""
    for event in ledger.events(containing=b'"tree":"'):
        evidence = event.evidence
        try:
            source, target = _path(evidence.get("from")), _path(evidence.get("to"))
            yield Move(event, source, target, Digest(str(evidence["tree"])))
        except (BadPath, KeyError, ValueError):
            continue


def path_text(rel: RelPath) -> str:
    """A path as evidence holds it."""
    return spell(rel.posix)


def _path(value: object) -> RelPath | None:
    return RelPath.parse(unspell(value)) if isinstance(value, str) else None


def locate_path(ledger: Ledger, tables: EvidenceTables, root: Root, path: RelPath) -> list[Located]:
    """Where that which lay at a path lies now: each move of it, or of a folder around it, is followed."""
    found: dict[tuple[RelPath, Digest], Move] = {}
    recorded = list(moves(ledger))
    for number, move in enumerate(recorded):
        if move.source is None or move.target is None or not path.within(move.source):
            continue
        inner = path.relative_to(move.source)
        table = tables.get(move.tree)
        row = next((row for row in table.rows if row.path == inner.posix), None)
        if row is None or (row.digest is None and inner.parts):
            continue
        now = _follow(recorded[number + 1 :], move.target / inner)
        found[now, row.digest or move.tree] = move
    return _look(root, found)


def locate_digest(ledger: Ledger, tables: EvidenceTables, root: Root, digest: Digest) -> list[Located]:
    """Where bytes of a digest (of a file, or of a whole tree) lie now, by what was recorded."""
    found: dict[tuple[RelPath, Digest], Move] = {}
    recorded = list(moves(ledger))
    holding: dict[Digest, tuple[str, ...]] = {}
    for number, move in enumerate(recorded):
        if move.target is None:
            continue
        if move.tree not in holding:
            holding[move.tree] = _paths_of(tables, move.tree, digest)
        for inner in holding[move.tree]:
            now = _follow(recorded[number + 1 :], move.target / RelPath.parse(inner))
            found[now, digest] = move
    return _look(root, found)


def _look(root: Root, found: dict[tuple[RelPath, Digest], Move]) -> list[Located]:
    """Each place is read once, however many moves led there."""
    return [
        Located(path, digest, move.event.event_id, move.event.subject, state_at(root, path, digest.hex))
        for (path, digest), move in found.items()
    ]


def present_place(recorded: Sequence[Move], path: RelPath, *, after: str) -> RelPath:
    """Where that which an event placed at a path lies now, by the moves recorded after that event."""
    start = next((number for number, move in enumerate(recorded) if move.event.event_id == after), -1)
    return _follow(recorded[start + 1 :], path)


def _paths_of(tables: EvidenceTables, tree: Digest, digest: Digest) -> tuple[str, ...]:
    if tree == digest:
        return ("",)
    try:
        table: Table = tables.get(tree)
    except StateDamaged:
        return ()
    return tuple(row.path for row in table.files if row.digest == digest)


def _follow(later: Sequence[Move], path: RelPath) -> RelPath:
    for move in later:
        if move.source is not None and move.target is not None and path.within(move.source):
            path = move.target / path.relative_to(move.source)
    return path


def state_at(root: Root, path: RelPath, digest: str) -> str:
    """How that which lies at a path stands against a digest (64 hex digits): as `Located` says it."""
    try:
        table = measure(root, path).table
    except NotThere:
        return "missing"
    except WrongKind:
        # A file stands where a folder of the path was.
        return "missing"
    except (NoPermission, DiskFault):
        return "unreadable"
    except MunimentError:
        return "changed"
    alone = table.rows[0].digest if len(table.rows) == 1 else None
    return "intact" if Digest(digest) in (table.digest, alone) else "changed"
