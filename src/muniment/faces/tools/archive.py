"""Faces, tools: the four tools of the archive: one call of the room each, and its answer.

Texts are the card dialect, never translated; what a program reads stands beside them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from muniment.archive.card import blocked_card, card_text, fenced
from muniment.archive.check import check, entries, find_entry
from muniment.archive.model import Entry, Receipt, Request, Track
from muniment.archive.settings import MUTABLE
from muniment.canonical import Json
from muniment.disk.tree import Progress
from muniment.errors import MunimentError
from muniment.faces.house import House
from muniment.faces.tools.arguments import read_arguments, source_path
from muniment.faces.tools.shapes import ARCHIVE, LIST, STATUS, VERIFY, Shape
from muniment.path import printable

LISTED = 1000
"""Entries that one answer lists; `total` says how many there are."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What goes back to the client: the text, the object for programs, and whether it is an error."""

    text: str
    structured: dict[str, Json] | None
    failed: bool = False


Act = Callable[[House, Mapping[str, str], Progress], Answer]


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool: its shape, and what it does."""

    shape: Shape
    act: Act

    def answer(self, house: House, arguments: Mapping[str, object], progress: Progress) -> Answer:
        """Do it, or give the refusal in the exact words of the card dialect."""
        try:
            return self.act(house, read_arguments(self.shape, arguments), progress)
        except MunimentError as error:
            return refusal(error)


def refusal(error: MunimentError) -> Answer:
    """A refusal as every tool gives it: `Archive blocked: <reason> (code: <CODE>)`."""
    return Answer(blocked_card(error), None, failed=True)


def _keep(house: House, arguments: Mapping[str, str], progress: Progress) -> Answer:
    request = Request(
        source_path(house.root, arguments["sourcePath"]),
        Track(arguments["kind"]),
        arguments.get("displayName"),
    )
    # What cards will show is settled before anything moves.
    card_root = house.card_root()
    receipts = house.archive({}).keep([request], card_root=card_root, progress=progress)
    cards = [receipt.card for receipt in receipts]
    structured: dict[str, Json] = {
        "cards": [card.to_json() for card in cards],
        "evidence": [_evidence(receipt) for receipt in receipts],
    }
    return Answer(card_text(cards), structured)


def _evidence(receipt: Receipt) -> dict[str, Json]:
    """The receipt without its card, which stands beside it."""
    return {name: value for name, value in receipt.to_json().items() if name != "card"}


def _list(house: House, arguments: Mapping[str, str], _: Progress) -> Answer:
    wanted = arguments.get("archiveId")
    found = [one for one in entries(house.workspace) if wanted in (None, one.archive_id)]
    shown: list[Json] = [_entry(one) for one in reversed(found[-LISTED:])]
    return _object({"total": len(found), "archived": shown})


def _entry(one: Entry) -> dict[str, Json]:
    return {
        "reference": one.reference,
        "from": one.origin.posix,
        "path": one.path.posix,
        "archive_id": one.archive_id,
        "name": one.name,
        "track": one.track.value,
        "kind": one.kind.value,
        "sha256": one.tree.hex,
        "files": one.count,
        "bytes": one.size,
        "at": one.at,
        "undone": one.undone,
        "sealed": one.sealed,
    }


def _verify(house: House, arguments: Mapping[str, str], _: Progress) -> Answer:
    workspace, reference = house.workspace, arguments.get("reference")
    if reference is not None:
        chosen = [find_entry(workspace, reference)]
    else:
        chosen = [one for one in entries(workspace) if not one.undone]
    found = check(workspace, chosen, house.settings().get(MUTABLE))
    good = all(one.standing.good for one in found)
    rows: list[Json] = [{**one.to_json(), "differs": printable(one.differs)} for one in found]
    return _object({"intact": good, "verified": rows}, failed=not good)


def _status(house: House, _: Mapping[str, str], __: Progress) -> Answer:
    return _object({"not_archived": [printable(path.posix) for path in house.loose()]})


def _object(structured: dict[str, Json], *, failed: bool = False) -> Answer:
    return Answer(fenced(structured), structured, failed)


TOOLS = {
    tool.shape.name: tool
    for tool in (Tool(ARCHIVE, _keep), Tool(LIST, _list), Tool(VERIFY, _verify), Tool(STATUS, _status))
}
"""Every tool by its name."""
