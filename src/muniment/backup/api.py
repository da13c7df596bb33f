"""Floor 3, `backup`: what a host's own tools exported: profile, settings, scheduled tasks.

Only known members are kept; what a task did last is not part of it (spec 4, what goes in).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from muniment.backup.errors import ApiMissing, ApiRefused
from muniment.backup.model import API_FILES, MISSING, OK, ApiFile
from muniment.canonical import NotJson, canonical, read_json
from muniment.disk.errors import NotThere, WrongKind
from muniment.disk.root import Root
from muniment.message import say
from muniment.path import RelPath, printable

_LIMIT = 16 << 20
_TASK = frozenset({"title", "schedule", "description", "channels"})
_PROFILE = frozenset({"agentName", "agentVibe", "agentEmoji", "agentCreature"})
_SETTINGS = frozenset({"language", "timezone", "what_to_call"})
_SETTINGS_PREFIX = "agent_"


def folder_named(text: str) -> str:
    """The absolute path of the folder that `--api-dir` names; `ApiMissing` for an empty text, which is
    what a variable of an earlier call has become, and never means the current folder.

    >>> folder_named("/srv/api/")
    '/srv/api'
    """
    if not text:
        raise ApiMissing(where="--api-dir", why=say("it is empty; shell variables do not outlive a call"))
    return os.path.abspath(text)


def read_api(folder: Path | None, *, required: bool) -> dict[str, bytes]:
    """The files of a folder in their kept form, by name; those that are missing are left out.

    `ApiMissing` when the layout needs them and the folder is not there.
    """
    if folder is None:
        if required:
            raise ApiMissing(where="--api-dir", why=say("none was named"))
        return {}
    try:
        root = Root.open(folder)
    except (NotThere, WrongKind) as error:
        raise ApiMissing(
            where=printable(str(folder)), why=say("it does not exist; shell variables do not outlive a call")
        ) from error
    found: dict[str, bytes] = {}
    with root:
        for name in API_FILES:
            try:
                data = root.read(RelPath((name,)), _LIMIT)
            except NotThere:
                continue
            found[name] = kept_form(name, data)
    return found


def kept_form(name: str, data: bytes) -> bytes:
    """The canonical bytes of a file with only the members that are kept.

    >>> kept_form("profile.json", b'{"agentName": "Ada", "x": 1}')
    b'{"agentName":"Ada"}\\n'
    """
    try:
        value = read_json(data)
    except NotJson as error:
        raise ApiRefused(where=name, why=say("{finding}", finding=error)) from error
    kept: Any
    if name == "scheduled_tasks.json":
        if not isinstance(value, list) or not all(isinstance(task, Mapping) for task in value):
            raise ApiRefused(where=name, why=say("a list of tasks was expected"))
        kept = [{key: item for key, item in task.items() if key in _TASK} for task in value]
    elif not isinstance(value, Mapping):
        raise ApiRefused(where=name, why=say("an object was expected"))
    elif name == "profile.json":
        kept = {key: item for key, item in value.items() if key in _PROFILE}
    else:
        kept = {
            key: item for key, item in value.items() if key in _SETTINGS or key.startswith(_SETTINGS_PREFIX)
        }
    return canonical(kept) + b"\n"


def planned(found: Mapping[str, bytes]) -> tuple[ApiFile, ...]:
    """The files as a plan shows them."""
    return tuple(
        ApiFile(name, OK if name in found else MISSING, len(found.get(name, b""))) for name in API_FILES
    )
