"""Faces, scripts: the scripts' environment as the program's own, so that no room knows of scripts."""

from __future__ import annotations

import os
from collections.abc import Mapping

STORAGE = "BACKUP_STORAGE_URL"
STORAGE_DEFAULT = "http://sc-agent-backup.internal:8080"
DATA_DEFAULT = "/data"

ALLOWED = "plan,create,restore,delete"
"""Here the skill obtains every confirmation, and hands it on (spec 0, consent)."""


def surroundings(
    environment: Mapping[str, str], workspace: str | None = None, data: str | None = None
) -> dict[str, str]:
    """The environment in which a script's one call is made; flags count before variables.

    >>> found = surroundings({"DATA_DIR": "/srv/data"})
    >>> found["WORKSPACE_DIR"], found["MUNIMENT_VAULT"]
    ('/srv/data/workspace', 'http://sc-agent-backup.internal:8080')
    """
    folder = os.path.abspath(data or environment.get("DATA_DIR") or DATA_DEFAULT)
    work = os.path.abspath(workspace or environment.get("WORKSPACE_DIR") or os.path.join(folder, "workspace"))
    kept = {name: value for name, value in environment.items() if name != "MUNIMENT_VAULT_URL"}
    return {
        **kept,
        "DATA_DIR": folder,
        "WORKSPACE_DIR": work,
        "MUNIMENT_BACKUP_LAYOUT": "starchild",
        "MUNIMENT_VAULT": environment.get(STORAGE) or STORAGE_DEFAULT,
        "MUNIMENT_CONFIRM_RELAYED": ALLOWED,
    }
