"""Builds the hostile bundles, indexes and extents that lie in `hostile/`, and says how each is refused.

    python -m tests.bundle.hostile

The files are kept, so that a reader in another language can be tried with them, and so that a change
of our own writers does not quietly change what is tried.  Everything here is made with `tarfile`,
`zlib` and `struct`: none of it with the code under test.
"""

from __future__ import annotations

import copy
import gzip
import hashlib
import io
import json
import struct
import tarfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

PLACE = Path(__file__).parent / "hostile"
BUNDLE, MANIFEST, DIFFER, LINK = "BUNDLE_REFUSED", "MANIFEST_REFUSED", "CONTENTS_DIFFER", "OUTSIDE_LINK"
INDEX, EXTENT = "INDEX_REFUSED", "EXTENT_REFUSED"


class Case(NamedTuple):
    """A file, the code of its refusal and the finding's template."""

    name: str
    data: bytes
    code: str
    why: str


CASES: list[Case] = []


def case(name: str, data: bytes, code: str, why: str = "") -> None:
    assert all(old.name != name for old in CASES)
    CASES.append(Case(name, data, code, why))


# Bundles.


class Tar:
    """A bundle in the making; what is wrong with it is put in by hand."""

    def __init__(self, **fields: Any) -> None:
        self.stream = io.BytesIO()
        self.archive = tarfile.TarFile(fileobj=self.stream, mode="w", format=tarfile.PAX_FORMAT, **fields)
        self.files: list[dict[str, Any]] = []
        self.api: list[dict[str, Any]] = []

    def file(self, path: str, data: bytes = b"x", listed: bool = True, **fields: Any) -> Tar:
        return self.entry(path, tarfile.REGTYPE, data, listed, **fields)

    def entry(self, path: str, kind: bytes, data: bytes = b"", listed: bool = False, **fields: Any) -> Tar:
        info = tarfile.TarInfo(path)
        info.type, info.size = kind, len(data)
        for name, value in fields.items():
            setattr(info, name, value)
        self.archive.addfile(info, io.BytesIO(data))
        if listed:
            self.list(path, data)
        return self

    def list(self, path: str, data: bytes) -> Tar:
        row = {"path": path, "size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        (self.api if path.startswith("api/") else self.files).append(row)
        return self

    def raw(self, data: bytes) -> Tar:
        """Bytes between the members."""
        self.stream.write(data)
        self.archive.offset += len(data)
        return self

    def manifest(
        self, change: Callable[[dict[str, Any]], object] = lambda told: None, text: bytes = b""
    ) -> Tar:
        told: dict[str, Any] = {"version": "1.1", "contents": {"files": self.files, "api": self.api}}
        change(told)
        return self.file("manifest.json", text or json.dumps(told).encode(), listed=False)

    def plain(self) -> bytes:
        self.archive.close()
        return self.stream.getvalue()

    def done(self) -> bytes:
        return gzip.compress(self.plain(), mtime=0)


def sound() -> Tar:
    return Tar().file("files/workspace/a", b"hello").file("api/profile.json", b"{}")


def bundles() -> None:
    nowhere = "a path that leads nowhere or outside stands in it"
    nothing = "a path stands in it where a snapshot has nothing"
    for name, path, why in (
        ("path-up", "files/workspace/../../../etc/cron.d/x", nowhere),
        ("path-up-first", "../x", nowhere),
        ("path-absolute", "/etc/passwd", nowhere),
        ("path-doubled-slash", "files/workspace//x", nowhere),
        ("path-dot-inside", "files/workspace/./x", nowhere),
        ("path-name-too-long", "files/workspace/" + "n" * 256, nowhere),
        ("path-elsewhere", "etc/x", nothing),
        ("path-other-section", "files/system/x", nothing),
        ("path-like-a-section", "files/workspacex/x", nothing),
        ("path-bare-section", "files/data", nothing),
    ):
        case(f"{name}.tgz", sound().file(path).manifest().done(), BUNDLE, why)
    far = "its path is longer or deeper than a snapshot can hold"
    case("path-deep.tgz", sound().file("files/workspace/" + "d/" * 200 + "x").manifest().done(), BUNDLE, far)
    case(
        "path-long.tgz",
        sound().file("files/workspace/" + ("n" * 200 + "/") * 41 + "x").manifest().done(),
        BUNDLE,
        far,
    )
    twice = "a path stands twice in it"
    case("doubled-file.tgz", sound().file("files/workspace/a", b"other").manifest().done(), BUNDLE, twice)
    doubled = sound().file("./files/workspace/a", b"other", listed=False).manifest().done()
    case("doubled-by-prefix.tgz", doubled, BUNDLE, twice)
    case("doubled-manifest.tgz", sound().manifest().manifest().done(), BUNDLE, twice)
    case(
        "file-over-folder.tgz",
        sound().file("files/workspace/d/x").file("files/workspace/d").manifest().done(),
        BUNDLE,
        twice,
    )
    through = sound().entry("files/workspace/l", tarfile.SYMTYPE, linkname="a").file("files/workspace/l/x")
    case("through-a-link.tgz", through.manifest().done(), BUNDLE, "a path leads through a link")
    late = sound().file("files/workspace/l/x").entry("files/workspace/l", tarfile.SYMTYPE, linkname="/etc")
    case("link-over-folder.tgz", late.manifest().done(), BUNDLE, twice)
    case(
        "through-a-file.tgz",
        sound().file("files/workspace/a/b").manifest().done(),
        BUNDLE,
        "a path leads through a file",
    )
    outside = "The target of a link in the snapshot, {target}, lies outside its section."
    for name, target in (
        ("link-absolute", "/etc/passwd"),
        ("link-up", "../../../etc"),
        ("link-to-sibling", "../data/x"),
    ):
        made = sound().entry("files/workspace/l", tarfile.SYMTYPE, linkname=target).manifest().done()
        case(f"{name}.tgz", made, LINK, outside)
    empty = sound().entry("files/workspace/l", tarfile.SYMTYPE).manifest().done()
    case("link-empty.tgz", empty, BUNDLE, "a link has an impossible target")
    alien = "a member of type {kind} stands in it; a snapshot has none"
    for name, kind in (
        ("character-device", tarfile.CHRTYPE),
        ("block-device", tarfile.BLKTYPE),
        ("pipe", tarfile.FIFOTYPE),
    ):
        case(f"{name}.tgz", sound().entry("files/workspace/x", kind).manifest().done(), BUNDLE, alien)
    case("unknown-type.tgz", sound().entry("files/workspace/x", b"Z").manifest().done(), BUNDLE, alien)
    case(
        "gnu-long-name.tgz", sound().entry("x", b"L", b"files/workspace/y\0").manifest().done(), BUNDLE, alien
    )
    case(
        "global-header.tgz",
        Tar(pax_headers={"path": "files/workspace/evil"}).manifest().done(),
        BUNDLE,
        alien,
    )
    sparse = sound().entry(
        "files/workspace/s",
        tarfile.REGTYPE,
        b"x",
        pax_headers={"GNU.sparse.major": "1", "GNU.sparse.minor": "0"},
    )
    case("sparse.tgz", sparse.manifest().done(), BUNDLE, "a sparse member stands in it; a snapshot has none")
    hard = "a hard link names no earlier file"
    for name, target in (("hard-link-outside", "/etc/passwd"), ("hard-link-to-link", "files/workspace/l")):
        linked = sound().entry("files/workspace/l", tarfile.SYMTYPE, linkname="a")
        case(
            f"{name}.tgz",
            linked.entry("files/workspace/h", tarfile.LNKTYPE, linkname=target).manifest().done(),
            BUNDLE,
            hard,
        )
    heavy = sound().entry("files/workspace/d", tarfile.DIRTYPE, b"contents").manifest().done()
    case("folder-with-contents.tgz", heavy, BUNDLE, "a folder or link with contents stands in it")

    # Records.
    plain = sound().manifest().plain()

    def record(at: int, put: bytes, sign: bool = True) -> bytes:
        block = bytearray(plain[:512])
        block[at : at + len(put)] = put
        if sign:
            block[148:156] = b"        "
            block[148:156] = b"%06o\0 " % sum(block)
        return gzip.compress(bytes(block) + plain[512:], mtime=0)

    number = "a number in a record is malformed"
    case("checksum.tgz", record(0, b"F", sign=False), BUNDLE, "a record's checksum does not fit")
    case("size-negative.tgz", record(124, b"-0000000005\0"), BUNDLE, number)
    case("size-base-256.tgz", record(124, b"\x80" + bytes(10) + b"\x05"), BUNDLE, number)
    case("size-words.tgz", record(124, b"hello world\0"), BUNDLE, number)
    case("size-beyond-the-end.tgz", record(124, b"77777777777\0"), BUNDLE, "the tar stream is cut short")
    case("magic.tgz", record(257, b"USTAR\0"), BUNDLE, "a record is not in the ustar format")
    filled = bytearray(plain)
    filled[512 + 5] = 1
    case(
        "padding.tgz",
        gzip.compress(bytes(filled), mtime=0),
        BUNDLE,
        "a file's last block is filled with something",
    )

    def pax(body: bytes, size: int | None = None) -> bytes:
        info = tarfile.TarInfo("././@PaxHeader")
        info.type, info.size = b"x", len(body) if size is None else size
        return info.tobuf(tarfile.USTAR_FORMAT) + body + bytes(-len(body) % 512)

    broken = "an extended header is malformed"
    for name, body in (
        ("pax-no-length", b"path=x\n"),
        ("pax-length-beyond", b"99 path=files/workspace/y\n"),
        ("pax-length-short", b"5 path=files/workspace/y\n"),
        ("pax-no-equals", b"9 pathxx\n"),
    ):
        case(f"{name}.tgz", gzip.compress(pax(body) + plain, mtime=0), BUNDLE, broken)
    case(
        "pax-twice.tgz",
        gzip.compress(pax(b"10 path=a\n10 path=b\n") + plain, mtime=0),
        BUNDLE,
        "an extended header says one thing twice",
    )
    case(
        "pax-pax.tgz",
        gzip.compress(pax(b"10 path=a\n") * 2 + plain, mtime=0),
        BUNDLE,
        "two extended headers stand before one record",
    )
    case(
        "pax-huge.tgz",
        gzip.compress(pax(b"x", 1 << 30) + plain, mtime=0),
        BUNDLE,
        "an extended header has an impossible length",
    )
    case(
        "pax-alone.tgz",
        gzip.compress(pax(b"10 path=a\n") + bytes(1024), mtime=0),
        BUNDLE,
        "an extended header stands before no record",
    )
    case("pax-mtime.tgz", gzip.compress(pax(b"13 mtime=nan\n") + plain, mtime=0), BUNDLE, number)
    case("pax-size.tgz", gzip.compress(pax(b"11 size=-1\n") + plain, mtime=0), BUNDLE, number)
    case(
        "pax-nul.tgz",
        gzip.compress(pax(b"31 path=files/workspace/b\0a/cd\n") + plain, mtime=0),
        BUNDLE,
        nowhere,
    )

    # The stream's and the member's ends.
    body = plain.rstrip(b"\0")
    body += bytes(-len(body) % 512)
    case("tar-cut-short.tgz", gzip.compress(plain[:700], mtime=0), BUNDLE, "the tar stream is cut short")
    case("tar-without-end.tgz", gzip.compress(body, mtime=0), BUNDLE, "the tar stream is cut short")
    case(
        "tar-lone-empty-record.tgz",
        gzip.compress(bytes(512) + plain, mtime=0),
        BUNDLE,
        "a lone empty record stands between others",
    )
    case(
        "tar-something-follows.tgz",
        gzip.compress(plain + plain, mtime=0),
        BUNDLE,
        "something follows the end of the tar stream",
    )
    case(
        "tar-zeros-without-end.tgz",
        gzip.compress(plain + bytes(2 << 20), mtime=0),
        BUNDLE,
        "something follows the end of the tar stream",
    )
    gz = sound().manifest().done()
    case("gzip-empty.tgz", b"", BUNDLE, "it is cut short")
    case("gzip-cut-short.tgz", gz[: len(gz) // 2], BUNDLE, "it is cut short")
    case("gzip-tail-cut-short.tgz", gz[:-3], BUNDLE, "it is cut short")
    case("gzip-not.tgz", b"PK\3\4" + gz, BUNDLE, "it is not a gzip file")
    case("gzip-flags.tgz", gz[:3] + b"\x80" + gz[4:], BUNDLE, "its gzip header is not known here")
    case("gzip-crc.tgz", gz[:-8] + bytes(4) + gz[-4:], BUNDLE, "its CRC-32 does not fit: it is damaged")
    case("gzip-length.tgz", gz[:-4] + b"\1\2\3\4", BUNDLE, "its length does not fit: it is damaged")
    case("gzip-trailing-garbage.tgz", gz + b"garbage", BUNDLE, "something follows its end")
    case("gzip-second-member.tgz", gz + gz, BUNDLE, "something follows its end")
    damaged = bytearray(gz)
    damaged[11] = 0xFF
    case("gzip-damaged.tgz", bytes(damaged), BUNDLE, "it can not be inflated: {error}")
    bomb = zlib.compressobj(9, zlib.DEFLATED, 31)
    head = tarfile.TarInfo("files/workspace/bomb")
    head.size = 10 << 30
    data = bomb.compress(head.tobuf(tarfile.PAX_FORMAT))
    for _ in range(80):
        data += bomb.compress(b"A" * (1 << 20))
    case("bomb.tgz", data + bomb.flush(), BUNDLE, "it inflates to more than {ratio} times its size")

    # The manifest and the contents.
    case("manifest-none.tgz", sound().done(), MANIFEST, "there is none")
    case("manifest-not-json.tgz", sound().manifest(text=b"{version").done(), MANIFEST, "it is not JSON")
    case("manifest-list.tgz", sound().manifest(text=b"[]").done(), MANIFEST, "it is not JSON")
    case(
        "manifest-not-utf8.tgz",
        sound().manifest(text=b'{"version":"\xff"}').done(),
        MANIFEST,
        "it is not UTF-8 text",
    )
    case(
        "manifest-deep.tgz",
        sound().manifest(text=b'{"a":' + b"[" * 100_000).done(),
        MANIFEST,
        "it is not JSON",
    )
    case("manifest-nan.tgz", sound().manifest(text=b'{"a":NaN}').done(), MANIFEST, "it is not JSON")
    case(
        "manifest-follows.tgz",
        sound().manifest(text=b'{"version":"1.1","contents":{"files":[],"api":[]}} {}').done(),
        MANIFEST,
        "something follows its end",
    )
    case(
        "manifest-version.tgz",
        sound().manifest(lambda told: told.update(version="2.0")).done(),
        MANIFEST,
        "its version {version} is not known here",
    )
    case(
        "manifest-no-contents.tgz",
        sound().manifest(lambda told: told.pop("contents")).done(),
        MANIFEST,
        "it has no list of contents",
    )
    case(
        "manifest-no-files.tgz",
        sound().manifest(lambda told: told["contents"].pop("files")).done(),
        MANIFEST,
        "its contents lack the list of files or of API files",
    )
    case(
        "manifest-key-twice.tgz",
        sound().manifest(text=b'{"version":"1.1","version":"1.1"}').done(),
        MANIFEST,
        'the key "{key}" stands twice',
    )
    rowed = "a row of its contents "

    def row(change: Callable[[dict[str, Any]], object]) -> bytes:
        return sound().manifest(lambda told: change(told["contents"]["files"][0])).done()

    case(
        "manifest-row-list.tgz",
        sound().manifest(lambda told: told["contents"]["files"].append([])).done(),
        MANIFEST,
        rowed + "is not an object",
    )
    case(
        "manifest-row-bool-size.tgz",
        row(lambda one: one.update(size=True)),
        MANIFEST,
        rowed + "lacks path, size or sha256",
    )
    case(
        "manifest-row-negative.tgz",
        row(lambda one: one.update(size=-1)),
        MANIFEST,
        rowed + "has an impossible size or sha256",
    )
    case(
        "manifest-row-capitals.tgz",
        row(lambda one: one.update(sha256=one["sha256"].upper())),
        MANIFEST,
        rowed + "has an impossible size or sha256",
    )
    case(
        "manifest-row-up.tgz",
        row(lambda one: one.update(path="files/../a")),
        MANIFEST,
        rowed + "has an impossible path",
    )
    case(
        "manifest-row-other-list.tgz",
        row(lambda one: one.update(path="api/a")),
        MANIFEST,
        rowed + "stands in the wrong list",
    )
    case(
        "manifest-row-itself.tgz",
        row(lambda one: one.update(path="manifest.json")),
        MANIFEST,
        rowed + "stands in the wrong list",
    )
    again = (
        sound().manifest(lambda told: told["contents"]["files"].append(told["contents"]["files"][0])).done()
    )
    case("manifest-row-twice.tgz", again, MANIFEST, "a path stands twice in its contents")
    case("contents-extra.tgz", sound().file("files/workspace/more", listed=False).manifest().done(), DIFFER)
    case("contents-extra-api.tgz", sound().file("api/more.json", listed=False).manifest().done(), DIFFER)
    case("contents-missing.tgz", sound().list("files/workspace/lost", b"x").manifest().done(), DIFFER)
    case("contents-hash.tgz", row(lambda one: one.update(sha256="0" * 64)), DIFFER)
    case("contents-size.tgz", row(lambda one: one.update(size=4)), DIFFER)


# Indexes.


def make_index(
    rows: list[tuple[int, int, bytes]],
    *,
    magic: bytes = b"MUNINDEX",
    version: int = 1,
    kind: int = 0,
    count: int | None = None,
    total: int | None = None,
    paths: bytes | None = None,
    check: bytes | None = None,
) -> bytes:
    """Rows of (length, offset, path), laid down as docs/format.md says."""
    packed = b"".join(
        struct.pack("<32sIIQ", hashlib.sha256(b"%d" % at).digest(), length, 7, offset)
        for at, (length, offset, _) in enumerate(rows)
    )
    told = paths if paths is not None else b"".join(bytes((0, len(path))) + path for _, _, path in rows)
    end = sum(length for length, _, _ in rows) if total is None else total
    head = struct.pack(
        "<8sHHIQI", magic, version, kind, len(rows) if count is None else count, end, len(told)
    )
    body = head + packed + told
    return body + (hashlib.sha256(body).digest() if check is None else check)


GOOD = [(512, 0, b"files/workspace"), (1024, 512, b"files/workspace/a"), (1024, 1536, b"manifest.json")]


def indexes() -> None:
    room = "it declares {count} rows and has no room for them"
    paths = "its paths are cut short or malformed"
    case("empty.index", b"", INDEX, "it is cut short")
    case("cut-short.index", make_index(GOOD)[:-40], INDEX, room)
    case("magic.index", make_index(GOOD, magic=b"MUNINDEY"), INDEX, "it does not begin as an index does")
    case("version.index", make_index(GOOD, version=2), INDEX, "its version {version} is not known here")
    case("id-kind.index", make_index(GOOD, kind=1), INDEX, "its kind of ids, {kind}, is not known here")
    case("billion-rows.index", make_index(GOOD, count=10**9), INDEX, room)
    case("fewer-rows.index", make_index(GOOD, count=2), INDEX, room)
    case("follows.index", make_index(GOOD) + b"x", INDEX, room)
    case("checksum.index", make_index(GOOD, check=bytes(32)), INDEX, "its own checksum does not fit")
    case(
        "overlap.index",
        make_index([GOOD[0], (1024, 511, b"files/workspace/a"), GOOD[2]]),
        INDEX,
        "row {number} overlaps the one before",
    )
    case(
        "gap.index",
        make_index([GOOD[0], (1024, 513, b"files/workspace/a"), GOOD[2]]),
        INDEX,
        "a gap lies before row {number}",
    )
    case(
        "row-empty.index",
        make_index([GOOD[0], (0, 512, b"files/workspace/a")]),
        INDEX,
        "row {number} has an impossible length",
    )
    case("row-huge.index", make_index([(1 << 31, 0, b"a")]), INDEX, "row {number} has an impossible length")
    case(
        "total.index",
        make_index(GOOD, total=1 << 60),
        INDEX,
        "its rows hold {found} bytes, not the {raw} declared",
    )
    case("no-stream.index", make_index([(511, 0, b"a")]), INDEX, "{found} bytes are no tar stream")
    case("no-rows.index", make_index([]), INDEX, "{found} bytes are no tar stream")
    case(
        "order.index",
        make_index([(512, 0, b"b"), (512, 512, b"a")]),
        INDEX,
        "the paths are out of order at row {number}",
    )
    case("path-shares-nothing.index", make_index([(1024, 0, b"")], paths=b"\5\0"), INDEX, paths)
    case("path-beyond.index", make_index([(1024, 0, b"")], paths=b"\0\x7fx"), INDEX, paths)
    case("path-number.index", make_index([(1024, 0, b"")], paths=b"\xff\xff\xff\xff\1\0"), INDEX, paths)
    case("path-left-over.index", make_index([(1024, 0, b"")], paths=b"\0\1ax"), INDEX, paths)
    case("path-long.index", make_index([(1024, 0, b"")], paths=b"\0\x81\x40" + b"n" * 8193), INDEX, paths)


# Extents: 32 bytes id, 4 length, 4 CRC, then the piece.


def extent(
    piece: bytes, raw: bytes, *, length: int | None = None, crc: int | None = None, name: bytes = b""
) -> bytes:
    return (
        (name or hashlib.sha256(raw).digest())
        + struct.pack("<II", len(raw) if length is None else length, zlib.crc32(raw) if crc is None else crc)
        + piece
    )


def squeeze(raw: bytes, flush: int = zlib.Z_FULL_FLUSH, words: bytes = b"") -> bytes:
    maker = (
        zlib.compressobj(6, zlib.DEFLATED, -15, zdict=words)
        if words
        else zlib.compressobj(6, zlib.DEFLATED, -15)
    )
    return maker.compress(raw) + maker.flush(flush)


def extents() -> None:
    raw = b"the raw bytes of an extent, " * 40
    piece = squeeze(raw)
    inside = "nothing can follow it: it ends inside a block"
    flushed = "it does not end in a full flush"
    case("empty.extent", extent(b"", raw), EXTENT, "it inflates to {found} bytes, not {length}")
    case("id.extent", extent(piece, raw, name=bytes(32)), EXTENT, "its bytes do not have its id")
    case("crc.extent", extent(piece, raw, crc=1), EXTENT, "its CRC-32 is not the one declared")
    case("short.extent", extent(squeeze(raw[:-1]), raw), EXTENT, "it inflates to {found} bytes, not {length}")
    case("cut-short.extent", extent(piece[:-9], raw), EXTENT, "it inflates to {found} bytes, not {length}")
    case(
        "long.extent",
        extent(squeeze(raw + b"x"), raw),
        EXTENT,
        "it inflates to more than the {length} bytes declared",
    )
    case(
        "bomb.extent",
        extent(squeeze(bytes(30 << 20)), raw),
        EXTENT,
        "it inflates to more than the {length} bytes declared",
    )
    case(
        "declares-4-gib.extent",
        extent(piece, raw, length=(1 << 32) - 1),
        EXTENT,
        "it declares {length} bytes",
    )
    case("declares-nothing.extent", extent(piece, raw, length=0), EXTENT, "it declares {length} bytes")
    case(
        "final-block.extent",
        extent(squeeze(raw, zlib.Z_FINISH), raw),
        EXTENT,
        "it carries the final-block bit",
    )
    final = squeeze(raw[:100]) + squeeze(raw[100:], zlib.Z_FINISH) + b"\0\0\xff\xff"
    case("final-block-then-flush.extent", extent(final, raw), EXTENT, "it carries the final-block bit")
    words = b"the raw bytes of an extent, "
    case(
        "back-reference.extent",
        extent(squeeze(raw, words=words), raw),
        EXTENT,
        "it can not be inflated: {error}",
    )
    case(
        "back-reference-by-one.extent",
        extent(b"\x03\x02\x00\x00\x00\xff\xff", b"a" * 3),
        EXTENT,
        "it can not be inflated: {error}",
    )
    case("partial-flush.extent", extent(squeeze(raw, zlib.Z_PARTIAL_FLUSH), raw), EXTENT, flushed)
    case("flush-cut.extent", extent(piece[:-4], raw), EXTENT, flushed)
    case(
        "trailing-garbage.extent", extent(piece + b"garbage", raw), EXTENT, "it can not be inflated: {error}"
    )
    case("trailing-zero.extent", extent(piece + b"\0", raw), EXTENT, flushed)
    case("not-deflate.extent", extent(b"\x07" + piece, raw), EXTENT, "it can not be inflated: {error}")
    case("zstd.extent", extent(b"\x28\xb5\x2f\xfd" + piece, raw), EXTENT, "it can not be inflated: {error}")
    # A stored block that promises more than is there, and whose last bytes look like a flush.
    open_block = b"\0" + struct.pack("<HH", 300, 300 ^ 0xFFFF) + raw[:50] + b"\0\0\xff\xff"
    case("open-stored-block.extent", extent(open_block, raw[:50] + b"\0\0\xff\xff"), EXTENT, inside)
    closed = b"\0" + struct.pack("<HH", 54, 54 ^ 0xFFFF) + raw[:50] + b"\0\0\xff\xff"
    case("stored-block-ends-like-a-flush.extent", extent(closed, raw[:50] + b"\0\0\xff\xff"), EXTENT, inside)
    case(
        "too-long.extent",
        extent(b"\0\0\0\xff\xff" * 440_000 + piece, raw),
        EXTENT,
        "it is longer than any piece can be",
    )


def build() -> list[Case]:
    """All cases, made anew."""
    CASES.clear()
    bundles()
    indexes()
    extents()
    return copy.copy(CASES)


def main() -> None:
    PLACE.mkdir(exist_ok=True)
    for old in PLACE.iterdir():
        old.unlink()
    cases = build()
    for one in cases:
        # What is long only because it repeats itself is kept small.
        (PLACE / f"{one.name}.gz").write_bytes(gzip.compress(one.data, 9, mtime=0))
    table = [{"file": one.name, "code": one.code, "why": one.why} for one in cases]
    (PLACE / "expected.json").write_text(json.dumps(table, indent=1) + "\n")


if __name__ == "__main__":
    main()
