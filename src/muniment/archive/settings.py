"""Floor 3, `archive`: what can be set about archiving."""

from __future__ import annotations

from collections.abc import Mapping

from muniment.message import say
from muniment.settings import Setting, choice, text, words


def _requirements(value: object) -> Mapping[str, tuple[str, ...]]:
    if not isinstance(value, Mapping):
        raise ValueError(say("a table of name patterns was expected, found {value}", value=repr(value)))
    found: dict[str, tuple[str, ...]] = {}
    for pattern, demands in value.items():
        found[str(pattern)] = listed = words(demands)
        if not all(demand.startswith(("#", "/")) for demand in listed):
            raise ValueError(
                say("a demand is a heading (# …) or a JSON pointer (/…), found {value}", value=listed)
            )
    return found


NAMES: Setting[str] = Setting(
    "archive.names",
    "kept",
    choice("kept", "kweaver"),
    "How archived files are named: kept as they are, or simplified (kweaver).",
)
FORMAT: Setting[str] = Setting(
    "archive.format",
    "",
    choice("", "status", "card"),
    "What archiving prints: a status line or cards; empty: status on the command line, cards over MCP.",
)
CARD_PREFIX: Setting[str] = Setting(
    "archive.card_prefix",
    "",
    text,
    "What stands before /archives on cards; empty: the path of the workspace.",
)
MUTABLE: Setting[tuple[str, ...]] = Setting(
    "archive.mutable",
    (),
    words,
    "Patterns of archived names that may be edited in place, as PLAN.md always may.",
)
REQUIRE: Setting[Mapping[str, tuple[str, ...]]] = Setting(
    "archive.require",
    {},
    _requirements,
    "What files must hold before they are archived: headings or JSON pointers, by name pattern.",
)

ON_STOP: Setting[str] = Setting(
    "archive.on_stop",
    "remind",
    choice("off", "remind", "sweep"),
    "What an installed hook does when an agent ends with files that are not archived.",
)

SETTINGS = (NAMES, FORMAT, CARD_PREFIX, MUTABLE, REQUIRE, ON_STOP)
