"""Faces, command line: the options that every command takes, before or after its name (spec 6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Options:
    """What the common options said."""

    json: bool = False
    dry_run: bool = False
    yes: bool = False
    quiet: bool = False
    verbose: bool = False
    lang: str | None = None
    workspace: str | None = None


_LONG = {"--json": "json", "--quiet": "quiet", "--verbose": "verbose"}
_SHORT = {"q": "quiet", "v": "verbose"}
_FLAGS_IN_ONE = frozenset("nqvh")


def glance(arguments: Sequence[str]) -> Options:
    """The options as far as they show before anything is parsed.

    Help and wrong calls have to be rendered in the right language and form although nothing
    was parsed yet; once the call is understood, the parsed options count, not these.

    >>> glance(["nosuch", "--lang=zh", "-qv", "--", "--json"])
    Options(json=False, dry_run=False, yes=False, quiet=True, verbose=True, lang='zh', workspace=None)
    """
    flags: dict[str, bool] = {}
    lang: str | None = None
    words = iter(arguments)
    for word in words:
        if word == "--":
            break
        if word in ("-w", "--workspace"):
            next(words, None)
        elif word == "--lang":
            lang = next(words, None)
        elif word.startswith("--lang="):
            lang = word.partition("=")[2]
        elif word in _LONG:
            flags[_LONG[word]] = True
        elif word[:1] == "-" and len(word) > 1 and _FLAGS_IN_ONE.issuperset(word[1:]):
            flags.update({_SHORT[letter]: True for letter in word[1:] if letter in _SHORT})
    return Options(lang=lang, **flags)  # type: ignore[arg-type]
