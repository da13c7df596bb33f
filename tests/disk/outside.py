"""What lies outside a root, and the proof that nothing there was read, written or removed."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

LONG_AGO = 1_000_000_000 * 10**9
"""An access time before the last change: the kernel renews such a one at any reading."""

FILES = ("file", "deep/file", "deep/deeper/file")
SECRET = b"nobody inside may see this\n"


@dataclass(frozen=True)
class Outside:
    """A tree beside the root, with the same names as lie inside."""

    path: Path
    before: dict[str, tuple[int, ...]]

    @classmethod
    def make(cls, path: Path) -> Outside:
        """Make the tree and remember how it is."""
        (path / "deep" / "deeper").mkdir(parents=True)
        for name in FILES:
            (path / name).write_bytes(SECRET)
        for each in [path, *path.rglob("*")]:
            os.utime(each, ns=(LONG_AGO, each.stat().st_mtime_ns))
        return cls(path, cls._look(path))

    def assert_untouched(self) -> None:
        """Nothing was read, written, added or removed."""
        assert self._look(self.path) == self.before
        # By their known names: to list the folders would be a reading of them.
        for name in FILES:
            fd = os.open(self.path / name, os.O_RDONLY | os.O_NOATIME)
            try:
                assert os.read(fd, 1000) == SECRET
            finally:
                os.close(fd)

    @staticmethod
    def _look(path: Path) -> dict[str, tuple[int, ...]]:
        found: dict[str, tuple[int, ...]] = {}
        todo = [path]
        while todo:
            here = todo.pop()
            stats = here.lstat()
            found[str(here)] = (
                stats.st_ino,
                stats.st_mode,
                stats.st_nlink,
                stats.st_size,
                stats.st_atime_ns,
                stats.st_mtime_ns,
                stats.st_ctime_ns,
            )
            if here.is_dir():
                todo += [here / name for name in ("file", "deep", "deeper") if (here / name).exists()]
        return found
