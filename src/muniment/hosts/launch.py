"""Floor 2, `hosts`: starting commands: for an answer within bounds of time and size, or to live on."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

Launch = Callable[[Sequence[str]], bytes]
"""Runs a command and gives what it printed; `LaunchFailed` when it did not end well."""

TIME_OUT_S = 15.0
OUTPUT_MAX = 1 << 20


class LaunchFailed(Exception):
    """A command that could not be started, took too long, said too much, or ended badly."""


def launch(command: Sequence[str], *, time_out_s: float = TIME_OUT_S, output_max: int = OUTPUT_MAX) -> bytes:
    """Run a command with no input and give its standard output.

    >>> launch(["echo", "hello"])
    b'hello\\n'
    """
    try:
        process = subprocess.Popen(
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as error:
        raise LaunchFailed(f"{command[0]}: {error.strerror}") from error
    late = threading.Event()

    def stop() -> None:
        late.set()
        _end(process.pid)

    timer = threading.Timer(time_out_s, stop)
    try:
        with process:
            try:
                timer.start()
                assert process.stdout is not None
                output = process.stdout.read(output_max + 1)
            except BaseException:  # it has a session of its own, so that no interrupt of ours ends it
                _end(process.pid)
                raise
            if len(output) > output_max:
                _end(process.pid)
    finally:
        timer.cancel()
    if late.is_set():
        raise LaunchFailed(f"{command[0]}: no answer within {time_out_s:g} s")
    if len(output) > output_max:
        raise LaunchFailed(f"{command[0]}: an answer of more than {output_max} bytes")
    if process.returncode != 0:
        raise LaunchFailed(f"{command[0]}: exit code {process.returncode}")
    return output


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended: its exit code, and what it printed on both streams."""

    code: int
    output: bytes = b""
    complaint: bytes = b""


Attend = Callable[[Sequence[str], bytes], Ended]
"""Runs a command with an input; `LaunchFailed` when it could not be started or took too long."""


def attend(
    command: Sequence[str], data: bytes = b"", *, keep: bool = True, time_out_s: float = TIME_OUT_S
) -> Ended:
    """Run a command with an input to its end, whatever its exit code; without `keep` all it prints is
    dropped.

    >>> attend(["sh", "-c", "cat; exit 3"], b"hello")
    Ended(code=3, output=b'hello', complaint=b'')
    """
    kept = subprocess.PIPE if keep else subprocess.DEVNULL
    try:
        process = subprocess.Popen(
            list(command), stdin=subprocess.PIPE, stdout=kept, stderr=kept, start_new_session=True
        )
    except OSError as error:
        raise LaunchFailed(f"{command[0]}: {error.strerror}") from error
    try:
        with process:
            try:
                output, complaint = process.communicate(data, timeout=time_out_s)
            except BaseException:
                _end(process.pid)
                raise
    except subprocess.TimeoutExpired as error:
        raise LaunchFailed(f"{command[0]}: not done within {time_out_s:g} s") from error
    return Ended(process.returncode, output or b"", complaint or b"")


def _end(group: int) -> None:
    """End a command with all that it started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def launch_detached(argv: Sequence[str], env: Mapping[str, str], fds: tuple[int, ...] = ()) -> None:
    """Start a process in a session of its own, which lives on when this one ends; of ours it has only
    the descriptors `fds` open."""
    child = subprocess.Popen(
        argv,
        env={**os.environ, **env},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        pass_fds=fds,
        cwd="/",
    )
    # Nobody waits for it here: its record says how it ends.
    child.returncode = 0
