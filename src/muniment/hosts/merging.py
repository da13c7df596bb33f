"""Floor 2, `hosts`: entries of ours in a host's configuration: put in, found again, taken out.  Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from muniment.canonical import Json
from muniment.hosts import json_text, toml_text


class Form(StrEnum):
    """How a file is written; JSON may be JSON5 too."""

    JSON = "json"
    TOML = "toml"


@dataclass(frozen=True, slots=True)
class Entry:
    """A value at a path of keys; `listed`: one item of the array there."""

    path: tuple[str, ...]
    value: Any
    listed: bool = False

    @property
    def name(self) -> str:
        """How people are told of it."""
        return ".".join(self.path)


@dataclass(frozen=True, slots=True)
class Merged:
    """A text with our entries in it.

    `held` are those of ours that stand in it, `made` the paths of the objects and arrays that were
    made for them, `left` those whose name somebody else has taken.
    """

    text: str
    held: tuple[Entry, ...]
    made: tuple[tuple[str, ...], ...]
    left: tuple[Entry, ...]


def merge(
    text: str,
    form: Form,
    wanted: Sequence[Entry],
    former: Sequence[Entry] = (),
    made: Iterable[tuple[str, ...]] = (),
) -> Merged:
    """Put in what is missing, and in place of what `former`ly was ours.

    >>> merge("{}", Form.JSON, [Entry(("servers", "m"), 1)]).made
    (('servers',),)
    """
    stale = [entry for entry in former if entry not in wanted]
    text = take_out(text, form, stale, ()).text
    made = list(made)
    held: list[Entry] = []
    left: list[Entry] = []
    for entry in wanted:
        found = _standing(text, form, entry)
        if found is _MISSING:
            made += [path for path in _above(entry) if path not in made and _look(text, form, path) is None]
            text = _put(text, form, entry)
        elif found != entry.value and entry in former:
            pass  # ours, and changed by its owner: it stays as they like it
        elif found != entry.value:
            left.append(entry)
            continue
        elif entry not in former and not _calls(entry.value):
            continue  # somebody else's, and what it has to be
        held.append(entry)
    return Merged(text, tuple(held), tuple(made), tuple(left))


def take_out(text: str, form: Form, held: Sequence[Entry], made: Sequence[tuple[str, ...]]) -> Merged:
    """Take out what is ours, and the objects and arrays that were made for it and are empty now.

    `left` are entries under our names that are somebody else's by now.
    """
    left: list[Entry] = []
    for entry in held:
        found = _standing(text, form, entry)
        if found is _MISSING:
            continue
        if not is_ours(entry.value, found):
            if not any(is_ours(other.value, found) for other in held if other.path == entry.path):
                left.append(entry)
        elif entry.listed:
            text = json_text.remove(text, entry.path, _index(text, entry))
        elif form is Form.TOML:
            text = toml_text.remove(text, entry.path)
        else:
            text = json_text.remove(text, entry.path)
    if form is Form.JSON:
        for path in sorted(made, key=len, reverse=True):
            if _look(text, form, path) in ({}, []):
                text = json_text.remove(text, path)
    return Merged(text, (), (), tuple(left))


def is_ours(recorded: object, standing: object) -> bool:
    """Whether what stands there is what was put there, changed in details at most: the same program is
    called in it.

    >>> is_ours({"command": "m", "args": ["mcp"]}, {"command": "m", "args": ["mcp"], "env": {}})
    True
    >>> is_ours({"hooks": [{"command": "m x"}]}, {"hooks": [{"command": "m x"}, {"command": "other"}]})
    False
    """
    if recorded == standing:
        return True
    own, found = _calls(recorded), _calls(standing)
    return bool(found) and set(found) <= set(own)


def _calls(value: object) -> list[str]:
    """What is called in an entry: its command with its arguments, or those of its hooks."""
    if not isinstance(value, Mapping):
        return []
    hooks = value.get("hooks")
    if isinstance(hooks, list):
        return [call for hook in hooks for call in (_calls(hook) or [repr(hook)])]
    return [repr((value["command"], value.get("args")))] if "command" in value else []


_MISSING = object()


def _standing(text: str, form: Form, entry: Entry) -> object:
    """What stands at the place of an entry: for a listed one, the item that is ours."""
    found = _look(text, form, entry.path)
    if entry.listed:
        items = found if isinstance(found, list) else []
        return next((item for item in items if is_ours(entry.value, item)), _MISSING)
    return _MISSING if found is None else found


def _index(text: str, entry: Entry) -> int:
    items: list[Json] = _look(text, Form.JSON, entry.path)
    return next(index for index, item in enumerate(items) if is_ours(entry.value, item))


def _look(text: str, form: Form, path: Sequence[str]) -> Any:
    if form is Form.TOML:
        return toml_text.find(toml_text.parse(text), path)
    if not text.strip():
        return None
    node = json_text.find(text, json_text.parse(text), path)
    return None if node is None else node.value


def _put(text: str, form: Form, entry: Entry) -> str:
    if form is Form.TOML:
        return toml_text.put(text, entry.path, entry.value)
    return json_text.put(text, entry.path, entry.value, listed=entry.listed)


def _above(entry: Entry) -> list[tuple[str, ...]]:
    """The paths of what an entry stands in, outermost first."""
    depth = len(entry.path) + 1 if entry.listed else len(entry.path)
    return [entry.path[:length] for length in range(1, depth)]
