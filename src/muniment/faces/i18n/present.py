"""Faces, languages: sizes, numbers, instants and ages as a person reads them.

Sizes are binary everywhere: 1 KiB is 1024 bytes.  What depends on the language comes back as
a `Message`, so that it can stand as a fact inside another one.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from muniment.clock import read_instant
from muniment.message import Message, say, say_count

_UNITS = ("KiB", "MiB", "GiB", "TiB", "PiB")


def size(count: int) -> Message:
    """A number of bytes, with one decimal from KiB on.

    >>> str(size(1)), str(size(1023)), str(size(1536)), str(size(5 * 2**30))
    ('1 byte', '1,023 bytes', '1.5 KiB', '5.0 GiB')
    """
    if count < 1024:
        return say_count("{shown} byte", "{shown} bytes", count, shown=number(count))
    amount, step = count / 1024, 0
    # from 1023.95 on it would be shown as 1024.0 of the smaller unit
    while amount >= 1023.95 and step < len(_UNITS) - 1:
        amount, step = amount / 1024, step + 1
    return Message("{amount} {unit}", {"amount": f"{amount:,.1f}", "unit": _UNITS[step]})


def number(count: int) -> str:
    """A whole number with its thousands apart.

    >>> number(1234567)
    '1,234,567'
    """
    return f"{count:,}"


def instant(moment: datetime) -> str:
    """An instant to the minute, in UTC.

    >>> instant(datetime(2026, 11, 30, 14, 28, 59, tzinfo=UTC))
    '2026-11-30 14:28 UTC'
    """
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")


def recorded_instant(text: str) -> str:
    """An instant as a record has it, shown to the minute; a text that is none is shown as it is.

    >>> recorded_instant("2026-11-30T14:28:59.000000Z"), recorded_instant("never")
    ('2026-11-30 14:28 UTC', 'never')
    """
    try:
        return instant(read_instant(text))
    except ValueError:
        return text


def duration(span: timedelta) -> Message:
    """A span in its largest whole unit; a negative one counts as none.

    >>> str(duration(timedelta(seconds=59))), str(duration(timedelta(hours=49)))
    ('59 seconds', '2 days')
    """
    seconds = max(0, int(span.total_seconds()))
    if seconds < 60:
        return say_count("{count} second", "{count} seconds", seconds)
    if seconds < 3600:
        return say_count("{count} minute", "{count} minutes", seconds // 60)
    if seconds < 48 * 3600:
        return say_count("{count} hour", "{count} hours", seconds // 3600)
    return say_count("{count} day", "{count} days", seconds // 86400)


def age(then: datetime, now: datetime) -> Message:
    """How long ago something was; a moment that is still to come is said as such.

    >>> at = datetime(2026, 11, 30, tzinfo=UTC)
    >>> str(age(at, at + timedelta(minutes=3))), str(age(at, at - timedelta(minutes=3)))
    ('3 minutes ago', '3 minutes ahead of this clock')
    """
    if then > now:
        return say("{duration} ahead of this clock", duration=duration(then - now))
    return say("{duration} ago", duration=duration(now - then))
