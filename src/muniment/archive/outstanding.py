"""Floor 3, `archive`: what in the workspace was made and is not archived yet (spec 1, status)."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from muniment.archive.errors import GitSilent
from muniment.archive.model import ARCHIVES
from muniment.archive.rules import MANAGED
from muniment.disk.errors import NotThere
from muniment.disk.root import Root
from muniment.message import say
from muniment.path import RelPath, printable

ALWAYS = frozenset({"PLAN.md", "report.md", "summary.md", "result.json", "notes.md"})
"""Names that are deliverables wherever they stand, unless they are committed unchanged."""

AskGit = Callable[..., bytes | None]
"""Asks git a question about a folder; None: no repository, or no git."""

_DEPTH = 64

_PASSED_OVER = frozenset({".git", "node_modules", "__pycache__", ".venv"})


def outstanding(root: Root, ask_git: AskGit, since_ns: int | None) -> list[RelPath]:
    """Paths that were made and are not archived, sorted.

    In a git repository: what git does not track, and the names of `ALWAYS` unless committed
    unchanged.  Elsewhere, and where a repository around the workspace ignores all of it: those
    names, and what is newer than `since_ns` (the start of the working session in nanoseconds;
    None: no session, so nothing else counts).  `GitSilent` when git is in charge and fails.
    """
    found = _by_git(root, ask_git) if _git_is_in_charge(root, ask_git) else _by_age(root, since_ns)
    return sorted(path for path in found if not _managed(path))


def _git_is_in_charge(root: Root, ask_git: AskGit) -> bool:
    place = Path(root.path)
    inside = ask_git(place, "rev-parse", "--is-inside-work-tree")
    # An ignored folder has nothing untracked, whatever is made in it.
    return inside is not None and inside.strip() == b"true" and ask_git(place, "check-ignore", ".") is None


def _managed(path: RelPath) -> bool:
    return path.parts[0] == ARCHIVES or path.parts[0] in MANAGED


def _by_git(root: Root, ask_git: AskGit) -> set[RelPath]:
    named = [f":(glob)**/{name}" for name in sorted(ALWAYS)]
    found = _paths(root, ask_git, "ls-files", "-z", "--others", "--exclude-standard")
    ignored = _paths(root, ask_git, "ls-files", "-z", "--others", "--", *named)
    # What lies in the folders of tools is not of this agent's making.
    found |= {path for path in ignored if not _PASSED_OVER.intersection(path.parts)}
    diff = ("diff", "--name-only", "-z", "--no-ext-diff", "--relative")
    if ask_git(Path(root.path), "rev-parse", "--verify", "--quiet", "HEAD") is not None:
        found |= _paths(root, ask_git, *diff, "HEAD", "--", *named)
    found |= _paths(root, ask_git, *diff, "--cached", "--", *named)
    return {path for path in found if root.exists(path)}


def _paths(root: Root, ask_git: AskGit, *question: str) -> set[RelPath]:
    answer = ask_git(Path(root.path), *question)
    if answer is None:
        raise GitSilent(where=printable(root.path), why=say("`git {question}` failed", question=question[0]))
    # A nested repository is listed as a folder, with a slash at its end.
    names = (os.fsdecode(name).rstrip("/") for name in answer.split(b"\0"))
    return {RelPath.parse(name) for name in names if name}


def _by_age(root: Root, since_ns: int | None) -> set[RelPath]:
    return {
        path
        for path, modified in _files(root, RelPath(), 0)
        if path.name in ALWAYS or (since_ns is not None and modified >= since_ns)
    }


def _files(root: Root, folder: RelPath, depth: int) -> Iterator[tuple[RelPath, int]]:
    """Files with their times; what goes away while we look is passed over."""
    if depth > _DEPTH:
        return
    with contextlib.suppress(NotThere), root.folder(folder) as fd:
        for name in sorted(os.listdir(fd)):
            if name in _PASSED_OVER or (not folder.parts and (name == ARCHIVES or name in MANAGED)):
                continue
            with contextlib.suppress(FileNotFoundError):
                found = os.stat(name, dir_fd=fd, follow_symlinks=False)
                if stat.S_ISDIR(found.st_mode):
                    yield from _files(root, folder / name, depth + 1)
                elif stat.S_ISREG(found.st_mode):
                    yield folder / name, found.st_mtime_ns
