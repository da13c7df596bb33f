"""Faces, scripts: `download.py`: a snapshot, verified, into the extraction folder."""

from __future__ import annotations

import argparse

from muniment.faces.cli.call import Call
from muniment.faces.cli.restore_pages import show_sections
from muniment.faces.scripts.parsing import Parser
from muniment.faces.scripts.running import Script
from muniment.message import say

PARSER = Parser("download", "Fetch a snapshot into the extraction folder, verified.")
PARSER.add_argument("backup_id", metavar="ID")


def act(call: Call, given: argparse.Namespace) -> None:
    """Fetch it, and say what lies there."""
    vault = call.house.whole_snapshots.vault
    with call.terminal.progress(say("fetching")) as advance:
        fetched = call.house.restores.receive(given.backup_id, vault, advance)
    show_sections(call, fetched.by_section(), f"{fetched.folder.path}/{fetched.place.posix}")


SCRIPT = Script(PARSER, act, json=lambda given: False)
