"""Without the extra `a2a` the command says how to install it, and records nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.handoff.test_cli import NEW, Shell

WITHOUT = (
    "import sys; sys.modules.update(dict.fromkeys(('a2a', 'httpx', 'google.protobuf')));"
    "sys.argv[0] = 'muniment'; from muniment.app import main; sys.exit(main())"
)
"""The program where the SDK is not installed."""


def test_the_line_that_installs_it_is_printed(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    handoff = shell.ask(*NEW)["handoff_id"]
    words = ("handoff", "send", handoff, "--to", "mei", "--url", "http://127.0.0.1:9")
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, *words],
        cwd=shell.workspace,
        env=shell.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2 and done.stdout == ""
    assert "EXTRA_MISSING" in done.stderr and "pip install 'muniment[a2a]'" in done.stderr
    assert shell.ask("list")["handoffs"][0]["state"] == "issued"
