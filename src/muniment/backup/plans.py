"""Floor 3, `backup`: plans that were shown, kept below `.muniment/plans/` until something is made of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from muniment.backup.errors import PlanMissing
from muniment.backup.model import Request
from muniment.backup.rules import Then
from muniment.canonical import Json, NotJson, canonical, read_json
from muniment.disk.errors import NotThere
from muniment.disk.root import Root
from muniment.disk.write import is_scratch, write_verified
from muniment.message import say
from muniment.path import printable
from muniment.record.errors import StateDamaged
from muniment.record.state import FOLDER

PLANS = FOLDER / "plans"
KEPT = 20
"""So many plans are kept; older ones go."""

_LIMIT = 64 << 20
_ID = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class KeptPlan:
    """A plan as it was shown: its bytes, its basis and sizes, and what was asked for."""

    shown: bytes
    then: Then
    request: Request
    label: str


def keep(root: Root, shown: Mapping[str, Json], basis: Mapping[str, Json], request: Request) -> bytes:
    """Keep a plan under its id and give the bytes that a confirmation binds to."""
    record: dict[str, Json] = {"v": 1, "plan": shown, "basis": basis, "request": request.to_json()}
    root.make_folders(PLANS, 0o700)
    name = f"{shown['plan_id']}.json"
    write_verified(root, PLANS / name, canonical(record) + b"\n", replace=True, mode=0o600)
    _thin(root, name)
    return canonical(shown)


def _thin(root: Root, newest: str) -> None:
    names = [name for name in root.names(PLANS) if not is_scratch(name) and name != newest]
    aged = sorted(names, key=lambda name: root.stat(PLANS / name).st_mtime_ns, reverse=True)
    for name in aged[KEPT - 1 :]:
        root.unlink(PLANS / name, missing_ok=True)


def find(root: Root, plan_id: str) -> KeptPlan:
    """A plan that was kept; `PlanMissing` when there is none of that id."""
    if not _ID.fullmatch(plan_id):
        raise PlanMissing(where=printable(plan_id[:64]), why=say("a plan's id has 64 hex digits"))
    rel = PLANS / f"{plan_id}.json"
    try:
        data = root.read(rel, _LIMIT)
    except NotThere as error:
        raise PlanMissing(where=plan_id) from error
    try:
        record: Any = read_json(data)
        plan = record["plan"]
        if record["v"] != 1 or plan["plan_id"] != plan_id:
            raise ValueError("it is of another version or id")
        then = Then(record["basis"], int(plan["created_at_unix"]), int(plan["total_size_bytes"]))
        return KeptPlan(canonical(plan), then, Request.from_json(record["request"]), str(plan["label"]))
    except (NotJson, KeyError, TypeError, ValueError) as error:
        raise StateDamaged(where=printable(str(rel)), why=say("{finding}", finding=error)) from error
