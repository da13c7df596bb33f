"""Floor 3, `backup`: how a file differs from what the snapshot has of it, as lines for a person: pure."""

from __future__ import annotations

import difflib

CONTEXT = 2
"""Lines shown around each difference."""

LINES_MOST = 40
"""Lines shown of one file (spec 4, restore)."""

BYTES_MOST = 1 << 20
"""A larger file is not compared line by line."""


def text_of(data: bytes) -> list[str] | None:
    """The lines of a text; None for what is none.

    >>> text_of(b"a\\nb"), text_of(b"a\\0b")
    (['a', 'b'], None)
    """
    if b"\0" in data:
        return None
    try:
        return data.decode("utf-8").splitlines()
    except UnicodeDecodeError:
        return None


def differing_lines(before: bytes, after: bytes) -> tuple[list[str], int] | None:
    """The unified diff from what stands there to what the snapshot has, and how many of its lines are
    not among those given; None when one of the two is no text.

    >>> differing_lines(b"a\\nb\\n", b"a\\nc\\n")
    (['@@ -1,2 +1,2 @@', ' a', '-b', '+c'], 0)
    """
    one, other = text_of(before), text_of(after)
    if one is None or other is None:
        return None
    lines = list(difflib.unified_diff(one, other, lineterm="", n=CONTEXT))[2:]
    return lines[:LINES_MOST], max(len(lines) - LINES_MOST, 0)
