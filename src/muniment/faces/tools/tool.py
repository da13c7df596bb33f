"""Faces, tools: a tool is its shape and its act; an act answers, or has a question for the person.

Texts are English, never translated; what a program reads stands beside them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from muniment.archive.card import fenced, one_line
from muniment.canonical import Json
from muniment.digest import Digest
from muniment.disk.tree import Progress
from muniment.errors import MunimentError
from muniment.faces.house import House
from muniment.faces.tools.arguments import read_arguments
from muniment.faces.tools.shape import Shape

LISTED = 1000
"""Entries that one answer lists; `total` says how many there are."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What goes back to the client: the text, the object for programs, and whether it is an error."""

    text: str
    structured: dict[str, Json] | None
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Question:
    """What the person has to be asked before the act goes on; a yes holds for `shown` alone."""

    text: str
    shown: Digest


@dataclass(frozen=True, slots=True)
class Reply:
    """What the person answered to a question about `shown`."""

    shown: Digest
    yes: bool


@dataclass(frozen=True, slots=True)
class Client:
    """The client of one call: how it is told of progress, and whether it puts questions to a person."""

    progress: Progress
    can_ask: bool = False
    reply: Reply | None = None

    def reply_about(self, shown: Digest) -> Reply | None:
        """The answer to exactly this, if it was asked in this call."""
        return self.reply if self.reply is not None and self.reply.shown == shown else None


Act = Callable[[House, Mapping[str, Any], Client], Answer | Question]
"""An act that gives a question has done nothing yet: it is called again with the reply."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool: its shape, and what it does."""

    shape: Shape
    act: Act

    def answer(self, house: House, arguments: Mapping[str, object], client: Client) -> Answer | Question:
        """Do it, or give the refusal in exact words."""
        try:
            return self.act(house, read_arguments(self.shape, arguments), client)
        except MunimentError as error:
            return self.refusal(error)

    def refusal(self, error: MunimentError) -> Answer:
        """A refusal as the tools of its room give it; see `refused`."""
        return Answer(refused(self.shape.room, error), None, failed=True)


def refused(room: str, error: MunimentError) -> str:
    """The one line of a refusal: `Job blocked: <reason> (code: <CODE>)`.

    For the archive these are the words of its card dialect (spec 1, card).
    """
    return f"{room.capitalize()} blocked: {one_line(error.reason)} (code: {error.code})"


def answered(structured: dict[str, Json], *, failed: bool = False) -> Answer:
    """An object as the outcome, alone in its fence and beside it for programs."""
    return Answer(fenced(structured), structured, failed)
