"""Faces, scripts: `upload.py`: a bundle file, verified and sent to the vault."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from muniment.backup.whole_snapshots import Wanted
from muniment.bundle.whole import Full
from muniment.faces.cli.call import Call
from muniment.faces.scripts.parsing import Parser
from muniment.faces.scripts.running import Script
from muniment.message import say

PARSER = Parser("upload", "Send a bundle file to the vault.")
PARSER.add_argument("bundle", metavar="BUNDLE")
PARSER.add_argument("--label", metavar="L", help="instead of the label of the bundle")
PARSER.add_argument("--sections", metavar="a,b", help="instead of the sections of the bundle")
PARSER.add_argument("--replace", metavar="ID", help="the snapshot that goes once this one is stored")
PARSER.add_argument("--force-resumable", action="store_true", help="by offsets, however small it is")


def act(call: Call, given: argparse.Namespace) -> None:
    """Send it; all slots taken is an answer, not a failure."""
    sections = None if given.sections is None else tuple(filter(None, given.sections.split(",")))
    bundle = Path(os.path.abspath(given.bundle))
    wanted = Wanted(bundle, given.label, sections, given.replace, given.force_resumable)
    with call.terminal.progress(say("sending")) as advance:
        outcome = call.house.whole_snapshots.send(wanted, progress=advance)
    if isinstance(outcome, Full):
        call.terminal.result({"error": "quota_exceeded", "current": list(outcome.current)})
        return
    call.terminal.result(
        {
            "backup_id": outcome.id,
            "size_bytes": outcome.size,
            "sha256": outcome.sha256,
            "remaining_slots": outcome.remaining,
        }
    )


SCRIPT = Script(PARSER, act)
