"""Floor 3, `backup`: what can be set about backups."""

from __future__ import annotations

from muniment.settings import Setting, choice, words

LAYOUT: Setting[str] = Setting(
    "backup.layout",
    "auto",
    choice("auto", "generic", "starchild", "openclaw", "claude"),
    "Whose folders are saved beside the workspace; auto: those of the host that is recognised.",
)

NOTIFY: Setting[tuple[str, ...]] = Setting(
    "notify.command",
    (),
    words,
    "Program with its arguments that is told, as JSON on its input, what nobody was watching.",
    personal=True,
)

SETTINGS = (LAYOUT, NOTIFY)
