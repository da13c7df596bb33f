"""Faces, hooks: `pre-tool-use`: a tool is about to run; one that writes past the archive is stopped.

What it would write is read from the event: the file that it names, the patch, or the shell command, of which
only the text is known.  So this is a rail, not a wall: it stops an agent that is mistaken, and the archive's
own verification finds what went past it.  Whoever can not read an event stops nothing.
"""

from __future__ import annotations

import fnmatch
import os
import re

from muniment.faces.hooks import deciding
from muniment.faces.hooks.event import CURSOR, folder_of, host_of, is_event, respond
from muniment.faces.hooks.programs import REMOVE, WRITE
from muniment.faces.hooks.settings import patterns, setting
from muniment.faces.hooks.shell import glob_of, has_wild, patched, touched
from muniment.faces.hooks.words import Words, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

HOSTED = re.compile(r"/home/root/workspace/([^/]+)/workspace/*")
"""The layout of a hosted OpenClaw, as `hosts/openclaw/layout.py` has it."""

GIVEN = ("MUNIMENT_WORKSPACE", "OPENCLAW_WORKSPACE_DIR", "WORKSPACE_DIR")
PATHS_MAX = 1000
"""Paths of one call that are looked at."""

_FILES = frozenset({"write", "edit", "multiedit", "notebookedit", "strreplace", "tabwrite", "create"})
_SHELLS = frozenset(
    {"bash", "shell", "exec", "exec_command", "local_shell", "container.exec", "unified_exec", "terminal"}
)
_PATCHES = frozenset({"apply_patch", "applypatch"})
_REMOVERS = frozenset({"delete", "deletefile", "remove"})
_PATH_KEYS = ("file_path", "notebook_path", "path", "target_file", "filePath")
_SKILL_HEAD = 4096


def run() -> int:
    """Answer the event on standard input."""
    return respond(_answer)


def _answer(event: Mapping[str, Any], environment: Mapping[str, str]) -> Mapping[str, Any] | None:
    """The denial in the form of the host; None lets the tool run."""
    reason = denial(event, environment)
    if not reason:
        return None
    if host_of(event) == CURSOR:
        return {"permission": "deny", "user_message": reason, "agent_message": reason}
    verdict = {"permissionDecision": "deny", "permissionDecisionReason": reason}
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **verdict}}


def denial(event: Mapping[str, Any], environment: Mapping[str, str]) -> str:
    """Why the tool must not run, in the reader's language; empty when it may."""
    if not is_event(event, "PreToolUse"):
        return ""
    hosted = _hosted(environment)
    unseen: Exception | None = None
    for number, (kind, path) in enumerate(_written(event, environment)):
        if number >= PATHS_MAX:
            break
        try:
            verdict = _verdict(kind, path, hosted, environment)
        except (OSError, ValueError) as error:  # the other paths of the call are looked at all the same
            unseen = unseen or error
            continue
        if verdict:
            return _reason(verdict, glob_of(path), environment)
    if unseen is not None:
        raise unseen
    return ""


def _verdict(kind: str, path: str, hosted: tuple[str, ...] | None, environment: Mapping[str, str]) -> str:
    for facts in _looked_at(kind, path, hosted):
        verdict = deciding.decide(facts)
        if verdict == deciding.ARCHIVE and deciding.needs_patterns(facts):
            where = "/" + "/".join(facts.parts[: min(facts.records)])
            verdict = deciding.decide(facts, patterns(setting("archive.mutable", where, environment)))
        if verdict:
            return verdict
    return deciding.ALLOWED


# What the tool would write


def _written(event: Mapping[str, Any], environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Kind and absolute path of all that the event tells of."""
    name, given = event.get("tool_name"), event.get("tool_input")
    if not isinstance(name, str) or not isinstance(given, dict):
        return
    name = name.lower()
    cwd = folder_of(event, environment)
    for key in ("cwd", "workdir", "working_directory"):
        place = given.get(key)
        if isinstance(place, str) and place:
            cwd = os.path.join(cwd, place)
    if not os.path.isabs(cwd):
        cwd = "/"
    if name in _FILES or name in _REMOVERS:
        for key in _PATH_KEYS:
            path = given.get(key)
            if isinstance(path, str) and path:
                yield (REMOVE if name in _REMOVERS else WRITE), os.path.join(cwd, path)
    elif name in _PATCHES:
        for text in (given.get("command"), given.get("input"), given.get("patch")):
            for kind, path in patched(_patch_text(text)):
                yield kind, os.path.join(cwd, path)
    elif name in _SHELLS:
        known = {
            key: environment[key] for key in ("HOME", "CLAUDE_PROJECT_DIR", "TMPDIR") if key in environment
        }
        yield from touched(_command(given.get("command", given.get("cmd"))), cwd, known)


def _patch_text(value: object) -> str:
    if isinstance(value, list):
        return "\n".join(each for each in value if isinstance(each, str))
    return value if isinstance(value, str) else ""


def _command(value: object) -> str:
    """A command as one text; a list of words is quoted, since it passes no shell of its own."""
    if isinstance(value, list):
        return " ".join("'" + each.replace("'", "'\\''") + "'" for each in value if isinstance(each, str))
    return value if isinstance(value, str) else ""


# What is known of a path


def _hosted(environment: Mapping[str, str]) -> tuple[str, ...] | None:
    for name in GIVEN:
        found = HOSTED.fullmatch(environment.get(name, ""))
        if found is not None and found[1] not in (".", ".."):
            return tuple(part for part in found[0].split("/") if part)
    return None


def _looked_at(kind: str, path: str, hosted: tuple[str, ...] | None) -> Iterator[deciding.Facts]:
    """The facts of a path: of where it leads, and of where its own name lies, if that differs."""
    if "\0" in path:
        return
    path = _expanded(path)
    # Nothing can be written below a file, and where a stream leads is the host's own affair.
    if os.path.isfile(os.path.dirname(path)) or deciding.is_stream(tuple(path.split("/")[1:])):
        return
    places = [
        os.path.join(os.path.realpath(os.path.dirname(path.rstrip("/"))), os.path.basename(path.rstrip("/")))
    ]
    if kind == WRITE:
        places.append(os.path.realpath(path))
    for place in dict.fromkeys(map(os.path.normpath, places)):
        parts = tuple(part for part in place.split("/") if part)
        exists = _existing(parts)
        records, archived = set(), set()
        for depth in range(len(parts) + 1):
            here = "/" + "/".join(parts[:depth])
            is_hosted = hosted is not None and parts[:depth] == hosted
            if depth <= exists and (is_hosted or os.path.isdir(os.path.join(here, ".muniment"))):
                records.add(depth)
                if os.path.isdir(os.path.join(here, deciding.ARCHIVES)):
                    archived.add(depth)
        yield deciding.Facts(
            kind,
            parts,
            records=frozenset(records),
            archived=frozenset(archived),
            exists=exists,
            skill=_in_skill(parts),
            hosted=hosted,
        )


def _expanded(path: str) -> str:
    """A path in which a name that a shell would expand to `archives` says so."""
    if not has_wild(path):
        return path
    names = path.split("/")
    for index, name in enumerate(names):
        if has_wild(name) and fnmatch.fnmatchcase(deciding.ARCHIVES, glob_of(name)):
            names[index] = deciding.ARCHIVES
    return glob_of("/".join(names))


def _existing(parts: tuple[str, ...]) -> int:
    """How far down a path exists."""
    for depth in range(len(parts), 0, -1):
        if os.path.lexists("/" + "/".join(parts[:depth])):
            return depth
    return 0


def _in_skill(parts: tuple[str, ...]) -> bool:
    """Whether a path lies in the folder of a skill that Muniment installed, as its page says."""
    for depth in range(len(parts) - 1, 0, -1):
        if parts[depth - 1] == "skills" and depth < len(parts):
            page = "/" + "/".join((*parts[: depth + 1], "SKILL.md"))
            try:
                with open(page, "rb") as stream:
                    head = stream.read(_SKILL_HEAD)
            except OSError:
                continue
            if b"\n  project: muniment\n" in head and b"\n  installed: " in head:
                return True
    return False


# What is said


_SAID = {
    deciding.ARCHIVE: (
        say("{path} lies in the archive, and only archiving writes there (ARCHIVE_PROTECTED)."),
        say(
            "Write the new version elsewhere in the workspace and archive it, with the tool `archive` or "
            "`muniment archive PATH`; `muniment archive copy` and `undo` bring something out of it."
        ),
        say("Edited in place are only an archived PLAN.md and what the setting `archive.mutable` names."),
    ),
    deciding.SKILL: (
        say("{path} belongs to an installed skill of Muniment (SKILL_PROTECTED)."),
        say(
            "What is saved is changed in the rules file, under `Extra excludes` and `Extra paths`; the skill "
            "itself by installing it again."
        ),
    ),
    deciding.OUTSIDE: (
        say("{path} lies outside the workspace of this host (OUTSIDE_WORKSPACE)."),
        say("Write it inside the workspace instead."),
    ),
}


def _reason(verdict: str, path: str, environment: Mapping[str, str]) -> str:
    """The denial as it is said: what, and where the change belongs."""
    words = Words(environment)
    joint = "" if words.close else " "
    return joint.join(words.text(sentence, path=path) for sentence in _SAID[verdict])
