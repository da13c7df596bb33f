"""Floor 2, `bundle`: the raw bytes of a tar.gz from outside, strictly: one member, sound to its end.

Nothing is held but a window; how much comes out is bounded before it does (enemy B).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from struct import unpack

from muniment.bundle.deflate import DAMAGE, crc32, inflater
from muniment.bundle.errors import BadBundle
from muniment.message import Message, say

CHUNK = 256 << 10
_ZEROS = bytes(CHUNK)
_TEXT, _HCRC, _EXTRA, _NAME, _COMMENT = 1, 2, 4, 8, 16
HEAD_MOST = 64 << 10


@dataclass(frozen=True, slots=True)
class Limits:
    """How much may come out of a bundle.

    `total` bounds its raw bytes.  `ratio` bounds raw to stored bytes once more than `free` bytes
    came out; stretches of zeros do not count, because a sparse file is honest and costs no room.
    """

    total: int = 1 << 40
    ratio: int = 400
    free: int = 64 << 20


WIDE = Limits()


def raw(chunks: Iterable[bytes], limits: Limits = WIDE) -> Iterator[bytes]:
    """The raw bytes of a gzip stream, in chunks of at most 256 KiB; `BadBundle` says what is wrong.

    >>> import gzip
    >>> b"".join(raw([gzip.compress(b"abc")]))
    b'abc'
    """
    source = iter(chunks)
    data = _past_head(source)
    machine = inflater()
    crc = total = weight = taken = 0
    while not machine.eof:
        if not data:
            data = _next(source)
        taken += len(data)
        try:
            out = machine.decompress(data, CHUNK)
        except DAMAGE as error:
            raise _refused(say("it can not be inflated: {error}", error=error)) from error
        data = machine.unconsumed_tail
        taken -= len(data)
        while out or data:
            if out:
                total += len(out)
                if out != _ZEROS[: len(out)]:
                    weight += len(out)
                if total > limits.total:
                    raise _refused(say("it inflates to more than {most} bytes", most=limits.total))
                if weight > limits.free and weight > limits.ratio * max(taken, 1):
                    raise _refused(say("it inflates to more than {ratio} times its size", ratio=limits.ratio))
                crc = crc32(out, crc)
                yield out
            if not data or machine.eof:
                break
            try:
                out = machine.decompress(data, CHUNK)
            except DAMAGE as error:
                raise _refused(say("it can not be inflated: {error}", error=error)) from error
            taken += len(data) - len(machine.unconsumed_tail)
            data = machine.unconsumed_tail
    rest = machine.unused_data
    while len(rest) < 8:
        rest += _next(source)
    found, length = unpack("<II", rest[:8])
    if found != crc:
        raise _refused(say("its CRC-32 does not fit: it is damaged"))
    if length != total & 0xFFFFFFFF:
        raise _refused(say("its length does not fit: it is damaged"))
    if rest[8:] or any(source):
        raise _refused(say("something follows its end"))


def _next(source: Iterator[bytes]) -> bytes:
    for chunk in source:
        if chunk:
            return chunk
    raise _refused(say("it is cut short"))


def _past_head(source: Iterator[bytes]) -> bytes:
    """Skip a gzip header with whatever fields it has; gives the bytes after it."""
    data = _next(source)
    while len(data) < 10:
        data += _next(source)
    if data[:2] != b"\x1f\x8b":
        raise _refused(say("it is not a gzip file"))
    flags = data[3]
    if data[2] != 8 or flags & 0xE0:
        raise _refused(say("its gzip header is not known here"))
    at = 10
    if flags & _EXTRA:
        while len(data) < at + 2:
            data += _next(source)
        at += 2 + data[at] + (data[at + 1] << 8)
    for flag in (_NAME, _COMMENT):
        if flags & flag:
            while (end := data.find(b"\0", at)) < 0:
                if len(data) > HEAD_MOST:
                    raise _refused(say("its gzip header is not known here"))
                data += _next(source)
            at = end + 1
    at += 2 if flags & _HCRC else 0
    while len(data) <= at:
        data += _next(source)
    return data[at:]


def _refused(why: Message) -> BadBundle:
    return BadBundle(why=why)
