"""File systems other than the one of the test's own folder, mounted for the length of a test."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.faults.stage import mounted, refuse_or_skip, unmount

__all__ = ["folding", "mounted", "overlay"]


@contextmanager
def overlay(base: Path, *, lower: Path, upper: Path | None = None) -> Iterator[Path]:
    """An overlay over a lower folder; its upper layer lies in `upper` or beside."""
    where = upper or base / "layers"
    for name in ("upper", "work"):
        (where / name).mkdir(parents=True)
    options = f"lowerdir={lower},upperdir={where}/upper,workdir={where}/work"
    with mounted("overlay", base / "merged", options, source="overlay") as merged:
        yield merged


@contextmanager
def folding(base: Path) -> Iterator[Path]:
    """exFAT: a file system that folds case and knows neither hard links nor exclusive renames."""
    for program in ("mkfs.exfat", "mount.exfat-fuse", "losetup"):
        if shutil.which(program, path="/usr/sbin:/sbin:/usr/bin:/bin") is None:
            refuse_or_skip(f"{program} (exfat-fuse, exfatprogs)")
    image = base / "exfat.img"
    with image.open("wb") as stream:
        stream.truncate(16 << 20)
    subprocess.run(["mkfs.exfat", image], check=True, capture_output=True)
    made = subprocess.run(["losetup", "-f", "--show", image], capture_output=True, text=True)
    if made.returncode != 0:
        refuse_or_skip(f"a loop device ({made.stderr.strip()})")
    device, where = made.stdout.strip(), base / "exfat"
    try:
        where.mkdir()
        if subprocess.run(["mount.exfat-fuse", device, where], capture_output=True).returncode != 0:
            refuse_or_skip("the right to mount by FUSE")
        try:
            yield where
        finally:
            unmount(where)
    finally:
        subprocess.run(["losetup", "-d", device], check=True)
