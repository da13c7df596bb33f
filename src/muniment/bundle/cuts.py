"""Floor 2, `bundle`: where the stream is cut (docs/format.md, cuts; docs/adr/0101).

Nothing of this matters to a reader: the index says where the cuts are.  It matters to the next
snapshot, which should meet the same cuts wherever nothing changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from zlib import crc32

SQLITE = b"SQLite format 3\0"


@dataclass(frozen=True, slots=True)
class CutRules:
    """All sizes in raw bytes; the defaults are those that were measured best."""

    mean: int = 16 << 10
    cap: int = 64 << 10
    large: int = 512 << 10
    piece_least: int = 256 << 10
    piece_mean: int = 256 << 10
    piece_most: int = 1 << 20
    page: int = 64 << 10
    text_mean: int = 16 << 10


MEASURED = CutRules()


def cut_after(path: bytes, size: int, mean: int) -> bool:
    """Whether a group ends after an entry of that path and size.

    The chance is `size / mean`, so that groups have about `mean` bytes whatever the entries are;
    the same path decides the same way in every snapshot, wherever it stands.

    >>> cut_after(b"a", 16384, 16384), cut_after(b"a", 1, 16384)
    (True, False)
    """
    return crc32(path) * mean < size << 32


def pieces(read: Callable[[int], bytes], rules: CutRules = MEASURED) -> Iterator[bytes]:
    """Cut one large file; `read` gives up to so many bytes, and none at the end.

    Cuts are found in the content (FastCDC), so that an insertion moves only the cuts near it; a
    SQLite database, which changes by pages in place, is cut at fixed places.
    """
    window = read(4 * rules.piece_most)
    if window.startswith(SQLITE):
        yield from _by_pages(window, read, rules.page)
        return
    from pyfastcdc import FastCDC  # slow to load, and most runs cut no large file

    chunker = FastCDC(
        rules.piece_mean, min_size=rules.piece_least, max_size=rules.piece_most, normalized_chunking=1
    )
    while window:
        more = read(4 * rules.piece_most)
        done = 0
        for chunk in chunker.cut_buf(window):
            end = chunk.offset + chunk.length
            # A cut that the window's end may have forced waits for the bytes that follow.
            if more and chunk.offset + rules.piece_most > len(window):
                break
            yield window[done:end]
            done = end
        window = window[done:] + more


def _by_pages(window: bytes, read: Callable[[int], bytes], page: int) -> Iterator[bytes]:
    while window:
        whole = len(window) if len(window) < page else len(window) // page * page
        for start in range(0, whole, page):
            yield window[start : start + page]
        window = window[whole:]
        more = read((1 << 20) - len(window))
        if not more:
            if window:
                yield window
            return
        window += more
