"""Floor 0: time as an argument.

Acts take a `Clock`; only the wiring knows the real one.  Times that are kept are UTC with
microseconds; local time serves names alone.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], datetime]
"""Gives the present instant, aware of its zone."""


def system_clock() -> datetime:
    """The machine's clock, in UTC."""
    return datetime.now(UTC)


def instant(moment: datetime) -> str:
    """An instant as it is kept: `2026-11-30T14:28:00.000000Z`.

    >>> instant(datetime(2026, 11, 30, 14, 28, tzinfo=UTC))
    '2026-11-30T14:28:00.000000Z'
    """
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def read_instant(text: str) -> datetime:
    """The reverse of `instant`; anything else is a `ValueError`.

    >>> read_instant("2026-11-30T14:28:00.000000Z").year
    2026
    """
    moment = datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC)
    if instant(moment) != text:
        raise ValueError(f"not an instant as it is kept: {text!r}")
    return moment
