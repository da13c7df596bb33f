"""Floor 2, `hosts`: a TOML file of somebody else, given a table of ours and left as it is elsewhere.

Where a table can not stand at the end, because the ones above it are written inline, tomlkit puts it there.
Every change is read again with the standard library's reader, and refused when it says anything else than
was meant.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from muniment.canonical import Json
from muniment.hosts.errors import ConfigurationBroken, ConfigurationShape
from muniment.message import say

_PLACE = re.compile(r"\s*\(at (?:line (\d+), column (\d+)|end of document)\)$")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_HEADS_MAX = 16
_BARE = re.compile(r"[A-Za-z0-9_-]+")


def parse(text: str) -> dict[str, Any]:
    """What a text says; `ConfigurationBroken` with line and column when it is no TOML.

    >>> parse("a = 1")
    {'a': 1}
    """
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise ConfigurationBroken(why=say("it is nested too deeply")) from error
    except tomllib.TOMLDecodeError as error:
        found = _PLACE.search(str(error))
        if found is not None and found[1]:
            where = f"{found[1]}:{found[2]}"
        else:
            where = f"{text.count(chr(10)) + 1}:{len(text) - text.rfind(chr(10))}"
        finding = _PLACE.sub("", str(error))
        raise ConfigurationBroken(where=where, why=say("{finding}", finding=finding)) from error


def find(said: Mapping[str, Any], path: Sequence[str]) -> Any:
    """What stands at a path of keys, or None; `ConfigurationShape` when no table leads there."""
    node: Any = said
    for depth, key in enumerate(path):
        if not isinstance(node, Mapping):
            why = say("{name} is no table", name=".".join(path[:depth]))
            raise ConfigurationShape(why=why)
        if key not in node:
            return None
        node = node[key]
    return node


def put(text: str, path: Sequence[str], value: Mapping[str, Json]) -> str:
    """The text with a table at a path where nothing stands.

    >>> print(put("a = 1", ["servers", "x"], {"command": "m"}), end="")
    a = 1
    <BLANKLINE>
    [servers.x]
    command = "m"
    """
    wanted = parse(text)
    find(wanted, path)
    inner = wanted
    for key in path[:-1]:
        inner = inner.setdefault(key, {})
    inner[path[-1]] = dict(value)
    for make in (_at_the_end, _inside):
        try:
            made = make(text, path, value)
            if tomllib.loads(made) == wanted:
                return made
        except (tomllib.TOMLDecodeError, TOMLKitError, TypeError, AttributeError):
            continue
    raise ConfigurationShape(why=say("{name} can not be put in", name=".".join(path)))


def _at_the_end(text: str, path: Sequence[str], value: Mapping[str, Json]) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = block(path, value)
    between = "" if not text.strip() else newline
    if text and not text.endswith("\n"):
        between = newline + between
    return text + between + "".join(line + newline for line in lines)


def block(path: Sequence[str], value: Mapping[str, Json]) -> list[str]:
    """The lines of a table."""
    lines = ["[" + ".".join(_key(key) for key in path) + "]"]
    return lines + [f"{_key(key)} = {tomlkit.item(each).as_string()}" for key, each in value.items()]


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else tomlkit.item(key).as_string()


def _inside(text: str, path: Sequence[str], value: Mapping[str, Json]) -> str:
    document: Any = tomlkit.parse(text)
    node = document
    for key in path[:-1]:
        node = node[key]
    table = tomlkit.inline_table()
    table.update(dict(value))
    node[path[-1]] = table
    return tomlkit.dumps(document)


def remove(text: str, path: Sequence[str]) -> str:
    """The text without the table at a path; comments and blank lines in it stay.

    >>> remove("a = 1\\n\\n[servers.x]\\ncommand = 'm'\\n# mine\\n[b]\\n", ["servers", "x"])
    'a = 1\\n# mine\\n[b]\\n'
    """
    wanted = parse(text)
    del find(wanted, path[:-1])[path[-1]]
    for made in _ways(text, path):
        try:
            if _pruned(tomllib.loads(made), path) == _pruned(wanted, path):
                return made
        except tomllib.TOMLDecodeError:
            continue
    raise ConfigurationShape(why=say("{name} can not be taken out", name=".".join(path)))


def _ways(text: str, path: Sequence[str]) -> Iterator[str]:
    """Texts that may be without the table; which one is, reading it tells.

    A line that looks like its head may stand in a text of many lines; so less and less of them count.
    """
    lines: list[str] = _LINE.findall(text)
    own = re.compile(r"\s*\[\s*" + r"\s*\.\s*".join(_spelled(key) for key in path) + r"\s*[\].]")
    heads = [number for number, line in enumerate(lines) if own.match(line)]
    for skipped in range(min(len(heads), _HEADS_MAX)):
        yield _lines_without(lines, frozenset(heads[skipped:]))
    try:
        yield _taken_out(text, path)
    except (TOMLKitError, KeyError, TypeError):
        return


def _pruned(said: dict[str, Any], path: Sequence[str]) -> dict[str, Any]:
    """What a text says, less tables on the way to a path that only their name keeps there."""
    for depth in range(len(path) - 1, 0, -1):
        inner = find(said, path[:depth])
        if inner == {}:
            del find(said, path[: depth - 1])[path[depth - 1]]
    return said


def _lines_without(lines: Sequence[str], heads: frozenset[int]) -> str:
    """Without the lines of the tables that begin at `heads`, as long as each value has one line."""
    kept: list[str] = []
    inside = False
    for number, line in enumerate(lines):
        if number in heads:
            inside = True
            if kept and not kept[-1].strip():  # the empty line that was put before it
                kept.pop()
            continue
        if line.lstrip().startswith("["):
            inside = False
        if not inside or not line.strip() or line.lstrip().startswith("#"):
            kept.append(line)
    return "".join(kept)


def _spelled(key: str) -> str:
    return f"(?:{re.escape(key)}|\"{re.escape(key)}\"|'{re.escape(key)}')"


def _taken_out(text: str, path: Sequence[str]) -> str:
    document: Any = tomlkit.parse(text)
    node = document
    for key in path[:-1]:
        node = node[key]
    del node[path[-1]]
    return tomlkit.dumps(document)
