"""Faces, scripts: `pack.py`: what the rules save, as a bundle file, without any vault."""

from __future__ import annotations

import argparse
import os
import tempfile
from contextlib import ExitStack
from pathlib import Path

from muniment.backup.api import folder_named
from muniment.backup.bundle_file import new_folder
from muniment.backup.errors import ApiMissing, BundlePartial
from muniment.backup.model import Request
from muniment.clock import system_clock
from muniment.faces.cli.call import Call
from muniment.faces.scripts.errors import ApiDirMissing
from muniment.faces.scripts.parsing import Parser
from muniment.faces.scripts.running import Script
from muniment.message import say
from muniment.path import printable

PARSER = Parser("pack", "Pack what the backup rules save into one bundle file.").takes_places()
PARSER.add_argument("--api-dir", metavar="DIR", required=True, help="profile, settings and scheduled tasks")
PARSER.add_argument("--out", metavar="FILE", help="the new bundle file")
PARSER.add_argument("--mode", choices=("default", "full"), help="instead of the mode of the rules")
PARSER.add_argument("--label", metavar="L", help="instead of the label of the rules")
PARSER.add_argument("--extra-exclude", metavar="REL", nargs="+", action="extend", default=[])
PARSER.add_argument("--extra-path", metavar="ABS", nargs="+", action="extend", default=[])
PARSER.add_argument("--dry-run", action="store_true", help="only show the plan")


def act(call: Call, given: argparse.Namespace) -> BundlePartial | None:
    """Plan, pack, read back."""
    for path in given.extra_path:
        if not os.path.isabs(path):
            PARSER.error(f"argument --extra-path: {path!r} is not absolute")
    further = tuple(given.extra_path)
    backups = call.house.backups
    try:
        api = folder_named(given.api_dir)
        request = Request(given.mode, tuple(given.extra_exclude), further, given.label, api)
        if given.dry_run:
            call.terminal.result(backups.plan(request).plan.to_json())
            return None
        with ExitStack() as held:
            out = Path(os.path.abspath(given.out)) if given.out else _usual(held)
            with call.terminal.progress(say("packing")) as advance:
                filed = backups.pack(request, out, progress=advance)
    except ApiMissing as error:
        raise ApiDirMissing(option="--api-dir", folder=printable(given.api_dir)) from error
    for warning in filed.warnings:
        call.terminal.note(say("WARNING: {warning}", warning=warning))
    for fault in filed.faults:
        call.terminal.note(
            say("WARNING: {path}: {finding}", path=printable(fault.path), finding=fault.finding)
        )
    call.terminal.result(
        {"bundle_path": str(filed.path), "size_bytes": filed.size, "manifest": filed.manifest}
    )
    return filed.partial


def _usual(held: ExitStack) -> Path:
    """Where a bundle goes when nobody said where: a folder of its own among temporary ones."""
    name = f"backup-{system_clock():%Y%m%dT%H%M%SZ}-{os.getpid()}"
    return held.enter_context(new_folder(Path(tempfile.gettempdir(), name))) / "bundle.tar.gz"


SCRIPT = Script(PARSER, act)
