"""Floor 2, `hosts`: what any host is offered: the server, the hooks, the skills, the slash words."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from muniment.hosts.merging import Entry
from muniment.hosts.skills import host_page

SKILLS = ("archive", "backup", "handoff", "job")
HOOK_SECONDS = 10
"""After how long a host gives a hook up; none needs a tenth of a second."""

STOP_SECONDS = 120
"""After how long it gives `stop` up, which may have to archive."""

SLASH_WORDS = {
    "restore": (
        "Restore a snapshot of the agent: list, plan, ask, then restore.",
        'Follow the part "Restore" of the skill `backup`. What the person typed behind the word: $ARGUMENTS',
    ),
    "delete-backup": (
        "Delete a snapshot of the agent, after both confirmations.",
        'Follow the part "Delete" of the skill `backup`. What the person typed behind the word: $ARGUMENTS',
    ),
}
"""Words beside `/backup`, which is the skill's own name, with their line and their text."""


def hook(program: Sequence[str], event: str) -> str:
    """The command line of a hook, as a shell reads it.

    >>> hook(["/opt/my tools/muniment"], "stop")
    "'/opt/my tools/muniment' hook stop"
    """
    return shlex.join([*program, "hook", event])


def server(program: Sequence[str]) -> dict[str, Any]:
    """The MCP server, as most hosts write it."""
    return {"command": program[0], "args": [*program[1:], "mcp"]}


def group(program: Sequence[str], event: str, matcher: str | None = None) -> dict[str, Any]:
    """One hook in the form that Claude Code and Codex share."""
    handler = {"type": "command", "command": hook(program, event), "timeout": seconds(event)}
    return {**({"matcher": matcher} if matcher else {}), "hooks": [handler]}


def seconds(event: str) -> int:
    """After how long a host gives the hook of an event up."""
    return STOP_SECONDS if event == "stop" else HOOK_SECONDS


def grouped_hooks(program: Sequence[str], matcher: str) -> tuple[Entry, ...]:
    """The hooks of a host that has the events of Claude Code."""
    return (
        Entry(("hooks", "SessionStart"), group(program, "session-start"), listed=True),
        Entry(("hooks", "PreToolUse"), group(program, "pre-tool-use", matcher), listed=True),
        Entry(("hooks", "Stop"), group(program, "stop"), listed=True),
        Entry(("hooks", "SubagentStop"), group(program, "subagent-stop"), listed=True),
    )


def skill_files(host: str, folder: Path) -> dict[Path, bytes]:
    """The skills as a host's agents read them, each in its folder."""
    return {folder / name / "SKILL.md": host_page(host, name).encode("utf-8") for name in SKILLS}


def word_files(folder: Path) -> dict[Path, bytes]:
    """The slash words, a page each."""
    return {
        folder / f"{word}.md": f"---\ndescription: {json.dumps(line)}\n---\n\n{text}\n".encode()
        for word, (line, text) in SLASH_WORDS.items()
    }
