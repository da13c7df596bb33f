"""Floor 3, `backup`: what can be set about backups."""

from __future__ import annotations

from muniment.settings import Setting, choice

LAYOUT: Setting[str] = Setting(
    "backup.layout",
    "auto",
    choice("auto", "generic", "starchild", "openclaw", "claude"),
    "Whose folders are saved beside the workspace; auto: those of the host that is recognised.",
)

SETTINGS = (LAYOUT,)
