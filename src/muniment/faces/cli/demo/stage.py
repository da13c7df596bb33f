"""Faces, command line: what a chapter of the demo can do: tell, write files, and run the program."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import IO, Any, Literal, NoReturn, TextIO

from muniment.canonical import Json
from muniment.errors import ExitCode
from muniment.faces.cli.main import run
from muniment.faces.cli.terminal import Terminal
from muniment.faces.house import BuildHouse
from muniment.message import Message, say
from muniment.path import printable


@dataclass(frozen=True, slots=True)
class Done:
    """A process that ended: its exit code and what it printed."""

    code: int
    out: str
    err: str


def _stream(fd: int, mode: Literal["r", "w"]) -> TextIO:
    return open(fd, mode, encoding="utf-8", errors="backslashreplace")


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8", "backslashreplace")


class Stage:
    """A scratch folder, and the terminal on which the demo is told."""

    def __init__(self, terminal: Terminal, place: Path, build_house: BuildHouse) -> None:
        self.place = place
        self.as_told = True
        self.told: list[Json] = []
        self.left_out: list[str] = []
        self._terminal = terminal
        self._build_house = build_house

    @property
    def environment(self) -> dict[str, str]:
        """What each process gets: nothing of the person's own set-up shall colour what is shown."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("MUNIMENT_")}
        for name in ("OPENCLAW_WORKSPACE_DIR", "WORKSPACE_DIR", "DATA_DIR", "CLAUDECODE"):
            inherited.pop(name, None)
        return {
            **inherited,
            "MUNIMENT_LANG": self._terminal.language.value,
            "XDG_CONFIG_HOME": str(self.place / "config"),
            "XDG_CACHE_HOME": str(self.place / "cache"),
            "MUNIMENT_HANDOFF_NONCES": str(self.place / "nonces"),
            "MUNIMENT_VAULT_URL": (self.place / "vault").as_uri(),
            "PYTHONUTF8": "1",
        }

    def move_to(self, name: str) -> None:
        """Go on in a place of its own: another workspace, vault and settings."""
        self.place = self.place / name
        self.place.mkdir()

    def begin(self, number: int, of: int) -> None:
        """A new chapter begins."""
        if of > 1:
            self.tell(say("── chapter {number} of {of} ──", number=number, of=of))

    def tell(self, message: Message) -> None:
        """Say what is about to happen, or what was seen."""
        self._terminal.print()
        self._terminal.say(message)

    def leave_out(self, part: str, why: Message) -> None:
        """Say why a part is not shown here; the end of the demo counts these parts."""
        self.tell(why)
        self.left_out.append(part)

    def write(self, relative: str, text: str) -> Path:
        """Make a file in the demo's workspace, as an agent would."""
        path = self.workspace / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        self._terminal.print(f"$ cat > {relative}  # {len(text.encode())} B")
        return path

    @property
    def workspace(self) -> Path:
        """The workspace of the demo."""
        path = self.place / "workspace"
        path.mkdir(exist_ok=True)
        return path

    def run(self, *arguments: str, expect: int = 0) -> str:
        """Run the program, show all it prints, and compare its exit code with what was told."""
        self._terminal.print(f"$ muniment {' '.join(arguments)}")
        done = self._process(arguments)
        for line in (done.out + done.err).splitlines():
            self._terminal.print(f"  {printable(line)}")
        fits = done.code == expect
        mark = "✓" if fits else "✗"
        self._terminal.say(say("{mark} exit code {code}", mark=mark, code=done.code))
        self.as_told &= fits
        self.told.append({"arguments": list(arguments), "exit_code": done.code, "expected": expect})
        return done.out

    def ask(self, *arguments: str) -> Any:
        """Run the program silently and read its JSON."""
        return json.loads(self._process((*arguments, "--json")).out)

    def _process(self, arguments: tuple[str, ...]) -> Done:
        with (
            tempfile.TemporaryFile() as out,
            tempfile.TemporaryFile() as err,
            tempfile.TemporaryFile() as loaded,
        ):
            pid = os.fork()
            if pid == 0:
                self._become(arguments, out.fileno(), err.fileno(), loaded.fileno())
            _, status = os.waitpid(pid, 0)
            # What this call had to import, the next ones find there.
            for module in _text(loaded).split():
                import_module(module)
            return Done(os.waitstatus_to_exitcode(status), _text(out), _text(err))

    def _become(self, arguments: tuple[str, ...], out: int, err: int, loaded: int) -> NoReturn:
        """In a process of its own: become one call of the program, with nothing of the person's set-up.

        It is forked and not started anew, so that most of the demo's time is not spent on imports.
        """
        code = int(ExitCode.UNEXPECTED)
        try:
            for number, fd in enumerate((os.open(os.devnull, os.O_RDONLY), out, err)):
                os.dup2(fd, number)
            os.chdir(self.workspace)
            environment = self.environment
            os.environ.clear()
            os.environ.update(environment)
            with _stream(0, "r") as stdin, _stream(1, "w") as stdout, _stream(2, "w") as stderr:
                code = run(arguments, self._build_house, os.environ, stdin, stdout, stderr)
            os.write(loaded, "\n".join(name for name in sys.modules if name.startswith("muniment.")).encode())
        finally:  # whatever went wrong, this process never goes back into the demo
            os._exit(code)
