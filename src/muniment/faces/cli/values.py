"""Faces, command line: kinds of values, refused in our own words when they are something else."""

from __future__ import annotations

from typing import Any

import click

from muniment.faces.i18n.language import Language, read_language
from muniment.message import Message, say
from muniment.record.reference import job_named


class BadValue(click.BadParameter):
    """A value that an option or argument can not have, with the finding as a message."""

    def __init__(self, finding: Message) -> None:
        super().__init__(str(finding))
        self.finding = finding


class Word(click.Choice[str]):
    """One of a closed list of words."""

    def __init__(self, *words: str) -> None:
        super().__init__(words)
        self.words = words

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The word itself."""
        if value not in self.words:
            raise BadValue(say("{value} is none of {words}", value=value, words=self.words))
        return str(value)


class Whole(click.ParamType[int]):
    """A whole number within bounds."""

    name = "whole"

    def __init__(self, least: int, most: int) -> None:
        self.least, self.most = least, most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number."""
        text = str(value)
        digits = text.removeprefix("-")
        # longer ones lie outside any bounds, and Python refuses to read the longest
        if digits.isascii() and digits.isdigit() and len(digits) <= 19:
            number = int(text)
            if self.least <= number <= self.most:
                return number
        raise BadValue(
            say(
                "{value} is not a whole number from {least} to {most}",
                value=value,
                least=self.least,
                most=self.most,
            )
        )


class JobName(click.ParamType[str]):
    """The id of a job, as it is or as its reference."""

    name = "job"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The id."""
        return job_named(str(value))


class LanguageCode(click.ParamType[str]):
    """The code of a language that has a catalogue."""

    name = "language"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The code as it was given."""
        if read_language(str(value)) is None:
            raise BadValue(unknown_language(str(value)))
        return str(value)


def unknown_language(code: str) -> Message:
    """That there is no catalogue for a language, and for which ones there is."""
    return say(
        "there is no language {code}; there are {languages}",
        code=code,
        languages=tuple(language.value for language in Language),
    )
