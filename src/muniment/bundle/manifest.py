"""Floor 2, `bundle`: `manifest.json`, version 1.1 (spec 5, bundle): written and read row by row.

The text is ASCII: a byte of a path that is not UTF-8 stands as the escape `\\udcXX`, which is how
Python and everything that reads JSON leniently keep it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from json.encoder import encode_basestring_ascii as quoted
from typing import Any, NamedTuple

from muniment.bundle.errors import BadManifest
from muniment.bundle.model import Packed, is_sound
from muniment.bundle.tar import wire
from muniment.message import Message, say
from muniment.path import printable

VERSION = "1.1"
LEAD = ",\n"
"""Between two rows."""

BYTES_MOST = 256 << 20
_SPACE = re.compile(r"[ \t\n\r]*")
_HEX = re.compile(r"[0-9a-f]{64}")


class Exclusion(NamedTuple):
    """Something left out of a snapshot and why."""

    section: str
    rel: str
    reason: str


@dataclass(frozen=True, slots=True)
class Heading:
    """What a manifest says beside its files; `source` is the layout's name."""

    source: str
    mode: str
    created_at: datetime
    label: str
    sections: Sequence[str]
    exclusions: Sequence[Exclusion] = ()
    warnings: Sequence[str] = ()


class Rows(NamedTuple):
    """Rows that go on after others: path, size and digest of the first file, the text of all, parted where
    it is to be cut, and how many files and bytes they tell of."""

    first: tuple[str, int, str]
    text: Sequence[str]
    files: int
    size: int


class Text:
    """Writes a manifest's text in stretches: `opening`, then a row a file, then `closing`.

    API files come before the others, as their paths do.
    """

    def __init__(self, heading: Heading) -> None:
        self._heading = heading
        self._first = True
        self._api = True
        self.files = 0
        self.size = 0

    def opening(self) -> str:
        """Everything before the first row."""
        one = self._heading
        moment = one.created_at.astimezone(UTC)
        facts = {
            "version": VERSION,
            "source": one.source,
            "mode": one.mode,
            "created_at_unix": int(moment.timestamp()),
            "created_at": moment.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "label": one.label,
            "sections": sorted(one.sections),
            "exclusions": [item._asdict() for item in one.exclusions],
        }
        lines = ",\n".join(f"{quoted(key)}:{_json(value)}" for key, value in facts.items())
        return f'{{{lines},\n"contents":{{"api":['

    def row(self, packed: Packed) -> str:
        """The row of one file, with what parts it from the row before."""
        return "".join(self.parted(packed))

    def parted(self, packed: Packed) -> tuple[str, str]:
        """The same in two: what parts it, and the row."""
        lead = "\n" if self._first else LEAD
        if self._api and not packed.path.startswith("api/"):
            lead, self._api = '],"files":[\n', False
        self._first = False
        self.files += 1
        self.size += packed.size
        return lead, row_of(*packed)

    @property
    def goes_on(self) -> bool:
        """Whether a row of a file that is not of the API has been written."""
        return not self._api

    def more(self, files: Iterable[tuple[str, int, str]]) -> list[str]:
        """Rows that go on after others, of path, size and digest."""
        listed = list(files)
        self.count(len(listed), sum([size for _, size, _ in listed]))
        return [LEAD + row_of(path, size, digest) for path, size, digest in listed]

    def count(self, files: int, size: int) -> None:
        """So many files and bytes more, whose rows were written elsewhere."""
        self.files += files
        self.size += size

    def closing(self, warnings: Sequence[str]) -> str:
        """Everything after the last row; `warnings` are added to the heading's."""
        lead = '],"files":[]' if self._api else "]"
        summary = {
            "total_files": self.files,
            "total_size_bytes": self.size,
            "warnings": [*self._heading.warnings, *warnings],
        }
        return f'{lead}}},\n"plan_summary":{_json(summary)}}}\n'


def row_of(path: str, size: int, sha256: str) -> str:
    """The row of one file, without what parts it from others.

    >>> row_of("api/ü", 5, "ab")
    '{"path":"api/\\\\u00fc","size":5,"sha256":"ab"}'
    """
    return f'{{"path":{quoted(path)},"size":{size},"sha256":"{sha256}"}}'


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))


def read_manifest(
    data: bytes, each: Callable[[Packed], object] = lambda packed: None, most: int = BYTES_MOST
) -> dict[str, Any]:
    """Read a manifest from outside: its facts without `contents`; `each` is given every file listed.

    Rows are handed on one at a time and never kept.  `BadManifest` says what is wrong with it.

    >>> read_manifest(b'{"version": "1.1", "contents": {"files": [], "api": []}}')
    {'version': '1.1'}
    """
    if len(data) > most:
        raise _refused(say("it has {size} bytes; {most} is the most", size=len(data), most=most))
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _refused(say("it is not UTF-8 text")) from error
    return _facts(_Scan(text), each)


Stretch = tuple[int, bytes]
"""Length and sha256 of some rows as `Text` writes them, from the first one's `{` to the last one's `}`."""


def read_listed(
    data: bytes, api: Iterable[Stretch], files: Iterable[Stretch], most: int = BYTES_MOST
) -> dict[str, Any] | None:
    """The facts of a manifest that lists exactly these rows, as our packer writes them; else none.

    No row is read: their text is held to what it has to be.  What is left without them is read as
    `read_manifest` reads it, and the two lists have to stand where the rows were.
    """
    opening = data.find(_API)
    if opening < 0 or len(data) > most:
        return None
    opening += len(_API)
    middle = _past(data, opening, api)
    if middle is None or not data.startswith(_FILES, middle):
        return None
    end = _past(data, middle + len(_FILES), files)
    if end is None:
        return None
    rest = data[:opening] + _FILES + data[end:]
    if not rest.isascii():
        return None
    rows: list[Packed] = []
    scan = _Scan(rest.decode("ascii"))
    facts = _facts(scan, rows.append)
    if rows or scan.lists != {"api": opening, "files": opening + len(_FILES)}:
        return None
    return facts


_API, _FILES = b'"contents":{"api":[', b'],"files":['


def _past(data: bytes, at: int, stretches: Iterable[Stretch]) -> int | None:
    """Where the rows end that begin there, if they are those."""
    view = memoryview(data)
    lead = b"\n"
    for length, digest in stretches:
        if length:
            at += len(lead)
            if not data.startswith(lead, at - len(lead)) or at + length > len(data):
                return None
            if hashlib.sha256(view[at : at + length]).digest() != digest:
                return None
            at += length
            lead = b",\n"
    return at


def _facts(scan: _Scan, each: Callable[[Packed], object]) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    lists: set[str] | None = None
    for key in scan.members():
        if key == "contents":
            lists = _contents(scan, each)
        else:
            facts[key] = scan.value()
    scan.end()
    if facts.get("version") != VERSION:
        raise _refused(say("its version {version} is not known here", version=repr(facts.get("version"))))
    if lists is None:
        raise _refused(say("it has no list of contents"))
    if not lists >= {"api", "files"}:
        raise _refused(say("its contents lack the list of files or of API files"))
    return facts


def _contents(scan: _Scan, each: Callable[[Packed], object]) -> set[str]:
    lists = set()
    for name in scan.members():
        lists.add(name)
        if name not in ("api", "files"):
            scan.value()
            continue
        for item in scan.items(name):
            each(item if isinstance(item, Packed) else _row(item, name))
    return lists


# A row as `Text` writes it, of a path that needs no escape: most are so, and read six times as fast.
_OURS = re.compile(
    r'\{"path":"((?:files|api)/[ !#-\[\]-~]+)","size":(0|[1-9][0-9]{0,17}),"sha256":"([0-9a-f]{64})"\}'
)


def _row(item: object, listed: str) -> Packed:
    if not isinstance(item, dict):
        raise _refused(say("a row of its contents is not an object"))
    path, size, digest = item.get("path"), item.get("size"), item.get("sha256")
    if not isinstance(path, str) or not isinstance(digest, str) or type(size) is not int:
        raise _refused(say("a row of its contents lacks path, size or sha256"))
    if size < 0 or not _HEX.fullmatch(digest):
        raise _refused(say("a row of its contents has an impossible size or sha256"), path)
    path = plain(path)
    if not _sound(path):
        raise _refused(say("a row of its contents has an impossible path"), printable(path))
    if not path.startswith(f"{listed}/"):
        raise _refused(say("a row of its contents stands in the wrong list"), path)
    return Packed(path, size, digest)


def _sound(path: str) -> bool:
    try:
        return is_sound(wire(path))
    except UnicodeEncodeError:  # a surrogate that stands for no byte
        return False


def plain(path: str) -> str:
    """A path without the prefixes that other writers put before it.

    >>> plain("./backup/files/workspace/a"), plain("backup/manifest.json")
    ('files/workspace/a', 'manifest.json')
    """
    while path.startswith("./"):
        path = path[2:]
    return path.removeprefix("backup/")


def _refused(why: Message, where: str = "") -> BadManifest:
    return BadManifest(why=why, where=where)


class _Scan:
    """Walks through JSON text and decodes one value at a time."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self.lists: dict[str, int] = {}
        self._decode = json.JSONDecoder(object_pairs_hook=_once, parse_constant=_no_constant).raw_decode

    def members(self) -> Iterator[str]:
        """The keys of an object; whoever iterates takes each value before the next key."""
        self._take("{")
        seen: set[str] = set()
        while not self._taken("}"):
            if seen:
                self._take(",")
            key = self.value()
            if not isinstance(key, str):
                raise _refused(say("it is not JSON"))
            if key in seen:
                raise _refused(say('the key "{key}" stands twice', key=key))
            seen.add(key)
            self._take(":")
            yield key

    def items(self, listed: str) -> Iterator[object]:
        """The items of a list; those that are rows as we write them come as `Packed`, judged."""
        self._take("[")
        self.lists[listed] = self._at
        first = True
        while not self._taken("]"):
            if not first:
                self._take(",")
                self._space()
            first = False
            ours = _OURS.match(self._text, self._at)
            if ours and ours[1].startswith(f"{listed}/") and is_sound(ours[1].encode("ascii")):
                self._at = ours.end()
                yield Packed(ours[1], int(ours[2]), ours[3])
            else:
                yield self.value()

    def value(self) -> Any:
        """The value that begins here, whole."""
        self._space()
        try:
            value, self._at = self._decode(self._text, self._at)
        except BadManifest:
            raise
        except (ValueError, RecursionError) as error:
            raise _refused(say("it is not JSON")) from error
        return value

    def end(self) -> None:
        """Nothing may follow."""
        self._space()
        if self._at != len(self._text):
            raise _refused(say("something follows its end"))

    def _space(self) -> None:
        match = _SPACE.match(self._text, self._at)
        if match:
            self._at = match.end()

    def _taken(self, sign: str) -> bool:
        self._space()
        if self._text.startswith(sign, self._at):
            self._at += 1
            return True
        return False

    def _take(self, sign: str) -> None:
        if not self._taken(sign):
            raise _refused(say("it is not JSON"))


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _refused(say("a key stands twice in one object"))
    return found


def _no_constant(name: str) -> Any:
    raise _refused(say("it is not JSON"))
