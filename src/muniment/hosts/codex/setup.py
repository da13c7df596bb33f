"""Floor 2, `hosts`: what Codex is given: its server in `config.toml`, its hooks in `hooks.json`, its skills.

Codex asks its person to look at new hooks, and runs none before that.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from muniment.hosts import offered
from muniment.hosts.merging import Entry, Form
from muniment.hosts.setup import Configuration, Setup

MATCHER = "Bash|apply_patch"
"""The tools that can write a file."""


def setup(home: Path, environment: Mapping[str, str], program: Sequence[str], store: Path) -> Setup:
    """Everything of Codex, for the person whose `home` it is."""
    own = environment.get("CODEX_HOME")
    folder = Path(os.path.abspath(own)) if own else home / ".codex"
    server = Entry(("mcp_servers", "muniment"), offered.server(program))
    return Setup(
        "codex",
        store,
        (
            Configuration(folder / "config.toml", Form.TOML, (server,)),
            Configuration(folder / "hooks.json", Form.JSON, offered.grouped_hooks(program, MATCHER)),
        ),
        offered.skill_files("codex", home / ".agents" / "skills"),
    )
