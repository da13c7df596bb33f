"""Faces, scripts: `delete.py`: one snapshot, for good."""

from __future__ import annotations

import argparse

from muniment.backup.errors import DeleteNotConfirmed
from muniment.backup.service import require_typed
from muniment.backup.whole_snapshots import picked_bytes
from muniment.faces.cli.backup_looking import warn_of_half_restore
from muniment.faces.cli.call import Call
from muniment.faces.scripts.parsing import Parser
from muniment.faces.scripts.running import Script
from muniment.record.consent import WitnessKind

PARSER = Parser("delete", "Delete one snapshot for good.")
PARSER.add_argument("backup_id", metavar="ID")
PARSER.add_argument("--confirm", metavar="ID", required=True, help="the whole id, typed by the person")


def act(call: Call, given: argparse.Namespace) -> None:
    """Compare what was typed, delete, and tell what it was."""
    require_typed(given.backup_id, given.confirm)
    warn_of_half_restore(call)
    snapshots = call.house.whole_snapshots
    shown = picked_bytes(snapshots.show(given.backup_id))
    call.house.workspace.consents.give("delete", shown, WitnessKind.RELAYED)
    gone = snapshots.delete(given.backup_id, given.confirm, shown)
    told = gone.to_json()
    call.terminal.result({"deleted_backup_id": told.pop("backup_id"), **told})


SCRIPT = Script(PARSER, act, codes={DeleteNotConfirmed: 2})
