"""Faces, hooks: the few settings that a hook has to know, read without loading the rest."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

LIMIT = 1 << 20


def setting(name: str, workspace: str, environment: Mapping[str, str]) -> Any:
    """The value of `room.name` as it was written: environment, workspace, user; None when nobody set it.

    What can not be read sets nothing here; every other command says what is wrong with it.
    """
    value = environment.get("MUNIMENT_" + name.upper().replace(".", "_"))
    if value:
        return value
    for table in _tables(name, workspace, environment):
        found: Any = table
        for key in name.split("."):
            found = found.get(key) if isinstance(found, dict) else None
        if found is not None:
            return found
    return None


def _tables(name: str, workspace: str, environment: Mapping[str, str]) -> Iterator[Any]:
    home = environment.get("HOME") or os.path.expanduser("~")
    if sys.platform == "darwin":
        own = os.path.join(home, "Library", "Application Support")
    else:
        own = environment.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    for path in (
        os.path.join(workspace, ".muniment", "config.toml"),
        os.path.join(own, "muniment", "config.toml"),
    ):
        try:
            with open(path, "rb") as stream:
                data = stream.read(LIMIT)
        except OSError:
            continue
        if name.rpartition(".")[2].encode() not in data:
            continue
        import tomllib  # only where there is something to read

        try:
            yield tomllib.loads(data.decode("utf-8"))
        except (ValueError, RecursionError):
            continue


def patterns(value: Any) -> tuple[str, ...]:
    """A list of patterns, as `archive.mutable` is written in TOML or in the environment.

    >>> patterns("a.md, *.txt"), patterns(["b"]), patterns(None)
    (('a.md', '*.txt'), ('b',), ())
    """
    items = value.split(",") if isinstance(value, str) else value
    if not isinstance(items, list):
        return ()
    return tuple(item.strip() for item in items if isinstance(item, str) and item.strip())
