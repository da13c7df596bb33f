"""Floor 1, `record`: the ledger's files: numbered segments of whole lines."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass

from muniment.disk.errors import named
from muniment.disk.root import Root
from muniment.path import RelPath
from muniment.record.event import LINE_LIMIT

SEGMENT_BYTES = 64 << 20
"""A segment that would grow beyond this is followed by the next one."""

_NAME = re.compile(r"(\d{6})\.jsonl")
_BLOCK = 1 << 16


def segment_name(number: int) -> str:
    """The file name of a segment, counted from one.

    >>> segment_name(1)
    '000001.jsonl'
    """
    return f"{number:06d}.jsonl"


def segment_numbers(root: Root, folder: RelPath) -> list[int]:
    """The numbers of the segments there are, ascending."""
    if not root.exists(folder):
        return []
    found = (_NAME.fullmatch(name) for name in root.names(folder))
    return sorted(int(match.group(1)) for match in found if match)


@dataclass(frozen=True, slots=True)
class Tail:
    """The end of a segment: its size, its last whole lines (without newline, oldest first), and
    the bytes after the last newline."""

    size: int
    lines: tuple[bytes, ...]
    rest: bytes

    @property
    def last(self) -> bytes | None:
        """The last whole line."""
        return self.lines[-1] if self.lines else None

    @property
    def before_last(self) -> bytes | None:
        """The whole line before the last."""
        return self.lines[-2] if len(self.lines) > 1 else None

    @property
    def last_offset(self) -> int:
        """Where the last whole line begins."""
        return self.size - len(self.rest) - (len(self.lines[-1]) + 1 if self.lines else 0)


def read_tail(root: Root, rel: RelPath, count: int = 2) -> Tail:
    """Read a segment backwards until so many whole lines are there, or its beginning."""
    fd = root.open_file(rel)
    try:
        with named(rel):
            size = os.fstat(fd).st_size
            blocks: list[bytes] = []
            start, newlines = size, 0
            while start > 0 and newlines < count + 1:
                step = min(_BLOCK, start)
                start -= step
                blocks.append(_read_exactly(fd, start, step))
                newlines += blocks[-1].count(b"\n")
    finally:
        os.close(fd)
    *lines, rest = b"".join(reversed(blocks)).split(b"\n")
    if start > 0:
        lines = lines[1:]
    return Tail(size, tuple(lines[-count:]), rest)


def _read_exactly(fd: int, offset: int, count: int) -> bytes:
    data = b""
    while len(data) < count:
        more = os.pread(fd, count - len(data), offset + len(data))
        if not more:
            break
        data += more
    return data


def read_range(root: Root, rel: RelPath, offset: int, count: int) -> bytes:
    """Bytes of a segment, opened anew by its path."""
    fd = root.open_file(rel)
    try:
        with named(rel):
            return _read_exactly(fd, offset, count)
    finally:
        os.close(fd)


def lines_of(
    root: Root, rel: RelPath, *, start: int = 0, end: int | None = None
) -> Iterator[tuple[int, bytes]]:
    """Each line of a segment with its offset, its newline included; memory stays flat.

    The last one lacks its newline if the segment does.  A line longer than any record may be is
    given in pieces of that length.
    """
    fd = root.open_file(rel)
    with named(rel), os.fdopen(fd, "rb") as stream:
        stream.seek(start)
        offset = start
        while end is None or offset < end:
            line = stream.readline(LINE_LIMIT + 1 if end is None else min(LINE_LIMIT + 1, end - offset))
            if not line:
                return
            yield offset, line
            offset += len(line)
