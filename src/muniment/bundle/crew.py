"""Floor 2, `bundle`: a crew: forked processes that work on small things beside each other.

Threads that hash and inflate a few kilobytes at a time wait for the interpreter's lock longer than
they work (ADR 0103).  A helper has what the process had when the crew began, and shares nothing
afterwards but descriptors and the shelves on which jobs and results lie: it may read and write
files, and must not touch a connection or a lock.
"""

from __future__ import annotations

import gc
import marshal
import os
import select
import signal
import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from mmap import mmap
from struct import Struct
from types import TracebackType
from typing import Any, Generic, TypeVar

from muniment.disk import platform

AHEAD = 4
"""Results that may wait for the one before them, for each helper."""

LANES = 2
"""Jobs that a helper has at once: the one it does, and one so that it need not wait for the next."""

SHELF = 256 << 10
"""A shelf grows by so many bytes."""

_CALL = Struct("<BQ")
_DONE, _FAILED = 0, 1
_dumps: Callable[[Any], bytes] = marshal.dumps

Job = TypeVar("Job")
Result = TypeVar("Result")


class Odd(Exception):
    """A helper met what it does not judge itself, or is gone: whoever asked does it the plain way."""


def may_fork() -> bool:
    """Whether a fork is safe: no other thread may hold a lock that a helper would wait for."""
    return platform.LINUX and threading.active_count() == 1


@contextmanager
def uncollected() -> Iterator[None]:
    """Let the collector of garbage rest for a block, where nobody else works in this process.

    What is made by the ten thousand here is in no cycles, and looking for some takes a tenth of the time.
    """
    collects = gc.isenabled() and may_fork()
    if collects:
        gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


class _Shelf:
    """Memory that two processes see: what one lays down the other takes, without a pipe between."""

    def __init__(self) -> None:
        self._fd = os.memfd_create("muniment", os.MFD_CLOEXEC)
        self._seen: mmap | None = None

    def lay(self, data: bytes) -> int:
        """Put bytes there, over those that were there; how many."""
        self._room(len(data), True)[: len(data)] = data
        return len(data)

    def take(self, length: int) -> Any:
        """The plain value whose so many bytes lie there."""
        with memoryview(self._room(length, False)) as seen, seen[:length] as data:
            return marshal.loads(data)

    def _room(self, length: int, grows: bool) -> mmap:
        seen = self._seen
        if seen is None or len(seen) < length:
            if seen is not None:
                seen.close()
            whole = max(-(-length // SHELF) * SHELF, SHELF)
            if grows and os.fstat(self._fd).st_size < whole:
                # Taken now: memory that is refused only when it is written to ends the process.
                os.posix_fallocate(self._fd, 0, whole)
            seen = self._seen = mmap(self._fd, whole)
        return seen

    def close(self) -> None:
        if self._seen is not None:
            self._seen.close()
        platform.close(self._fd)


class _Helper:
    """What the first process knows of a helper: its pipes and shelves, and the jobs that it has."""

    def __init__(self) -> None:
        self.pid = 0
        self.doing: deque[tuple[int, int]] = deque()  # number and lane
        self.jobs: list[_Shelf] = []
        self.results: list[_Shelf] = []
        self.free = list(range(LANES))
        self.theirs = self.ours = self.back = self.forth = -1

    def open(self) -> None:
        """Make the shelves and pipes; what was made before one is refused is closed by `close`."""
        for shelves in (self.jobs, self.results):
            for _ in range(LANES):
                shelves.append(_Shelf())
        self.theirs, self.ours = os.pipe()
        self.back, self.forth = os.pipe()

    def close(self, *descriptors: int) -> None:
        """Close some ends, or everything that is left."""
        for fd in descriptors or (self.theirs, self.ours, self.back, self.forth):
            if fd >= 0:
                platform.close(fd)
        for name in ("theirs", "ours", "back", "forth"):
            if not descriptors or getattr(self, name) in descriptors:
                setattr(self, name, -1)
        if not descriptors:
            for shelf in (*self.jobs, *self.results):
                shelf.close()


class Crew(Generic[Job, Result]):
    """Helpers that do `work`; a context.  With a size of 0 the calling thread does everything.  `Odd`
    where the system has no room for so many.

    Jobs and results are plain values: numbers, text, bytes and tuples, lists and dicts of them.  What a
    helper raises is raised here: an `OSError` as it is, anything else as `Odd`.

    >>> with Crew(len, 2) as crew:
    ...     list(crew.map(["a", "bcd", ""]))
    [1, 3, 0]
    """

    def __init__(self, work: Callable[[Job], Result], size: int) -> None:
        self._work = work
        self._helpers: list[_Helper] = []
        self._of: dict[int, _Helper] = {}
        self._done: dict[int, Result] = {}
        self._number = 0
        self._poll = select.poll()
        try:
            for _ in range(size):
                self._begin()
        except OSError as error:
            self.close()
            raise Odd("no helper can be had") from error
        except BaseException:
            self.close()
            raise

    def _begin(self) -> None:
        helper = _Helper()
        self._helpers.append(helper)
        helper.open()
        helper.pid = os.fork()
        if not helper.pid:
            self._help(helper)
        helper.close(helper.theirs, helper.forth)
        self._of[helper.back] = helper
        self._poll.register(helper.back, select.POLLIN)

    def _help(self, me: _Helper) -> None:
        """The life of a helper; it ends when nobody can give it work any more."""
        status = 1
        try:
            gc.disable()
            platform.end_with_parent()
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process ends and closes the pipes
            for other in self._helpers[:-1]:
                other.close()
            me.close(me.ours, me.back)
            while call := os.read(me.theirs, _CALL.size):
                lane, length = _CALL.unpack(call)
                kind = _FAILED
                try:
                    job: Job = me.jobs[lane].take(length)
                    answer = _dumps(self._work(job))
                    kind = _DONE
                    del job
                except OSError as error:
                    known = (error.errno, error.strerror or "", error.filename)
                    answer = marshal.dumps(known if error.errno is not None else (str(error),))
                except Exception:  # noqa: BLE001 - it is raised in the first process, as `Odd`
                    answer = marshal.dumps(traceback.format_exc())
                os.write(me.forth, _CALL.pack(kind, me.results[lane].lay(answer)))
                del answer
            status = 0
        except BrokenPipeError:
            status = 0
        finally:
            os._exit(status)

    def give(self, job: Job) -> int:
        """Give a job to the helper that has least to do; the number under which its result is asked for."""
        number, self._number = self._number, self._number + 1
        if not self._helpers:
            self._done[number] = self._work(job)
            return number
        while True:
            helper = min(self._helpers, key=lambda one: len(one.doing))
            if helper.free:
                break
            self._listen()
        lane = helper.free.pop()
        helper.doing.append((number, lane))
        try:
            length = helper.jobs[lane].lay(_dumps(job))
            os.write(helper.ours, _CALL.pack(lane, length))
        except OSError as error:
            raise Odd("a helper is gone, or there is no room for its job") from error
        return number

    def result(self, number: int) -> Result:
        """The result of a job; it is waited for."""
        while number not in self._done:
            self._listen()
        return self._done.pop(number)

    def _listen(self) -> None:
        for fd, _ in self._poll.poll():
            helper = self._of[fd]
            told = os.read(fd, _CALL.size)
            if not told:
                raise Odd("a helper is gone")
            kind, length = _CALL.unpack(told)
            number, lane = helper.doing.popleft()
            try:
                answer = helper.results[lane].take(length)
            except OSError as error:
                raise Odd("there is no room for a result") from error
            helper.free.append(lane)
            if kind == _FAILED:
                raise OSError(*answer) if isinstance(answer, tuple) else Odd(answer)
            self._done[number] = answer

    def map(self, jobs: Iterable[Job]) -> Iterator[Result]:
        """The result of each job, in their order; jobs are asked for as helpers are free."""
        flying: deque[int] = deque()
        for job in jobs:
            flying.append(self.give(job))
            if len(flying) > AHEAD * len(self._helpers):
                yield self.result(flying.popleft())
        while flying:
            yield self.result(flying.popleft())

    def close(self) -> None:
        """Let the helpers end, and wait for them."""
        pids = [helper.pid for helper in self._helpers if helper.pid]
        while self._helpers:
            self._helpers.pop().close()
        for pid in pids:
            with suppress(ChildProcessError):
                os.waitpid(pid, 0)

    def __enter__(self) -> Crew[Job, Result]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
