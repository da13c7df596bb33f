"""Floor 3, `backup`: a whole snapshot as its tar.gz, verified while it streams."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from queue import Queue
from threading import Event

from muniment.backup.reading import Reading
from muniment.bundle.errors import BadBundle
from muniment.bundle.gunzip import raw
from muniment.bundle.index import Index
from muniment.bundle.members import Member
from muniment.bundle.verify import Verified, verify
from muniment.message import say

_AHEAD = 32
"""Pieces that may wait for the one who verifies."""


class Whole:
    """Iterate it once for the bytes of the tar.gz; they are right only if the end comes without an error.

    Beside the caller a thread inflates what passes, holds it to the snapshot's index and every file
    to the manifest: `BadBundle`, `BadManifest`, `ContentsDiffer` and the vault's own errors.  `files`
    and `path` tell how far it has come; `verified` is set at the end.
    """

    def __init__(self, reading: Reading) -> None:
        self.files = 0
        self.path = ""
        self.verified: Verified | None = None
        self._reading = reading
        self._passed: Queue[bytes | None] = Queue(_AHEAD)
        self._refused = Event()

    def __iter__(self) -> Iterator[bytes]:
        with ThreadPoolExecutor(1, "verify") as pool:
            checking = pool.submit(self._check)
            try:
                for part in self._reading.download():
                    if self._refused.is_set():
                        break
                    self._passed.put(part)
                    yield part
            finally:
                self._passed.put(None)
            self.verified = checking.result()

    def _check(self) -> Verified:
        received = iter(self._passed.get, None)
        try:
            index = self._reading.index
            # What came as a tar.gz of another's is kept as its own bytes, and held to them.
            whole = raw(held(index, received)) if index.whole else held(index, raw(received))
            return verify(whole, self)
        except BaseException:
            self._refused.set()
            raise
        finally:
            # Whoever hands on must never wait for one who has given up.
            for _ in received:
                pass

    # What the walk over the members tells.

    def folder(self, member: Member) -> None:
        """A folder needs nothing."""

    def link(self, member: Member) -> None:
        """Nor does a link."""

    def file(self, member: Member) -> Callable[[bytes], object]:
        """One more file."""
        self.files, self.path = self.files + 1, member.path
        return _seen


def _seen(data: bytes) -> None:
    """The bytes were hashed by who walks."""


def held(index: Index, chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The same raw bytes, cut at the index's extents, each of which must be what its id says."""
    waiting = bytearray()
    rows = iter(index)
    row = next(rows, None)
    for chunk in chunks:
        waiting += chunk
        while row is not None and len(waiting) >= row.length:
            part = bytes(waiting[: row.length])
            del waiting[: row.length]
            if hashlib.sha256(part).digest() != row.id:
                raise BadBundle(why=say("its bytes are not those of the snapshot's index"))
            yield part
            row = next(rows, None)
        if row is None and waiting:
            break
    if row is not None or waiting:
        raise BadBundle(why=say("its bytes are not those of the snapshot's index"))
