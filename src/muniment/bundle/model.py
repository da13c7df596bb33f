"""Floor 2, `bundle`: the values that go in and come out.

Entries, rows and extents are named tuples, not dataclasses: a snapshot has tens of thousands of
them, and a tuple costs a quarter of the time and memory.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from struct import Struct
from typing import NamedTuple, Protocol

from muniment.evidence import Kind
from muniment.message import Message

BLOCK = 512
"""A tar record's unit, in bytes."""

EXTENT_MOST = 2 << 20
"""No extent is longer, in raw bytes (docs/format.md, extents)."""

MANIFEST = "manifest.json"

PATH_MOST = 8192
"""No path in a bundle has more bytes."""

DEPTH_MOST = 200
"""No path in a bundle has more names: one open folder is needed for each."""


_SOUND = re.compile(rb"(?!\.\.?(?:/|\Z))[^/\0]{1,255}(?:/(?!\.\.?(?:/|\Z))[^/\0]{1,255})*", re.DOTALL)


def is_sound(path: bytes) -> bool:
    r"""Whether a path leads downwards only: what `RelPath` takes, asked 100,000 times a snapshot.

    >>> [is_sound(path) for path in (b"a/..b/.c", b"", b"a/../b", b"/a", b"a//b", b"a/.", b"a\0")]
    [True, False, False, False, False, False, False]
    """
    return _SOUND.fullmatch(path) is not None


def too_far(path: bytes) -> bool:
    """Whether a path is longer or deeper than a bundle takes.

    >>> too_far(b"files/workspace/a"), too_far(b"a/" * 200 + b"b")
    (False, True)
    """
    return len(path) > PATH_MOST or path.count(b"/") >= DEPTH_MOST


def stays_inside(path: str, target: str) -> bool:
    """Whether a link's target, read without following any other link, lies in the link's section.

    >>> stays_inside("files/workspace/a/b", "../c"), stays_inside("files/workspace/a", "../../x")
    (True, False)
    """
    if target.startswith("/"):
        return False
    section = 3 if path.startswith("files/extra/") and path.count("/") > 2 else 2
    names = path.split("/")[:-1]
    for name in target.split("/"):
        if name == "..":
            if len(names) <= section:
                return False
            names.pop()
        elif name not in ("", "."):
            names.append(name)
    return True


class Entry(NamedTuple):
    """One thing to be packed.

    `path` is its place in the bundle, such as `files/workspace/a.md`; `size` is in bytes;
    `origin` is what the `Source` opens, or `content` holds the bytes themselves.  `stamp` is
    whatever tells that the file is unchanged (empty: it is always read).
    """

    path: str
    kind: Kind
    mode: int
    mtime_ns: int
    size: int = 0
    target: str = ""
    stamp: bytes = b""
    origin: str = ""
    content: bytes | None = None


class Source(Protocol):
    """Where the packer reads from; called from several threads."""

    def open(self, entry: Entry) -> int:
        """A descriptor open for reading; never through a link.  Raises `OSError`."""
        ...


class Extent(NamedTuple):
    """A stretch of the tar stream: its id, raw length, CRC-32, the path that begins or goes on in
    it, and the deflated piece.  No piece means that whoever takes it has it already."""

    id: bytes
    length: int
    crc: int
    path: bytes
    piece: bytes | None


class Row(NamedTuple):
    """An extent as the index tells of it; `offset` counts raw bytes from the stream's start."""

    id: bytes
    length: int
    crc: int
    offset: int
    path: bytes


class Packed(NamedTuple):
    """A file as it was packed: what the manifest says of it."""

    path: str
    size: int
    sha256: str


class Known(NamedTuple):
    """What a group of unchanged entries gave the last time: `(id, length, crc)` of its extents
    and the sha256 of each file, in order."""

    extents: tuple[tuple[bytes, int, int], ...]
    files: tuple[str, ...]


class Fault(NamedTuple):
    """A file that could not be packed as it was planned.

    `kind` is `left_out` (it is not in the bundle), `cut_short` (zeros stand for what could not be
    read) or `changed` (it changed under the reader and is packed as it was read).
    """

    path: str
    kind: str
    finding: Message


class Note(NamedTuple):
    """One group of a stretch: its key, 32 zero bytes when it is not to be believed, how many members it
    has, how many extents and files it gave; `when` it was read last is the memory's own affair."""

    key: bytes
    members: int
    extents: int
    files: int
    when: int = 0


class Stretch(NamedTuple):
    """What a stretch of entries gave: `rows` are `NOTE`s of its extents, `digests` the sha256 of its
    files, `cuts` the files, counted from 1, after which the manifest's text is cut."""

    notes: Sequence[Note]
    rows: bytes
    digests: bytes
    cuts: Sequence[int]


NOTE = Struct("<32sII")
"""An extent in few bytes: id, raw length, CRC-32."""

NOBODY = bytes(32)
"""The key of a group that is not to be believed."""


class Memory(Protocol):
    """The packer's memory between runs: of stretches as a whole, and of the groups in them."""

    @property
    def blank(self) -> bool:
        """Whether there is nothing that it could know of a group."""
        ...

    def stretch(self, first: bytes, key: bytes) -> Stretch | None:
        """What the stretch that begins at that path gave, if it had that key then and its extents are
        surely still there."""
        ...

    def recall(self, key: bytes) -> Known | None:
        """What is known of a group, if its extents are surely still there."""
        ...

    def learn(self, first: bytes, key: bytes, stretch: Stretch) -> None:
        """Keep a stretch for the next run; without a key only its groups may be recalled."""
        ...


Have = Callable[[bytes], bool]
"""Whether an extent of that id need not be deflated, because whoever takes it has it."""
