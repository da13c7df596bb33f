"""Floor 0: what was read where, as values: one row a file, one table a deliverable.

A table speaks of content only: paths, kinds, sizes, digests, link targets.  Times and modes
are kept by the acts that move them and say nothing about whether the bytes are the same.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from muniment.canonical import Json, NotJson, read_json
from muniment.digest import Digest, sha256
from muniment.path import RelPath


class Kind(StrEnum):
    """What an entry of a tree is."""

    FILE = "file"
    DIRECTORY = "directory"
    LINK = "link"


@dataclass(frozen=True, slots=True)
class Row:
    """One entry: its path inside the thing measured (empty for the thing itself), its size in
    bytes and its digest when it is a file, its target when it is a link."""

    path: str
    kind: Kind
    size: int = 0
    digest: Digest | None = None
    target: str | None = None

    def to_json(self) -> dict[str, Json]:
        """The row as it is kept.  Bytes that are not UTF-8 stand as `\\udcXX` would in Python,
        which JSON can not hold; they are spelled with a backslash instead."""
        row: dict[str, Json] = {"kind": self.kind.value, "path": spell(self.path)}
        if self.kind is Kind.FILE:
            row["size"] = self.size
            row["sha256"] = self.digest.hex if self.digest else ""
        if self.target is not None:
            row["target"] = spell(self.target)
        return row

    @classmethod
    def from_json(cls, row: Mapping[str, object]) -> Row:
        """Read a kept row; a `ValueError` says what is wrong with it."""
        try:
            kind = Kind(str(row["kind"]))
            path, size, digest, target = row["path"], row.get("size", 0), row.get("sha256"), row.get("target")
        except (KeyError, ValueError) as error:
            raise ValueError(f"not an evidence row: {error}") from error
        if not isinstance(path, str) or not isinstance(size, int) or isinstance(size, bool):
            raise ValueError("not an evidence row: path or size has another type")
        if kind is Kind.FILE and not (isinstance(digest, str) and 0 <= size < 2**53):
            raise ValueError("not an evidence row: a file without sha256, or of a size that no file has")
        if isinstance(target, str) is not (kind is Kind.LINK):
            raise ValueError("not an evidence row: a link without its target, or a target without a link")
        return cls(
            RelPath.parse(unspell(path)).posix,
            kind,
            size,
            Digest(digest) if isinstance(digest, str) else None,
            unspell(target) if isinstance(target, str) else None,
        )


# Rows hold texts and whole numbers under ASCII names; for these the encoder below writes exactly
# the canonical form, ten times as fast (a test holds it to that).
_canonical_row = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode


@dataclass(frozen=True, slots=True)
class Table:
    """All rows of one thing, sorted by path.

    Its bytes are one canonical JSON row a line; their sha256 is the *tree digest*, which is
    also the name under which the table is kept.

    >>> one = Table.of([Row("", Kind.FILE, 2, sha256(b"hi"))])
    >>> one.count, one.size, Table.read(one.to_bytes()) == one
    (1, 2, True)
    """

    rows: tuple[Row, ...]

    @classmethod
    def of(cls, rows: Iterable[Row]) -> Table:
        """A table from rows in any order; a path that stands twice is a `ValueError`."""
        ordered = tuple(sorted(rows, key=lambda row: spell(row.path)))
        for before, after in itertools.pairwise(ordered):
            if before.path == after.path:
                raise ValueError(f"a path stands twice: {after.path!r}")
        return cls(ordered)

    @classmethod
    def read(cls, data: bytes) -> Table:
        """Read a kept table; a `ValueError` says which line is wrong.

        A table has one spelling only, so that its digest can be computed from what was read.
        """
        rows: list[Row] = []
        for number, line in enumerate(data.splitlines(), 1):
            try:
                value = read_json(line)
                if not isinstance(value, dict):
                    raise ValueError("not an object")
                rows.append(Row.from_json(value))
            except (NotJson, ValueError) as error:
                raise ValueError(f"line {number}: {error}") from error
        table = cls.of(rows)
        if table.to_bytes() != data:
            raise ValueError("a table that is not written as tables are")
        return table

    def to_bytes(self) -> bytes:
        """The table as it is kept."""
        return "".join(f"{_canonical_row(row.to_json())}\n" for row in self.rows).encode()

    @property
    def digest(self) -> Digest:
        """The tree digest."""
        return sha256(self.to_bytes())

    @property
    def files(self) -> Iterator[Row]:
        """The rows that are files."""
        return (row for row in self.rows if row.kind is Kind.FILE)

    @property
    def count(self) -> int:
        """How many files."""
        return sum(1 for _ in self.files)

    @property
    def size(self) -> int:
        """How many bytes all files have together."""
        return sum(row.size for row in self.files)


@dataclass(frozen=True, slots=True)
class Difference:
    """How two tables differ, by path."""

    missing: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.missing or self.extra or self.changed)


def compare(expected: Table, found: Table) -> Difference:
    """What of `expected` is missing, changed or more in `found`.

    >>> a = Table.of([Row("x", Kind.FILE, 1, sha256(b"1"))])
    >>> b = Table.of([Row("x", Kind.FILE, 1, sha256(b"2"))])
    >>> compare(a, b).changed
    ('x',)
    """
    want = {row.path: row for row in expected.rows}
    have = {row.path: row for row in found.rows}
    return Difference(
        missing=tuple(path for path in want if path not in have),
        extra=tuple(path for path in have if path not in want),
        changed=tuple(path for path, row in want.items() if path in have and have[path] != row),
    )


_BYTE = re.compile(r"[89a-f][0-9a-f]")


def spell(text: str) -> str:
    """A name as JSON can hold it: a byte that is not UTF-8 becomes `\\xNN`, a backslash two.

    >>> spell("a\\udcff"), spell("a\\\\b")
    ('a\\\\xff', 'a\\\\\\\\b')
    """
    if "\\" not in text and text.isprintable():
        return text
    out: list[str] = []
    for sign in text:
        point = ord(sign)
        if sign == "\\":
            out.append("\\\\")
        elif 0xDC80 <= point <= 0xDCFF:
            out.append(f"\\x{point - 0xDC00:02x}")
        else:
            out.append(sign)
    return "".join(out)


def unspell(text: str) -> str:
    """The reverse of `spell`; anything that `spell` can not have written is a `ValueError`.

    >>> unspell(spell("a\\udcff\\\\x")) == "a\\udcff\\\\x"
    True
    """
    text.encode("utf-8")
    if "\\" not in text:
        return text
    out: list[str] = []
    at = 0
    while at < len(text):
        sign = text[at]
        if sign != "\\":
            out.append(sign)
            at += 1
        elif text[at + 1 : at + 2] == "\\":
            out.append("\\")
            at += 2
        elif text[at + 1 : at + 2] == "x":
            digits = text[at + 2 : at + 4]
            if not _BYTE.fullmatch(digits):
                raise ValueError(f"not a byte beyond ASCII: {text[at : at + 4]!r}")
            out.append(chr(0xDC00 + int(digits, 16)))
            at += 4
        else:
            raise ValueError(f"a lone backslash in {text!r}")
    name = "".join(out)
    # Bytes that are UTF-8 after all would be a second spelling of another name.
    if name.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape") != name:
        raise ValueError(f"bytes that are UTF-8 are spelled as if they were not: {text!r}")
    return name
