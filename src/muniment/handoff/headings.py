"""Handoff room: the headings of Markdown, for the board and for what a contract asks.  Pure (spec 3)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_FENCE = re.compile(rb" {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(rb" {0,3}(#{1,6})[ \t]++(.*)")


@dataclass(frozen=True, slots=True)
class Heading:
    """A Markdown heading: its level, its words, and where its line begins and ends."""

    level: int
    words: str
    start: int
    end: int


def headings(text: bytes) -> Iterator[Heading]:
    """The headings of a Markdown text; what stands inside of fences is none.

    >>> [each.words for each in headings(b"# A\\n```\\n# no\\n```\\n## B ##\\n")]
    ['A', 'B']
    >>> [each.words for each in headings(b"```\\n```text\\n# no\\n```\\n")]
    []
    """
    fence, at = b"", 0
    for line in text.splitlines(keepends=True):
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and not line.strip(b" \t\r\n`~"):
                fence = b""
        elif mark:
            fence = mark[1]
        elif found := _HEADING.match(line):
            words = _without_closing(found[2]).decode("utf-8", "replace").strip()
            yield Heading(len(found[1]), words, at, at + len(line.rstrip(b"\r\n")))
        at += len(line)


def _without_closing(words: bytes) -> bytes:
    """The words of a heading less the signs that may close it, which stand behind a blank."""
    words = words.rstrip(b" \t\r")
    open_words = words.rstrip(b"#")
    return open_words if open_words.endswith((b" ", b"\t")) else words


def bare(heading: str) -> str:
    """The words of a heading without its signs."""
    return heading.lstrip("#").strip()
