"""Floor 0: a path inside a root, as a value.

A path from outside becomes a root and a `RelPath` at once; below that nobody joins strings.
Names keep whatever bytes the file system gave them: bytes that are not UTF-8 stand as
surrogate escapes, as everywhere in Python.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

from muniment.errors import UsageError
from muniment.message import Message, say

NAME_MAX = 255
"""Bytes in one name, on every file system we support."""


class BadPath(UsageError, ValueError):
    """A path that can not name anything inside a root."""

    code = "BAD_PATH"
    what = "This is no path that can be used here."
    guidance = "Give a path that ends in a name: not in `..` or `/`, and no name over 255 bytes."

    def __init__(self, why: Message, *, where: str = "") -> None:
        super().__init__(where=where, why=why)

    def __str__(self) -> str:
        return str(self.why)


@dataclass(frozen=True, slots=True, order=True)
class RelPath:
    """Names from a root downwards; no names means the root itself.

    >>> RelPath.parse("archives/a/report.md").parent.posix
    'archives/a'
    >>> RelPath.parse("../etc/passwd")
    Traceback (most recent call last):
    muniment.path.BadPath: '..' can not stand in a path
    """

    parts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in self.parts:
            check_name(name)

    @classmethod
    def parse(cls, text: str) -> RelPath:
        """Read a relative path with `/`; refuses absolute paths, empty names, `.` and `..`."""
        if text.startswith("/"):
            raise BadPath(say("an absolute path: {path}", path=repr(text)))
        return cls(tuple(text.split("/"))) if text else cls()

    @property
    def name(self) -> str:
        """The last name; empty for the root itself."""
        return self.parts[-1] if self.parts else ""

    @property
    def parent(self) -> RelPath:
        """One level up; the root's parent is the root."""
        return RelPath(self.parts[:-1])

    @property
    def posix(self) -> str:
        """The names joined with `/`; the root itself is an empty text."""
        return "/".join(self.parts)

    def ancestors(self) -> Iterator[RelPath]:
        """Every path above, nearest first, the root last.

        >>> [p.posix for p in RelPath.parse("a/b/c").ancestors()]
        ['a/b', 'a', '']
        """
        for length in range(len(self.parts) - 1, -1, -1):
            yield RelPath(self.parts[:length])

    def within(self, other: RelPath) -> bool:
        """Whether this is `other` or lies below it.

        >>> RelPath.parse("a/b").within(RelPath.parse("a"))
        True
        """
        return self.parts[: len(other.parts)] == other.parts

    def relative_to(self, other: RelPath) -> RelPath:
        """This path as seen from `other`, which must be above it or the same."""
        if not self.within(other):
            why = say("{path} is not below {root}", path=repr(self.posix), root=repr(other.posix))
            raise BadPath(why)
        return RelPath(self.parts[len(other.parts) :])

    def __truediv__(self, other: str | RelPath) -> RelPath:
        tail = other.parts if isinstance(other, RelPath) else (other,)
        return RelPath(self.parts + tail)

    def __str__(self) -> str:
        return self.posix or "."


def check_name(name: str) -> str:
    """Refuse what can not be one name in a folder; give the name back.

    >>> check_name("a/b")
    Traceback (most recent call last):
    muniment.path.BadPath: '/' stands in a name: 'a/b'
    """
    if not name:
        raise BadPath(say("an empty name stands in a path"))
    if name in (".", ".."):
        raise BadPath(say("{name} can not stand in a path", name=repr(name)))
    if "/" in name:
        raise BadPath(say("'/' stands in a name: {name}", name=repr(name)))
    if "\0" in name:
        raise BadPath(say("a NUL stands in a name"))
    try:
        size = len(os.fsencode(name))
    except UnicodeEncodeError as error:
        raise BadPath(say("a name that no file can have: {name}", name=repr(name))) from error
    if size > NAME_MAX:
        raise BadPath(say("a name of {size} bytes; {most} is the most", size=size, most=NAME_MAX))
    return name


def printable(text: str) -> str:
    """A path or name as a person may safely read it: control characters and bytes that are
    not UTF-8 are spelled out, so that a hostile name can not move the cursor or hide itself.

    >>> printable("a\\x1b[2J\\udcff")
    'a\\\\x1b[2J\\\\xff'
    """
    if text.isprintable():
        return text
    return "".join(_visible(sign) for sign in text)


def _visible(sign: str) -> str:
    point = ord(sign)
    if 0xDC80 <= point <= 0xDCFF:
        return f"\\x{point - 0xDC00:02x}"
    if sign.isprintable():
        return sign
    if point <= 0xFF:
        return f"\\x{point:02x}"
    return f"\\u{point:04x}" if point <= 0xFFFF else f"\\U{point:08x}"
