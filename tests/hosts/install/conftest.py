"""Hosts: a home folder, and the program in it, as a person calls it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.hosts.install.texts import ALL

from muniment.hosts.claude.setup import setup as claude
from muniment.hosts.codex.setup import setup as codex
from muniment.hosts.cursor.setup import setup as cursor
from muniment.hosts.setup import Outcome, Setup, removal, uninstall

SOURCE = Path(__file__).parents[3] / "src"
MAKE = {"claude": claude, "codex": codex, "cursor": cursor}
PROGRAM = ("/opt/tools/bin/muniment",)


@dataclass(frozen=True)
class Home:
    """A home folder; installations into it go straight to the rooms."""

    path: Path

    @property
    def store(self) -> Path:
        return self.path / ".local/share/muniment/hosts"

    def setup(self, host: str, program: tuple[str, ...] = PROGRAM) -> Setup:
        return MAKE[host](self.path, {}, program, self.store)

    def uninstall(self, host: str) -> list[Outcome]:
        return uninstall(self.store, host)

    def removal(self, host: str) -> list[Outcome]:
        return removal(self.store, host)

    def fill(self, host: str, form: Callable[[str], bytes] = str.encode) -> dict[str, bytes]:
        """Put the configurations of a host there, as somebody keeps them."""
        made = {place: form(text) for place, text in ALL[host].items()}
        for place, data in made.items():
            self.write(place, data)
        return made

    def write(self, place: str, data: bytes) -> Path:
        path = self.path / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path

    def files(self) -> dict[str, bytes]:
        """Everything in it but the receipts."""
        return {
            path.relative_to(self.path).as_posix(): path.read_bytes()
            for path in sorted(self.path.rglob("*"))
            if path.is_file() and ".local" not in path.parts
        }

    def folders(self) -> set[str]:
        return {
            path.relative_to(self.path).as_posix()
            for path in self.path.rglob("*")
            if path.is_dir() and ".local" not in path.relative_to(self.path).parts
        }

    def muniment(self, *words: str, **more: str) -> tuple[int, Any, str]:
        """The program as a process: exit code, its answer with `--json`, what it says."""
        environment = {"HOME": str(self.path), "PATH": os.environ["PATH"], "PYTHONPATH": str(SOURCE), **more}
        done = subprocess.run(
            [sys.executable, "-P", "-m", "muniment", *words, "--json"],
            env=environment,
            cwd=self.path,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, json.loads(done.stdout) if done.stdout else None, done.stderr


@pytest.fixture
def home(tmp_path: Path) -> Home:
    folder = tmp_path / "home"
    folder.mkdir()
    return Home(folder)
