"""Faces, scripts: `list.py`: the snapshots, newest first."""

from __future__ import annotations

import argparse

from muniment.faces.cli.backup_pages import show_numbered
from muniment.faces.cli.call import Call
from muniment.faces.scripts.parsing import Parser
from muniment.faces.scripts.running import Script
from muniment.message import say

PARSER = Parser("list", "List the snapshots, newest first.")
PARSER.add_argument("--json", action="store_true", help="one JSON object")


def act(call: Call, given: argparse.Namespace) -> None:
    """Show what there is."""
    shelf = call.house.whole_snapshots.shelf()
    call.terminal.result(
        {
            "backups": [one.to_json() for one in shelf.listed],
            "quota": shelf.quota,
            "limits": shelf.limits,
        },
        lambda: show_numbered(call, shelf.listed, shelf.cap),
    )
    if not shelf.listed:
        call.terminal.note(say("The first one is made by pack.py and upload.py."))


SCRIPT = Script(PARSER, act, json=lambda given: bool(given.json))
