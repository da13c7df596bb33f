"""Floor 2, `bundle`: one member out of a stored snapshot; only the extents that are needed are read."""

from __future__ import annotations

from collections.abc import Iterator

from muniment.bundle.extent import inflate
from muniment.bundle.index import Index
from muniment.bundle.join import Fetch
from muniment.bundle.members import Member, Members
from muniment.bundle.model import Row
from muniment.bundle.tar import wire
from muniment.bundle.verify import unfold
from muniment.evidence import Kind


def rows_around(index: Index, path: bytes) -> list[Row]:
    """The extents in which a path begins and goes on: those that bear its name, else those that bear the
    last name before it (docs/format.md, index)."""
    before: list[Row] = []
    for row in index:
        if row.path > path:
            break
        if before and before[-1].path != row.path:
            before = []
        before.append(row)
    return before


def pick(index: Index, fetch: Fetch, path: str) -> tuple[Member, Iterator[bytes]] | None:
    """A file of a snapshot and its bytes, each extent held to its id; None when there is no such file.

    In a snapshot that was sent whole everything before the file is read as well.  For a hard link the
    earlier file is given, and found by reading once more, however many links lead to it.
    """
    rows = None if index.whole else rows_around(index, wire(path))

    def read() -> Members:
        return Members(
            unfold(index, fetch, 0) if rows is None else (inflate(fetch(row), row) for row in rows)
        )

    links: dict[str, str] = {}
    for member in (members := read()):
        if member.path == path and member.kind is Kind.FILE and not member.same_as:
            return member, members.content()
        if member.same_as:
            links[member.path] = member.same_as
        if member.path == path or (rows is not None and wire(member.path) > wire(path)):
            break
    if path not in links:
        return None
    while path in links:  # each names one before it
        path = links[path]
    for member in (members := read()):
        if member.path == path:
            return member, members.content()
    return None
