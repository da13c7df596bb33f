"""Handoff room: running the parent's own commands over a piece of work.

A contract names a command; what is run comes from the parent's settings alone, and the work reaches it
on standard input, never as an argument.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from muniment.handoff.reading import Commands

TIME_OUT_S = 300


def runner(commands: Mapping[str, Sequence[str]], folder: Path) -> Commands:
    """Runs a command of the settings in a folder; its exit code, none when it can not be run.

    >>> runner({"yes": ["true"]}, Path("/"))("yes", b""), runner({}, Path("/"))("no", b"")
    (0, None)
    """

    def run(name: str, work: bytes) -> int | None:
        argv = commands.get(name)
        if argv is None:
            return None
        try:
            done = subprocess.run(
                list(argv),
                cwd=folder,
                input=work,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=TIME_OUT_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        return done.returncode

    return run
