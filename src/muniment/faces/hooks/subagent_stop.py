"""Faces, hooks: `subagent-stop`: a sub-agent of Claude Code or Codex ends (spec 3, surface).

When it owes something to a handoff and has not left it, it is told so once more: three times at the most
for a dispatch, never twice without a change in between, and never while it goes on because of a hook
already.  Which dispatch it is, its recorded agent id or its own transcript says; an event of anybody else
is none of ours.  This looks at what is plain to see; whether the work is good is the gate's to say.
"""

from __future__ import annotations

import fcntl
import json
import os
import re

from muniment.faces.hooks.event import BadEvent, answer, blind, read_event, workspaces

TYPE_CHECKING = False
if TYPE_CHECKING:  # importing it costs a tenth of the hook's time
    from collections.abc import Iterator, Mapping
    from typing import Any

BLOCKS_MAX = 3
DOCUMENT_MAX = 4 << 20
ADDED_MAX = 16 << 20
"""Bytes behind a target's former end that are searched."""
NAME_MAX = 200
"""Signs of an agent's name, in hex, by which its folder is called; the whole name stands inside."""
_HANDOFF = re.compile(r"ho_[0-7][0-9A-HJKMNP-TV-Z]{25}")
_DISPATCH = re.compile(r"dp_[0-7][0-9A-HJKMNP-TV-Z]{25}")
_OWN = ("employee_memory", "employee_worklog")


def run() -> int:
    """Read the event from standard input; what blocks goes to standard output as the hosts want it."""
    try:
        event = read_event()
    except BadEvent as error:
        return blind(error, "BAD_EVENT")
    try:
        reason = _reason(event, os.environ)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        # Whoever can not read the record can not say that something is missing.
        return blind(error, "HOOK_BLIND")
    if reason:
        answer({"decision": "block", "reason": reason})
    return 0


def _reason(event: Mapping[str, Any], environment: Mapping[str, str]) -> str:
    """Why the agent must not end yet; empty when it may."""
    if (
        event.get("hook_event_name", "SubagentStop") != "SubagentStop"
        or event.get("stop_hook_active") is True
    ):
        return ""
    for root in workspaces(event, environment):
        for handoff, dispatch in _dispatches(root, event):
            missing, seen = _missing(root, handoff, dispatch)
            if missing and _may_block(os.path.join(root, ".muniment/handoff", handoff), dispatch, seen):
                return _words(handoff, missing)
    return ""


def _dispatches(root: str, event: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The dispatches that are recorded under the names in the event, and still the ones that stand."""
    seen: set[str] = set()
    for kind, field in (("agent", "agent_id"), ("transcript", "agent_transcript_path")):
        value = event.get(field)
        if not isinstance(value, str) or not value.strip():
            continue
        name = f"{kind}:{value}".encode("utf-8", "surrogatepass")
        folder = os.path.join(root, ".muniment/handoff/agents", name.hex()[-NAME_MAX:])
        for dispatch in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
            if dispatch in seen or not _DISPATCH.fullmatch(dispatch):
                continue
            first, _, whole = _read(os.path.join(folder, dispatch)).partition(b"\n")
            handoff = first.decode("ascii", "replace")
            if whole != name or not _HANDOFF.fullmatch(handoff):
                continue
            seen.add(dispatch)
            own = os.path.join(root, ".muniment/handoff", handoff)
            if (_last(own, "outcomes") or {}).get("dispatch_id") == dispatch:
                yield handoff, dispatch


def _missing(root: str, handoff: str, dispatch: str) -> tuple[list[tuple[str, str]], str]:
    """What is owed and not there, each with its path, and a text of everything looked at."""
    own = os.path.join(root, ".muniment/handoff", handoff)
    contract = json.loads(_read(os.path.join(own, "packet.json"))).get("persistence_contract")
    returned, baselines = _last(own, "returns"), _last(own, "baselines") or {}
    closed = {each["target"] for each in (returned or {}).get("closures", ())}
    looked: list[Any] = [len(_names(own, series)) for series in ("returns", "closures", "recorded")]
    missing: list[tuple[str, str]] = []
    if contract is not None:
        anchors = json.loads(_read(os.path.join(own, "views", f"{dispatch}.json")))["anchors"]
        proposed = {_document(own, name)["target"] for name in _names(own, "closures")}
        for target, entry in contract["targets"].items():
            if entry["state"] != "required":
                continue
            if target == "central_board":
                there = target in proposed or target in closed
            else:
                size = baselines.get(target, {}).get("size", 0)
                there = _stands(os.path.join(root, entry["path"]), size, anchors[target].encode(), looked)
            if not there or (returned is not None and target not in closed):
                missing.append((target, entry["path"]))
    if returned is None:
        missing.append(("return", ""))
    return missing, json.dumps([missing, looked])


def _stands(path: str, skip: int, anchor: bytes, looked: list[Any]) -> bool:
    """Whether an anchor stands behind the former end of a file, or of a journal's segments."""
    files = [path]
    if os.path.isdir(path):
        files = [os.path.join(path, name) for name in sorted(os.listdir(path)) if name.endswith(".jsonl")]
    left = ADDED_MAX
    for file in files:
        try:
            fd = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            continue
        with open(fd, "rb") as stream:
            found = os.fstat(fd)
            looked.append([file, found.st_size, found.st_mtime_ns])
            if found.st_size > skip:
                stream.seek(skip)
                added = stream.read(left)
                left -= len(added)
                if anchor in added:
                    return True
            skip = max(0, skip - found.st_size)
    return False


def _may_block(own: str, dispatch: str, seen: str) -> bool:
    """Count a block, durably, before it is given; none is given that could not be counted."""
    lock = os.open(os.path.join(own, "hook.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    with open(lock, "rb"):
        fcntl.flock(lock, fcntl.LOCK_EX)
        file = os.path.join(own, "hook.json")
        state = json.loads(_read(file)) if os.path.exists(file) else {}
        blocks = state.get("blocks", 0) if state.get("dispatch_id") == dispatch else 0
        if blocks >= BLOCKS_MAX or (blocks and state.get("seen") == seen):
            return False
        new = {"v": 1, "dispatch_id": dispatch, "blocks": blocks + 1, "seen": seen}
        with open(f"{file}.new", "w", encoding="ascii") as stream:
            json.dump(new, stream)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(f"{file}.new", file)
    return True


def _words(handoff: str, missing: list[tuple[str, str]]) -> str:
    lines = [f"Handoff {handoff} is not closed. Missing:"]
    for target, path in missing:
        if target in _OWN:
            how = f"`muniment handoff record {handoff} --target {target} --text …`"
        elif target == "team_journal":
            how = f"`muniment journal append --handoff {handoff} --text …`"
        elif target == "central_board":
            how = f"`muniment board propose --handoff {handoff} …`"
        else:
            how = f"`muniment handoff return {handoff} --conclusion …`"
        lines.append(f"- {target}{f' in {path}' if path else ''}: {how}")
    lines.append(
        "Leave what is true, return again afterwards, or say in the return's gaps why it can not be done."
    )
    return "\n".join(lines)


def _names(own: str, series: str) -> list[str]:
    folder = os.path.join(own, series)
    if not os.path.isdir(folder):
        return []
    return [f"{series}/{name}" for name in sorted(os.listdir(folder)) if re.fullmatch(r"\d+\.json", name)]


def _last(own: str, series: str) -> dict[str, Any] | None:
    names = _names(own, series)
    return _document(own, names[-1]) if names else None


def _document(own: str, name: str) -> dict[str, Any]:
    value = json.loads(_read(os.path.join(own, name)))
    if not isinstance(value, dict):
        raise ValueError(f"{name} is no object")
    return value


def _read(path: str) -> bytes:
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(fd, "rb") as stream:
        return stream.read(DOCUMENT_MAX + 1)
