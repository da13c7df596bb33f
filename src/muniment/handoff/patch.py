"""Handoff room: how a proposal changes a board, and which part of it that touches.  Pure (spec 3, adapters).

JSON boards take `add`, `replace` and `remove` of RFC 6902; Markdown boards take text at the end of the
section under one heading.  A proposal names the SHA-256 of the part it touches as it was seen; whatever
changes elsewhere does not matter to it.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from muniment.canonical import Json, NotJson, canonical, read_json
from muniment.handoff.board import bounds, section, stands
from muniment.handoff.headings import bare, headings
from muniment.handoff.verification import pointer_tokens, step
from muniment.message import Message, say

MARKDOWN = (".md", ".markdown")
NEW_LEVEL = 2
"""The level of a section that a proposal begins."""


class NotApplicable(ValueError):
    """A proposal that can not be applied to this board, and why."""

    def __init__(self, why: Message) -> None:
        self.why = why
        super().__init__(why)


def form_of(path: str) -> str:
    """Which form the board of a path has.

    >>> form_of("team/BOARD.md"), form_of("team/board.json")
    ('markdown', 'json')
    """
    return "markdown" if path.lower().endswith(MARKDOWN) else "json"


def base_of(board: bytes, proposal: Mapping[str, Any]) -> str:
    """The SHA-256, in hex, of the part of a board that a proposal touches.

    Of Markdown, the section's own bytes.  Of JSON, the canonical value at each operation's place (of a
    list, the whole list), or that nothing stands there.
    """
    if proposal["form"] == "markdown":
        return sha256(section(board, proposal["heading"]) or b"").hexdigest()
    value, state = _value(board), sha256()
    path, data = None, b""
    # The canonical list of all parts, one at a time: two hundred places may be in one great list.
    for number, operation in enumerate(proposal["patch"]):
        part = _part(value, operation["path"])
        if part["path"] != path:
            path, data = part["path"], canonical(part)
        state.update(b"," if number else b"[")
        state.update(data)
    state.update(b"]")
    return state.hexdigest()


def part_of(board: bytes, form: str, place: str) -> Json:
    """What stands under a heading, or at a JSON pointer; none when nothing does."""
    if form == "markdown":
        found = section(board, place)
        return found.decode("utf-8", "replace") if found is not None else None
    return _part(_value(board), place).get("value")


def _value(board: bytes) -> Any:
    try:
        return read_json(board) if board.strip() else {}
    except NotJson as error:
        raise NotApplicable(say("the board is not strict JSON: {finding}", finding=error)) from error


def _part(value: Any, path: str) -> dict[str, Json]:
    tokens = pointer_tokens(path)
    here, done = value, 0
    for token in tokens:
        if isinstance(here, list):
            break  # places in a list move, so the whole list counts
        try:
            here = step(here, token)
        except LookupError:
            return {"path": path}
        done += 1
    return {"path": "/".join(["", *path.split("/")[1 : done + 1]]), "value": here}


def applied(board: bytes, proposal: Mapping[str, Any]) -> bytes:
    """The bytes of a board with a proposal applied; `NotApplicable` says why it can not be.

    >>> patch = [{"op": "add", "path": "/a", "value": 1}]
    >>> applied(b"{}", {"form": "json", "patch": patch})
    b'{\\n  "a": 1\\n}\\n'
    """
    if proposal["form"] == "markdown":
        after = _with_text(board, bare(proposal["heading"]), proposal["text"].strip())
    else:
        value = _value(board)
        for operation in proposal["patch"]:
            value = operated(value, operation)
        after = (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()
    if not stands(after, proposal):
        raise NotApplicable(say("it would not stand in the board as it says"))
    return after


def _with_text(board: bytes, heading: str, text: str) -> bytes:
    if not heading or len(heading.splitlines()) != 1:
        raise NotApplicable(say("its heading is not one line"))
    found = bounds(board, heading)
    level = found[2] if found is not None else NEW_LEVEL
    data = text.encode()
    if any(each.level <= level for each in headings(data)):
        raise NotApplicable(say("its text holds a heading that would end the section"))
    probe = data + b"\n\n# muniment\n"
    if not any(each.words == "muniment" and each.start > len(data) for each in headings(probe)):
        raise NotApplicable(say("its text opens a fence and does not close it"))
    if found is None:
        lead = board.rstrip() + b"\n\n" if board.strip() else b""
        return lead + b"#" * level + b" " + heading.encode() + b"\n\n" + data + b"\n"
    end = found[1]
    before = board[:end].rstrip()
    rest = board[end:]
    return before + b"\n\n" + data + (b"\n\n" + rest if rest else b"\n")


def operated(value: Any, operation: Mapping[str, Any]) -> Any:
    """A value after one operation of RFC 6902, which changes the value given."""
    tokens = pointer_tokens(operation["path"])
    op = operation["op"]
    if not tokens:
        if op == "remove":
            raise NotApplicable(say("the whole board can not be removed"))
        return copy.deepcopy(operation["value"])
    holder = value
    try:
        for token in tokens[:-1]:
            holder = step(holder, token)
        if op != "add":
            step(holder, tokens[-1])
    except LookupError as error:
        raise NotApplicable(say("nothing stands at {pointer}", pointer=operation["path"])) from error
    last = tokens[-1]
    if isinstance(holder, dict):
        if op == "remove":
            del holder[last]
        else:
            holder[last] = copy.deepcopy(operation["value"])
    elif isinstance(holder, list):
        _in_list(holder, last, operation)
    else:
        raise NotApplicable(say("nothing can stand at {pointer}", pointer=operation["path"]))
    return value


def _in_list(holder: list[Any], last: str, operation: Mapping[str, Any]) -> None:
    at = len(holder) if last == "-" else int(last) if re.fullmatch("0|[1-9][0-9]{0,8}", last) else -1
    if not 0 <= at <= len(holder):
        raise NotApplicable(say("nothing can stand at {pointer}", pointer=operation["path"]))
    if operation["op"] == "add":
        holder.insert(at, copy.deepcopy(operation["value"]))
    elif operation["op"] == "remove":
        del holder[at]
    else:
        holder[at] = copy.deepcopy(operation["value"])
