"""Handoff room: what a board proposal adds, and whether it stands in the board.  Pure (spec 3).

How a proposal changes a board is in `patch`; the acts are in `central_board`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from muniment.canonical import NotJson, canonical_digest, read_json
from muniment.handoff.headings import bare, headings
from muniment.handoff.verification import equal, pointer_tokens, step


def proposal_digest(proposal: Mapping[str, Any]) -> str:
    """The SHA-256 of a proposal's canonical bytes, in hex: how it is named."""
    return canonical_digest(proposal).hex


def proposed_text(proposal: Mapping[str, Any]) -> bytes:
    """All text that a proposal would add, one piece a line.

    >>> proposed_text({"form": "json", "patch": [{"op": "add", "path": "/a", "value": {"b": "c"}}]})
    b'c'
    """
    if proposal["form"] == "markdown":
        return str(proposal["text"]).encode()
    pieces: list[str] = []
    for operation in proposal["patch"]:
        pieces += texts_of(operation.get("value"))
    return "\n".join(pieces).encode()


def texts_of(value: object) -> Iterator[str]:
    """Every text in a JSON value, in order, keys left out."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from texts_of(item)
    elif isinstance(value, list):
        for item in value:
            yield from texts_of(item)


def stands(board: bytes, proposal: Mapping[str, Any]) -> bool:
    """Whether everything that a proposal adds or replaces is in the board as it was re-opened.

    >>> stands(b"# A\\nold\\nnew\\n# B\\n", {"form": "markdown", "heading": "A", "text": "new"})
    True
    """
    if proposal["form"] == "markdown":
        part = section(board, proposal["heading"])
        return part is not None and str(proposal["text"]).strip().encode() in part
    try:
        value = read_json(board)
    except NotJson:
        return False
    return all(_operation_stands(value, operation) for operation in proposal["patch"])


def _operation_stands(board: Any, operation: Mapping[str, Any]) -> bool:
    tokens = pointer_tokens(operation["path"])
    if operation["op"] == "remove":
        return True  # something else may rightly stand there by now
    try:
        if operation["op"] == "add" and tokens:
            holder = board
            for token in tokens[:-1]:
                holder = step(holder, token)
            if isinstance(holder, list):  # later additions move what was added
                return any(equal(item, operation["value"]) for item in holder)
        value = board
        for token in tokens:
            value = step(value, token)
    except LookupError:
        return False
    return equal(value, operation["value"])


def bounds(board: bytes, heading: str) -> tuple[int, int, int] | None:
    """Where the section under the first heading of these words begins and ends, and its level."""
    wanted, found = bare(heading), None
    for each in headings(board):
        if found is not None and each.level <= found.level:
            return found.end, each.start, found.level
        if found is None and each.words == wanted:
            found = each
    return (found.end, len(board), found.level) if found is not None else None


def section(board: bytes, heading: str) -> bytes | None:
    """The bytes under one Markdown heading, up to the next heading of its level or a higher one."""
    found = bounds(board, heading)
    return board[found[0] : found[1]] if found is not None else None
