"""Floor 2, `hosts`: what Starchild finds in `skills/backup/`: the skill, and the eight original scripts.

A script there only finds the program: first in the interpreter that was called, then in the one with
which it was installed.
"""

from __future__ import annotations

from muniment.hosts.skills import marked, skill_page, with_section
from muniment.path import RelPath

NAMES = ("pack", "upload", "list", "download", "propose_rules", "ensure_rules", "restore", "delete")
"""The scripts, without their ending."""

FOLDER = RelPath(("skills", "backup"))

_SCRIPT = '''\
"""{name}.py: written by `muniment install starchild`. To change what is saved, change the rules file."""

import os
import sys

PYTHON = {python!r}

try:
    from muniment.app import script
except ImportError as missing:
    try:
        if sys.executable == PYTHON:
            raise OSError(str(missing))
        os.execv(PYTHON, [PYTHON, *sys.argv])
    except OSError as error:
        sys.exit("ERROR: the program muniment was not found for this script: %s" % error)

sys.exit(script({name!r}))
'''

_SECTION = """\
## The scripts of this host

The scripts in `scripts/` beside this page do the same under their original names. Call them from
`/data/workspace` with literal paths; never change them, nor this page: change the rules file.

1. `python3 skills/backup/scripts/propose_rules.py` shows what there is; `ensure_rules.py` writes the stock
   rules, and only when the person asks for that.
2. Export profile, settings and scheduled tasks into a folder with the host's own tools. Show the plan with
   `python3 skills/backup/scripts/pack.py --api-dir DIR --dry-run`, and wait for a clear yes before you run
   it without `--dry-run`. Nothing asks again.
3. `python3 skills/backup/scripts/upload.py BUNDLE` sends the file that `bundle_path` names. An answer with
   `quota_exceeded` is no failure: show `current` as a numbered list, let the person pick or cancel, then
   run the same call with `--replace ID`.
4. `python3 skills/backup/scripts/list.py` lists; `download.py ID` fetches and verifies.
5. `python3 skills/backup/scripts/restore.py --backup-id ID` shows the plan of a restore. Show all of it and
   wait for a clear yes; then the same with `--apply`, and with `--force` only if modified files shall be
   replaced too.
6. `python3 skills/backup/scripts/delete.py ID --confirm ID`, with the id that the person typed.

An exit code other than 0 is a failure: show the script's name, its exit code and at least the first ten
lines of its standard error, say that you stopped, and wait.
"""


def files(python: str) -> dict[RelPath, bytes]:
    """Every file with its place in the workspace; `python` is the interpreter that has the program."""
    page = with_section(marked(skill_page("backup"), "starchild"), _SECTION)
    made = {FOLDER / "SKILL.md": page.encode("utf-8")}
    for name in NAMES:
        made[FOLDER / "scripts" / f"{name}.py"] = _SCRIPT.format(name=name, python=python).encode("utf-8")
    return made
