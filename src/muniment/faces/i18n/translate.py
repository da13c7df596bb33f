"""Faces, languages: renders a `Message` in the reader's language.

Rendering is the last step of every error, so it never fails itself: a fact that can not be
shown is named as such, a translation that does not fit its facts gives way to the English.
"""

from __future__ import annotations

import gettext
import os
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from pathlib import Path, PurePath

from muniment.faces.i18n.language import Language
from muniment.faces.i18n.present import instant
from muniment.message import Message
from muniment.path import printable

LOCALES = Path(__file__).with_name("locale")
DOMAIN = "muniment"

_LIST_MARKS = {Language.ENGLISH: ", ", Language.CHINESE: "、"}


@cache
def _catalogue(language: Language) -> gettext.NullTranslations:
    """The compiled catalogue; a source tree that was never built speaks English."""
    if language is Language.ENGLISH:
        return gettext.NullTranslations()
    try:
        with (LOCALES / language.locale / "LC_MESSAGES" / f"{DOMAIN}.mo").open("rb") as stream:
            return gettext.GNUTranslations(stream)
    except OSError:
        return gettext.NullTranslations()


class Translator:
    """Renders messages in one language.

    >>> Translator(Language.ENGLISH).text(Message("moved {name}", {"name": "a\\x1b[2J"}))
    'moved a\\\\x1b[2J'
    """

    def __init__(self, language: Language) -> None:
        self.language = language
        self._catalogue = _catalogue(language)

    def text(self, message: Message) -> str:
        """The message in this language: plurals chosen, nested messages too, facts made safe."""
        facts = {name: self.fact(value) for name, value in message.facts.items()}
        english = message.template if message.plural is None or message.count == 1 else message.plural
        for chosen in (self._translation(message), english):
            try:
                return message.fill(chosen, facts)
            except (LookupError, ValueError, TypeError, AttributeError):
                continue
        return _unfilled(english, facts)

    def fact(self, value: object) -> object:
        """A fact as it may be shown: numbers stay numbers, so that a template can format them."""
        if isinstance(value, Message):
            return self.text(value)
        if isinstance(value, int | float):
            return value
        if isinstance(value, datetime):
            return instant(value)
        if isinstance(value, bytes | PurePath):
            return printable(os.fsdecode(value))
        if isinstance(value, list | tuple):
            return _LIST_MARKS[self.language].join(str(self.fact(item)) for item in value)
        return printable(_as_text(value))

    def _translation(self, message: Message) -> str:
        if message.plural is None:
            # gettext keeps its own header under the empty text
            return self._catalogue.gettext(message.template) if message.template else ""
        count = 2 if message.count is None else message.count
        return self._catalogue.ngettext(message.template, message.plural, count)


def _as_text(value: object) -> str:
    try:
        return str(value)
    except Exception as error:  # noqa: BLE001 - any object may be a fact, and an error about an error helps nobody
        return f"<{type(value).__name__}: {type(error).__name__}>"


def _unfilled(template: str, facts: Mapping[str, object]) -> str:
    """A template whose facts do not fit it: both are shown side by side."""
    listed = ", ".join(f"{name}={value}" for name, value in facts.items())
    return f"{template} ({listed})" if listed else template
