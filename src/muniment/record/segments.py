"""Floor 1, `record`: the ledger's files: numbered segments of whole lines.

Whatever lies in a segment, no more than one line of the greatest length is in memory at a time.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from muniment.disk import platform
from muniment.disk.errors import named
from muniment.disk.root import Root
from muniment.disk.write import chunks_of
from muniment.path import RelPath
from muniment.record.event import LINE_LIMIT

SEGMENT_BYTES = 64 << 20
"""A segment that would grow beyond this is followed by the next one."""

_NAME = re.compile(r"[0-9]{6}\.jsonl")
_BLOCK = 1 << 16
_SPAN = 1 << 20


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
    return sorted(int(name[:6]) for name in root.names(folder) if _NAME.fullmatch(name))


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a segment: where it begins, its bytes without newline, its whole length, and
    whether a newline ends it.

    Of a line longer than any record may be, only so much is kept as shows that.
    """

    offset: int
    data: bytes
    length: int
    ended: bool

    @property
    def end(self) -> int:
        """Where the next line begins."""
        return self.offset + self.length


@dataclass(frozen=True, slots=True)
class Tail:
    """The end of a segment: its size, its last whole lines (oldest first), and where the bytes
    after the last newline begin."""

    size: int
    lines: tuple[Line, ...]
    rest_offset: int

    @property
    def torn(self) -> bool:
        """Whether bytes stand after the last newline."""
        return self.rest_offset < self.size


def read_tail(root: Root, rel: RelPath, count: int = 2) -> Tail:
    """Read a segment backwards until so many whole lines are there, or its beginning."""
    fd = root.open_file(rel)
    try:
        with named(rel):
            size = os.fstat(fd).st_size
            newlines = _newlines_backwards(fd, size)
            end = next(newlines, -1) + 1
            rest_offset = end
            lines: list[Line] = []
            while end > 0 and len(lines) < count:
                start = next(newlines, -1) + 1
                data = _read_exactly(fd, start, min(end - start - 1, LINE_LIMIT))
                lines.append(Line(start, data, end - start, ended=True))
                end = start
    finally:
        platform.close(fd)
    return Tail(size, tuple(reversed(lines)), rest_offset)


def _newlines_backwards(fd: int, size: int) -> Iterator[int]:
    """Where newlines stand, from the end to the beginning."""
    start = size
    while start > 0:
        step = min(_BLOCK, start)
        start -= step
        block = _read_exactly(fd, start, step)
        at = block.rfind(b"\n")
        while at >= 0:
            yield start + at
            at = block.rfind(b"\n", 0, at)


def _read_exactly(fd: int, offset: int, count: int) -> bytes:
    data = os.pread(fd, count, offset)
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
        platform.close(fd)


def chunks_from(root: Root, rel: RelPath, offset: int = 0) -> Iterator[bytes]:
    """The bytes of a file from an offset on, in chunks."""
    fd = root.open_file(rel)
    try:
        with named(rel):
            os.lseek(fd, offset, os.SEEK_SET)
            yield from chunks_of(fd)
    finally:
        platform.close(fd)


def count_lines(root: Root, rel: RelPath, end: int | None = None) -> tuple[int, int]:
    """How many lines a segment has up to `end`, and where the last of them begins."""
    count, begin, offset, ended = 0, 0, 0, True
    for chunk in chunks_from(root, rel):
        piece = chunk if end is None else chunk[: end - offset]
        if not piece:
            break
        here = piece.count(b"\n")
        # The last line begins after the last newline but one; where a chunk holds fewer, earlier.
        inner = piece.rfind(b"\n", 0, len(piece) - 1)
        if ended:
            begin = offset
        if inner >= 0:
            begin = offset + inner + 1
        count, offset, ended = count + here, offset + len(piece), piece.endswith(b"\n")
    return count + (not ended), begin


def blocks_of(root: Root, rel: RelPath, *, start: int = 0) -> Iterator[tuple[int, bytes]]:
    """Whole lines of a segment, many together, each time with the offset of the first: for whoever
    seeks something and does not want to look at every line.  One longer than any record may be is
    cut."""
    fd = root.open_file(rel)
    with named(rel), os.fdopen(fd, "rb") as stream:
        stream.seek(start)
        offset = start
        while block := stream.read(_SPAN):
            if not block.endswith(b"\n"):
                block += stream.readline(LINE_LIMIT)
            yield offset, block
            offset += len(block)


def lines_holding(needle: bytes, offset: int, block: bytes) -> Iterator[Line]:
    """Those lines of a block that hold the bytes sought and are ended."""
    at = block.find(needle)
    while at >= 0:
        begin, end = block.rfind(b"\n", 0, at) + 1, block.find(b"\n", at)
        if end < 0:
            return
        yield Line(offset + begin, block[begin:end], end + 1 - begin, ended=True)
        at = block.find(needle, end)


def lines_of(root: Root, rel: RelPath, *, start: int = 0, end: int | None = None) -> Iterator[Line]:
    """Each line of a segment from an offset on, and no byte at or beyond `end`."""
    fd = root.open_file(rel)
    with named(rel), os.fdopen(fd, "rb") as stream:
        stream.seek(start)
        offset = start
        while line := _line(stream, offset, end):
            yield line
            offset = line.end


def _line(stream: BinaryIO, offset: int, end: int | None) -> Line | None:
    """The line that begins where the stream stands; what is too long of it is passed over."""
    kept = piece = _piece(stream, offset, end)
    length = len(piece)
    while piece and not piece.endswith(b"\n"):
        piece = _piece(stream, offset + length, end)
        length += len(piece)
    if not length:
        return None
    ended = piece.endswith(b"\n")
    return Line(offset, kept.removesuffix(b"\n") if length == len(kept) else kept, length, ended)


def _piece(stream: BinaryIO, offset: int, end: int | None) -> bytes:
    most = LINE_LIMIT if end is None else min(LINE_LIMIT, end - offset)
    return stream.readline(most) if most > 0 else b""
