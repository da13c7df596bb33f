"""A reader by a stranger, who has read docs/format.md and nothing else."""

# mypy: ignore-errors
# ruff: noqa

import hashlib
import json
import struct
import zlib


def index(data):
    magic, version, kind, rows, raw, paths = struct.unpack_from("<8sHHIQI", data)
    assert (magic, version, kind) == (b"MUNINDEX", 1, 0) and len(data) == 28 + 48 * rows + paths + 32
    assert hashlib.sha256(data[:-32]).digest() == data[-32:]
    at, path, found, end = 28 + 48 * rows, b"", [], 0

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte, at = data[at], at + 1
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7

    for row in range(rows):
        name, length, crc, offset = struct.unpack_from("<32sIIQ", data, 28 + 48 * row)
        shared, more = number(), number()
        path, at = path[:shared] + data[at : at + more], at + more
        assert offset == end and (not found or found[-1][4] <= path)
        found.append((name, length, crc, offset, path))
        end += length
    assert end == raw
    root = hashlib.sha256(json.dumps([row[0].hex() for row in found], separators=(",", ":")).encode())
    return found, root.hexdigest()


def inflate(piece, row):
    raw = zlib.decompressobj(-15).decompress(piece)
    assert (hashlib.sha256(raw).digest(), len(raw), zlib.crc32(raw)) == row[:3] and piece[
        -4:
    ] == b"\0\0\xff\xff"
    return raw


def members(stream):
    at, pax = 0, {}
    while any(head := stream[at : at + 512]):
        text = lambda start, size: head[start : start + size].split(b"\0")[0]
        size, kind = int(pax.get(b"size", int(text(124, 12), 8))), head[156:157]
        body, at = stream[at + 512 : at + 512 + size], at + 512 + (size + 511) // 512 * 512
        if kind == b"x":
            while body:
                line, body = body[: int(body.split()[0])], body[int(body.split()[0]) :]
                key, _, value = line.split(b" ", 1)[1][:-1].partition(b"=")
                pax[key] = value
            continue
        name = pax.get(b"path") or (text(345, 155) + b"/" if head[345] else b"") + text(0, 100)
        target = pax.get(b"linkpath") or text(157, 100)
        yield (
            name.rstrip(b"/"),
            kind,
            int(text(100, 8), 8),
            pax.get(b"mtime", b"%d" % int(text(136, 12), 8)),
            target,
            body,
        )
        pax = {}


def read(stream):
    found = {member[0]: member for member in members(stream)}
    told = json.loads(found.pop(b"manifest.json")[5])
    rows = told["contents"]["files"] + told["contents"]["api"]
    assert {row["path"].encode("utf-8", "surrogateescape") for row in rows} == {
        n for n, m in found.items() if m[1] == b"0"
    }
    for row in rows:
        body = found[row["path"].encode("utf-8", "surrogateescape")][5]
        assert (len(body), hashlib.sha256(body).hexdigest()) == (row["size"], row["sha256"])
    return told, found
