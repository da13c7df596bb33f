"""Floor 2, `hosts`: which folder is the workspace, and by which rule it was found."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from muniment.disk import platform
from muniment.hosts.errors import InvalidWorkspace, WorkspaceMissing
from muniment.message import Message, say
from muniment.path import printable

VARIABLE = "MUNIMENT_WORKSPACE"
HOST_VARIABLES = ("OPENCLAW_WORKSPACE_DIR", "WORKSPACE_DIR")
CLIENT_ROOT = "MCP root"
REFUSED_NAMES = frozenset({"arch", "archive", "archives"})

_POINTER_LIMIT = 1 << 14
"""Bytes that are read of one of git's pointer files."""


class Rule(StrEnum):
    """How a workspace was found; it stands in every receipt."""

    FLAG = "flag"
    ENVIRONMENT = "environment"
    HOST = "host"
    MARKER = "marker"
    GIT = "git"
    CURRENT = "current"


@dataclass(frozen=True, slots=True)
class Found:
    """The workspace's real path, the rule, and what was looked at (a variable, a folder)."""

    path: Path
    rule: Rule
    by: str


def find_workspace(
    flag: str | None, environment: Mapping[str, str], current: Path, client_root: str | None = None
) -> Found:
    """Apply the rules in their order (spec 0, workspace); the first that answers decides.

    `client_root` is the folder in which a client of the MCP server says that it works: the host's
    own word, like its variables.
    """
    found = _candidate(flag, environment, current, client_root)
    try:
        real = found.path.resolve(strict=True)
    except (OSError, RuntimeError) as error:
        raise WorkspaceMissing(where=printable(str(found.path)), why=_origin(found)) from error
    if not real.is_dir():
        raise WorkspaceMissing(where=printable(str(real)), why=_origin(found))
    for path in (found.path, real):
        if path.name in REFUSED_NAMES:
            raise InvalidWorkspace(where=printable(str(path)), why=_origin(found))
    return Found(real, found.rule, found.by)


def _candidate(
    flag: str | None, environment: Mapping[str, str], current: Path, client_root: str | None
) -> Found:
    if flag is not None:
        return Found(current / flag, Rule.FLAG, "--workspace")
    if environment.get(VARIABLE):
        return Found(current / environment[VARIABLE], Rule.ENVIRONMENT, VARIABLE)
    if client_root is not None:
        return Found(current / client_root, Rule.HOST, CLIENT_ROOT)
    for variable in HOST_VARIABLES:
        if environment.get(variable):
            return Found(current / environment[variable], Rule.HOST, variable)
    for folder in (current, *current.parents):
        if (folder / ".muniment").is_dir() and not (folder / ".muniment").is_symlink():
            return Found(folder, Rule.MARKER, ".muniment")
    top = git_top_level(current)
    if top is not None:
        return Found(top, Rule.GIT, ".git")
    return Found(current, Rule.CURRENT, ".")


def git_top_level(current: Path) -> Path | None:
    """The top of the git tree around a folder; from a linked worktree, that of the main tree."""
    for folder in (current, *current.parents):
        marker = folder / ".git"
        if marker.is_dir():
            return folder
        if marker.is_file():
            return _main_tree(folder, marker) or folder
    return None


def _main_tree(folder: Path, marker: Path) -> Path | None:
    """Follow the pointer that git leaves in a linked worktree; None for a submodule.

    Anybody can write such a pointer into a folder that he hands over.  So the main tree must name
    this worktree in its turn, in the place where git does: else it could be somebody else's.
    """
    try:
        pointer = _read_pointer(marker)
        if not pointer.startswith("gitdir:"):
            return None
        private = (folder / pointer.removeprefix("gitdir:").strip()).resolve(strict=True)
        shared = (private / _read_pointer(private / "commondir")).resolve(strict=True)
        back = (private / _read_pointer(private / "gitdir")).resolve(strict=True)
        if shared.name != ".git" or private.parent != shared / "worktrees" or not back.samefile(marker):
            return None
    except (OSError, ValueError, RuntimeError):
        return None
    return shared.parent


def _read_pointer(path: Path) -> str:
    """The text of a small file, as git writes one to point elsewhere; never waits for a pipe."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise ValueError("not a regular file")
        return os.fsdecode(os.read(fd, _POINTER_LIMIT)).strip()
    finally:
        platform.close(fd)


def _origin(found: Found) -> Message:
    return say("it was named by {by}", by=found.by)
