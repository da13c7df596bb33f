"""Faces, command line: what a chapter of the demo can do: tell, write files, and run the program."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from muniment.canonical import Json
from muniment.faces.cli.terminal import Terminal
from muniment.message import Message, say
from muniment.path import printable


class Stage:
    """A scratch folder, and the terminal on which the demo is told."""

    def __init__(self, terminal: Terminal, place: Path) -> None:
        self.place = place
        self.as_told = True
        self.told: list[Json] = []
        self._terminal = terminal
        language = terminal.language.value
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("MUNIMENT_")}
        # Nothing of the person's own set-up shall colour what is shown.
        for name in ("OPENCLAW_WORKSPACE_DIR", "WORKSPACE_DIR", "DATA_DIR", "CLAUDECODE"):
            inherited.pop(name, None)
        self._environment = {
            **inherited,
            "MUNIMENT_LANG": language,
            "XDG_CONFIG_HOME": str(place / "config"),
            "XDG_CACHE_HOME": str(place / "cache"),
            "MUNIMENT_HANDOFF_NONCES": str(place / "nonces"),
            "MUNIMENT_VAULT_URL": (place / "vault").as_uri(),
            "PYTHONUTF8": "1",
        }

    def begin(self, number: int, of: int) -> None:
        """A new chapter begins."""
        if of > 1:
            self.tell(say("── chapter {number} of {of} ──", number=number, of=of))

    def tell(self, message: Message) -> None:
        """Say what is about to happen, or what was seen."""
        self._terminal.print()
        self._terminal.say(message)

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
        for line in (done.stdout + done.stderr).splitlines():
            self._terminal.print(f"  {printable(line)}")
        fits = done.returncode == expect
        mark = "✓" if fits else "✗"
        self._terminal.say(say("{mark} exit code {code}", mark=mark, code=done.returncode))
        self.as_told &= fits
        self.told.append({"arguments": list(arguments), "exit_code": done.returncode, "expected": expect})
        return done.stdout

    def ask(self, *arguments: str) -> Any:
        """Run the program silently and read its JSON."""
        return json.loads(self._process((*arguments, "--json")).stdout)

    def _process(self, arguments: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "muniment", *arguments],
            cwd=self.workspace,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="backslashreplace",
            check=False,
        )
