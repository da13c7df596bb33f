"""Floor 0: identifiers.  A ULID sorts by time and never repeats; its prefix says what it names."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

Entropy = Callable[[int], bytes]
"""Gives so many random bytes; the wiring passes `os.urandom`."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_ULID = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}")


def new_ulid(now: datetime, entropy: Entropy = os.urandom) -> str:
    """A new ULID of that instant.

    >>> from datetime import UTC
    >>> new_ulid(datetime(2026, 1, 1, tzinfo=UTC), lambda n: bytes(n))
    '01KDVDNA000000000000000000'
    """
    from ulid import ULID  # its import costs more than the rest of `muniment --help`

    milliseconds = (now - _EPOCH) // timedelta(milliseconds=1)
    return str(ULID.from_bytes(milliseconds.to_bytes(6, "big") + entropy(10)))


def is_ulid(text: str) -> bool:
    """Whether the text is a ULID in its canonical, upper-case spelling.

    >>> is_ulid("01KDVDNA000000000000000000"), is_ulid("01kdvdht")
    (True, False)
    """
    return _ULID.fullmatch(text) is not None


def new_reference(prefix: str, now: datetime, entropy: Entropy = os.urandom) -> str:
    """A new reference such as `arc_01KDVDNA000000000000000000`."""
    return f"{prefix}_{new_ulid(now, entropy)}"
