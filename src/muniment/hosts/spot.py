"""Floor 2, `hosts`: a file of the user's own, found by the name that its host gives it.

People keep their configuration elsewhere and link to it; what they link to is what they mean, so links are
followed here once, and from there on the file is reached without following any.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from muniment.digest import sha256
from muniment.disk import platform
from muniment.disk.errors import AlreadyThere, NotThere, Overtaken, named
from muniment.disk.root import Root
from muniment.disk.write import scratch_name, write_verified
from muniment.errors import MunimentError
from muniment.hosts.errors import ConfigurationLink
from muniment.message import say
from muniment.path import RelPath, printable

LIMIT = 64 << 20


@dataclass(frozen=True, slots=True)
class Held:
    """What a file holds, and its mode."""

    data: bytes
    mode: int

    @property
    def digest(self) -> str:
        """The SHA-256 of it, in hex."""
        return sha256(self.data).hex


def held_at(root: Root, rel: RelPath) -> Held | None:
    """What a file below a root holds; None when there is none."""
    try:
        data = root.read(rel, LIMIT)
        return Held(data, stat.S_IMODE(root.stat(rel).st_mode))
    except NotThere:
        return None


def remove_held(root: Root, rel: RelPath, held: Held) -> bool:
    """Remove a file durably, if it is exactly what was seen; False, and it stays, when it is not."""
    with root.parent(rel) as (fd, name), named(rel):
        aside = scratch_name()
        try:
            platform.rename_exclusive(fd, name, fd, aside)
        except FileNotFoundError:
            return False
        ours = root.read(rel.parent / aside, LIMIT) == held.data
        if ours:
            os.unlink(aside, dir_fd=fd)
        else:
            platform.rename_exclusive(fd, aside, fd, name)
        platform.sync_folder(fd)
    return ours


def _is_link(place: Path) -> bool:
    try:
        return stat.S_ISLNK(os.lstat(place).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False


class Spot:
    """One file, whether it exists or not, below the nearest folder that exists."""

    def __init__(self, place: Path) -> None:
        self.place = place
        with named(str(place)):
            real = Path(os.path.realpath(place))
            if _is_link(place) and not os.path.lexists(real):
                why = say("it leads to {target}", target=printable(str(real)))
                raise ConfigurationLink(where=printable(str(place)), why=why)
        folder = next((one for one in real.parents if os.path.lexists(one)), Path(real.anchor))
        with named(str(folder)):
            os.listdir(folder)  # says why it is no folder, or can not be entered
        self.root = Root.open(folder)
        self.rel = RelPath(real.relative_to(folder).parts)
        self.real = real

    def close(self) -> None:
        """Let the folder go."""
        self.root.close()

    def __enter__(self) -> Spot:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def missing_folders(self) -> list[str]:
        """The folders that have to be made for it, outermost first."""
        return [
            os.path.join(self.root.path, *above.parts)
            for above in reversed(list(self.rel.ancestors()))
            if above.parts and not self.root.exists(above)
        ]

    def look(self) -> Held | None:
        """What the file holds; None when there is none."""
        with self._whole_names():
            return held_at(self.root, self.rel)

    def write(self, data: bytes, over: Held | None, mode: int = 0o600) -> bool:
        """Replace exactly what was seen there, durably and read back; False when it is not that any more."""
        try:
            self._put(data, over, mode)
        except (AlreadyThere, Overtaken, NotThere):
            return False
        return True

    def _put(self, data: bytes, over: Held | None, mode: int) -> None:
        with self._whole_names():
            self.root.make_folders(self.rel.parent, 0o700)
            if over is None:
                write_verified(self.root, self.rel, data, mode=mode)
            else:
                digest = sha256(over.data)
                write_verified(self.root, self.rel, data, replace=True, over=digest, mode=over.mode)

    @contextmanager
    def _whole_names(self) -> Iterator[None]:
        """Errors name the file as people know it, not from some folder onwards."""
        try:
            yield
        except MunimentError as error:
            if not error.where.startswith("/"):
                error.where = printable(os.path.join(self.root.path, error.where))
            raise

    def keep_beside(self, name: str, held: Held) -> None:
        """A copy of it beside, under a name that says what it holds."""
        rel = self.rel.parent / name
        with self._whole_names():
            if not self.root.exists(rel):
                write_verified(self.root, rel, held.data, mode=held.mode)

    def kept(self, name: str, digest: str) -> bytes | None:
        """The copy beside, when it is there and still what it was."""
        try:
            with self._whole_names():
                data = self.root.read(self.rel.parent / name, LIMIT)
        except NotThere:
            return None
        return data if sha256(data).hex == digest else None

    def remove(self, held: Held) -> bool:
        """Remove exactly what was seen there, durably; False when it is not that any more."""
        with self._whole_names():
            return remove_held(self.root, self.rel, held)

    def drop_beside(self, name: str) -> None:
        """Remove the copy beside."""
        with self._whole_names():
            self.root.unlink(self.rel.parent / name, missing_ok=True)
