"""Faces, hooks: reading a workspace's record as it lies there, a small piece at a time."""

from __future__ import annotations

import os
import re

_NUMBERED = re.compile(r"\d+\.json")


def read(path: str, most: int) -> bytes:
    """The first bytes of a file; a link is not followed, and nobody waits for a pipe."""
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(fd, "rb") as stream:
        return stream.read(most)


def series(folder: str) -> list[str]:
    """The numbered documents in a folder, oldest first; none where there is no folder."""
    if not os.path.isdir(folder):
        return []
    return sorted(name for name in os.listdir(folder) if _NUMBERED.fullmatch(name))
