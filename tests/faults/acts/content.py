"""What the acts work on: a small tree that is written and looked at without Muniment."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

from tests.faults.harness import Ended

WHEN = 1_700_000_000_123_456_789
"""The time of everything in the tree, in nanoseconds; a tmpfs and ext4 both keep all of it."""

Entry = tuple[str, int, bytes]
"""Kind, mode, and the bytes of a file, the target of a link or the names in a folder."""

FILE: dict[str, Entry] = {"": ("file", 0o640, b"deliverable\n" * 400)}

TREE: dict[str, Entry] = {
    "": ("folder", 0o750, b""),
    "a.md": ("file", 0o644, b"# Summary\n"),
    "empty": ("file", 0o600, b""),
    "link": ("link", 0o777, b"a.md"),
    "sub": ("folder", 0o700, b""),
    "sub/big.bin": ("file", 0o644, bytes(range(256)) * 40),
}


def put(at: Path, wanted: dict[str, Entry]) -> None:
    """Write the tree at a place where nothing is."""
    for inner, (kind, mode, data) in wanted.items():
        path = at / inner if inner else at
        if kind == "folder":
            path.mkdir()
        elif kind == "link":
            path.symlink_to(os.fsdecode(data))
        else:
            path.write_bytes(data)
        if kind != "link":
            path.chmod(mode)
            os.setxattr(path, "user.origin", inner.encode() or b"top")
    for inner in reversed(wanted):
        os.utime(at / inner if inner else at, ns=(WHEN, WHEN), follow_symlinks=False)


def differs(at: Path, wanted: dict[str, Entry]) -> str:
    """What is not as it was written; empty when the whole tree stands there."""
    if not os.path.lexists(at):
        return f"{at.name} is not there"
    there = {""} | {str(path.relative_to(at)) for path in at.rglob("*")} if at.is_dir() else {""}
    if there != set(wanted):
        return f"{at.name}: other names: {sorted(there ^ set(wanted))}"
    for inner, (kind, mode, data) in wanted.items():
        path = at / inner if inner else at
        found = path.lstat()
        if kind == "link":
            if os.fsencode(os.readlink(path)) != data:
                return f"{path}: another target"
            continue
        if stat.S_IMODE(found.st_mode) != mode:
            return f"{path}: mode {stat.S_IMODE(found.st_mode):o}, not {mode:o}"
        if found.st_mtime_ns != WHEN:
            return f"{path}: time {found.st_mtime_ns}"
        if os.getxattr(path, "user.origin") != (inner.encode() or b"top"):
            return f"{path}: another attribute"
        if kind == "file" and path.read_bytes() != data:
            return f"{path}: other bytes"
    return ""


def stands(at: Path, wanted: dict[str, Entry]) -> bool:
    """Whether the whole tree stands there."""
    return not differs(at, wanted)


def scratch(folder: Path) -> list[Path]:
    """Unfinished things that a killed act has left."""
    return sorted(path for path in folder.iterdir() if path.name.startswith(".muniment-"))


def remove(path: Path) -> None:
    """Take away whatever stands at a name, if anything does."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    elif os.path.lexists(path):
        path.unlink()


def tidy(folder: Path) -> None:
    """What is unfinished goes."""
    for path in scratch(folder):
        remove(path)


def check_made(path: Path, story: str, ended: Ended | None) -> None:
    """Of something new, alone in its folder: nothing or the whole (then `story` is empty); the whole when
    it was said; nothing when it was refused."""
    assert not os.path.lexists(path) or not story, story
    if ended is not None and (ended.how == "done" or ended.said):
        assert path.exists()
    if ended is not None and ended.how == "refused" and not ended.lasting:
        assert list(path.parent.iterdir()) == []
    if ended is None:
        assert scratch(path.parent) == []
