"""Floor 2, `hosts`: what Cursor is given: `mcp.json` and `hooks.json` in its folder, skills and words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from muniment.hosts import offered
from muniment.hosts.merging import Entry, Form
from muniment.hosts.setup import Configuration, Setup

MATCHER = "Shell|Write|Edit|Delete"
"""The tools that can write a file."""


def hooks(program: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    """The hooks, by Cursor's own names of the events.

    Nothing is asked when a sub-agent ends: Cursor names no agent to whom a handoff could be recorded.
    """
    found: dict[str, list[dict[str, Any]]] = {}
    for event, name in {
        "sessionStart": "session-start",
        "preToolUse": "pre-tool-use",
        "stop": "stop",
    }.items():
        found[event] = [{"command": offered.hook(program, name), "timeout": offered.seconds(name)}]
    found["preToolUse"][0]["matcher"] = MATCHER
    return found


def setup(home: Path, environment: Mapping[str, str], program: Sequence[str], store: Path) -> Setup:
    """Everything of Cursor, for the person whose `home` it is."""
    folder = home / ".cursor"
    events = tuple(Entry(("hooks", event), each, listed=True) for event, (each,) in hooks(program).items())
    return Setup(
        "cursor",
        store,
        (
            Configuration(
                folder / "mcp.json",
                Form.JSON,
                (Entry(("mcpServers", "muniment"), offered.server(program)),),
            ),
            Configuration(folder / "hooks.json", Form.JSON, (Entry(("version",), 1), *events)),
        ),
        {**offered.skill_files("cursor", folder / "skills"), **offered.word_files(folder / "commands")},
    )
