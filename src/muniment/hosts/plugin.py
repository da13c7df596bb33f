"""Floor 2, `hosts`: one folder that Claude Code, Codex, Cursor and OpenClaw install as a plugin.

Everything in it comes from what `muniment install` gives to each of them; the program is found on PATH,
since the folder goes to other machines.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from muniment import __version__
from muniment.disk.copy import new_folder
from muniment.disk.root import Root
from muniment.disk.write import write_verified
from muniment.hosts import offered
from muniment.hosts.cursor.setup import hooks as cursor_hooks
from muniment.hosts.skills import host_page
from muniment.path import RelPath

PROGRAM = ("muniment",)
MATCHER = "Write|Edit|MultiEdit|NotebookEdit|Bash|apply_patch"
ABOUT = "The record room of AI agents: what an agent made is kept, and every claim about it is read back."


def files() -> dict[RelPath, bytes]:
    """Every file of the plugin with its place in the folder."""
    manifest = {
        "name": "muniment",
        "version": __version__,
        "description": ABOUT,
        "author": {"name": "The Muniment authors"},
        "license": "Apache-2.0",
    }
    hooks: dict[str, Any] = {}
    for entry in offered.grouped_hooks(PROGRAM, MATCHER):
        hooks.setdefault(entry.path[1], []).append(entry.value)
    documents: dict[str, Any] = {
        ".claude-plugin/plugin.json": manifest,
        ".codex-plugin/plugin.json": {**manifest, "skills": "./skills/", "mcpServers": "./.mcp.json"},
        ".cursor-plugin/plugin.json": {
            **manifest,
            "skills": "./skills/",
            "commands": "./commands/",
            "hooks": "./hooks/cursor-hooks.json",
            "mcpServers": "./.mcp.json",
        },
        ".mcp.json": {"mcpServers": {"muniment": offered.server(PROGRAM)}},
        "hooks/hooks.json": {"hooks": hooks},
        "hooks/cursor-hooks.json": {"version": 1, "hooks": cursor_hooks(PROGRAM)},
    }
    made = {RelPath.parse(place): _json(value) for place, value in documents.items()}
    for name in offered.SKILLS:
        made[RelPath(("skills", name, "SKILL.md"))] = host_page("plugin", name).encode("utf-8")
    for place, data in offered.word_files(Path("commands")).items():
        made[RelPath(place.parts)] = data
    return dict(sorted(made.items()))


def _json(value: object) -> bytes:
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode("utf-8")


def write(folder: Path, content: Mapping[RelPath, bytes]) -> None:
    """Make the folder, whole or not at all; `AlreadyThere` when something of its name exists."""
    folder = Path(os.path.abspath(folder))
    with Root.open(folder.parent) as above, new_folder(above, RelPath((folder.name,))) as inside:
        for place, data in content.items():
            inside.make_folders(place.parent)
            write_verified(inside, place, data)
