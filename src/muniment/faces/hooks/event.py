"""Faces, hooks: the event that a host hands over, and the answers that each host understands."""

from __future__ import annotations

import json
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

EVENT_MAX = 32 << 20
"""Bytes of an event; a file that is written whole stands in it."""

CLAUDE, CURSOR = "claude", "cursor"


def respond(find: Callable[[Mapping[str, Any], Mapping[str, str]], Mapping[str, Any] | None]) -> int:
    """Hand the host what `find` answers to the event on standard input and the environment; None says
    nothing.

    Whoever can not look can not say that something is wrong: that is told on standard error, with an exit
    code that hosts let pass.
    """
    code = "BAD_EVENT"
    try:
        event = _read_event()
        code = "HOOK_BLIND"
        value = find(event, os.environ)
        if value is not None:
            sys.stdout.write(json.dumps(value) + "\n")
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        finding = ascii(str(error))[1:-1][:500]
        sys.stderr.write(f"muniment: {type(error).__name__}: {finding} ({code})\n")
        return 1
    return 0


def _read_event() -> dict[str, Any]:
    """The event on standard input; names in it that are not UTF-8 stand as surrogates."""
    data = sys.stdin.buffer.read(EVENT_MAX + 1)
    if len(data) > EVENT_MAX:
        raise ValueError(f"it has more than {EVENT_MAX} bytes")
    event = json.loads(data.decode("utf-8", "surrogateescape"))
    if not isinstance(event, dict):
        raise ValueError("it is no object")
    return event


def host_of(event: Mapping[str, Any]) -> str:
    """Whose form the answer takes; Codex takes that of Claude Code.

    >>> host_of({"hook_event_name": "preToolUse"}), host_of({"hook_event_name": "PreToolUse"})
    ('cursor', 'claude')
    """
    name = event.get("hook_event_name")
    return CURSOR if (isinstance(name, str) and name[:1].islower()) or "cursor_version" in event else CLAUDE


def is_event(event: Mapping[str, Any], name: str) -> bool:
    """Whether it is the event of a name, however the host spells it; one without a name is."""
    found = event.get("hook_event_name", name)
    return isinstance(found, str) and found.replace("_", "").lower() == name.lower()


def folder_of(event: Mapping[str, Any], environment: Mapping[str, str]) -> str:
    """Where the agent works; empty when nobody says."""
    roots = event.get("workspace_roots")
    spoken = [event.get("cwd"), *(roots if isinstance(roots, list) else ())]
    spoken += [environment.get(name) for name in ("CLAUDE_PROJECT_DIR", "CURSOR_PROJECT_DIR", "PWD")]
    for place in spoken:
        if isinstance(place, str) and os.path.isabs(place) and "\0" not in place:
            return place
    return ""


def workspaces(event: Mapping[str, Any], environment: Mapping[str, str]) -> Iterator[str]:
    """The folders that have a record: named ones, then those above where the agent works."""
    found = [environment.get("MUNIMENT_WORKSPACE"), environment.get("CLAUDE_PROJECT_DIR")]
    place = folder_of(event, environment)
    while place:
        found.append(place)
        above = os.path.dirname(place)
        place = above if above != place else ""
    seen: set[str] = set()
    for each in found:
        if each and "\0" not in each and each not in seen:
            seen.add(each)
            if os.path.isdir(os.path.join(each, ".muniment")):
                yield each
