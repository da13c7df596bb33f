"""Faces, scripts: `propose_rules.py`: what the rules could say, as JSON."""

from __future__ import annotations

import argparse

from muniment.backup.proposal import propose
from muniment.faces.cli.call import Call
from muniment.faces.scripts.parsing import Parser
from muniment.faces.scripts.running import Script

PARSER = Parser("propose_rules", "Look at everything at the top and sort it.")


def act(call: Call, given: argparse.Namespace) -> None:
    """Look; nothing is written."""
    backups = call.house.backups
    backups.require_no_half_restore()
    call.terminal.result(propose(backups.places).to_json())


SCRIPT = Script(PARSER, act)
