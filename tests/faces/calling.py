"""Calls the command line inside the test's own process, with streams that can be looked at."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from tests.faces.commands import TESTED

from muniment.faces.cli.frame import Group
from muniment.faces.cli.main import run
from muniment.faces.house import BuildHouse, Note
from muniment.message import Message
from muniment.settings import Setting, Settings, choice, environment_layer, text, words

DECLARED: tuple[Setting[Any], ...] = (
    Setting("archive.names", "kept", choice("kept", "short"), "How names are kept."),
    Setting("confirm.relayed", ("plan", "create"), words, "What may be confirmed by an agent."),
    Setting("vault.url", "", text, "Where the vault is."),
)


class SettledHouse:
    """A stand-in for the wiring without rooms: settings of the environment, and how it was built."""

    built: list[tuple[str | None, Mapping[str, str], Note]]

    def __init__(self) -> None:
        self.built = []
        self.environment: Mapping[str, str] = {}

    def __call__(self, *, workspace: str | None, environment: Mapping[str, str], note: Note) -> SettledHouse:
        self.built.append((workspace, environment, note))
        self.environment = environment
        note(Message("the house is built"))
        return self

    def close(self) -> None:
        """Nothing is open."""

    def settings(self) -> Settings:
        return Settings(DECLARED, [environment_layer(DECLARED, self.environment)])


class Screen(io.StringIO):
    """A text stream that says whether it is a terminal."""

    def __init__(self, content: str = "", *, terminal: bool = False) -> None:
        super().__init__(content)
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back from one call."""

    code: int
    out: str
    err: str

    @property
    def object(self) -> dict[str, Any]:
        """Standard output, which has to be exactly one JSON object on one line."""
        assert self.out.endswith("\n") and self.out.count("\n") == 1, self.out
        value = json.loads(self.out)
        assert isinstance(value, dict)
        return value


def call(
    *arguments: str,
    root: Group = TESTED,
    environment: Mapping[str, str] | None = None,
    typed: str = "",
    terminal: bool = False,
    house: SettledHouse | None = None,
    host_language: str | None = None,
) -> Answer:
    """One call with its own streams and environment."""
    out, err = Screen(terminal=terminal), Screen(terminal=terminal)
    code = run(
        arguments,
        cast(BuildHouse, house if house is not None else SettledHouse()),
        environment if environment is not None else {},
        Screen(typed, terminal=terminal),
        out,
        err,
        host_language=host_language,
        root=root,
    )
    return Answer(code, out.getvalue(), err.getvalue())
