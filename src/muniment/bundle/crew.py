"""Floor 2, `bundle`: a crew: forked processes that work on small things beside each other.

Threads that hash and inflate a few kilobytes at a time wait for the interpreter's lock longer than
they work (ADR 0103).  A helper has what the process had when the crew began, and shares nothing
afterwards but descriptors: it may read and write files, and must not touch a connection or a lock.
"""

from __future__ import annotations

import os
import signal
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.connection import Connection, Pipe, wait
from types import TracebackType
from typing import Generic, TypeVar

from muniment.disk import platform

AHEAD = 16
"""Results that may wait for the one before them, for each helper."""

Job = TypeVar("Job")
Result = TypeVar("Result")


class Odd(Exception):
    """A helper met what it does not judge itself, or is gone: whoever asked does it the plain way."""


def may_fork() -> bool:
    """Whether a fork is safe: no other thread may hold a lock that a helper would wait for."""
    return platform.LINUX and threading.active_count() == 1


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
        try:
            for _ in range(size):
                self._begin()
        except BaseException:
            self.close()
            raise

    def _begin(self) -> None:
        theirs, ours = Pipe(duplex=False)
        back, forth = Pipe(duplex=False)
        self._to.append(ours)
        self._from.append(back)
        try:
            pid = os.fork()
            if not pid:
                self._help(theirs, forth)
            self._pids.append(pid)
        finally:
            theirs.close()
            forth.close()

    def _help(self, jobs: Connection, results: Connection) -> None:
        """The life of a helper; it ends when nobody can give it work any more."""
        status = 1
        try:
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

    def map(self, jobs: Iterable[Job]) -> Iterator[Result]:
        """The result of each job, in their order; jobs are asked for as helpers are free."""
        if not self._pids:
            yield from map(self._work, jobs)
            return
        numbered = enumerate(jobs)
        idle = list(range(len(self._pids)))
        doing: dict[Connection, tuple[int, int]] = {}
        done: dict[int, Result] = {}
        next_out, waiting = 0, next(numbered, None)
        while True:
            while waiting is not None and idle and waiting[0] < next_out + AHEAD * len(self._pids):
                helper = idle.pop()
                try:
                    self._to[helper].send(waiting[1])
                except BrokenPipeError as error:
                    raise Odd("a helper is gone") from error
                doing[self._from[helper]] = helper, waiting[0]
                waiting = next(numbered, None)  # made ready while they work
            if not doing:
                return
            for end in wait(list(doing)):
                assert isinstance(end, Connection)
                helper, number = doing.pop(end)
                done[number] = self._answer(end)
                idle.append(helper)
            while next_out in done:
                yield done.pop(next_out)
                next_out += 1

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
