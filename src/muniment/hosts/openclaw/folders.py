"""Floor 2, `hosts`: where OpenClaw keeps its own folder and its configuration, found as it finds them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path


def state_folder(environment: Mapping[str, str]) -> Path:
    """OpenClaw's own folder, found as it finds it.

    `OPENCLAW_STATE_DIR`; else `.openclaw` in the home, or `.clawdbot` where only that exists.  The
    home is `OPENCLAW_HOME`, `HOME`, or the account's.
    """
    home = _home(environment)
    override = environment.get("OPENCLAW_STATE_DIR", "").strip()
    if override:
        return _expanded(override, home)
    present, former = home / ".openclaw", home / ".clawdbot"
    return former if former.exists() and not present.exists() else present


def _home(environment: Mapping[str, str]) -> Path:
    account = environment.get("HOME", "").strip() or os.path.expanduser("~")
    own = environment.get("OPENCLAW_HOME", "").strip()
    return _expanded(own, Path(account)) if own else Path(os.path.abspath(account))


def _expanded(text: str, home: Path) -> Path:
    if text == "~" or text.startswith("~/"):
        return Path(os.path.normpath(home / text[1:].lstrip("/")))
    return Path(os.path.abspath(text))


def configuration(environment: Mapping[str, str]) -> Path:
    """OpenClaw's configuration file, whether it exists or not.

    `OPENCLAW_CONFIG_PATH`; else `openclaw.json` in its own folder, or `clawdbot.json` where only that
    exists.

    >>> configuration({"OPENCLAW_STATE_DIR": "/srv/claw"}).as_posix()
    '/srv/claw/openclaw.json'
    """
    override = environment.get("OPENCLAW_CONFIG_PATH", "").strip()
    if override:
        return _expanded(override, _home(environment))
    state = state_folder(environment)
    present, former = state / "openclaw.json", state / "clawdbot.json"
    return former if former.exists() and not present.exists() else present
