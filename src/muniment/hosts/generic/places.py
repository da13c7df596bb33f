"""Floor 2, `hosts`: the places of an agent on any machine: the workspace and nothing beside it."""

from __future__ import annotations

from pathlib import Path

from muniment.hosts.places import Places, Sets

TOOL_CACHES = frozenset(
    {
        "node_modules",
        ".venv",
        ".mypy_cache",
        ".pytest_cache",
        ".ruff_cache",
        ".tox",
        ".nox",
        ".hypothesis",
        ".gradle",
        ".cache",
        ".npm",
        ".parcel-cache",
        ".turbo",
    }
)
"""Folders that tools fill and can fill again."""

SECRET = frozenset({".env", ".netrc", ".npmrc", ".pypirc", "credentials.json", "secrets.json"})


def places(workspace: Path) -> Places:
    """The layout `generic` around a workspace."""
    own = workspace / ".muniment"
    return Places(
        name="generic",
        workspace=workspace,
        data=None,
        rules=own / "backup_rules.md",
        restore_log=own / "restore.log",
        former_restore_logs=(),
        extraction=workspace / ".restore",
        upload_state=own / "active-upload.json",
        workspace_sets=Sets(
            core=frozenset({"memory", "prompt", "config", "tasks", "skills", ".env"}),
            ask=frozenset({"output", "scripts"}),
            skip=TOOL_CACHES,
        ),
        data_sets=Sets(),
        secret=SECRET,
        bound=frozenset(),
        runs=frozenset({"setup.sh", ".git/hooks", ".claude", ".codex", ".cursor"}),
    )
