"""`muniment handoff` as a person and as a program call it: real processes, real exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.children import MODULES
from tests.handoff.conftest import CONCLUSION, HOST, MEMORY, WORKLOG

OTHERS = ("verify", "journal", "board", "inbox")
"""Commands beside `handoff`; all else is said under its name."""


class Shell:
    """A workspace and a user of its own."""

    def __init__(self, place: Path) -> None:
        self.workspace = place / "work"
        self.workspace.mkdir()
        (self.workspace / ".muniment").mkdir()
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(place / "home"),
            "PYTHONPATH": MODULES,
            "MUNIMENT_HANDOFF_NONCES": str(place / "nonces"),
            "PYTHONUTF8": "1",
        }

    def run(self, *words: str, expect: int = 0, lang: str = "en", stdin: bytes = b"") -> str:
        done = self._called(words, expect, stdin, MUNIMENT_LANG=lang)
        return (done.stdout + done.stderr).decode()

    def ask(self, *words: str, expect: int = 0, stdin: bytes = b"") -> Any:
        return json.loads(self._called(words, expect, stdin, "--json").stdout)

    def _called(
        self, words: tuple[str, ...], expect: int, stdin: bytes, *options: str, **environment: str
    ) -> subprocess.CompletedProcess[bytes]:
        room = () if words[0] in OTHERS else ("handoff",)
        done = subprocess.run(
            [sys.executable, "-m", "muniment", *options, *room, *words],
            cwd=self.workspace,
            env={**self.environment, **environment},
            input=stdin,
            capture_output=True,
            check=False,
        )
        assert done.returncode == expect, (done.stdout + done.stderr).decode()
        return done


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


NEW = (
    "new", "--to", "mei", "--goal", "Make the parser read files without a header.",
    "--context", "The parser lies in src/parser.", "--accept", "All forty sample files are read.",
    "--owe", "employee_memory=agents/mei/MEMORY.md", "--owe", "employee_worklog=agents/mei/WORKLOG.md",
    "--not-owed", "team_journal=Nobody else works on this.",
    "--not-owed", "central_board=Nobody else works on this.",
)  # fmt: skip


def test_from_issue_to_proof(shell: Shell, tmp_path: Path) -> None:
    handoff = shell.ask(*NEW)["handoff_id"]
    assert "has no dispatch receipt" in shell.run("take", handoff, expect=3)
    given = ("--via", "host", "--host", "openclaw", "--to", "mei", "--answer", "-")
    shell.run("send", handoff, *given, stdin=HOST)
    taken = shell.ask("take", handoff)
    assert set(taken["anchors"]) == {"employee_memory", "employee_worklog"}
    assert "evidence_nonce" not in json.dumps(taken)
    shell.run("record", handoff, "--target", "employee_memory", "--text", MEMORY.decode())
    shell.run("return", handoff, "--conclusion", CONCLUSION)
    missing = shell.run("check", handoff, expect=4)
    assert "1 of 2 targets are verified; missing: the recipient's worklog (employee_worklog)" in missing
    chinese = shell.run("check", handoff, expect=4, lang="zh-CN")
    assert "2 个目标中已核验 1 个；缺少：接收方的工作日志（employee_worklog）" in chinese
    told = shell.ask("check", handoff, expect=4)
    assert told["error"] == "HANDOFF_INCOMPLETE" and told["result"]["trace"]["complete"] is False
    shell.run("record", handoff, "--target", "employee_worklog", "--file", "-", stdin=WORKLOG)
    assert "superseded" in shell.run("return", handoff, "--conclusion", CONCLUSION)
    assert "✓ complete" in shell.run("check", handoff)
    again = shell.ask("check", handoff, "--again")
    assert again["trace"]["complete"] and again["before"]["complete"]
    assert shell.ask("show", handoff)["state"] == "complete"
    assert [each["state"] for each in shell.ask("list")["handoffs"]] == ["complete"]
    assert "No handoff is open." in shell.run("list", "--open")
    shell.run("export", handoff, "../proof")
    found = json.loads((tmp_path / "proof/manifest.json").read_text())
    assert found["handoff_id"] == handoff
    assert shell.ask("verify", "../proof")["complete"] is True
    (tmp_path / "proof/files/agents/mei/WORKLOG.md").write_text("gone")
    shell.run("verify", "../proof", expect=4)


def test_refusals(shell: Shell) -> None:
    secret = [word.replace("src/parser", "src/parser, ghp_" + "aB3d" * 9) for word in NEW]
    assert "SECRET_VALUE" in shell.run(*secret, expect=3)
    found = shell.ask("lint", *secret[1:], expect=3)
    assert [each["where"] for each in found["refused"]] == ["context_constraints[0]"]
    assert shell.ask("lint", *NEW[1:]) == {"refused": [], "notes": []}
    assert shell.ask(*NEW, "-n") == {"refused": [], "notes": []}
    assert shell.ask("list") == {"handoffs": []}
    assert "Nothing was handed over yet." in shell.run("list")
    shell.run("new", "--owe", "nothing=x", expect=2)
    shell.run("new", "--packet", "-", stdin=b'{"a": 1, "a": 2}', expect=2)
    shell.run("new", "--packet", "-", stdin=b'{"goal": "x"}', expect=3)
    shell.run("check", "ho_x", expect=7)
    shell.run("record", "ho_x", "--target", "employee_memory", expect=2)
    shell.run("verify", "absent", expect=7)


def test_a_contract_wants_a_root_that_somebody_named(shell: Shell) -> None:
    (shell.workspace / ".muniment").rmdir()
    assert "ROOT_NOT_GIVEN" in shell.run(*NEW, expect=3)
