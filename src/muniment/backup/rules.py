"""Floor 3, `backup`: the room's decisions; facts in, verdict out (spec 4, rules file and plan)."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from muniment.backup.errors import PlanStale
from muniment.backup.model import ExtraPath, Item, Plan
from muniment.canonical import Json, canonical_digest
from muniment.evidence import spell
from muniment.hosts.places import Sets
from muniment.message import Message, say

MEBI = 1 << 20
FRESH_S = 24 * 3600
"""A plan of more seconds is stale."""

_GROWTH_RATIO = 1.2
_GROWTH_BYTES = 50 * MEBI

_LARGE = 50 * MEBI
_LARGE_UNKNOWN = 20 * MEBI
_LARGE_SESSIONS = 10 * MEBI
_CACHES = (".cache*", "*_cache*", "*.tmp*", ".tmp", ".thumbnails", ".pip*", ".pnpm*", ".yarn*")


class Category(StrEnum):
    """What is proposed for an entry at the top of a section; only `skip` drops it."""

    CORE = "core"
    SKIP = "skip"
    ASK = "ask"
    UNKNOWN = "unknown"


def category(name: str, sets: Sets) -> Category:
    """The category of a top-level name.

    >>> category("memory", Sets(core=frozenset({"memory"})))
    <Category.CORE: 'core'>
    """
    if name in sets.core:
        return Category.CORE
    if name in sets.skip:
        return Category.SKIP
    if name in sets.ask:
        return Category.ASK
    return Category.UNKNOWN


def advice(name: str, kind: Category, size: int) -> Message | None:
    """Why leaving something out is worth a thought; None when nothing speaks for it."""
    lowered = name.lower()
    if any(fnmatch.fnmatchcase(lowered, pattern) for pattern in _CACHES):
        return say("it looks like a cache or a temporary folder")
    if lowered == ".local":
        return say("programs put what they can fetch again there")
    if lowered == "sessions" and size >= _LARGE_SESSIONS:
        return say("sessions grow, and this one is large")
    if size >= _LARGE:
        return say("it is large")
    if size >= _LARGE_UNKNOWN and kind is Category.UNKNOWN:
        return say("it is large, and nothing is known of it")
    return None


def basis(
    *,
    rules_sha256: str,
    mode: str,
    label: str,
    api: Sequence[str],
    items: Sequence[Item],
    extra: Sequence[ExtraPath],
) -> dict[str, Json]:
    """What a plan's id stands for; sizes are not part of it."""
    return {
        "rules_sha256": rules_sha256,
        "mode": mode,
        "label": label,
        "api": sorted(api),
        "items": [[item.section, spell(item.rel), item.status] for item in items],
        "extra": sorted([spell(one.src), one.status] for one in extra),
    }


def plan_id(facts: Mapping[str, Json]) -> str:
    """The id of a plan: the digest of its basis."""
    return canonical_digest(facts).hex


@dataclass(frozen=True, slots=True)
class Then:
    """What a kept plan showed: its basis, its time, its size in bytes."""

    basis: Mapping[str, Any]
    created_at_unix: int
    total_size_bytes: int


def stale(then: Then, now: Mapping[str, Json], now_unix: int, size_now: int) -> Message | None:
    """Why a plan does not hold any more; None while it does.

    An item that appeared, vanished or changed its status; other rules, mode, label or files of
    the host; growth of more than a fifth and 50 MiB; a day.
    """
    if now_unix - then.created_at_unix > FRESH_S or now_unix < then.created_at_unix:
        return say("it is older than a day")
    for name in ("rules_sha256", "mode", "label", "api", "extra"):
        if then.basis.get(name) != now.get(name):
            return say("{what} changed since", what=name)
    before = {(one[0], one[1]): one[2] for one in then.basis.get("items", ())}
    after = {(one[0], one[1]): one[2] for one in _items(now)}
    for place in [*after, *before]:
        if before.get(place) != after.get(place):
            where = "/".join(place)
            if place not in before:
                return say("{where} appeared since", where=where)
            if place not in after:
                return say("{where} vanished since", where=where)
            return say("{where} is now {status}", where=where, status=after[place])
    grown = size_now - then.total_size_bytes
    if grown > _GROWTH_BYTES and size_now > then.total_size_bytes * _GROWTH_RATIO:
        return say("it grew by {mebibytes} MiB since", mebibytes=grown // MEBI)
    return None


def refuse_stale(then: Then, facts: Mapping[str, Json], now: Plan) -> None:
    """`PlanStale`, with the reason, when a kept plan does not hold for what there is now."""
    why = stale(then, facts, now.created_at_unix, now.total_size_bytes)
    if why is not None:
        raise PlanStale(where=str(then.basis.get("label", "")), why=why)


def _items(facts: Mapping[str, Json]) -> Sequence[Any]:
    found = facts.get("items")
    return found if isinstance(found, Sequence) and not isinstance(found, str) else ()
