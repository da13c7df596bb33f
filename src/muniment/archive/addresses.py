"""Floor 3, `archive`: claiming addresses: a timestamp belongs to whoever made its folder."""

from __future__ import annotations

import contextlib
from datetime import datetime
from types import TracebackType

from muniment.archive import rules
from muniment.archive.errors import TargetExists
from muniment.archive.model import ARCHIVES, Address, Track
from muniment.disk.errors import AlreadyThere
from muniment.disk.root import Root
from muniment.errors import MunimentError
from muniment.message import say
from muniment.path import RelPath


class Claims:
    """The addresses of one call; folders that stay empty are given back when it ends."""

    def __init__(self, root: Root, local_now: datetime) -> None:
        self._root = root
        self._local_now = local_now
        self._stamps: dict[tuple[str, str], set[str]] = {}
        self._claimed: list[RelPath] = []

    def __enter__(self) -> Claims:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for folder in reversed(self._claimed):
            drop_empty(self._root, folder)

    def address(self, track: Track, name: str, archive_id: str) -> Address:
        """A free address; all files of the call share a timestamp where their names allow."""
        rules.judge_archive_id(archive_id)
        stamp = self._stamp(archive_id, name) if track is Track.FILE else None
        address = Address(archive_id, stamp, name)
        rules.judge_address(address)
        self._root.make_folders(address.folder)
        if self._root.exists(address.path):
            raise TargetExists(where=address.path.posix)
        return address

    def _stamp(self, archive_id: str, name: str) -> str:
        for (owner, stamp), names in self._stamps.items():
            if owner == archive_id and name not in names:
                names.add(name)
                return stamp
        root = Address(archive_id, None, "-").root
        self._root.make_folders(root)
        for stamp in rules.timestamps(self._local_now):
            with contextlib.suppress(AlreadyThere):
                self._root.claim_folder(root / stamp)
                self._claimed.append(root / stamp)
                self._stamps[archive_id, stamp] = {name}
                return stamp
        raise TargetExists(
            where=root.posix, why=say("{tries} timestamps in a row are taken", tries=rules.TRIES)
        )


def drop_empty(root: Root, folder: RelPath) -> None:
    """Give an empty timestamp back; folders of other depths are nobody's to remove.

    One that can not be removed does no harm: `doctor` names it.  So the outcome of the act, not
    this, is what its caller hears of.
    """
    if folder.parts[:1] == (ARCHIVES,) and len(folder.parts) == 3:
        with contextlib.suppress(MunimentError):
            if not root.names(folder):
                root.remove_folder(folder)
