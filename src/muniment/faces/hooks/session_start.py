"""Faces, hooks: `session-start`: a session begins; it is told what was left half done in the workspace.

Only small files are read, and none is believed further than for pointing at the command that tells the rest.
"""

from __future__ import annotations

import json
import os
import re

from muniment.faces.hooks.event import CURSOR, host_of, is_event, respond, workspaces
from muniment.faces.hooks.records import read, series
from muniment.faces.hooks.words import Words, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

RESTORE_LOGS = (".muniment/restore.log", "config/.restore.log", ".restore.log")
"""Where a layout keeps the log of a restore that has not ended, from the workspace on."""

HANDOFFS_MAX = 200
"""Handoffs that are looked at, newest first."""

NAMED_MAX = 5
_LIMIT = 256 << 10
_SNAPSHOT = re.compile(r"[A-Za-z0-9_.:-]{1,80}")
_HANDOFF = re.compile(r"ho_[0-7][0-9A-HJKMNP-TV-Z]{25}")


def run() -> int:
    """Answer the event on standard input."""
    return respond(_answer)


def _answer(event: Mapping[str, Any], environment: Mapping[str, str]) -> Mapping[str, Any] | None:
    text = told(event, environment)
    if not text:
        return None
    if host_of(event) == CURSOR:
        return {"additional_context": text}
    return {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": text}}


def told(event: Mapping[str, Any], environment: Mapping[str, str]) -> str:
    """What the session is told; empty when everything is done."""
    if not is_event(event, "SessionStart"):
        return ""
    words = Words(environment)
    lines: list[str] = []
    for root in workspaces(event, environment):
        for snapshot, done, of in _restores(root):
            lines.append(
                words.text(
                    say(
                        "A restore of snapshot {snapshot} is half done in {root}: {done} of {of} sections. "
                        "Before anything else tell the person, and let them choose `muniment backup "
                        "restore` with --continue, --start-over or --cancel."
                    ),
                    snapshot=snapshot,
                    root=root,
                    done=done,
                    of=of,
                )
            )
        open_ones = list(_undelivered(root))
        if open_ones:
            lines.append(
                words.text(
                    say(
                        "Handoffs in {root} that were not delivered: {handoffs} ({count} in all). `muniment "
                        "handoff show ID` tells what became of each; deliver it or say that it was not."
                    ),
                    root=root,
                    handoffs=", ".join(open_ones[:NAMED_MAX]),
                    count=len(open_ones),
                )
            )
    return "\n".join(lines)


def _restores(root: str) -> Iterator[tuple[str, int, int]]:
    """Snapshot, sections done and sections of each restore that has not ended."""
    for place in RESTORE_LOGS:
        path = os.path.join(root, place)
        if not os.path.lexists(path):
            continue
        lines = read(path, _LIMIT).split(b"\n")[:-1]
        head: Any = None
        try:
            head = json.loads(lines[0]) if lines else None
        except (ValueError, RecursionError):
            head = None
        if not isinstance(head, dict) or head.get("section") != "restore":
            yield "?", 0, 0
            continue
        sections = head.get("sections")
        of = len(sections) if isinstance(sections, list) else 0
        done = sum(1 for line in lines[1:] if b'"status":"ok"' in line.replace(b" ", b""))
        snapshot = str(head.get("backup_id"))
        # What stands in a file of the workspace becomes part of what the agent is told.
        yield (snapshot if _SNAPSHOT.fullmatch(snapshot) else "?"), min(done, of), of


def _undelivered(root: str) -> Iterator[str]:
    """The handoffs whose last launch has no receipt, and those that were never sent, newest first."""
    folder = os.path.join(root, ".muniment", "handoff")
    if not os.path.isdir(folder):
        return
    names = sorted((name for name in os.listdir(folder) if _HANDOFF.fullmatch(name)), reverse=True)
    for name in names[:HANDOFFS_MAX]:
        own = os.path.join(folder, name)
        if not os.path.lexists(os.path.join(own, "packet.json")) or series(os.path.join(own, "traces")):
            continue
        outcomes = series(os.path.join(own, "outcomes"))
        answered = outcomes and len(outcomes) >= len(series(os.path.join(own, "intents")))
        if not answered or b'"dispatch_id"' not in read(os.path.join(own, "outcomes", outcomes[-1]), _LIMIT):
            yield name
