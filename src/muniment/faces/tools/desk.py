"""Faces, tools: the desk: one question over all rooms each; none of them changes anything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from muniment.canonical import Json
from muniment.faces.errors import InvalidArgument
from muniment.faces.house import House
from muniment.faces.tools import desk_shapes as shapes
from muniment.faces.tools.tool import LISTED, Answer, Client, Tool, answered
from muniment.message import say
from muniment.record.subject import Standing, Verdict


def _status(house: House, _: Mapping[str, Any], __: Client) -> Answer:
    return answered(house.overview().to_json())


def _show(house: House, given: Mapping[str, Any], _: Client) -> Answer:
    shown = house.desk.show(given["reference"])
    value = dict(shown.value)
    links = value.pop("within", [])
    return answered({"reference": shown.reference, "within": links, "shown": value, "next": shown.step})


def _find(house: House, given: Mapping[str, Any], _: Client) -> Answer:
    story = house.desk.find(given["text"])
    told = story.to_json()
    hits = told["hits"]
    assert isinstance(hits, list)
    bad = any(one.standing is Standing.BAD for one in story.hits)
    return answered({**told, "total": len(hits), "hits": hits[:LISTED]}, failed=bad)


def _verify(house: House, given: Mapping[str, Any], client: Client) -> Answer:
    named = given.get("what", ())
    if bool(named) == given.get("all", False):
        raise InvalidArgument(where="all", why=say("name what to read again, or give all"))
    counts: Counter[str] = Counter()
    odd: list[Verdict] = []
    fine: list[Verdict] = []

    def watch(size: int, files: int, path: str) -> None:
        client.progress(files, size)

    for one in house.desk.verify(named, watch):
        counts[one.standing.value] += 1
        kept = fine if one.standing.fine else odd
        if len(kept) < LISTED:
            kept.append(one)
    rows: list[Json] = [one.to_json() for one in [*odd, *fine][:LISTED]]
    good = not odd
    value: dict[str, Json] = {
        "good": good,
        "total": counts.total(),
        "counts": dict(counts),
        "verified": rows,
    }
    return answered(value, failed=not good)


def _timeline(house: House, given: Mapping[str, Any], _: Client) -> Answer:
    moments = house.desk.timeline(since=_since(given.get("since")), count=given.get("count", 50))
    told: list[Json] = [one.to_json() for one in moments]
    return answered({"events": told, "not_proved": sum(one.worth.unproved for one in moments)})


def _since(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise InvalidArgument(where="since", why=say("this is no time")) from error
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


TOOLS = (
    Tool(shapes.STATUS, _status),
    Tool(shapes.SHOW, _show),
    Tool(shapes.FIND, _find),
    Tool(shapes.VERIFY, _verify),
    Tool(shapes.TIMELINE, _timeline),
)
