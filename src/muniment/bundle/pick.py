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
    """The extents in which a path begins and goes on: those that bear its name, else the group that
    begins with the last name before it (docs/format.md, index)."""
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

    In a snapshot that was sent whole everything before the file is read as well; the copy that a hard
    link stands for is found by reading once more.
    """
    if index.whole:
        members = Members(unfold(index, fetch, 0))
    else:
        rows = rows_around(index, wire(path))
        members = Members(inflate(fetch(row), row) for row in rows)
    for member in members:
        if member.path == path and member.kind is Kind.FILE:
            if member.same_as:
                return pick(index, fetch, member.same_as)
            return member, members.content()
        if not index.whole and wire(member.path) >= wire(path):
            return None
    return None
