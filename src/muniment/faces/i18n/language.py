"""Faces, languages: which language the reader has (spec 6, languages)."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class Language(StrEnum):
    """The languages that have a catalogue; English is the source and needs none."""

    ENGLISH = "en"
    CHINESE = "zh-CN"

    @property
    def locale(self) -> str:
        """The name of its catalogue's folder.

        >>> Language.CHINESE.locale
        'zh_CN'
        """
        return self.value.replace("-", "_")


_FAMILIES = {"en": Language.ENGLISH, "zh": Language.CHINESE, "c": Language.ENGLISH, "posix": Language.ENGLISH}

_LOCALE_VARIABLES = ("LC_ALL", "LC_MESSAGES", "LANG")
"""In the order in which POSIX asks them."""


def read_language(code: str) -> Language | None:
    """The language of a tag or a locale name; None for one that has no catalogue.

    Only the family counts: every Chinese is served in Simplified Chinese.

    >>> read_language("zh_CN.UTF-8"), read_language("zh-Hans"), read_language("fr")
    (<Language.CHINESE: 'zh-CN'>, <Language.CHINESE: 'zh-CN'>, None)
    """
    family = code.strip().replace("_", "-").partition("-")[0].partition(".")[0].partition("@")[0]
    return _FAMILIES.get(family.lower())


def language_of(wanted: str | None, environment: Mapping[str, str], host: str | None = None) -> Language:
    """The reader's language: asked for, `MUNIMENT_LANG`, the host's setting, the locale, English.

    The first of them that says anything decides; one without a catalogue is served in English.

    >>> language_of(None, {"LANG": "zh_CN.UTF-8"}).value
    'zh-CN'
    >>> language_of(None, {"MUNIMENT_LANG": "fr", "LANG": "zh_CN.UTF-8"}).value
    'en'
    """
    spoken = [wanted, environment.get("MUNIMENT_LANG"), host]
    spoken += [environment.get(variable) for variable in _LOCALE_VARIABLES]
    for code in spoken:
        if code and code.strip():
            return read_language(code) or Language.ENGLISH
    return Language.ENGLISH
