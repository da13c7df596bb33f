"""Floor 2, `bundle`: a crew: forked processes that work on small things beside each other.

Threads that hash and inflate a few kilobytes at a time wait for the interpreter's lock longer than
they work (ADR 0103).  A helper has what the process had when the crew began, and shares nothing
afterwards but descriptors: it may read and write files, and must not touch a connection or a lock.
"""

from __future__ import annotations

import gc
import os
import signal
import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection, Pipe, wait
from types import TracebackType
from typing import Generic, TypeVar

from muniment.disk import platform

AHEAD = 4
"""Results that may wait for the one before them, for each helper."""

PIPE = 1 << 20
"""Bytes that a pipe holds: a helper shall not wait with its result for whoever is busy otherwise."""

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


class Crew(Generic[Job, Result]):
    """Helpers that do `work`; a context.  With a size of 0 the calling thread does everything.

    What a helper raises is raised here: an `OSError` as it is, anything else as `Odd`.

    >>> with Crew(len, 2) as crew:
    ...     list(crew.map(["a", "bcd", ""]))
    [1, 3, 0]
    """

    def __init__(self, work: Callable[[Job], Result], size: int) -> None:
        self._work = work
        self._pids: list[int] = []
        self._to: list[Connection] = []
        self._from: list[Connection] = []
        self._idle: list[int] = []
        self._doing: dict[Connection, tuple[int, int]] = {}
        self._done: dict[int, Result] = {}
        self._number = 0
        try:
            for _ in range(size):
                self._begin()
        except BaseException:
            self.close()
            raise

    def _begin(self) -> None:
        theirs, ours = Pipe(duplex=False)
        back, forth = Pipe(duplex=False)
        for end in (theirs, back):
            platform.widen_pipe(end.fileno(), PIPE)
        self._to.append(ours)
        self._from.append(back)
        try:
            pid = os.fork()
            if not pid:
                self._help(theirs, forth)
            self._idle.append(len(self._pids))
            self._pids.append(pid)
        finally:
            theirs.close()
            forth.close()

    def _help(self, jobs: Connection, results: Connection) -> None:
        """The life of a helper; it ends when nobody can give it work any more."""
        status = 1
        try:
            gc.disable()
            platform.end_with_parent()
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process ends and closes the pipes
            for end in (*self._to, *self._from):
                end.close()
            while True:
                job = jobs.recv()
                try:
                    answer: tuple[Result | None, Exception | None] = self._work(job), None
                except OSError as error:
                    answer = None, error
                except Exception:  # noqa: BLE001 - it is raised in the first process, as `Odd`
                    answer = None, Odd(traceback.format_exc())
                results.send(answer)
        except (EOFError, BrokenPipeError):
            status = 0
        finally:
            os._exit(status)

    def give(self, job: Job) -> int:
        """Give a job to the next helper that is free; the number under which its result is asked for."""
        number, self._number = self._number, self._number + 1
        if not self._pids:
            self._done[number] = self._work(job)
            return number
        while not self._idle:
            self._listen()
        helper = self._idle.pop()
        try:
            self._to[helper].send(job)
        except BrokenPipeError as error:
            raise Odd("a helper is gone") from error
        self._doing[self._from[helper]] = helper, number
        return number

    def result(self, number: int) -> Result:
        """The result of a job; it is waited for."""
        while number not in self._done:
            self._listen()
        return self._done.pop(number)

    def _listen(self) -> None:
        for end in wait(list(self._doing)):
            assert isinstance(end, Connection)
            helper, number = self._doing.pop(end)
            self._done[number] = self._answer(end)
            self._idle.append(helper)

    def map(self, jobs: Iterable[Job]) -> Iterator[Result]:
        """The result of each job, in their order; jobs are asked for as helpers are free."""
        flying: deque[int] = deque()
        for job in jobs:
            flying.append(self.give(job))
            if len(flying) > AHEAD * len(self._pids):
                yield self.result(flying.popleft())
        while flying:
            yield self.result(flying.popleft())

    @staticmethod
    def _answer(end: Connection) -> Result:
        try:
            result, error = end.recv()
        except EOFError as gone:
            raise Odd("a helper is gone") from gone
        if error is not None:
            raise error
        found: Result = result
        return found

    def close(self) -> None:
        """Let the helpers end, and wait for them."""
        for end in (*self._to, *self._from):
            end.close()
        while self._pids:
            os.waitpid(self._pids.pop(), 0)

    def __enter__(self) -> Crew[Job, Result]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
