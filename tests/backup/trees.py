"""What stands in a folder, as far as a restore has to bring it back."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path

Shape = dict[str, tuple[object, ...]]


def shape(folder: Path, *, without: tuple[str, ...] = (".muniment", ".restore"), times: bool = True) -> Shape:
    """Everything below a folder: kind, permissions, time, bytes or target, by its path as bytes."""
    found: Shape = {}
    top = os.fsencode(folder)
    for above, folders, files in os.walk(top):
        if above == top:
            folders[:] = [name for name in folders if os.fsdecode(name) not in without]
        for name in [*folders, *files]:
            path = os.path.join(above, name)
            fact = os.lstat(path)
            rel = os.fsdecode(os.path.relpath(path, top))
            when = fact.st_mtime_ns if times else 0
            if stat.S_ISLNK(fact.st_mode):
                found[rel] = ("link", os.readlink(path))
            elif stat.S_ISDIR(fact.st_mode):
                found[rel] = ("folder", stat.S_IMODE(fact.st_mode))
            else:
                with open(path, "rb") as stream:
                    digest = hashlib.sha256(stream.read()).hexdigest()
                found[rel] = ("file", stat.S_IMODE(fact.st_mode), when, digest)
    return found
