"""Floor 2, `hosts`: what Claude Code is given: its settings, its servers, its skills and words.

Hooks of a person stand in `settings.json` of the program's folder, servers in `.claude.json`: beside that
folder, or in it where `CLAUDE_CONFIG_DIR` names one.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from muniment.hosts import offered
from muniment.hosts.merging import Entry, Form
from muniment.hosts.setup import Configuration, Setup

MATCHER = "Write|Edit|MultiEdit|NotebookEdit|Bash"
"""The tools that can write a file."""


def setup(home: Path, environment: Mapping[str, str], program: Sequence[str], store: Path) -> Setup:
    """Everything of Claude Code, for the person whose `home` it is."""
    own = environment.get("CLAUDE_CONFIG_DIR")
    folder = Path(os.path.abspath(own)) if own else home / ".claude"
    servers = (folder if own else home) / ".claude.json"
    server = {"type": "stdio", **offered.server(program)}
    return Setup(
        "claude",
        store,
        (
            Configuration(folder / "settings.json", Form.JSON, offered.grouped_hooks(program, MATCHER)),
            Configuration(servers, Form.JSON, (Entry(("mcpServers", "muniment"), server),)),
        ),
        {**offered.skill_files("claude", folder / "skills"), **offered.word_files(folder / "commands")},
    )
