"""Handoff room: what can be set."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Final

from muniment.message import say
from muniment.settings import Setting, text

DEFAULT_AREA: Final = "agents/{recipient}"
"""Where a recipient's own files lie, when no setting says otherwise."""


def commands(value: object) -> Mapping[str, Sequence[str]]:
    """A table of names and command lines, each a text or a list of words."""
    if not isinstance(value, Mapping):
        raise ValueError(say("a table of commands was expected, found {value}", value=repr(value)))
    found: dict[str, tuple[str, ...]] = {}
    for name, line in value.items():
        words = shlex.split(line) if isinstance(line, str) else line
        if not isinstance(words, list) or not words or not all(isinstance(word, str) for word in words):
            raise ValueError(say("the command {name} is no list of words", name=name))
        found[name] = tuple(words)
    return found


AREA: Setting[str] = Setting(
    "handoff.area",
    DEFAULT_AREA,
    text,
    "The folder of a recipient's own files; {recipient} stands for its name.",
)
NONCES: Setting[str] = Setting(
    "handoff.nonces", "", text, "Where nonces are kept; empty means the user's own data folder."
)
COMMANDS: Setting[Mapping[str, Sequence[str]]] = Setting(
    "handoff.commands",
    {},
    commands,
    "Commands that a contract may name to verify work, by name.",
    personal=True,
)
JOURNAL: Setting[str] = Setting(
    "handoff.journal", "team/journal", text, "The folder of the team's journal, below the workspace."
)
BOARD: Setting[str] = Setting(
    "handoff.board", "team/BOARD.md", text, "The central board, a Markdown or JSON file below the workspace."
)
AGENTS: Setting[Mapping[str, Sequence[str]]] = Setting(
    "handoff.agents",
    {},
    commands,
    "Agents that tools may dispatch to, by name: a command line, or the address of an A2A agent.",
    personal=True,
)
SETTINGS = (AREA, NONCES, COMMANDS, JOURNAL, BOARD, AGENTS)
