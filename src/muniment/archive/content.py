"""Floor 3, `archive`: key fields: whether the bytes of a deliverable are what its name promises, and
whether they hold what was required (spec 1, read-back)."""

from __future__ import annotations

import fnmatch
import io
import json
import re
import tomllib
from collections.abc import Mapping

from muniment.canonical import NotJson, read_json
from muniment.message import Message, say

PARSED_LIMIT = 64 << 20
"""Bytes of a file that is still parsed; a larger one is taken as it is, and that is said."""

YAML_DEPTH = 200
"""Levels of a YAML file at the most."""

_PARSED = (".json", ".toml", ".yaml", ".yml")
_MARKDOWN = (".md", ".markdown")


def wants_reading(name: str, requirements: Mapping[str, tuple[str, ...]]) -> bool:
    """Whether the bytes of a file must be looked into.

    >>> wants_reading("a.json", {}), wants_reading("a.png", {})
    (True, False)
    """
    return name.lower().endswith((*_PARSED, *_MARKDOWN)) or bool(required_of(name, requirements))


def required_of(name: str, requirements: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """What the requirements demand of a file of this name.

    >>> required_of("report-1.md", {"report*.md": ("# Summary",)})
    ('# Summary',)
    """
    found: list[str] = []
    for pattern, demands in requirements.items():
        if fnmatch.fnmatchcase(name, pattern):
            found.extend(demands)
    return tuple(found)


def look_into(name: str, data: bytes) -> Message | None:
    """Why a file is not what its name promises; None when it is, or promises nothing.

    >>> look_into("a.json", b"{}") is None
    True
    >>> str(look_into("a.md", b" \\n"))
    'there is nothing but white space in it'
    """
    lowered = name.lower()
    if lowered.endswith(".json"):
        try:
            read_json(data)
        except NotJson as error:
            return say("it is no JSON: {finding}", finding=error)
    elif lowered.endswith(".toml"):
        try:
            tomllib.loads(data.decode("utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
            return say("it is no TOML: {finding}", finding=error)
    elif lowered.endswith((".yaml", ".yml")):
        return _look_into_yaml(data)
    elif lowered.endswith(_MARKDOWN) and not data.decode("utf-8", "replace").strip():
        return say("there is nothing but white space in it")
    return None


def _look_into_yaml(data: bytes) -> Message | None:
    """Events only, so that no alias is ever expanded; and none beyond a depth that no honest file
    has, because the reader looks at every open bracket again for each sign."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError
    from ruamel.yaml.events import CollectionEndEvent, CollectionStartEvent

    depth = 0
    try:
        for event in YAML(typ="safe", pure=True).parse(io.BytesIO(data)):
            depth += isinstance(event, CollectionStartEvent) - isinstance(event, CollectionEndEvent)
            if depth > YAML_DEPTH:
                return say("it is nested more than {limit} levels deep", limit=YAML_DEPTH)
    except (YAMLError, ValueError, RecursionError) as error:
        return say("it is no YAML: {finding}", finding=" ".join(str(error).split()))
    return None


def missing_demand(data: bytes, demand: str) -> Message | None:
    """Why a demand is not met: a heading (`# …`) must stand on a line of its own, a JSON pointer
    (`/…`) must lead to something that is not null.

    >>> missing_demand(b"# Summary\\n", "# Summary") is None
    True
    >>> str(missing_demand(b'{"a": 1}', "/status"))
    'it has nothing at /status'
    """
    if demand.startswith("#"):
        text = data.decode("utf-8", "replace")
        wanted = " ".join(demand.split())
        if any(" ".join(line.split()) == wanted for line in _outside_fences(text)):
            return None
        return say("it has no heading {heading}", heading=demand)
    try:
        value = read_json(data)
    except NotJson as error:
        return say("it is no JSON: {finding}", finding=error)
    return None if _points_at(value, demand) else say("it has nothing at {pointer}", pointer=demand)


def _outside_fences(text: str) -> list[str]:
    lines, fence = [], ""
    for line in text.splitlines():
        mark = re.match(r" {0,3}(`{3,}|~{3,})", line)
        if mark and not fence:
            fence = mark.group(1)
        elif mark and line.strip().startswith(fence) and not line.strip().strip(fence[0]):
            fence = ""
        elif not fence:
            lines.append(line)
    return lines


def _points_at(value: object, pointer: str) -> bool:
    at = value
    for token in pointer.split("/")[1:]:
        key = token.replace("~1", "/").replace("~0", "~")
        if isinstance(at, Mapping) and key in at:
            at = at[key]
        elif isinstance(at, list) and re.fullmatch(r"0|[1-9]\d*", key) and int(key) < len(at):
            at = at[int(key)]
        else:
            return False
    return at is not None


def read_requirement(text: str) -> tuple[str, str]:
    """Read `PATTERN=DEMAND` from the command line; a `ValueError` says what is wrong.

    >>> read_requirement("report*.md=# Summary")
    ('report*.md', '# Summary')
    """
    pattern, sign, demand = text.partition("=")
    if not sign or not pattern or not demand.startswith(("#", "/")):
        raise ValueError(
            say("PATTERN=# HEADING or PATTERN=/POINTER was expected, found {value}", value=json.dumps(text))
        )
    return pattern, demand
