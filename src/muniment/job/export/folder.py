"""Room `job`: files of a crate or of a job's folder, hashed from where they lie."""

from __future__ import annotations

from collections.abc import Iterable

from muniment.disk.errors import NotThere, OutsideRoot, SpecialFile, WrongKind
from muniment.disk.root import Root
from muniment.disk.tree import measure
from muniment.evidence import Kind
from muniment.job.export.facts import Held
from muniment.job.export.findings import Code, Finding
from muniment.job.outputs import hash_file
from muniment.message import say
from muniment.path import BadPath, RelPath, printable

DOCUMENT_LIMIT = 64 << 20
"""Bytes of a document at the most; a crate of a hundred thousand files needs half of it."""


def held_below(beside: Root, rel: RelPath) -> tuple[dict[str, Held], list[Finding]]:
    """Every file below a folder by its path there, and a finding for each link."""
    files: dict[str, Held] = {}
    odd: list[Finding] = []
    for row in measure(beside, rel, cold=True).table.rows:
        if row.kind is Kind.FILE and row.digest is not None:
            files[row.path] = Held(row.size, row.digest.hex)
        elif row.kind is Kind.LINK:
            odd.append(Finding(Code.NOT_A_FILE, printable(row.path), say("a file"), say("a link")))
    return files, odd


def held_of(folder: Root, names: Iterable[str]) -> dict[str, Held]:
    """Of these files of a job's folder those that are there, links not followed."""
    files: dict[str, Held] = {}
    for name in names:
        try:
            digest, size = hash_file(folder, RelPath.parse(name))
        except (NotThere, OutsideRoot, SpecialFile, WrongKind, BadPath):
            continue
        files[name] = Held(size, digest.hex)
    return files
