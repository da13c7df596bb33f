"""Faces, scripts: `ensure_rules.py`: the stock rules file, unless there is one."""

from __future__ import annotations

import argparse

from muniment.faces.cli.backup_rules import ensure_stock
from muniment.faces.cli.call import Call
from muniment.faces.scripts.parsing import Parser
from muniment.faces.scripts.running import Script

PARSER = Parser("ensure_rules", "Write the stock rules file, unless there is one.")


def act(call: Call, given: argparse.Namespace) -> None:
    """`CREATED` or `EXISTS`, and where."""
    ensure_stock(call)


SCRIPT = Script(PARSER, act, json=lambda given: False)
