"""Floor 2, `hosts`: a JSON file of somebody else, changed in one place and left as it is everywhere else.

A text is read into a tree that knows where everything stands; an entry is put in, or taken out, by cutting
the text there.  Comments, order, indentation and line ends of the rest are never written anew.  Strict JSON
is read by the standard library, anything else as JSON5, which takes comments and trailing commas too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any

from muniment.canonical import Json
from muniment.hosts.errors import ConfigurationBroken, ConfigurationShape
from muniment.message import Message, say

DEPTH = 8
"""How deep a tree knows its places; below that a value is one piece."""

LOOSE_MAX = 1 << 20
"""Signs of a file that is not strict JSON; its reader takes seconds for more."""

_INDEX = re.compile(r"at index (\d+)$")
_SPACE = re.compile(r"[ \t\n\r]*")
_COMMENT = re.compile(r"\s+|//[^\n]*|/\*.*?\*/", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Node:
    """A value with its place: `text[start:end]`.

    `members` of an object have the key, where the key begins, and the value; `items` are an array's.
    """

    start: int
    end: int
    value: Any
    members: tuple[tuple[str, int, Node], ...] | None = None
    items: tuple[Node, ...] | None = None

    def starts(self) -> list[int]:
        """Where each member or item begins."""
        if self.members is not None:
            return [start for _, start, _ in self.members]
        return [item.start for item in self.items or ()]

    def ends(self) -> list[int]:
        """Where each member or item ends."""
        if self.members is not None:
            return [node.end for _, _, node in self.members]
        return [item.end for item in self.items or ()]


def parse(text: str) -> Node:
    """The tree of a text; `ConfigurationBroken` with line and column when it is no JSON of any kind.

    >>> parse('{"a": [1]}').value
    {'a': [1]}
    >>> parse("{a: 1, // one\\n}").value
    {'a': 1}
    """
    try:
        json.loads(text)
    except RecursionError as error:
        raise ConfigurationBroken(why=say("it is nested too deeply")) from error
    except ValueError as error:
        return _loose(text, error)
    return _strict(text, _skip(text, 0), DEPTH)


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    assert found is not None
    return found.end()


_DECODER = json.JSONDecoder()


def _strict(text: str, at: int, depth: int) -> Node:
    """The tree of a value in a text that is known to be strict JSON."""
    sign = text[at]
    if depth == 0 or sign not in "{[":
        value, end = _DECODER.raw_decode(text, at)
        return Node(at, end, value)
    start, members, items = at, [], []
    at = _skip(text, at + 1)
    while text[at] not in "}]":
        key, begun = "", at
        if sign == "{":
            key, at = scanstring(text, at + 1)
            at = _skip(text, _skip(text, at) + 1)
        node = _strict(text, at, depth - 1)
        members.append((key, begun, node))
        items.append(node)
        at = _skip(text, node.end)
        if text[at] == ",":
            at = _skip(text, at + 1)
    if sign == "{":
        return Node(start, at + 1, {key: node.value for key, _, node in members}, members=tuple(members))
    return Node(start, at + 1, [node.value for node in items], items=tuple(items))


def _loose(text: str, strictly: ValueError) -> Node:
    """The tree of a JSON5 text."""
    from json5.loader import ModelLoader, loads
    from json5.utils import JSON5DecodeError

    if len(text) > LOOSE_MAX:
        raise _broken(text, strictly) from strictly
    try:
        model: Any = loads(text, loader=ModelLoader()).value
        return _placed(text, model, DEPTH)
    except RecursionError as error:
        raise ConfigurationBroken(why=say("it is nested too deeply")) from error
    except JSON5DecodeError as error:
        raise _broken(text, error) from error


def _placed(text: str, model: Any, depth: int) -> Node:
    from json5.loader import loads
    from json5.model import JSONArray, JSONObject

    start, end = model._tok.index, model._end_tok.end
    if depth and isinstance(model, JSONObject):
        members = []
        keys: Any = model.keys
        for key, value in zip(keys, model.values, strict=True):
            spelled = text[key._tok.index : key._end_tok.end]
            (name,) = loads("{" + spelled + ": 0}")
            members.append((str(name), key._tok.index, _placed(text, value, depth - 1)))
        return Node(start, end, {key: node.value for key, _, node in members}, members=tuple(members))
    if depth and isinstance(model, JSONArray):
        items = tuple(_placed(text, value, depth - 1) for value in model.values)
        return Node(start, end, [item.value for item in items], items=items)
    return Node(start, end, loads(text[start:end]))


def _broken(text: str, error: Exception) -> ConfigurationBroken:
    """Where and why a text could not be read; the place in it stands in `where` as `line:column`."""
    token, index = getattr(error, "token", None), _INDEX.search(str(error))
    if token is not None:
        at = token.index
    elif index is not None:
        at = int(index[1])
    else:
        at = getattr(error, "pos", len(text))
    return ConfigurationBroken(where=place(text, at), why=_finding(text, at))


def _finding(text: str, at: int) -> Message:
    rest = text[at : at + 12].split("\n")[0].strip()
    return say("{sign} can not stand here", sign=repr(rest)) if rest else say("it ends too early")


def place(text: str, at: int) -> str:
    """A position as people count: line and column, both from 1.

    >>> place("a\\nbc", 3)
    '2:2'
    """
    before = text[:at]
    return f"{before.count(chr(10)) + 1}:{at - before.rfind(chr(10))}"


def find(text: str, tree: Node, path: Sequence[str]) -> Node | None:
    """What stands at a path of keys; `ConfigurationShape` when something else than objects leads there,
    or a key of it stands twice."""
    node = tree
    for depth, key in enumerate(path):
        found = [each for name, _, each in members_of(text, node, path[:depth]) if name == key]
        if len(found) > 1:
            why = say("the key {key} stands there more than once", key=key)
            raise ConfigurationShape(where=place(text, found[1].start), why=why)
        if not found:
            return None
        node = found[0]
    return node


def members_of(text: str, node: Node, path: Sequence[str]) -> tuple[tuple[str, int, Node], ...]:
    """The members of what has to be an object."""
    if node.members is None:
        name = ".".join(path) or say("the file")
        raise ConfigurationShape(where=place(text, node.start), why=say("{name} is no object", name=name))
    return node.members


def items_of(text: str, node: Node, path: Sequence[str]) -> tuple[Node, ...]:
    """The items of what has to be an array."""
    if node.items is None:
        why = say("{name} is no array", name=".".join(path))
        raise ConfigurationShape(where=place(text, node.start), why=why)
    return node.items


def put(text: str, path: Sequence[str], value: Json, *, listed: bool) -> str:
    """The text with a value at a path, or `listed` at the end of the array there.

    What leads there and is missing is made.  A member that stands there already gives way.

    >>> put('{"a": 1}', ["b"], 2, listed=False)
    '{"a": 1, "b": 2}'
    >>> print(put('{\\n  "a": 1 // one\\n}\\n', ["b", "c"], [], listed=False))
    {
      "a": 1, // one
      "b": {
        "c": []
      }
    }
    <BLANKLINE>
    """
    if not text.strip():
        text = "{}" + text if text else "{}\n"
    tree = parse(text)
    depth = len(path)
    while (node := find(text, tree, path[:depth])) is None:
        depth -= 1
    rest: Json = [value] if listed and depth < len(path) else value
    for key in reversed(path[depth + 1 :]):
        rest = {key: rest}
    if depth < len(path):
        members_of(text, node, path[:depth])
        return _append(text, tree, node, path[depth], rest)
    if listed:
        items_of(text, node, path)
        return _append(text, tree, node, None, rest)
    shown = _shown(text, tree, rest, _line_indent(text, node.start))
    return text[: node.start] + shown + text[node.end :]


def _append(text: str, tree: Node, node: Node, key: str | None, value: Json) -> str:
    """The text with one more member, or item, at the end of an object, or array."""
    close = node.end - 1
    outer = _line_indent(text, node.start)
    newline = "\r\n" if "\r\n" in text else "\n"
    starts, ends = node.starts(), node.ends()
    last = ends[-1] if ends else node.start + 1
    comma = _comma(text, last, close) if ends else None
    tail = len(text[:close].rstrip())
    commented = "/" in text[last:close]
    if starts:
        before_first = text[node.start + 1 : starts[0]]
        own_lines = "\n" in before_first or (commented and "//" in text[last:close])
        indent = _line_indent(text, starts[0]) if "\n" in before_first else outer + _unit(text, tree)
    else:
        own_lines = commented or not _on_one_line(text, tree)
        indent = outer + _unit(text, tree)
    shown = _shown(text, tree, value, indent, inline=not own_lines)
    if key is not None:
        shown = f"{json.dumps(key, ensure_ascii=False)}: {shown}"
    if own_lines:
        at = max(tail, last if comma is None else comma + 1)
        inserted = f"{newline}{indent}{shown}" + ("," if comma is not None else "")
        ending = f"{newline}{outer}" if "\n" not in text[at:close] else ""
        new = text[:at] + inserted + ending + text[at:]
        if ends and comma is None:
            new = new[:last] + "," + new[last:]
        return new
    if not ends:
        return text[: node.start + 1] + shown + text[close:]
    if comma is not None:
        return f"{text[: comma + 1]} {shown},{text[comma + 1 :]}"
    return f"{text[:last]}, {shown}{text[last:]}"


def remove(text: str, path: Sequence[str], index: int | None = None) -> str:
    """The text without the member at a path, or without one item of the array there.

    >>> remove('{"a": 1, "b": 2}', ["a"])
    '{"b": 2}'
    >>> remove('{"a": [1, 2]}', ["a"], 1)
    '{"a": [1]}'
    """
    tree = parse(text)
    inside = path if index is not None else path[:-1]
    node = find(text, tree, inside)
    assert node is not None
    if index is None:
        names = [name for name, _, _ in members_of(text, node, inside)]
        index = names.index(path[-1])
    starts, ends = node.starts(), node.ends()
    start, end, close = starts[index], ends[index], node.end - 1
    after = _comma(text, end, starts[index + 1] if index + 1 < len(starts) else close)
    if after is not None and not text[end:after].strip():
        end = after + 1
    elif after is not None:
        text = text[:after] + text[after + 1 :]
        close -= 1
    floor = ends[index - 1] if index else node.start + 1
    lead = floor + len(text[floor:start].rstrip())
    if len(starts) == 1 and not text[lead:start].strip() and not text[end:close].strip():
        end = close
        lead = node.start + 1 if lead == floor else lead
        if text[node.start + 1 : lead].strip():  # a comment stays, and what closes keeps its line
            end = start + len(text[start:close].rstrip())
    if index == len(starts) - 1 and index and after is None:
        comma = _comma(text, floor, start)
        assert comma is not None
        return text[:comma] + text[comma + 1 : max(lead, comma + 1)] + text[end:]
    if index == 0 and "\n" not in text[lead:start]:  # the next one takes its place on the line
        return text[:start] + text[_skip(text, end) if len(starts) > 1 else end :]
    return text[:lead] + text[end:]


def _comma(text: str, at: int, until: int) -> int | None:
    """Where the comma between two values stands; comments are passed over."""
    while at < until:
        if text[at] == ",":
            return at
        found = _COMMENT.match(text, at, until)
        if found is None:
            return None
        at = found.end()
    return None


def _line_indent(text: str, at: int) -> str:
    """The white space at the begin of the line of a position."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str, tree: Node) -> str:
    """What the file indents by."""
    starts = tree.starts()
    if starts and "\n" in text[tree.start : starts[0]]:
        return _line_indent(text, starts[0]) or "  "
    return "  "


def _on_one_line(text: str, tree: Node) -> bool:
    """Whether the file is written without lines, so that ours is too."""
    return bool(tree.starts()) and "\n" not in text[tree.start : tree.end]


def _shown(text: str, tree: Node, value: Json, indent: str, *, inline: bool | None = None) -> str:
    if inline or (inline is None and _on_one_line(text, tree)):
        return json.dumps(value, ensure_ascii=False)
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = json.dumps(value, ensure_ascii=False, indent=_unit(text, tree)).split("\n")
    return f"{newline}{indent}".join(lines)
