"""Floor 3, `archive`: the two dialects in which archiving reports; exact bytes, never translated."""

from __future__ import annotations

import json
from collections.abc import Sequence

from muniment.archive.model import ARCHIVES, Card
from muniment.errors import MunimentError

FENCE = "```"


def fenced(value: object) -> str:
    """An object alone in a fence, as chats recognise it.

    >>> print(fenced({"a": "é"}))
    ```json
    {
      "a": "é"
    }
    ```
    """
    return f"{FENCE}json\n{json.dumps(value, ensure_ascii=False, indent=2)}\n{FENCE}"


def status_line(archive_id: str) -> str:
    """The line of success.

    >>> status_line("a3f2b1c-0416-1430")
    'ARCHIVE_STATUS: OK | ARCHIVE_ROOT: archives/a3f2b1c-0416-1430/'
    """
    return f"ARCHIVE_STATUS: OK | ARCHIVE_ROOT: {ARCHIVES}/{archive_id}/"


def blocked_line(error: MunimentError) -> str:
    """The line of refusal."""
    return f"ARCHIVE_STATUS: BLOCKED | ARCHIVE_REASON: {one_line(error.reason)}"


def blocked_card(error: MunimentError) -> str:
    """The refusal in the card dialect."""
    return f"Archive blocked: {one_line(error.reason)} (code: {error.code})"


def status_text(archive_id: str, cards: Sequence[Card], from_host: bool) -> str:
    """Success in the status dialect: the line, and the cards when a host's session gave the id."""
    return "\n".join([status_line(archive_id), *(fenced(card.to_json()) for card in cards if from_host)])


def card_text(cards: Sequence[Card]) -> str:
    """Success in the card dialect: the cards, nothing else."""
    return "\n".join(fenced(card.to_json()) for card in cards)


def one_line(text: str) -> str:
    """A reason on one line, whatever names stand in it."""
    return " ".join(text.split())
