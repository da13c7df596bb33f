"""Faces, hooks: whether a path may be written.  Pure: facts in, verdict out (spec 6, hooks)."""

from __future__ import annotations

import fnmatch

from muniment.faces.hooks.programs import REMOVE, WRITE

ARCHIVES = "archives"
PLAN = "PLAN.md"
STREAMS = frozenset({"null", "zero", "full", "stdin", "stdout", "stderr", "tty"})

ALLOWED, ARCHIVE, SKILL, OUTSIDE = "", "archive", "skill", "outside"
"""Verdicts: nothing against it, it lies in the archive, it is an installed skill, it is outside."""


class Facts:
    """What is known of one path that would be written.

    `parts` are the names of its real place from `/` on.  `records` are the depths at which a folder
    stands that Muniment keeps a record of, `archived` those that hold an archive too.  `exists` is the
    depth down to which the path exists already.  `skill` says that an installed skill holds it.
    `hosted` are the names of the workspace on a hosted OpenClaw.
    """

    __slots__ = ("archived", "exists", "hosted", "kind", "parts", "records", "skill")

    def __init__(
        self,
        kind: str,
        parts: tuple[str, ...],
        *,
        records: frozenset[int] = frozenset(),
        archived: frozenset[int] = frozenset(),
        exists: int = 0,
        skill: bool = False,
        hosted: tuple[str, ...] | None = None,
    ) -> None:
        self.kind = kind
        self.parts = parts
        self.records = records
        self.archived = archived
        self.exists = exists
        self.skill = skill
        self.hosted = hosted


def decide(facts: Facts, mutable: tuple[str, ...] = ()) -> str:
    """The verdict on one path; `mutable` are the patterns of `archive.mutable`.

    >>> decide(Facts("write", ("w", "archives", "id", "t", "a.md"), records=frozenset({1})))
    'archive'
    >>> decide(Facts("write", ("w", "archives", "id", "PLAN.md"), records=frozenset({1}), exists=4))
    ''
    """
    parts = facts.parts
    if is_stream(parts):
        return ALLOWED
    if facts.hosted is not None and parts[: len(facts.hosted)] != facts.hosted:
        return OUTSIDE
    for depth, name in enumerate(parts):
        if name == ARCHIVES and depth in facts.records:
            inside = parts[depth + 1 :]
            if not _in_place(facts, inside, depth + 1, mutable):
                return ARCHIVE
    if facts.kind == REMOVE and len(parts) in facts.archived:
        return ARCHIVE
    return SKILL if facts.skill else ALLOWED


def is_stream(parts: tuple[str, ...]) -> bool:
    """Whether a path names no file but a stream, where nothing is kept.

    >>> is_stream(("dev", "null")), is_stream(("dev", "shm", "a"))
    (True, False)
    """
    return parts[:1] == ("dev",) and (parts[1:2] == ("fd",) or (len(parts) == 2 and parts[1] in STREAMS))


def _in_place(facts: Facts, inside: tuple[str, ...], depth: int, mutable: tuple[str, ...]) -> bool:
    """Whether this changes what may be edited where it lies: it has to lie there already."""
    if facts.kind != WRITE:
        return False
    if len(inside) == 2 and inside[1] == PLAN:
        return facts.exists >= depth + 2
    if len(inside) < 3 or facts.exists < depth + 3:
        return False
    return any(fnmatch.fnmatchcase(inside[2], pattern) for pattern in mutable)


def needs_patterns(facts: Facts) -> bool:
    """Whether `archive.mutable` could change the verdict, so that it is worth reading."""
    return facts.kind == WRITE and decide(facts) == ARCHIVE and decide(facts, ("*",)) != ARCHIVE
