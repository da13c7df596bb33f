"""The real program inside the test's own process: real rooms on a real folder, own streams."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.faces.calling import Answer, Screen

from muniment.app import House
from muniment.faces.cli.main import run

ULID = r"[0-7][0-9A-HJKMNP-TV-Z]{25}"
STAMP = r"\d{4}-\d\d-\d\d-\d\d-\d\d-\d\d"
CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029]")
"""What no output may hold but line feeds."""


class AtWork:
    """Somebody who works in a folder: calls the program there and looks at what lies there.

    Each call has an environment of its own, with nothing in it but what the test gives.
    """

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self._patch = patch
        self.go(folder)

    def go(self, folder: Path) -> None:
        """Stand somewhere else."""
        folder.mkdir(parents=True, exist_ok=True)
        self._patch.chdir(folder)

    def call(self, *arguments: str, environment: Mapping[str, str] | None = None, typed: str = "") -> Answer:
        """One call of `muniment`, off a terminal."""
        out, err = Screen(), Screen()
        code = run(arguments, House, environment or {}, Screen(typed), out, err)
        return Answer(code, out.getvalue(), err.getvalue())

    def done(self, *arguments: str) -> Answer:
        """A call that has to succeed."""
        answer = self.call(*arguments)
        assert answer.code == 0, answer.err
        return answer

    def asked(self, *arguments: str) -> dict[str, Any]:
        """The object that a program gets from a call that has to succeed."""
        return self.done(*arguments, "--json").object

    def write(self, name: str, content: str | bytes = "# Report\n\nAll is well.\n") -> Path:
        """A file in the workspace."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def archive_id(self) -> str:
        """The only folder in `archives/`, as the file system has it."""
        (found,) = (self.folder / "archives").iterdir()
        return found.name

    def address(self, name: str) -> str:
        """Where a kept file lies, as the file system has it."""
        (found,) = (self.folder / "archives").glob(f"*/*/{name}")
        return found.relative_to(self.folder).as_posix()

    def records(self) -> list[dict[str, Any]]:
        """The ledger's lines, read without the program."""
        segments = sorted((self.folder / ".muniment/ledger").glob("*.jsonl"))
        return [json.loads(line) for one in segments for line in one.read_bytes().splitlines()]

    def snapshot(self) -> dict[str, bytes]:
        """Every file outside `.muniment/`, with its bytes."""
        return {
            path.relative_to(self.folder).as_posix(): path.read_bytes()
            for path in sorted(self.folder.rglob("*"))
            if path.is_file() and ".muniment" not in path.relative_to(self.folder).parts
        }
