"""Faces, command line: how wide a text is on a screen, and where its lines may break."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence

_NEVER_FIRST = frozenset("、。，．：；！？）】》」』〉”’…,.;:!?)]}")
"""Marks that stay with the sign before them."""

_NEVER_LAST = frozenset("（【《「『〈“‘([{")
"""Marks that stay with the sign behind them."""


def screen_width(text: str) -> int:
    """Columns that a text takes: two for East Asian signs, none for combining ones.

    >>> screen_width("ab"), screen_width("归档"), screen_width("e\\u0301")
    (2, 4, 1)
    """
    if text.isascii():
        return len(text)
    return sum(_sign_width(sign) for sign in text)


def _sign_width(sign: str) -> int:
    if unicodedata.combining(sign):
        return 0
    return 2 if unicodedata.east_asian_width(sign) in "WF" else 1


def pad(text: str, width: int) -> str:
    """The text with spaces behind it up to a width in columns."""
    return text + " " * (width - screen_width(text))


def wrap(text: str, width: int) -> list[str]:
    """Lines of at most `width` columns; a word that is longer stands alone, uncut.

    Lines break at spaces and between East Asian signs.

    >>> wrap("one two three", 8)
    ['one two', 'three']
    >>> wrap("归档一个文件。", 12)
    ['归档一个文', '件。']
    >>> wrap("归档（一）", 6)
    ['归档', '（一）']
    """
    lines: list[str] = []
    line, used = "", 0
    for piece in _pieces(text):
        needed = screen_width(piece.rstrip(" "))
        if line and used + needed > width:
            lines.append(line.rstrip(" "))
            line, used = "", 0
        line += piece
        used += screen_width(piece)
    lines.append(line.rstrip(" "))
    return lines


def _pieces(text: str) -> Iterator[str]:
    """What may not be broken: words with the spaces behind them, single East Asian signs."""
    piece = ""
    for sign in text:
        wide = _sign_width(sign) == 2
        starts_new = piece and sign != " " and sign not in _NEVER_FIRST and piece[-1] not in _NEVER_LAST
        if starts_new and (piece[-1] == " " or wide or _sign_width(piece[-1]) == 2):
            yield piece
            piece = ""
        piece += sign
    if piece:
        yield piece


def definitions(rows: Sequence[tuple[str, str]], width: int, *, indent: int = 2, most: int = 30) -> list[str]:
    """Two columns: terms, and what they mean beside them; a long term has its line for itself.

    >>> definitions([("-n", "Only show.")], 40)
    ['  -n  Only show.']
    """
    terms = [screen_width(term) for term, _ in rows if screen_width(term) <= most]
    column = indent + max(terms, default=0) + 2
    lines: list[str] = []
    for term, meaning in rows:
        beside = wrap(meaning, max(width - column, 20)) if meaning else [""]
        head = " " * indent + term
        if screen_width(term) > most:
            lines.append(head)
        else:
            lines.append((pad(head, column) + beside.pop(0)).rstrip())
        lines += [" " * column + line for line in beside if line]
    return lines
