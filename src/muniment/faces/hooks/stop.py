"""Faces, hooks: `stop`: the agent is about to end; what it made and did not archive is brought up once.

`archive.on_stop` says what happens: `off` nothing, `remind` the agent is told and goes on once, `sweep` it is
archived at once, as far as `confirm.relayed` lets an act go ahead that no person confirmed.  This looks at
what is plain to see; `muniment archive status` knows the whole.
"""

from __future__ import annotations

import json
import os
import select
import sys

from muniment.faces.hooks.event import CURSOR, host_of, is_event, respond, workspaces
from muniment.faces.hooks.settings import setting
from muniment.faces.hooks.words import Words, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

OFF, REMIND, SWEEP = "off", "remind", "sweep"
DELIVERABLES = frozenset({"PLAN.md", "report.md", "summary.md", "result.json", "notes.md"})
"""Names that count wherever they stand, as `archive/outstanding.py` has them."""

ENTRIES_MAX = 5000
"""Entries of folders that are looked at where git does not tell."""

DEPTH_MAX = 4
NAMED_MAX = 5
NAME_MAX = 120
GIT_SECONDS = 5.0
_ANSWER_MAX = 256 << 10
_KILL = 9
"""By its number: the module that knows its name costs a fifth of the hook's time."""

_PASSED_OVER = frozenset({".git", "node_modules", "__pycache__", ".venv", "archives"})
_MANAGED = ("archives/", ".muniment/", ".restore/", ".backup/")


def run() -> int:
    """Answer the event on standard input."""
    return respond(_answer)


def _answer(event: Mapping[str, Any], environment: Mapping[str, str]) -> Mapping[str, Any] | None:
    """What keeps the agent going, or what was archived; None lets it end."""
    if not is_event(event, "Stop") or _goes_on_already(event):
        return None
    root = next(workspaces(event, environment), None)
    if root is None:
        return None
    mode = setting("archive.on_stop", root, environment) or REMIND
    if mode not in (REMIND, SWEEP):
        return None
    loose = sorted(_loose(root))
    if not loose:
        return None
    words = Words(environment)
    if mode == SWEEP and _swept(root):
        text = words.text(say("Archived at the end of the turn: {paths}"), paths=_list(loose))
        return {} if host_of(event) == CURSOR else {"systemMessage": text}
    if not _is_new(root, loose):
        return None
    reason = words.text(
        say(
            "Not archived yet: {paths} ({count} in all). A task that wrote files ends with archiving them: "
            "use the tool `archive` or `muniment archive PATH`; `muniment archive status` tells all. If "
            "something is no deliverable, say so and end."
        ),
        paths=_list(loose),
        count=len(loose),
    )
    if host_of(event) == CURSOR:
        return {"followup_message": reason}
    return {"decision": "block", "reason": reason}


def _goes_on_already(event: Mapping[str, Any]) -> bool:
    """Whether the agent goes on because of a hook, or did not end by itself."""
    count = event.get("loop_count")
    if event.get("stop_hook_active") is True or (isinstance(count, int) and count > 0):
        return True
    return event.get("status") in ("aborted", "error")


def _list(loose: list[str]) -> str:
    return ", ".join(name[:NAME_MAX] for name in loose[:NAMED_MAX]) + (
        ", …" if len(loose) > NAMED_MAX else ""
    )


def _is_new(root: str, loose: list[str]) -> bool:
    """Whether this was not brought up already; what was is written down first, so that it ends."""
    place = os.path.join(root, ".muniment", "hook-stop.json")
    shown = json.dumps(loose[:1000])
    try:
        with open(place, encoding="utf-8") as stream:
            if stream.read(_ANSWER_MAX) == shown:
                return False
    except (OSError, ValueError):
        pass
    with open(f"{place}.{os.getpid()}", "w", encoding="utf-8") as stream:
        stream.write(shown)
    os.replace(f"{place}.{os.getpid()}", place)
    return True


def _swept(root: str) -> bool:
    """Whether the archive took all of it; it asks its own rules whether it may."""
    call = [
        sys.executable,
        "-P",
        "-m",
        "muniment",
        "archive",
        "sweep",
        "--yes",
        "--json",
        "--workspace",
        root,
    ]
    _, status = _ran(call, dict(os.environ), seconds=100.0)
    return status == 0


# What is not archived


def _loose(root: str) -> Iterator[str]:
    told = _untracked(root) if _in_git(root) else None
    if told is None:
        yield from _by_name(root)
        return
    for name in told:
        if name and not name.startswith(_MANAGED):
            yield name


def _in_git(root: str) -> bool:
    place = root
    while not os.path.lexists(os.path.join(place, ".git")):
        above = os.path.dirname(place)
        if above == place:
            return False
        place = above
    return True


def _untracked(root: str) -> list[str] | None:
    """What git does not track; None when it does not say."""
    call = [
        "git",
        "-c",
        "core.fsmonitor=false",
        "-C",
        root,
        "ls-files",
        "-z",
        "--others",
        "--exclude-standard",
    ]
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0"}
    data, status = _ran(call, environment, seconds=GIT_SECONDS)
    if status != 0:
        return None
    return [os.fsdecode(name) for name in data.split(b"\0")[:-1]]


def _by_name(root: str) -> Iterator[str]:
    folders, seen = [("", 0)], 0
    while folders:
        inside, depth = folders.pop()
        try:
            entries = os.scandir(os.path.join(root, inside))
        except OSError:
            continue
        with entries:
            for entry in entries:
                seen += 1
                if seen > ENTRIES_MAX:
                    return
                name = os.path.join(inside, entry.name)
                if entry.name.startswith(".") or entry.name in _PASSED_OVER:
                    continue
                if entry.is_dir(follow_symlinks=False):
                    if depth < DEPTH_MAX:
                        folders.append((name, depth + 1))
                elif entry.name in DELIVERABLES:
                    yield name


def _ran(call: list[str], environment: Mapping[str, str], *, seconds: float) -> tuple[bytes, int]:
    """What a program printed and how it ended, without the library that would cost as much as the hook."""
    out, into = os.pipe()
    quiet = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_DUP2, into, 1),
        (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
    ]
    try:
        child = os.posix_spawnp(call[0], call, environment, file_actions=quiet)
    except OSError:
        os.close(out)
        return b"", 127
    finally:
        os.close(into)
    parts, size = [], 0
    with open(out, "rb", buffering=0) as stream:
        while select.select([stream], [], [], seconds)[0]:
            part = stream.read(1 << 16)
            if not part:
                break
            size += len(part)
            if size > _ANSWER_MAX:
                break
            parts.append(part)
        else:
            os.kill(child, _KILL)
    if size > _ANSWER_MAX:
        os.kill(child, _KILL)
        os.waitpid(child, 0)
        return b"".join(parts), 0
    return b"".join(parts), os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
