"""A Starchild agent for the tests: its folders, the installed scripts, and a real server of vaults.

Scripts are called as a script user calls them: `python3 skills/backup/scripts/NAME.py …`, in the workspace.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.vault.load import ROOT, SOURCE, Process

RULES = (
    "## Mode\n```\ndefault\n```\n## Extra excludes\n```\nworkspace/large\n```\n## Extra paths\n```\n```\n"
    "## Label template\n```\nday {date}\n```\n## Notes\n"
)
API = {
    "profile.json": {"agentName": "Ada", "agentVibe": "calm", "unknown": 1},
    "settings.json": {"language": "en", "agent_mood": "fine"},
    "scheduled_tasks.json": [{"title": "t", "schedule": "daily", "description": "d", "last_run": 7}],
}

Done = subprocess.CompletedProcess[str]


class Agent:
    """One agent of one user; `server` keeps its snapshots."""

    def __init__(self, place: Path, server: Process | None, user: str = "ada") -> None:
        self.place = place
        self.data = place / "data"
        self.workspace = self.data / "workspace"
        self.temporary = place / "tmp"
        for folder in (self.workspace / "config", self.temporary, place / "home"):
            folder.mkdir(parents=True)
        self.api = place / "api"
        self.api.mkdir()
        for name, value in API.items():
            (self.api / name).write_text(json.dumps(value))
        self.server = server
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(place / "home"),
            "PYTHONPATH": os.pathsep.join([str(SOURCE), str(ROOT)]),
            "PYTHONDONTWRITEBYTECODE": "1",
            "LANG": "zh_CN.UTF-8",
            "TMPDIR": str(self.temporary),
            "DATA_DIR": str(self.data),
            "WORKSPACE_DIR": str(self.workspace),
        }
        if server is not None:
            self.environment["BACKUP_STORAGE_URL"] = f"http://127.0.0.1:{server.port}"
            self.environment["CONTAINER_JWT"] = server.token(user)

    def muniment(self, *words: str) -> Done:
        """The program itself."""
        return self._run([sys.executable, "-m", "muniment", *words])

    def call(self, name: str, *words: str, **variables: str) -> Done:
        """One script."""
        return self._run([sys.executable, f"skills/backup/scripts/{name}.py", *words], **variables)

    def well(self, name: str, *words: str, **variables: str) -> Any:
        """One script that ends well and answers in JSON."""
        done = self.call(name, *words, **variables)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def badly(self, name: str, *words: str, code: int = 1, **variables: str) -> str:
        """One script that fails: what it said on standard error, with nothing on standard output."""
        done = self.call(name, *words, **variables)
        assert (done.returncode, done.stdout) == (code, ""), done.stdout + done.stderr
        assert any(line.startswith("ERROR: ") for line in done.stderr.splitlines()), done.stderr
        assert "Traceback" not in done.stderr
        return done.stderr

    def _run(self, command: Sequence[str], **variables: str) -> Done:
        return subprocess.run(
            command,
            cwd=self.workspace,
            env={**self.environment, **variables},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=900,
        )

    def write(self, path: str, text: str | bytes) -> Path:
        """A file below the data folder."""
        place = self.data / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text.encode() if isinstance(text, str) else text)
        return place

    def furnish(self) -> None:
        """Something to save, and rules."""
        self.write("workspace/config/backup_rules.md", RULES)
        self.write("workspace/memory/note.md", "one\ntwo\nthree\n")
        self.write("workspace/large/film", b"x" * 1000)
        self.write("sessions/s.json", "{}")
        self.write("logs/today", "gone by default")

    def grow(self, size: int) -> None:
        """So many bytes that do not deflate."""
        self.write("workspace/memory/noise", random.Random(5).randbytes(size))

    def packed(self, *words: str) -> str:
        """A bundle, packed."""
        return str(self.well("pack", "--api-dir", str(self.api), *words)["bundle_path"])

    def ledger(self, kind: str) -> list[dict[str, Any]]:
        """The events of a kind, oldest first."""
        files = sorted((self.workspace / ".muniment" / "ledger").glob("*.jsonl"))
        events = [json.loads(line) for file in files for line in file.read_text().splitlines()]
        return [event for event in events if event["kind"] == kind]
