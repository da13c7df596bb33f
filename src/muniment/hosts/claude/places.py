"""Floor 2, `hosts`: the places of Claude Code: `~/.claude` (what a person made of it) and the project."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from muniment.hosts.generic.places import SECRET, TOOL_CACHES
from muniment.hosts.generic.places import places as generic
from muniment.hosts.places import Places, Sets


def starts(environment: Mapping[str, str]) -> bool:
    """Whether Claude Code started this process, as it tells every command that it runs."""
    return environment.get("CLAUDECODE") == "1"


def found(workspace: Path, environment: Mapping[str, str]) -> Places:
    """The layout around a project; `CLAUDE_CONFIG_DIR` names the program's folder elsewhere than at
    `~/.claude`."""
    home = Path(environment.get("HOME") or os.path.expanduser("~"))
    own = environment.get("CLAUDE_CONFIG_DIR")
    layout = places(workspace, home)
    return replace(layout, data=Path(os.path.abspath(own))) if own else layout


def places(workspace: Path, home: Path) -> Places:
    """The layout `claude` for a project."""
    return replace(
        generic(workspace),
        name="claude",
        data=home / ".claude",
        workspace_sets=Sets(
            core=frozenset({"CLAUDE.md", ".claude", "memory", "prompt", "config", "tasks", "skills", ".env"}),
            ask=frozenset({"output", "scripts"}),
            skip=TOOL_CACHES,
        ),
        data_sets=Sets(
            core=frozenset(
                {
                    "CLAUDE.md",
                    "settings.json",
                    "settings.local.json",
                    "memory",
                    "projects",
                    "skills",
                    "agents",
                    "commands",
                }
            ),
            ask=frozenset({"plugins", "todos", "plans"}),
            skip=frozenset({"logs", "debug", "telemetry", "cache", "statsig", "shell-snapshots", "ide"}),
        ),
        secret=SECRET | {".credentials.json"},
        bound=frozenset({".credentials.json", "ide", "shell-snapshots"}),
        runs=frozenset(
            {"setup.sh", ".git/hooks", ".claude", "settings.json", "settings.local.json", "hooks"}
        ),
        rebuildable=frozenset({"cache", "downloads", "local"}),
    )
