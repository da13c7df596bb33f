"""Floor 3, `vault`: what is told of a snapshot: its id, and the file that lists it again.

Beside each snapshot's index lies a description; the two are enough to bring it back into a lost
catalogue.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import cast

from muniment.bundle.vault import Snapshot, is_scheduled
from muniment.canonical import Json, NotJson, canonical, read_json
from muniment.clock import instant, read_instant
from muniment.digest import Digest, sha256
from muniment.ids import Entropy
from muniment.message import say
from muniment.path import printable
from muniment.vault.errors import BadDescription, BadLabel

VERSION = 1

SNAPSHOTS = "snapshots"
"""Where indexes and descriptions lie."""

DESCRIPTION_MOST = 1 << 20
"""Bytes of a description at most."""

_SUFFIX = "abcdefghijklmnopqrstuvwxyz0123456789"
_ID = re.compile(r"bk_[0-9]{8}_[0-9]{6}_[a-z0-9]{4}")


def new_snapshot_id(now: datetime, entropy: Entropy) -> str:
    """An id of that second; whoever inserts it sees whether it is taken.

    >>> from datetime import UTC
    >>> new_snapshot_id(datetime(2026, 11, 30, 14, 28, tzinfo=UTC), lambda count: bytes(range(count)))
    'bk_20261130_142800_abcd'
    """
    suffix = "".join(_SUFFIX[byte % len(_SUFFIX)] for byte in entropy(4))
    return f"bk_{now:%Y%m%d_%H%M%S}_{suffix}"


def is_snapshot_id(text: str) -> bool:
    """Whether a text has the form of a snapshot's id.

    >>> is_snapshot_id("bk_20261130_142800_a1b2"), is_snapshot_id("bk_20261130_142800_A1B2")
    (True, False)
    """
    return _ID.fullmatch(text) is not None


def time_in(snapshot_id: str) -> datetime:
    """The second in which an id was made; the first of all where it names none.

    >>> time_in("bk_20261130_142800_abcd").isoformat()
    '2026-11-30T14:28:00+00:00'
    """
    try:
        return datetime.strptime(snapshot_id[3:18], "%Y%m%d_%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        return datetime(1970, 1, 1, tzinfo=UTC)


def index_blob(snapshot_id: str) -> str:
    """The blob of a snapshot's index."""
    return f"{SNAPSHOTS}/{snapshot_id}.index"


def description_blob(snapshot_id: str) -> str:
    """The blob of what is told of a snapshot."""
    return f"{SNAPSHOTS}/{snapshot_id}.json"


def snapshot_in(blob: str) -> tuple[str, str]:
    """The id and the kind (`json`, `index`) that a blob's name promises; `ValueError` for others."""
    name, _, kind = blob.rpartition("/")[2].partition(".")
    if not is_snapshot_id(name) or blob not in (index_blob(name), description_blob(name)):
        raise ValueError("it has not the name of a snapshot's file")
    return name, kind


def judge_label(label: str, most: int) -> None:
    """Refuse a label that is too long or could not be shown."""
    if len(label) > most or not (label.isprintable() or label == ""):
        raise BadLabel(limit=most, where=printable(label[:80]))


def shown_sections(sections: Iterable[str]) -> tuple[str, ...]:
    """Sections sorted, each once, and as a person may read them."""
    return tuple(sorted({printable(section) for section in sections}))


def describe(snapshot: Snapshot, facts: Mapping[str, object]) -> bytes:
    """What is told of a snapshot, with a digest over all of it; `BadDescription` when it can not
    be kept."""
    record: dict[str, Json] = {
        "v": VERSION,
        "id": snapshot.id,
        "label": snapshot.label,
        "created_at": instant(snapshot.created_at),
        "size": snapshot.size,
        "sections": list(snapshot.sections),
        "root": snapshot.root.hex,
        "facts": cast("Mapping[str, Json]", facts),
    }
    try:
        text = canonical({**record, "sha256": sha256(canonical(record)).hex}) + b"\n"
    except NotJson as error:
        raise BadDescription(where=snapshot.id, why=say("{finding}", finding=error)) from error
    if len(text) > DESCRIPTION_MOST:
        why = say("it has {size} bytes; {most} is the most", size=len(text), most=DESCRIPTION_MOST)
        raise BadDescription(where=snapshot.id, why=why)
    return text


def read_description(data: bytes) -> tuple[Snapshot, dict[str, object]]:
    """The reverse of `describe`; a `ValueError` says what is wrong."""
    record = read_json(data)
    if not isinstance(record, dict):
        raise ValueError("it is no object")
    stated = record.pop("sha256", None)
    if sha256(canonical(record)).hex != stated:
        raise ValueError("its digest does not fit")
    if record.get("v") != VERSION:
        raise ValueError(f"its version {record.get('v')!r} is not known here")
    try:
        snapshot = Snapshot(
            id=_text(record["id"]),
            label=_text(record["label"]),
            created_at=read_instant(_text(record["created_at"])),
            size=int(record["size"]),
            sections=tuple(_text(section) for section in record["sections"]),
            root=Digest(_text(record["root"])),
        )
        facts = dict(record["facts"])
        snapshot = replace(snapshot, scheduled=is_scheduled(facts))
    except (KeyError, TypeError) as error:
        raise ValueError(f"it is no description of a snapshot ({error!r})") from error
    if not is_snapshot_id(snapshot.id):
        raise ValueError("its id is none")
    return snapshot, facts


def same_told(one: Snapshot, other: Snapshot) -> bool:
    """Whether two tell the same; size, digest and soundness follow from what is stored."""
    follows = {"size": other.size, "sha256": other.sha256, "soundness": other.soundness}
    return replace(one, **follows, whole=other.whole) == other  # type: ignore[arg-type]


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("a text was expected")
    return value
