"""A tree with everything that has to survive, and a way to tell whether it did."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path

Entry = tuple[str, int, int, str, tuple[tuple[str, bytes], ...]]
"""Kind, mode, time in nanoseconds, digest or target, attributes."""


def build(top: Path) -> None:
    """Files of all sizes, odd modes and names, times to the nanosecond, attributes, links."""
    (top / "sub" / "deep").mkdir(parents=True)
    (top / "none").mkdir()
    files = {
        "a.md": b"# a\n",
        "empty": b"",
        "sub/big": os.urandom((1 << 20) + 77),
        "sub/deep/x": b"x" * 70_000,
        os.fsdecode(b"sub/\xff\xfe"): b"no text",
        "z" * 255: b"long",
    }
    for number, (name, data) in enumerate(files.items()):
        (top / name).write_bytes(data)
        os.setxattr(top / name, "user.number", str(number).encode())
        os.setxattr(top / name, "user.empty", b"")
        (top / name).chmod((0o644, 0o600, 0o755, 0o444, 0o640, 0o4755)[number])
    (top / "sub" / "inside").symlink_to("../a.md")
    (top / "sub" / "dangling").symlink_to("nowhere")
    os.setxattr(top / "sub", "user.folder", b"yes")
    (top / "sub" / "deep").chmod(0o700)
    (top / "none").chmod(0o500)
    everything = sorted(top.rglob("*"), key=lambda path: len(path.parts), reverse=True)
    for number, path in enumerate([*everything, top]):
        os.utime(path, ns=(1, 1_600_000_000_000_000_000 + number * 1_000_000_001), follow_symlinks=False)


def look(top: Path) -> dict[str, Entry]:
    """Everything about a tree that has to survive."""
    found: dict[str, Entry] = {}
    for path in [top, *top.rglob("*")]:
        stats = path.lstat()
        if path.is_symlink():
            kind, what = "link", os.readlink(path)
        elif path.is_dir():
            kind, what = "folder", ""
        else:
            kind, what = "file", hashlib.sha256(path.read_bytes()).hexdigest()
        names = [] if path.is_symlink() else sorted(os.listxattr(path))
        attributes = tuple((name, os.getxattr(path, name)) for name in names)
        name = str(path.relative_to(top))
        found[name] = (kind, stat.S_IMODE(stats.st_mode), stats.st_mtime_ns, what, attributes)
    return found
