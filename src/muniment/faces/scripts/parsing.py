"""Faces, scripts: what a script's arguments are, and that a wrong call ends as one error with exit code 1."""

from __future__ import annotations

import argparse
from typing import NoReturn

from muniment.errors import UsageError
from muniment.message import say
from muniment.path import printable


class Parser(argparse.ArgumentParser):
    """Arguments of one script; flags are never guessed from their beginnings."""

    def __init__(self, name: str, about: str) -> None:
        super().__init__(prog=f"{name}.py", description=about, allow_abbrev=False)

    def error(self, message: str) -> NoReturn:
        """Called by argparse for a wrong call."""
        raise UsageError(where=self.prog, why=say("{finding}", finding=printable(message)))

    def takes_places(self) -> Parser:
        """It can be told where workspace and data folder are."""
        self.add_argument("--workspace-dir", metavar="D", help="the workspace; else $WORKSPACE_DIR")
        self.add_argument("--data-dir", metavar="D", help="the data folder; else $DATA_DIR, else /data")
        return self
