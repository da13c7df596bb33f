"""Processor time of each hook, as its own process, on events of usual size: `python benchmarks/hooks.py`."""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROUNDS = 30
SOURCE = Path(__file__).parents[1] / "src"


def seconds(call: list[str], event: bytes, environment: dict[str, str]) -> tuple[float, bytes]:
    """Processor time of one process with its children, and what it answered."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(call, input=event, env=environment, cwd="/", capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


def events(workspace: Path) -> dict[str, tuple[str, dict[str, Any], str]]:
    """Events by name: the hook, the event, and the language."""
    cwd = {"cwd": str(workspace), "session_id": "abc"}
    tool = {**cwd, "hook_event_name": "PreToolUse"}
    long = "cat > report.md <<'EOF'\n" + "a line of a report\n" * 2_000 + "EOF\n"
    denied = {"command": "echo x > archives/s1/T/report.md"}
    return {
        "session-start": ("session-start", {**cwd, "hook_event_name": "SessionStart"}, "en"),
        "pre-tool-use: a file": (
            "pre-tool-use",
            {**tool, "tool_name": "Write", "tool_input": {"file_path": "a.md", "content": "x" * 20_000}},
            "en",
        ),
        "pre-tool-use: a command": (
            "pre-tool-use",
            {**tool, "tool_name": "Bash", "tool_input": {"command": long}},
            "en",
        ),
        "pre-tool-use: denied": (
            "pre-tool-use",
            {**tool, "tool_name": "Bash", "tool_input": denied},
            "en",
        ),
        "pre-tool-use: denied, in Chinese": (
            "pre-tool-use",
            {**tool, "tool_name": "Bash", "tool_input": denied},
            "zh-CN",
        ),
        "stop: nothing is open": ("stop", {**cwd, "hook_event_name": "Stop"}, "en"),
        "subagent-stop": ("subagent-stop", {**cwd, "hook_event_name": "SubagentStop"}, "en"),
    }


def main() -> None:
    """Print a line for each event, and what an empty interpreter takes."""
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder)
        for place in ("archives/s1/T/report.md", ".muniment/config.toml"):
            (workspace / place).parent.mkdir(parents=True, exist_ok=True)
            (workspace / place).write_text("")
        base = {"PATH": os.environ["PATH"], "HOME": folder, "PYTHONPATH": str(SOURCE)}
        empty = [seconds([sys.executable, "-c", "pass"], b"", base)[0] for _ in range(ROUNDS)]
        print(f"{'python -c pass':36} {statistics.median(empty) * 1000:5.1f} ms")
        for name, (hook, event, language) in events(workspace).items():
            call = [sys.executable, "-P", "-m", "muniment", "hook", hook]
            environment = {**base, "MUNIMENT_LANG": language}
            taken = [seconds(call, json.dumps(event).encode(), environment) for _ in range(ROUNDS)]
            said = "answers" if taken[-1][1] else "silent"
            times = [one for one, _ in taken]
            print(
                f"{name:36} {statistics.median(times) * 1000:5.1f} ms  most {max(times) * 1000:5.1f}  {said}"
            )


if __name__ == "__main__":
    main()
