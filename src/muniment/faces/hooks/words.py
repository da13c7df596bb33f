"""Faces, hooks: what a hook says, in the reader's language, with the standard library alone.

The catalogue is opened only when there is something to say, and only the sentences that are said are looked
up in it, since reading all of it would take longer than the hook has.
"""

from __future__ import annotations

import os
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

LOCALES = {"zh": "zh_CN"}
"""The folder of the catalogue, by the family of a language; English needs none."""

_MAGIC = 0x950412DE


def locale_of(environment: Mapping[str, str]) -> str | None:
    """The catalogue that the environment asks for: `MUNIMENT_LANG`, then the locale.

    >>> locale_of({"LANG": "zh_CN.UTF-8"}), locale_of({"MUNIMENT_LANG": "en", "LANG": "zh_CN.UTF-8"})
    ('zh_CN', None)
    """
    for variable in ("MUNIMENT_LANG", "LC_ALL", "LC_MESSAGES", "LANG"):
        code = environment.get(variable, "").strip()
        if code:
            family = code.replace("_", "-").partition("-")[0].partition(".")[0].partition("@")[0]
            return LOCALES.get(family.lower())
    return None


class Words:
    """Says sentences in one language."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._locale = locale_of(environment)

    @property
    def close(self) -> bool:
        """Whether sentences of the language follow each other without a space."""
        return self._locale is not None

    def text(self, sentence: str, **facts: object) -> str:
        """A sentence of `say`, translated where it can be, with its facts made safe to show."""
        chosen = (self._locale and _looked_up(self._locale, sentence)) or sentence
        shown = {name: _visible(str(value)) for name, value in facts.items()}
        try:
            return chosen.format_map(shown)
        except (LookupError, ValueError):
            return sentence.format_map(shown)


def say(template: str) -> str:
    """A sentence for a person, still without a language; the catalogues are made from these calls."""
    return template


def _visible(text: str) -> str:
    """A text without signs that could move a cursor or hide what follows."""
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in text)


def _looked_up(locale: str, template: str) -> str:
    """The translation in a compiled catalogue, found in its sorted table; empty when there is none."""
    place = os.path.join(
        os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "i18n", "locale", locale
    )
    try:
        with open(os.path.join(place, "LC_MESSAGES", "muniment.mo"), "rb") as stream:
            data = stream.read()
        magic, _, count, originals, translations = struct.unpack_from("<5I", data)
        if magic != _MAGIC:
            return ""
        wanted = template.encode("utf-8")
        low, high = 0, count
        while low < high:
            middle = (low + high) // 2
            length, at = struct.unpack_from("<2I", data, originals + 8 * middle)
            found = data[at : at + length].partition(b"\0")[0]
            if found == wanted:
                length, at = struct.unpack_from("<2I", data, translations + 8 * middle)
                return data[at : at + length].partition(b"\0")[0].decode("utf-8")
            low, high = (middle + 1, high) if found < wanted else (low, middle)
    except (OSError, struct.error, UnicodeDecodeError):
        return ""
    return ""
