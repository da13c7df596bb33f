"""The performer: a process that has everything imported and forks a fresh child for each order.

The child waits for a signal until the tracer has attached, so that what is counted and failed is
the act and nothing of the interpreter's start.  Two calls that nothing else makes mark where the
act begins and ends in the trace.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import resource
import signal
import sys
import traceback
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from muniment.canonical import canonical
from muniment.clock import instant, read_instant
from muniment.errors import MunimentError
from muniment.ids import new_ulid

BEGIN, END = 1_000_001, 1_000_002
"""Process numbers that no process can have: `getpriority` of them only leaves a line in a trace."""

DONE, REFUSED, UNNAMED = 0, 3, 1


def mark(number: int) -> None:
    """Leave a line in the trace."""
    with contextlib.suppress(OSError):
        os.getpriority(os.PRIO_PROCESS, number)


def main() -> None:
    """Take orders, one JSON line each; answer with the child's pid, then with its wait status."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    # What is imported at the first use is imported now, so that no sweep goes over it.
    canonical({"n": [1, "text"]})
    now = datetime.now(UTC)
    new_ulid(now)
    read_instant(instant(now))
    for line in sys.stdin:
        order: dict[str, Any] = json.loads(line)
        act = importlib.import_module(order["act"])
        ready, is_ready = os.pipe()
        child = os.fork()
        if child == 0:
            _perform(act, order, is_ready)
        os.close(is_ready)
        os.read(ready, 1)
        os.close(ready)
        _answer(child)
        _answer(os.waitpid(child, 0)[1])


def _answer(value: int) -> None:
    sys.stdout.write(f"{value}\n")
    sys.stdout.flush()


def _perform(act: Any, order: dict[str, Any], is_ready: int) -> None:
    said = os.open(order["said"], os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)

    def acknowledge(text: str) -> None:
        # An answer that could not be given was not given; the act itself goes on.
        with contextlib.suppress(OSError):
            os.write(said, f"{text}\n".encode())

    os.write(is_ready, b"!")
    signal.sigwait({signal.SIGUSR1})
    if order["file_size"] is not None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (order["file_size"], resource.RLIM_INFINITY))
    status, last = DONE, ""
    mark(BEGIN)
    try:
        act.run(Path(order["place"]), acknowledge)
    except MunimentError as error:
        status, last = REFUSED, f"refused {error.code} {error}"
    except BaseException:  # noqa: BLE001 - whatever it is, the sweep has to hear of it
        status, last = UNNAMED, f"unnamed {traceback.format_exc()!r}"
    mark(END)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    if last:
        # By another call than the ones under a fault that goes on.
        os.writev(said, [f"{last}\n".encode(errors="backslashreplace")])
    os._exit(status)


if __name__ == "__main__":
    main()
