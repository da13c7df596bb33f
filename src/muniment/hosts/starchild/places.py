"""Floor 2, `hosts`: the places of Starchild: `/data`, and the workspace inside it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from muniment.hosts.generic.places import SECRET
from muniment.hosts.places import Places, Sets

DATA = Path("/data")
WORKSPACE_LINK = Path("/workspace")
"""Another way by which the container reaches its workspace, where older logs were written."""


def recognises(workspace: Path, environment: Mapping[str, str]) -> bool:
    """Whether a workspace is that of a Starchild container: `/data/workspace` there, or the one that
    `WORKSPACE_DIR` names inside the folder that `DATA_DIR` names."""
    if workspace == DATA / "workspace" and WORKSPACE_LINK.exists():
        return True
    data, named = environment.get("DATA_DIR"), environment.get("WORKSPACE_DIR")
    if not data or not named:
        return False
    return workspace == Path(os.path.realpath(named)) == Path(os.path.realpath(data)) / "workspace"


def found(workspace: Path, environment: Mapping[str, str]) -> Places:
    """The layout around a workspace; `DATA_DIR` names the data folder elsewhere than at `/data`, and
    `BACKUP_RULES_PATH` the rules file elsewhere than in the workspace's `config`."""
    data = Path(environment.get("DATA_DIR") or DATA)
    usual = workspace == DATA / "workspace" and data == DATA
    layout = places(None if usual else workspace, data)
    rules = environment.get("BACKUP_RULES_PATH")
    return replace(layout, rules=Path(os.path.abspath(rules))) if rules else layout


def places(workspace: Path | None = None, data: Path = DATA) -> Places:
    """The layout `starchild`; both folders may be elsewhere, as in tests."""
    work = workspace or data / "workspace"
    own = WORKSPACE_LINK if workspace is None and data == DATA else work
    return Places(
        name="starchild",
        workspace=work,
        data=data,
        rules=work / "config" / "backup_rules.md",
        restore_log=own / ".restore.log",
        former_restore_logs=(work / ".restore.log",),
        extraction=work / ".restore",
        upload_state=own / ".active-upload.json",
        workspace_sets=Sets(
            core=frozenset({"memory", "prompt", "config", "tasks", "skills", "setup.sh", ".env"}),
            ask=frozenset({"output", "scripts"}),
            skip=frozenset({".active-upload.json", ".restore.log"}),
        ),
        data_sets=Sets(
            core=frozenset({"scheduled_jobs.json", "preview_history.json", "previews.json", "sessions"}),
            ask=frozenset({"scheduled_jobs.db", "tasks.json", ".user-packages", ".local"}),
            skip=frozenset(
                {
                    "logs",
                    "auto_update.log",
                    "skills-install.log",
                    ".bash_processes",
                    ".startup-tasks",
                    "hibernation_state.json",
                    "memory",
                    ".npm-cache",
                    ".agents",
                }
            ),
        ),
        secret=SECRET,
        bound=frozenset({"hibernation_state.json", ".bash_processes"}),
        runs=frozenset(
            {"setup.sh", ".git/hooks", "scheduled_jobs.json", "scheduled_jobs.db", ".startup-tasks"}
        ),
        api_required=True,
    )
