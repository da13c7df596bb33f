"""Faces, scripts: `restore.py`: the plan of a restore, or the restore itself."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from muniment.backup.restore_rules import choose
from muniment.faces.cli.call import Call
from muniment.faces.cli.restore_pages import finish_applied, show_restore_plan
from muniment.faces.scripts.parsing import Parser
from muniment.faces.scripts.running import Script
from muniment.message import say
from muniment.record.consent import WitnessKind

PARSER = Parser("restore", "Show what a restore would do, or do it.").takes_places()
SOURCE = PARSER.add_mutually_exclusive_group(required=True)
SOURCE.add_argument("--backup-id", metavar="ID", help="a snapshot of the vault")
SOURCE.add_argument("--extract-dir", metavar="DIR", help="a bundle that was extracted")
PARSER.add_argument("--apply", action="store_true", help="write the files that are new")
PARSER.add_argument("--force", action="store_true", help="with --apply: modified files too")


def act(call: Call, given: argparse.Namespace) -> None:
    """Fetch, verify, show; with `--apply` what was shown is done, as the skill had it confirmed."""
    restores = call.house.restores
    if given.backup_id is not None:
        vault = call.house.whole_snapshots.vault
        with call.terminal.progress(say("fetching")) as advance:
            plan, fetched = restores.plan_received(given.backup_id, vault, advance)
    else:
        plan, fetched = restores.plan_of_folder(Path(os.path.abspath(given.extract_dir)))
    show_restore_plan(call, plan, fetched)
    if not given.apply:
        return
    order = choose(plan, overwrite=given.force, run=True)
    call.house.workspace.consents.give("restore", order.shown, WitnessKind.RELAYED)
    with call.terminal.progress(say("restoring")) as progress:
        applied = restores.apply(order, fetched, progress=progress)
    finish_applied(call, plan, applied)
    if applied.open:
        call.terminal.next_step(f"muniment backup section-done {applied.open[0]}")


SCRIPT = Script(PARSER, act, json=lambda given: False)
