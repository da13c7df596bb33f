"""Room `job`: the one place from which container runtimes are started as processes."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Done:
    """A process that has ended: its exit code and all it wrote."""

    code: int
    out: bytes
    err: bytes


class Attached(Protocol):
    """A process that goes on."""

    def wait(self, seconds: float) -> int | None:
        """Its exit code, or None when it has not ended within that time."""

    def kill(self) -> None:
        """End it; silence when it has ended already."""


class Launcher(Protocol):
    """Starts processes, without a shell, without input, and out of reach of the terminal's keys.

    `keep` are descriptors that the process inherits, `cwd` is the folder it works in.  Both raise
    `OSError` where nothing could be started, and `run` raises `TimeoutError` when its time was over;
    it has ended the process then.
    """

    def run(
        self, argv: Sequence[str], *, deadline: float, keep: Sequence[int] = (), cwd: str | None = None
    ) -> Done:
        """Run a process to its end."""

    def start(self, argv: Sequence[str], *, out: int, err: int, keep: Sequence[int] = ()) -> Attached:
        """Start a process whose streams go to two open files."""


class SystemLauncher:
    """Real processes of this machine."""

    def run(
        self, argv: Sequence[str], *, deadline: float, keep: Sequence[int] = (), cwd: str | None = None
    ) -> Done:
        """Run a process to its end."""
        try:
            done = subprocess.run(
                argv,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=deadline,
                check=False,
                start_new_session=True,
                pass_fds=tuple(keep),
                cwd=cwd,
            )
        except subprocess.TimeoutExpired as error:
            raise TimeoutError(f"no end within {deadline:g} s") from error
        return Done(done.returncode, done.stdout, done.stderr)

    def start(self, argv: Sequence[str], *, out: int, err: int, keep: Sequence[int] = ()) -> Attached:
        """Start a process whose streams go to two open files."""
        child = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,
            pass_fds=tuple(keep),
        )
        return _Child(child)


class _Child:
    def __init__(self, child: subprocess.Popen[bytes]) -> None:
        self._child = child

    def wait(self, seconds: float) -> int | None:
        try:
            return self._child.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def kill(self) -> None:
        self._child.kill()
        self._child.wait()
