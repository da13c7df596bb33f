"""Floor 2, `hosts`: OpenClaw's folders: the hosted layout, and which workspaces are OpenClaw's at all."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from muniment.hosts.errors import InvalidFlag
from muniment.hosts.workspace import CLIENT_ROOT, HOST_VARIABLES, VARIABLE
from muniment.message import say
from muniment.path import printable

BASE = "/home/root/workspace"
"""Where a hosted OpenClaw keeps its workspaces, each at `{WORKSPACE_ID}/workspace` below it."""


@dataclass(frozen=True, slots=True)
class Hosted:
    """A workspace on the hosted layout: its id, its path as the host gives it, who gave it, and
    the base that it lies below."""

    workspace_id: str
    path: str
    by: str
    base: str


def given_paths(environment: Mapping[str, str], client_root: str | None = None) -> list[tuple[str, str]]:
    """The paths that the host itself gives, each behind the name of its source."""
    variables = (VARIABLE, *HOST_VARIABLES)
    given = [(CLIENT_ROOT, client_root or ""), *((name, environment.get(name, "")) for name in variables)]
    return [(name, path) for name, path in given if path]


def hosted(given: Sequence[tuple[str, str]], flag: str | None = None) -> Hosted | None:
    """The hosted workspace, when a path that the host gives has its form; else None.

    Only the host decides it: a `--workspace` that differs, and a second path that differs, are an
    `InvalidFlag` (spec 1, hosted OpenClaw).

    >>> hosted([("MCP root", "/home/root/workspace/w-7/workspace")]).workspace_id
    'w-7'
    >>> hosted([("WORKSPACE_DIR", "/home/ada/work")]) is None
    True
    """
    base = BASE
    form = re.compile(re.escape(base) + r"/([^/]+)/workspace/*")
    found = None
    for by, path in given:
        match = form.fullmatch(path)
        if match is not None and match[1] not in (".", "..") and match[1].isprintable():
            found = Hosted(match[1], path.rstrip("/"), by, base)
            break
    if found is None:
        return None
    others = [*given, *([("--workspace", flag)] if flag is not None else [])]
    for by, path in others:
        if path.rstrip("/") != found.path:
            raise InvalidFlag(
                flag=by,
                where=printable(path),
                why=say("{source} says that the workspace is {path}", source=found.by, path=found.path),
            )
    return found


def card_prefix(setting: str, place: Hosted | None, root: str) -> str:
    """What stands before `/archives` on cards that carry an absolute path.

    It is the setting, else the hosted path, else the workspace's own path (`root`).  On the hosted
    layout a prefix that does not lie below the base is an `InvalidFlag`, before anything moves.

    >>> card_prefix("", Hosted("w", "/home/root/workspace/w/workspace", "MCP root", BASE), "/mnt/w")
    '/home/root/workspace/w/workspace'
    """
    if place is None:
        return setting.rstrip("/") or root
    prefix = setting.rstrip("/") or place.path
    names = prefix.removeprefix(f"{place.base}/").split("/")
    if not prefix.startswith(f"{place.base}/") or not {"", ".", ".."}.isdisjoint(names):
        raise InvalidFlag(
            flag="archive.card_prefix",
            where=printable(prefix),
            why=say("cards of a hosted workspace begin with {base}", base=f"{place.base}/"),
        )
    return prefix


def is_openclaw(path: Path, place: Hosted | None, environment: Mapping[str, str], state: Path) -> bool:
    """Whether a workspace is OpenClaw's, so that no id may be made up for it.

    It is when it is hosted, when OpenClaw named it, or when it lies below OpenClaw's own folder
    (`state`), as the default workspace does.
    """
    return place is not None or bool(environment.get("OPENCLAW_WORKSPACE_DIR")) or path.is_relative_to(state)
