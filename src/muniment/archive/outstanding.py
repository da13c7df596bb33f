"""Floor 3, `archive`: what in the workspace was made and is not archived yet (spec 1, status)."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from muniment.archive.model import ARCHIVES
from muniment.archive.rules import MANAGED
from muniment.disk.root import Root
from muniment.path import RelPath

ALWAYS = frozenset({"PLAN.md", "report.md", "summary.md", "result.json", "notes.md"})
"""Names that are deliverables wherever they stand, unless they are committed unchanged."""

AskGit = Callable[..., bytes | None]
"""Asks git a question about a folder; None: no repository, or no git."""

_PASSED_OVER = frozenset({".git", "node_modules", "__pycache__", ".venv"})


def outstanding(root: Root, ask_git: AskGit, since_ns: int | None) -> list[RelPath]:
    """Paths that were made and are not archived, sorted.

    In a git repository: what git does not track, and the names of `ALWAYS` unless committed
    unchanged.  Elsewhere: those names, and what is newer than `since_ns` (the start of the working
    session in nanoseconds; None: no session, so nothing else counts).
    """
    top = ask_git(Path(root.path), "rev-parse", "--is-inside-work-tree")
    found = _by_git(root, ask_git) if top is not None else _by_age(root, since_ns)
    return sorted(path for path in found if not _managed(path))


def _managed(path: RelPath) -> bool:
    return path.parts[0] == ARCHIVES or path.parts[0] in MANAGED


def _by_git(root: Root, ask_git: AskGit) -> set[RelPath]:
    named = [f":(glob)**/{name}" for name in sorted(ALWAYS)]
    questions = (
        ("ls-files", "-z", "--others", "--exclude-standard"),
        ("ls-files", "-z", "--others", "--", *named),
        ("diff", "--name-only", "-z", "--no-ext-diff", "--relative", "HEAD", "--", *named),
        ("diff", "--name-only", "-z", "--no-ext-diff", "--relative", "--cached", "--", *named),
    )
    found: set[RelPath] = set()
    for question in questions:
        for name in (ask_git(Path(root.path), *question) or b"").split(b"\0"):
            # A nested repository is listed as a folder, with a slash at its end.
            text = os.fsdecode(name).rstrip("/")
            if text:
                found.add(RelPath.parse(text))
    return {path for path in found if root.exists(path)}


def _by_age(root: Root, since_ns: int | None) -> set[RelPath]:
    return {
        path
        for path, modified in _files(root, RelPath(), 0)
        if path.name in ALWAYS or (since_ns is not None and modified >= since_ns)
    }


def _files(root: Root, folder: RelPath, depth: int) -> Iterator[tuple[RelPath, int]]:
    if depth > 64:
        return
    with root.folder(folder) as fd:
        for name in os.listdir(fd):
            if name in _PASSED_OVER or (not folder.parts and (name == ARCHIVES or name in MANAGED)):
                continue
            found = os.stat(name, dir_fd=fd, follow_symlinks=False)
            if stat.S_ISDIR(found.st_mode):
                yield from _files(root, folder / name, depth + 1)
            elif stat.S_ISREG(found.st_mode):
                yield folder / name, found.st_mtime_ns
