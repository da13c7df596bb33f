"""Floor 5, the wiring: settings and adapters become rooms; the only place that knows every class."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from muniment.faces.cli.main import run
from muniment.faces.house import Note
from muniment.message import say
from muniment.settings import BadSetting, Layer, Setting, Settings, environment_layer, flatten

DECLARED: tuple[Setting[Any], ...] = ()
"""Every setting that a room declares."""

CONFIG_MAX = 1 << 20
"""Bytes that a settings file may have."""


class BadSettingsFile(BadSetting):
    """A settings file is not readable TOML."""

    code = "BAD_SETTINGS_FILE"
    what = "The settings file can not be read."
    guidance = "Correct the file, or take it away to have the defaults."


class House:
    """The rooms of one call."""

    def __init__(self, *, workspace: str | None, environment: Mapping[str, str], note: Note) -> None:
        self._environment = environment

    def settings(self) -> Settings:
        """All declared settings over environment and user file."""
        from platformdirs import user_config_dir

        layers = [environment_layer(DECLARED, self._environment)]
        path = Path(user_config_dir("muniment")) / "config.toml"
        table = read_toml(path)
        if table is not None:
            layers.append(Layer(str(path), flatten(table, DECLARED)))
        return Settings(DECLARED, layers)


def read_toml(path: Path) -> dict[str, object] | None:
    """A settings file; None when there is none."""
    import tomllib

    try:
        # not to wait for a writer when somebody put a pipe there
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    with os.fdopen(descriptor, "rb") as stream:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise BadSettingsFile(where=str(path), why=say("it is not a file"))
        data = stream.read(CONFIG_MAX + 1)
    if len(data) > CONFIG_MAX:
        raise BadSettingsFile(where=str(path), why=say("it is larger than {most} bytes", most=CONFIG_MAX))
    try:
        return tomllib.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise BadSettingsFile(where=str(path), why=say("{finding}", finding=error)) from error


def main() -> int:
    """The command line, with the real machine around it."""
    return run(sys.argv[1:], House, os.environ, sys.stdin, sys.stdout, sys.stderr)
