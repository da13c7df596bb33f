"""The fault harness: an act, tried under a fault at every system call that it makes.

An act is a module of `tests.faults.acts` (or any other) with these names:

- `STAGES`: the file systems (of `tests.faults.stage`) over which it is tried;
- `LARGEST`: bytes that suffice for every file it writes, and not many more than it needs;
- `prepare(place)`: put into a fresh folder what the act finds there;
- `run(place, acknowledge)`: the act, in a process of its own; what it tells the outside, it
  tells by `acknowledge(text)`;
- `check(place, ended)`: raise `AssertionError` unless what stands there now is allowed;
- `recover(place)`: what the next start or `doctor` does; `check(place, None)` is called afterwards.

A plain trace counts the act's calls.  Then each point (system call, how manieth, fault) is one
run on a fresh stage, in a fresh process, under `strace` that kills it before that call or fails
the call.  A point that was not reached, a kill that did not kill, an error without a name and an
invariant that does not hold are findings, never passed over.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, cast

from tests.children import ENVIRONMENT, PROJECT
from tests.faults import perform
from tests.faults.stage import make_room, refuse_or_skip, require_mounts, staged

FAULTS: dict[str, str] = {
    "kill": "signal=KILL:when={n}",
    "ENOSPC": "error=ENOSPC:when={n}",
    "EIO": "error=EIO:when={n}",
    "EINTR": "error=EINTR:when={n}",
    "EMFILE": "error=EMFILE:when={n}",
    "ENOSPC from then on": "error=ENOSPC:when={n}+",
    "EIO from then on": "error=EIO:when={n}+",
}
"""What is done to a call; *from then on* also fails every later call of its kind."""

SHORT, FULL = "short write", "full file system"
"""What is done to the whole run: no file may grow beyond a size; the disk has room for so much."""

# Calls that touch nothing outside the process.  A kill before one of them leaves the same disk as a
# kill before the next call that is in the sweep, and the kernel never fails them with these errors.
_WITHIN = (
    "brk,mmap,munmap,mprotect,mremap,madvise,futex,rt_sigaction,rt_sigprocmask,rt_sigreturn,getrandom,"
    "rt_sigtimedwait,getpid,gettid,clock_gettime,gettimeofday,time,sched_yield,restart_syscall,exit_group"
)
_PATIENCE = 60.0
"""Seconds after which a run that neither ends nor dies is given up."""

_CALL = re.compile(r"^\d+ +([a-z_0-9]+)\(")


class ActModule(Protocol):
    """What a module of an act offers."""

    @property
    def STAGES(self) -> Sequence[str]: ...

    def prepare(self, place: Path) -> None: ...
    def check(self, place: Path, ended: Ended | None) -> None: ...
    def recover(self, place: Path) -> None: ...


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run ended: `done`, `refused` (an error of Muniment), `killed`; what it had said."""

    how: str
    said: tuple[str, ...] = ()
    code: str = ""
    lasting: bool = False
    """The fault went on, so that cleaning up may have failed as well."""


@dataclass(frozen=True, slots=True, order=True)
class Point:
    """One call of the act, its number from the moment on when the tracer attached, and a fault."""

    call: str
    n: int
    fault: str


@dataclass(slots=True)
class Tally:
    """What a sweep found: for each fault how often which end, and all that was wrong."""

    act: str
    stage: str
    ends: dict[str, Counter[str]] = field(default_factory=dict)
    findings: list[str] = field(default_factory=list)

    def add(self, fault: str, how: str) -> None:
        """Count one run."""
        self.ends.setdefault(fault, Counter())[how] += 1

    @property
    def points(self) -> int:
        """How many runs there were."""
        return sum(sum(ends.values()) for ends in self.ends.values())


@dataclass(frozen=True, slots=True)
class Trace:
    """The calls of an act between its two marks, and how often each was made before the first."""

    calls: tuple[str, ...]
    before: Counter[str]
    lines: tuple[str, ...]

    def points(self, faults: Sequence[str]) -> list[Point]:
        """Every point there is."""
        seen = Counter(self.before)
        found: list[Point] = []
        for call in self.calls:
            seen[call] += 1
            found.extend(Point(call, seen[call], fault) for fault in faults)
        return found


def sample(points: Sequence[Point], seed: int, budget: int) -> list[Point]:
    """The first, middle and last of each call, with the faults dealt out in turn, and as many
    others, chosen by the seed, as the budget allows."""
    faults = sorted({point.fault for point in points} - {"kill"})
    chosen: set[Point] = set()
    for number, call in enumerate(sorted({point.call for point in points})):
        numbers = sorted({point.n for point in points if point.call == call})
        for turn, n in enumerate((numbers[0], numbers[len(numbers) // 2], numbers[-1])):
            chosen.add(Point(call, n, "kill"))
            chosen.add(Point(call, n, faults[(number + turn) % len(faults)]))
    rest = sorted(set(points) - chosen)
    random.Random(seed).shuffle(rest)
    return sorted(chosen) + rest[: max(0, budget - len(chosen))]


class Performer:
    """A running `perform.py` and its tracer."""

    def __init__(self, scratch: Path) -> None:
        self._scratch = scratch
        scratch.mkdir(parents=True, exist_ok=True)
        self._process = subprocess.Popen(
            [sys.executable, "-m", perform.__name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=PROJECT,
            env={**ENVIRONMENT, "PYTHONDONTWRITEBYTECODE": "1"},
        )

    def close(self) -> None:
        """End it."""
        self._process.communicate(timeout=_PATIENCE)

    def perform(
        self, act: str, place: Path, strace: Sequence[str], file_size: int | None = None
    ) -> tuple[int, list[str], list[str]]:
        """One run: its wait status, what it said, and the lines of the trace; `TimeoutError` when it
        neither ended nor died."""
        said, log = self._scratch / "said", self._scratch / "log"
        said.unlink(missing_ok=True)
        log.unlink(missing_ok=True)
        order = {"act": act, "place": str(place), "said": str(said), "file_size": file_size}
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        child = self._number()
        late = threading.Event()

        def end() -> None:
            late.set()
            os.kill(child, signal.SIGKILL)

        watchdog = threading.Timer(_PATIENCE, end)
        watchdog.start()
        try:
            with _attached(child, log, strace):
                os.kill(child, signal.SIGUSR1)
                status = self._number()
        finally:
            watchdog.cancel()
        if late.is_set():
            raise TimeoutError(f"after {_PATIENCE} seconds it had neither ended nor died")
        words = said.read_text().splitlines() if said.exists() else []
        return status, words, log.read_text(errors="replace").splitlines() if log.exists() else []

    def _number(self) -> int:
        assert self._process.stdout is not None
        return int(self._process.stdout.readline())


@contextmanager
def _attached(child: int, log: Path, options: Sequence[str]) -> Iterator[None]:
    """`strace` on a process, from when it has attached until the process has ended."""
    if not options:
        yield
        return
    command = ["strace", "-f", "-o", str(log), *options, "-p", str(child)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as tracer:
        assert tracer.stderr is not None
        word = tracer.stderr.readline()
        if "attached" not in word:
            os.kill(child, signal.SIGKILL)
            refuse_or_skip(f"a strace that may attach ({word.strip()})")
        try:
            yield
        except BaseException:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
            raise
        tracer.stderr.read()


def need_strace() -> None:
    """Skip without strace; in CI fail."""
    if shutil.which("strace") is None:
        refuse_or_skip("strace")


class Harness:
    """Tries one act on one stage."""

    def __init__(self, act: str, stage: str, scratch: Path, workers: int = 2) -> None:
        self.act_name = act
        self.act = cast(ActModule, importlib.import_module(act))
        self.stage = stage
        self._scratch = scratch
        self._workers = workers

    @property
    def title(self) -> str:
        """What the act is, for the table."""
        return (self.act.__doc__ or "").splitlines()[0].rstrip(".")

    def trace(self) -> Trace:
        """Run the act plainly; it has to succeed and to leave what it should."""
        require_mounts(self.stage)
        with self._performer(0) as performer, self._staged(0) as place:
            options = ["-y", "-s", "64", "-e", f"trace=!{_WITHIN}"]
            status, said, lines = performer.perform(self.act_name, place, options)
            assert status == perform.DONE, f"the act does not even succeed plainly: {said}"
            self.act.check(place, Ended("done", tuple(said)))
            self.act.recover(place)
            self.act.check(place, None)
        return read_trace(lines)

    def sweep(self, points: Sequence[Point]) -> Tally:
        """Try every point given."""
        return self._each([(point, None) for point in points])

    def cut_short(self, sizes: Sequence[int]) -> Tally:
        """Run the act with true short writes: no file may grow beyond each of these sizes."""
        return self._each([(None, size) for size in sizes])

    def plainly(self) -> Tally:
        """One run without any fault but what the stage itself has."""
        return self._each([(None, None)])

    def _each(self, tries: Sequence[tuple[Point | None, int | None]]) -> Tally:
        require_mounts(self.stage)
        tally = Tally(self.title, self.stage)
        queue = list(reversed(tries))
        guard = threading.Lock()

        def work(number: int) -> None:
            with self._performer(number) as performer:
                while True:
                    with guard:
                        if not queue:
                            return
                        point, size = queue.pop()
                    fault = point.fault if point else SHORT if size is not None else FULL
                    try:
                        how, wrong = self._try(performer, number, point, size)
                    except Exception as error:  # noqa: BLE001 - a finding, with its whole story
                        how, wrong = "broken", repr(error)
                    with guard:
                        tally.add(fault, how)
                        if wrong:
                            tally.findings.append(f"{point or size}: {how}: {wrong}")

        with ThreadPoolExecutor(self._workers) as pool:
            for done in [pool.submit(work, number) for number in range(self._workers)]:
                done.result()
        return tally

    def _try(
        self, performer: Performer, number: int, point: Point | None, size: int | None
    ) -> tuple[str, str]:
        with self._staged(number) as place:
            options: list[str] = []
            if point:
                fault = FAULTS[point.fault].format(n=point.n)
                options = ["-s", "16", "-e", f"trace=getpriority,{point.call}"]
                options += ["-e", f"inject={point.call}:{fault}"]
            status, said, lines = performer.perform(self.act_name, place, options, size)
            ended = _how(status, said, lasting=bool(point and point.fault.endswith("on")))
            story = " | ".join([*said[-2:]])
            wrong = [_was_reached(point, ended, lines)] if point else []
            if ended.how == "unnamed":
                wrong.append(f"an error without a name: {story}")
            try:
                self.act.check(place, ended)
                if self.stage.startswith("full"):
                    make_room(place)
                self.act.recover(place)
                self.act.check(place, None)
            except Exception as error:  # noqa: BLE001 - the finding is what is asked for
                listing = sorted(str(path.relative_to(place)) for path in place.rglob("*"))
                wrong.append(f"{type(error).__name__}: {error}; it said {story}; there is {listing}")
            return ended.how, "; ".join(filter(None, wrong))

    @contextmanager
    def _performer(self, number: int) -> Iterator[Performer]:
        performer = Performer(self._scratch / f"performer-{number}")
        try:
            yield performer
        finally:
            performer.close()

    @contextmanager
    def _staged(self, number: int) -> Iterator[Path]:
        folder = Path(tempfile.mkdtemp(prefix=f"{number}-", dir=self._scratch))
        try:
            with staged(self.stage, folder / "place", self.act.prepare) as place:
                yield place
        finally:
            shutil.rmtree(folder)


def read_trace(lines: Sequence[str]) -> Trace:
    """The calls between the two marks."""
    before: Counter[str] = Counter()
    calls: list[str] = []
    kept: list[str] = []
    begun = False
    for line in lines:
        match = _CALL.match(line)
        if match is None:
            continue
        call = match.group(1)
        if call == "getpriority" and str(perform.BEGIN) in line:
            begun = True
        elif call == "getpriority" and str(perform.END) in line:
            break
        elif begun:
            calls.append(call)
            kept.append(line)
        else:
            before[call] += 1
    assert begun, "the act's beginning is not in the trace"
    assert calls, "the act made no system call"
    return Trace(tuple(calls), before, tuple(kept))


def _how(status: int, said: Sequence[str], *, lasting: bool) -> Ended:
    if os.WIFSIGNALED(status):
        how = "killed" if os.WTERMSIG(status) == signal.SIGKILL else f"signal {os.WTERMSIG(status)}"
        return Ended(how, tuple(said), lasting=lasting)
    code = os.WEXITSTATUS(status)
    if code == perform.REFUSED:
        return Ended("refused", tuple(said[:-1]), said[-1].split(" ")[1], lasting)
    return Ended("done" if code == perform.DONE else "unnamed", tuple(said), lasting=lasting)


def _was_reached(point: Point, ended: Ended, lines: Sequence[str]) -> str:
    """Why a point was not what it should have been; empty when it was."""
    begun = next((at for at, line in enumerate(lines) if str(perform.BEGIN) in line), None)
    over = next((at for at, line in enumerate(lines) if str(perform.END) in line), None)
    if begun is None:
        return "the fault came before the act began"
    if point.fault == "kill":
        if ended.how != "killed":
            return "the kill did not kill"
        return "" if over is None else "the kill came after the act"
    if ended.how == "killed":
        return "it was killed"
    if not any("INJECTED" in line for line in lines[begun:over]):
        return "the call was not reached"
    return ""
