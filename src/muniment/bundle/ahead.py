"""Floor 2, `bundle`: a forked process that goes ahead: it walks while this one works on what it found."""

from __future__ import annotations

import fcntl
import gc
import marshal
import os
import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import islice
from struct import Struct
from types import TracebackType
from typing import Generic, TypeVar

from muniment.disk import platform

TOGETHER = 32
"""So many values are handed over at once."""

ROOM = 1 << 20
"""Bytes that the other process may be ahead."""

_LENGTH = Struct("<Q")

Value = TypeVar("Value")


class Lost(Exception):
    """The other process is gone, or met what only this one can tell: what is left is done here."""


class Ahead(Generic[Value]):
    """What `make` gives, made by a forked process; a context, iterated once.  `Lost` where that process
    does not come to its end, and `OSError` where the system has no room for it.

    Values are plain: numbers, text, bytes and tuples, lists and dicts of them.  Fork only where
    `may_fork` says so.

    >>> with Ahead(lambda: map(chr, range(97, 100))) as letters:
    ...     list(letters)
    ['a', 'b', 'c']
    """

    def __init__(self, make: Callable[[], Iterable[Value]]) -> None:
        self._in, out = os.pipe()
        try:
            with suppress(OSError):  # who has many pipes already gets small ones
                fcntl.fcntl(out, fcntl.F_SETPIPE_SZ, ROOM)
            self._pid = os.fork()
            if not self._pid:
                self._go(make, out)
        except BaseException:
            platform.close(self._in)
            raise
        finally:
            platform.close(out)

    def _go(self, make: Callable[[], Iterable[Value]], out: int) -> None:
        """The life of the other process."""
        status = 1
        try:
            gc.disable()
            platform.end_with_parent()
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process ends it
            platform.close(self._in)
            values = iter(make())
            with open(out, "wb", closefd=False) as stream:
                while some := list(islice(values, TOGETHER)):
                    data = marshal.dumps(some)
                    stream.write(_LENGTH.pack(len(data)) + data)
                    stream.flush()
                stream.write(_LENGTH.pack(0))
            status = 0
        finally:
            os._exit(status)  # whatever it was, the first process meets it when it does the same

    def __iter__(self) -> Iterator[Value]:
        with open(self._in, "rb", closefd=False) as stream:
            while True:
                head = stream.read(_LENGTH.size)
                if len(head) < _LENGTH.size:
                    raise Lost
                (length,) = _LENGTH.unpack(head)
                if not length:
                    return
                data = stream.read(length)
                if len(data) < length:
                    raise Lost
                yield from marshal.loads(data)

    def close(self) -> None:
        """End it, wherever it is."""
        if self._pid:
            platform.close(self._in)
            os.kill(self._pid, signal.SIGKILL)  # it was not waited for: the number is still its own
            os.waitpid(self._pid, 0)
            self._pid = 0

    def __enter__(self) -> Ahead[Value]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
