"""The real Claude Code, where `MUNIMENT_CLAUDE` names it: it calls the installed hooks and heeds them.

Only the model is a stand-in.  Continuous integration does not have the program; there this is skipped.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from typing import Any

import pytest
from tests.hosts.install.conftest import SOURCE, Home
from tests.hosts.install.model import model

PROGRAM = os.environ.get("MUNIMENT_CLAUDE", "")


@pytest.mark.skipif(not shutil.which(PROGRAM or "-"), reason="MUNIMENT_CLAUDE names no Claude Code")
def test_it_heeds_the_hooks_and_knows_the_skills(home: Home) -> None:
    workspace = home.path / "w"
    report = workspace / "archives/s1/T/report.md"
    plan = workspace / "archives/s1/PLAN.md"
    for path in (report, plan):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("as it was\n")
    (workspace / ".muniment").mkdir()
    (workspace / ".muniment/restore.log").write_text(
        json.dumps({"section": "restore", "status": "begun", "backup_id": "bk_7", "sections": ["settings"]})
        + "\n"
    )
    assert home.muniment("install", "claude")[0] == 0
    calls: list[tuple[str, dict[str, Any]]] = [
        ("Bash", {"command": "echo x > archives/s1/T/report.md", "description": "x"}),
        ("Write", {"file_path": str(report.with_name("new.md")), "content": "x"}),
        ("Bash", {"command": "echo more >> archives/s1/PLAN.md", "description": "x"}),
        ("Write", {"file_path": str(workspace / "report.md"), "content": "x"}),
    ]
    with model(calls) as (address, asked):
        done = subprocess.run(
            [PROGRAM, "-p", "hi", "--permission-mode", "bypassPermissions"],
            cwd=workspace,
            env={
                "HOME": str(home.path),
                "PATH": os.environ["PATH"],
                "PYTHONPATH": str(SOURCE),
                "ANTHROPIC_BASE_URL": address,
                "ANTHROPIC_API_KEY": "none",
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
                "IS_SANDBOX": "1",
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    assert report.read_text() == "as it was\n" and not report.with_name("new.md").exists()
    assert plan.read_text() == "as it was\nmore\n" and (workspace / "report.md").read_text() == "x"
    heard = json.dumps(asked[-1], ensure_ascii=False)
    assert heard.count("ARCHIVE_PROTECTED") == 2, "both denials reached the model"
    assert "Not archived yet: report.md" in heard, "the end of the turn was brought up"
    assert "snapshot bk_7 is half done" in heard, "the begin of the session told of the restore"
    assert all(word in heard for word in ("归档", "备份", "交接", "执行登记")), "the skills are known"
