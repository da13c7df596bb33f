"""A process that dies between two steps of a vault: a stand-in that is quick enough to die often.

The fault harness kills real processes at real system calls; here the steps are whole writes,
removals and transactions, so that a property can try thousands of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager

from muniment.vault.blobs import Blobs
from muniment.vault.store import VaultStore


class Killed(BaseException):
    """The process is dead: nothing that handles errors may run for it."""


class Fuse:
    """Burns down by one at each step; at zero the process dies, and stays dead."""

    def __init__(self, steps: int) -> None:
        self.left = steps
        self.burnt = False

    def step(self) -> None:
        """One step nearer."""
        self.left -= 1
        if self.left <= 0:
            self.burnt = True
            raise Killed


class KillingBlobs:
    """Blobs of a process that dies before or after one of its acts."""

    def __init__(self, blobs: Blobs, fuse: Fuse) -> None:
        self._blobs = blobs
        self._fuse = fuse

    def put(self, name: str, chunks: Iterable[bytes]) -> None:
        """Dies before, while the chunks are taken, or after."""
        self._fuse.step()
        self._blobs.put(name, self._burning(chunks))
        self._fuse.step()

    def _burning(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        for chunk in chunks:
            yield chunk
            self._fuse.step()

    def delete(self, name: str) -> None:
        """Dies before or after."""
        self._fuse.step()
        self._blobs.delete(name)
        self._fuse.step()

    def read(self, name: str, most: int) -> bytes:
        return self._blobs.read(name, most)

    def piece(self, name: str, offset: int, length: int) -> bytes:
        return self._blobs.piece(name, offset, length)

    def size(self, name: str) -> int:
        return self._blobs.size(name)

    def names(self, prefix: str) -> Iterator[str]:
        return self._blobs.names(prefix)

    def sweep(self, prefix: str, age_s: float) -> int:
        self._fuse.step()
        return self._blobs.sweep(prefix, age_s)

    def close(self) -> None:
        self._blobs.close()


def doomed(store: VaultStore, fuse: Fuse) -> VaultStore:
    """The store of a process that dies when the fuse has burnt down."""
    store.blobs = KillingBlobs(store.blobs, fuse)
    store.catalogue.writing = _burning(store.catalogue.writing, fuse)
    return store


def _burning(
    writing: Callable[[], AbstractContextManager[None]], fuse: Fuse
) -> Callable[[], AbstractContextManager[None]]:
    @contextmanager
    def burning() -> Iterator[None]:
        fuse.step()
        with writing():
            yield
            fuse.step()  # before the commit: SQLite undoes what was not committed
        fuse.step()

    return burning
