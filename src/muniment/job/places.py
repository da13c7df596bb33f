"""Room `job`: where a path really lies, behind links and bind mounts: facts for the rules.

A bind mount shows the same files under another name, with the same device and inode as at
their own.  Only the kernel's table of mounts tells: it names the file system and the folder in it
that each mount shows, so two paths are the same place when file system and inner path agree.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from muniment.job.model import AUTHORING

_TABLE = "/proc/self/mountinfo"


@dataclass(frozen=True, slots=True)
class Mounted:
    """One line of the table of mounts: which folder of which file system stands where."""

    device: str
    inner: str
    point: str


def read_mounts(table: str) -> list[Mounted]:
    """The mounts of a table in the format of `/proc/self/mountinfo`, in its order."""
    found: list[Mounted] = []
    for line in table.splitlines():
        fields = line.split(" ")
        if len(fields) > 5:
            found.append(Mounted(fields[2], _plain(fields[3]), _plain(fields[4])))
    return found


def inner_place(path: str, mounts: Iterable[Mounted]) -> tuple[str, str]:
    """The file system of a path without links, and the path inside that file system.

    >>> inner_place("/a/b", [Mounted("8:1", "/", "/"), Mounted("8:1", "/x", "/a")])
    ('8:1', '/x/b')
    """
    best = Mounted("", "/", "/")
    for mount in mounts:
        # A later mount on the same point covers the earlier one.
        if _below(path, mount.point) and len(mount.point) >= len(best.point):
            best = mount
    rest = path if best.point == "/" else path[len(best.point) :]
    parts = [part for part in (best.inner + "/" + rest).split("/") if part]
    return best.device, "/" + "/".join(parts)


def below_authoring(
    paths: Iterable[str], *, authoring: str = AUTHORING, table: str | None = None
) -> Mapping[str, str]:
    """Of absolute paths those that lead below the authoring folder, each with where it lies."""
    mounts = read_mounts(_mount_table() if table is None else table)
    home = os.path.realpath(authoring)
    # The folder's own place, and that of each file system mounted somewhere inside it.
    places = [(inner_place(home, mounts), home)]
    places += [((one.device, one.inner), one.point) for one in mounts if _below(one.point, home)]
    found: dict[str, str] = {}
    for path in paths:
        real = os.path.realpath(path)
        if _below(real, home):
            found[path] = real
            continue
        device, inner = inner_place(real, mounts)
        for (other, top), name in places:
            if device == other and _below(inner, top):
                found[path] = name + inner[len(top.rstrip("/")) :]
                break
    return found


def _mount_table() -> str:
    try:
        with open(_TABLE, encoding="utf-8", errors="surrogateescape") as stream:
            return stream.read()
    except FileNotFoundError:
        return ""  # macOS has no bind mounts.


def _below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _plain(text: str) -> str:
    for spelled, sign in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        text = text.replace(spelled, sign)
    return text
