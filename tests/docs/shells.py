"""Documentation: shells into which the commands of a page are typed, each with a home of its own."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
MOST_S = 900
"""So long one command may take; only one that hangs takes longer."""

STAYS = re.compile(r"muniment (serve|mcp --http)\b(?!.*&$)")
"""A command that ends with its terminal; its first line tells that it is ready."""

_OTHERS = (
    "MUNIMENT",
    "LC_",
    "CLAUDE",
    "OPENCLAW",
    "WORKSPACE_DIR",
    "DATA_DIR",
    "XDG_",
    "CONTAINER_JWT",
    "BACKUP_",
)
"""How names of variables begin by which a machine would show in what is printed."""

_MARK = "@@ the command has ended @@"


class Stopped(Exception):
    """The shell ended before its last command: a command of an `sh` block failed, or one hung."""


class Shell:
    """One shell of one person; what is typed is run in order, and what it prints is given back.

    `muniment` is the program of this tree.
    """

    def __init__(self, home: Path, variables: Mapping[str, str]) -> None:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(_OTHERS)}
        self._bash = subprocess.Popen(
            ["bash", "--noprofile", "--norc", "-s"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            cwd=home,
            env=kept
            | {"HOME": str(home), "PYTHONPATH": str(PROJECT / "src"), "LANG": "C.UTF-8", "TZ": "UTC"}
            | {"NO_COLOR": "1", "XDG_CONFIG_HOME": str(home / ".config")}
            | dict(variables),
            start_new_session=True,
        )
        self._type(f'muniment() {{ {shlex.quote(sys.executable)} -m muniment "$@"; }}\nstatus=0\n')

    def command(self, command: str) -> str:
        """What a command prints on both streams; `$?` is that of the command before."""
        if STAYS.match(command):
            text = f'exec {{stays}}< <(exec 2>&1; {command})\nIFS= read -r line <&$stays; echo "$line"\n'
            return self._answer(f"{text}status=$?\n")
        return self._answer(f"(exit $status)\n{{ {command}\n}} 2>&1 </dev/null\nstatus=$?\n")

    def script(self, text: str) -> str:
        """Run lines of which each has to succeed; the shell ends at the first that does not."""
        return self._answer(f"set -e\n{text}\nset +e\nstatus=0\n")

    def close(self) -> None:
        """End the shell and whatever was started in it."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._bash.pid, number)
            self._bash.wait()
        for stream in (self._bash.stdin, self._bash.stdout):
            assert stream is not None
            with contextlib.suppress(BrokenPipeError):
                stream.close()

    def _type(self, text: str) -> None:
        assert self._bash.stdin is not None
        try:
            self._bash.stdin.write(text)
            self._bash.stdin.flush()
        except BrokenPipeError as error:
            raise Stopped("the shell has ended") from error

    def _answer(self, text: str) -> str:
        assert self._bash.stdout is not None
        alarm = threading.Timer(MOST_S, os.killpg, (self._bash.pid, signal.SIGKILL))
        alarm.start()
        try:
            self._type(f"{text}echo '{_MARK}'\n")
            printed = ""
            for line in self._bash.stdout:
                printed += line
                if printed.endswith(_MARK + "\n"):
                    found = printed.removesuffix(_MARK + "\n")
                    return found + "\n" if found and not found.endswith("\n") else found
        finally:
            alarm.cancel()
        raise Stopped(f"the shell stopped at:\n{text}and had printed:\n{printed}")
