"""Floor 2, `hosts`: the places of OpenClaw: its own folder, less what it makes again, and the workspace."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from muniment.hosts.generic.places import SECRET, TOOL_CACHES
from muniment.hosts.generic.places import places as generic
from muniment.hosts.places import Places, Sets


def places(workspace: Path, state: Path) -> Places:
    """The layout `openclaw`; `state` is OpenClaw's own folder, `~/.openclaw`."""
    return replace(
        generic(workspace),
        name="openclaw",
        data=state,
        workspace_sets=Sets(
            core=frozenset(
                {
                    "SOUL.md",
                    "IDENTITY.md",
                    "AGENTS.md",
                    "USER.md",
                    "MEMORY.md",
                    "TOOLS.md",
                    "HEARTBEAT.md",
                    "memory",
                    "skills",
                    "archives",
                }
            ),
            ask=frozenset({"output", "scripts", "canvas"}),
            skip=TOOL_CACHES,
        ),
        data_sets=Sets(
            core=frozenset({"openclaw.json", "agents", "cron", "credentials", "identity", "hooks"}),
            ask=frozenset({"media", "devices", "memory"}),
            skip=frozenset({"logs", "sandboxes", "browser", "completions"}),
        ),
        secret=SECRET | {"openclaw.json", "auth-profiles.json", "auth.json"},
        bound=frozenset({"devices", "exec-approvals.json", "gateway.lock"}),
        runs=frozenset(
            {"hooks", "cron", "extensions", "plugins", "openclaw.json", ".git/hooks", "HEARTBEAT.md"}
        ),
        rebuildable=frozenset({"cache", "tmp", "node_modules", "update-check.json"}),
    )
