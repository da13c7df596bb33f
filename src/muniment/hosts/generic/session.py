"""Floor 2, `hosts`: the id that stands in where no host tells a session.

It is minted once a working session, so that a plan and its results share it, and ends when
the person says so or after twelve idle hours.  It serves paths only (spec 1, archive id).
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from datetime import datetime, timedelta

from muniment.canonical import Json, NotJson, canonical, read_json
from muniment.clock import Clock, instant, read_instant
from muniment.disk.errors import NotThere, OutsideRoot, SpecialFile, WrongKind
from muniment.disk.locks import locked
from muniment.disk.root import Root
from muniment.disk.write import write_verified
from muniment.errors import MunimentError
from muniment.hosts.errors import InvalidSession
from muniment.hosts.session import Session, SessionSource
from muniment.path import RelPath

IDLE = timedelta(hours=12)
_HASH = re.compile(r"[0-9a-f]{4,40}")
_ID = re.compile(r"(?:[0-9a-f]{4,40}|local)-\d{4}-\d{4}(?:-\d+)?")

ShortHash = Callable[[], str | None]
"""Tells git's short hash of what is checked out, or None."""

LocalTime = Callable[[datetime], datetime]
"""An instant as the wall clock shows it."""


class WorkingSession:
    """The working session of one workspace, kept in its `.muniment/`."""

    def __init__(
        self, root: Root, folder: RelPath, *, clock: Clock, short_hash: ShortHash, local: LocalTime
    ) -> None:
        self._root = root
        self._folder = folder
        self._clock = clock
        self._short_hash = short_hash
        self._local = local

    @property
    def _file(self) -> RelPath:
        return self._folder / "session.json"

    def current(self) -> Session | None:
        """The session that goes on, if one does; nothing is minted."""
        found = self._read()
        return None if found is None else Session(found[0], SessionSource.FALLBACK)

    def started_ns(self) -> int | None:
        """When the session that goes on began, in nanoseconds since 1970; None without one."""
        found = self._read()
        return None if found is None else int(read_instant(found[1]).timestamp()) * 10**9

    def use(self) -> Session:
        """The session that goes on, or a new one; either is now in use.

        `InvalidSession` when it can not be kept: an id that is not kept would not be shared.
        """
        try:
            self._root.make_folders(self._folder, 0o700)
            with locked(self._root, self._folder / "session.lock"):
                now = instant(self._clock())
                archive_id, started = self._read() or (self._mint(), now)
                record: dict[str, Json] = {"v": 1, "archive_id": archive_id, "started": started, "used": now}
                write_verified(self._root, self._file, canonical(record) + b"\n", replace=True, mode=0o600)
        except MunimentError as error:
            raise InvalidSession(where=error.where, why=error.message) from error
        return Session(archive_id, SessionSource.FALLBACK)

    def end(self) -> bool:
        """End the session; tells whether there was one."""
        if self._read() is None:
            return False
        with locked(self._root, self._folder / "session.lock"):
            self._root.unlink(self._file, missing_ok=True)
        return True

    def _mint(self) -> str:
        short = self._short_hash()
        first = short if short and _HASH.fullmatch(short) else "local"
        return f"{first}-{self._local(self._clock()):%m%d-%H%M}"

    def _read(self) -> tuple[str, str] | None:
        """The id and the start of the session that goes on; a file nobody can read is none."""
        unreadable = (NotThere, WrongKind, SpecialFile, OutsideRoot)
        with contextlib.suppress(*unreadable, NotJson, KeyError, TypeError, ValueError):
            value = read_json(self._root.read(self._file, limit=1 << 16))
            archive_id, started, used = value["archive_id"], value["started"], read_instant(value["used"])
            read_instant(started)
            if _ID.fullmatch(archive_id) and self._clock() - used < IDLE:
                return str(archive_id), str(started)
        return None
