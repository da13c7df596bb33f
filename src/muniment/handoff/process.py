"""Handoff room: the adapter `process`: an agent command on this machine (spec 3, adapters).

Each launch has a folder of its own, `run-<key>/` below the handoff's; `attend` keeps its record there.
The receipt is the worker's process: pid, start time, boot id and argv.  The work begins only once the
receipt stands; by then the worker no longer needs its parent.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from muniment.canonical import NotJson, canonical, read_json
from muniment.disk import platform
from muniment.disk.errors import NotThere
from muniment.disk.locks import locked
from muniment.disk.root import Root
from muniment.disk.write import write_verified
from muniment.handoff import attend
from muniment.handoff.dispatch import LaunchRefused, LookedUp, Order, WorkerState
from muniment.handoff.errors import SecretValue
from muniment.handoff.secrets import secrets_in
from muniment.hosts.launch import launch_detached
from muniment.message import say
from muniment.path import RelPath
from muniment.record.errors import StateDamaged

NAME = "process"
OUTPUT_MAX = 1 << 20
"""Bytes of what a worker printed that are read."""

Launch = Callable[[Sequence[str], Mapping[str, str], tuple[int, ...]], None]
"""Starts a process that lives on when its parent ends, with these descriptors open."""


@dataclass(slots=True)
class _Waiting:
    """A worker that waits for the word to begin."""

    provider: Mapping[str, Any]
    folder: Root
    go: int
    task_id: str | None = None

    def release(self, view: Mapping[str, Any]) -> None:
        """Lay the view where the worker's standard input comes from, and let it begin."""
        write_verified(self.folder, attend.VIEW, canonical(dict(view)) + b"\n", mode=0o600)
        # Should it have died while it waited, its record says so.
        with contextlib.suppress(BrokenPipeError):
            os.write(self.go, b"\n")

    def close(self) -> None:
        """Without a byte before, the worker ends here."""
        platform.close(self.go)


@dataclass(frozen=True, slots=True)
class ProcessDispatcher:
    """Runs a command; `argv` is the person's own, never a packet's.  It stands in the receipt, so what
    looks like a key in it is `SecretValue`."""

    argv: Sequence[str]
    launch_with: Launch = field(default=launch_detached)
    name: str = NAME
    creates_tasks: bool = False
    address: str = ""

    def __post_init__(self) -> None:
        for place in secrets_in(list(self.argv), "argv"):
            raise SecretValue(where=place)

    def launch(self, order: Order) -> _Waiting:
        """Start the worker as far as its receipt; `LaunchRefused` when there is no such command."""
        if not self.argv or shutil.which(self.argv[0]) is None:
            why = say("there is no command {name} that can be run", name=(self.argv or ("",))[0])
            raise LaunchRefused("adapter_failed", why)
        document: dict[str, Any] = {
            "v": 1,
            "argv": list(self.argv),
            "cwd": order.workspace,
            "env": {
                # What the attendant needs to be found is not the worker's business.
                "PYTHONPATH": os.environ.get("PYTHONPATH"),
                "MUNIMENT_CONTEXT": canonical(order.context.to_json()).decode(),
                "MUNIMENT_WORKSPACE": order.workspace,
                "MUNIMENT_PACKET": os.path.join(order.folder.path, *attend.VIEW.parts),
            },
        }
        write_verified(order.folder, attend.ORDER, canonical(document) + b"\n", mode=0o600)
        ready, told = os.pipe()
        waits, go = os.pipe()
        try:
            words = [
                sys.executable,
                "-m",
                "muniment.handoff.attend",
                order.folder.path,
                str(told),
                str(waits),
            ]
            try:
                self.launch_with(words, _python_path(), (told, waits))
            except OSError as error:
                why = say("the attendant could not be started: {finding}", finding=error)
                raise LaunchRefused("adapter_failed", why) from error
            finally:
                os.close(told)
                os.close(waits)
            if not os.read(ready, 1):
                why = say("the worker's process could not be started")
                raise LaunchRefused("adapter_failed", why)
            begun = _document(order.folder, attend.STARTED)
            provider = {name: begun[name] for name in ("pid", "start_time", "boot_id")}
            provider |= {"argv": list(self.argv), "run": order.key}
            return _Waiting(provider, order.folder, go)
        except BaseException:
            os.close(go)
            raise
        finally:
            os.close(ready)

    def look_up(self, order: Order) -> LookedUp:
        """Without a receipt nothing has begun, and now that nobody launches, nothing ever will."""
        with locked(order.folder, attend.LOCK):  # an attendant whose parent is gone ends by itself
            return LookedUp(absent=not order.folder.exists(attend.BEGAN))


def worker_state(folder: Root, provider: Mapping[str, Any]) -> WorkerState:
    """Whether the worker of a receipt still runs, by its pid, start time and boot, and how it ended."""
    with contextlib.suppress(NotThere):
        return WorkerState(False, _document(folder, attend.ENDED)["exit_code"])
    alive = provider["boot_id"] == (platform.boot_id() or "unknown") and (
        platform.process_start(provider["pid"]) == provider["start_time"] != ""
    )
    if not alive:  # it ended just now: its attendant lets go of the lock once it has kept how
        with locked(folder, attend.LOCK, shared=True), contextlib.suppress(NotThere):
            return WorkerState(False, _document(folder, attend.ENDED)["exit_code"])
    return WorkerState(alive)


def wait(folder: Root, provider: Mapping[str, Any]) -> WorkerState:
    """Wait until the worker has ended, and its attendant has kept how."""
    with locked(folder, attend.LOCK, shared=True):
        pass
    state = worker_state(folder, provider)
    if state.alive and hasattr(os, "pidfd_open"):  # its attendant was killed
        with contextlib.suppress(ProcessLookupError):
            fd = os.pidfd_open(provider["pid"])
            try:
                if worker_state(folder, provider).alive:
                    select.select([fd], [], [])
            finally:
                os.close(fd)
        return worker_state(folder, provider)
    return state


def said(folder: Root) -> str:
    """What the worker printed, less blanks around it; the last MiB of it where it printed more."""
    try:
        fd = folder.open_file(attend.OUTPUT)
    except NotThere:
        return ""
    with os.fdopen(fd, "rb") as stream:
        stream.seek(max(0, os.fstat(fd).st_size - OUTPUT_MAX))
        return stream.read(OUTPUT_MAX).decode("utf-8", "replace").strip()


def _document(folder: Root, rel: RelPath) -> dict[str, Any]:
    try:
        value = read_json(folder.read(rel, limit=1 << 20))
        if not isinstance(value, dict):
            raise NotJson("no object")
    except NotJson as error:
        raise StateDamaged(where=f"{folder.path}/{rel.posix}", why=say("{finding}", finding=error)) from error
    return value


def _python_path() -> dict[str, str]:
    """The attendant must find the same muniment that started it."""
    return {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
