"""Faces, tools: the four tools of the archive: one call of the room each, and its answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from muniment.archive.card import card_text
from muniment.archive.check import check, chosen, entries
from muniment.archive.model import Receipt, Request, Track
from muniment.archive.settings import MUTABLE
from muniment.canonical import Json
from muniment.faces.house import House
from muniment.faces.tools.archive_shapes import ARCHIVE, LIST, STATUS, VERIFY
from muniment.faces.tools.arguments import source_path
from muniment.faces.tools.tool import LISTED, Answer, Client, Tool, answered
from muniment.path import printable


def _keep(house: House, arguments: Mapping[str, Any], client: Client) -> Answer:
    request = Request(
        source_path(house.root, arguments["sourcePath"]),
        Track(arguments["kind"]),
        arguments.get("displayName"),
    )
    # What cards will show is settled before anything moves.
    card_root = house.card_root()
    receipts = house.archive({}).keep([request], card_root=card_root, progress=client.progress)
    cards = [receipt.card for receipt in receipts]
    structured: dict[str, Json] = {
        "cards": [card.to_json() for card in cards],
        "evidence": [_evidence(receipt) for receipt in receipts],
    }
    return Answer(card_text(cards), structured)


def _evidence(receipt: Receipt) -> dict[str, Json]:
    """The receipt without its card, which stands beside it."""
    return {name: value for name, value in receipt.to_json().items() if name != "card"}


def _list(house: House, arguments: Mapping[str, Any], _: Client) -> Answer:
    wanted = arguments.get("archiveId")
    found = [one for one in entries(house.workspace) if wanted in (None, one.archive_id)]
    shown: list[Json] = [one.to_json() for one in reversed(found[-LISTED:])]
    return answered({"total": len(found), "archived": shown})


def _verify(house: House, arguments: Mapping[str, Any], _: Client) -> Answer:
    workspace, reference = house.workspace, arguments.get("reference")
    those = chosen(workspace, [reference] if reference is not None else [])
    found = check(workspace, those, house.settings().get(MUTABLE))
    good = all(one.standing.good for one in found)
    rows: list[Json] = [one.to_json() for one in found]
    return answered({"intact": good, "verified": rows}, failed=not good)


def _status(house: House, _: Mapping[str, Any], __: Client) -> Answer:
    return answered({"not_archived": [printable(path.posix) for path in house.loose()]})


TOOLS = (Tool(ARCHIVE, _keep), Tool(LIST, _list), Tool(VERIFY, _verify), Tool(STATUS, _status))
