"""A reader by a stranger, who has read docs/format.md and nothing else: sixty lines."""

# mypy: ignore-errors
import hashlib
import json
import struct
import zlib


def index(data):
    magic, version, kind, rows, raw, paths = struct.unpack_from("<8sHHIQI", data)
    assert (magic, version, kind) == (b"MUNINDEX", 1, 0) and len(data) == 28 + 48 * rows + paths + 32
    assert hashlib.sha256(data[:-32]).digest() == data[-32:]
    at, path, found, end = 28 + 48 * rows, b"", [], 0
    for row in range(rows):
        name, length, crc, offset = struct.unpack_from("<32sIIQ", data, 28 + 48 * row)
        (shared, at), (more, at) = (first := number(data, at)), number(data, first[1])
        path, at = path[:shared] + data[at : at + more], at + more
        assert offset == end and (not found or found[-1][4] <= path)
        found.append((name, length, crc, offset, path))
        end += length
    assert end == raw
    root = json.dumps([row[0].hex() for row in found], separators=(",", ":"))
    return found, hashlib.sha256(root.encode()).hexdigest()


def number(data, at):
    end = next(place for place in range(at, at + 3) if data[place] < 128)
    return sum((data[place] & 127) << 7 * (place - at) for place in range(at, end + 1)), end + 1


def inflate(piece, row):
    raw = zlib.decompressobj(-15).decompress(piece)
    assert (hashlib.sha256(raw).digest(), len(raw), zlib.crc32(raw)) == row[:3]
    assert piece.endswith(b"\0\0\xff\xff")
    return raw


def members(stream):
    at, pax = 0, {}
    while any(head := stream[at : at + 512]):
        name, mode, _, _, size, mtime, _, kind, link, _, prefix = (
            field.split(b"\0")[0] for field in struct.unpack("100s8s8s8s12s12s8sc100s88s155s12x", head)
        )
        size = int(pax.get(b"size", int(size, 8)))
        body, at = stream[at + 512 : at + 512 + size], at + 512 + (size + 511) // 512 * 512
        while kind == b"x" and body:
            length, line = body.split(b" ", 1)
            pax.update([line[: int(length) - len(length) - 2].split(b"=", 1)])
            body = body[int(length) :]
        if kind != b"x":
            path = pax.get(b"path", prefix + b"/" * bool(prefix) + name)
            when = pax.get(b"mtime", b"%d" % int(mtime, 8))
            yield path.rstrip(b"/"), kind, int(mode, 8), when, pax.get(b"linkpath", link), body
            pax = {}


def read(stream):
    found = {member[0]: member for member in members(stream)}
    told = json.loads(found.pop(b"manifest.json")[5])
    files = {path: member[5] for path, member in found.items() if member[1] == b"0"}
    for row in told["contents"]["files"] + told["contents"]["api"]:
        body = files.pop(row["path"].encode("utf-8", "surrogateescape"))
        assert (len(body), hashlib.sha256(body).hexdigest()) == (row["size"], row["sha256"])
    assert not files
    return told, found
