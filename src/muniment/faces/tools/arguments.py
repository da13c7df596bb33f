"""Faces, tools: reading what a client sends: arguments, paths, the roots of its workspace."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from urllib.parse import unquote_to_bytes, urlsplit

from muniment.archive.accept import source_errors
from muniment.archive.errors import InvalidInput, InvalidSource
from muniment.disk.root import Root
from muniment.faces.tools.shapes import Shape
from muniment.hosts.errors import WorkspaceMissing
from muniment.message import Message, say
from muniment.path import RelPath, printable

_SHOWN = 80


def read_arguments(shape: Shape, arguments: Mapping[str, object]) -> dict[str, str]:
    """The arguments of a call, each a text that its tool takes; anything else is `InvalidInput`.

    What was sent is named and never repeated: a value may be long, or hostile.

    >>> from muniment.faces.tools.shapes import ARCHIVE
    >>> read_arguments(ARCHIVE, {"kind": "file", "sourcePath": "a.md"})
    {'kind': 'file', 'sourcePath': 'a.md'}
    """
    known = shape.takes["properties"]
    for name in arguments:
        if name not in known:
            raise InvalidInput(
                where=_short(name), why=say("{tool} takes no argument of this name", tool=shape.name)
            )
    for name in shape.required:
        if name not in arguments:
            raise InvalidInput(where=name, why=say("{tool} needs this argument", tool=shape.name))
    return {name: _value(name, value, known[name]) for name, value in arguments.items()}


def _value(name: str, value: object, schema: Mapping[str, object]) -> str:
    if not isinstance(value, str):
        raise InvalidInput(where=name, why=say("a text was expected"))
    words = schema.get("enum")
    if isinstance(words, Sequence) and value not in words:
        raise InvalidInput(
            where=name, why=say("one of {words} was expected", words=", ".join(map(str, words)))
        )
    least, most = schema.get("minLength", 0), schema.get("maxLength", 1 << 16)
    assert isinstance(least, int) and isinstance(most, int)
    if not least <= len(value) <= most:
        raise InvalidInput(
            where=name,
            why=say("a text of {least} to {most} characters was expected", least=least, most=most),
        )
    if any("\ud800" <= sign <= "\udfff" for sign in value):
        raise InvalidInput(where=name, why=say("it is no whole Unicode text"))
    return value


def source_path(root: Root, text: str) -> RelPath:
    """The path that `sourcePath` names: from the top of the workspace, or absolute and inside it.

    An empty segment, `.` and `..` are `InvalidSource`, and so is a path outside (spec 1, the move).
    """
    odd = next((part for part in text.removeprefix("/").split("/") if part in ("", ".", "..")), None)
    if odd is not None:
        raise InvalidSource(where=_short(text), why=_segment(odd))
    with source_errors():
        return root.relative(text)


def _segment(part: str) -> Message:
    return (
        say("an empty name stands in the path") if not part else say("“{part}” stands in the path", part=part)
    )


def folder_of(uri: str) -> str:
    """The folder that a client's root names; a root that is no folder of this machine is refused.

    >>> folder_of("file:///home/ada/w%C3%B6rk")
    '/home/ada/wörk'
    """
    parts = urlsplit(uri)
    path = os.fsdecode(unquote_to_bytes(parts.path))
    if (
        parts.scheme != "file"
        or parts.netloc not in ("", "localhost")
        or not path.startswith("/")
        or "\0" in path
    ):
        raise WorkspaceMissing(where=_short(uri), why=say("the client's root is no folder of this machine"))
    return path


def _short(text: str) -> str:
    shown = printable(text)
    return shown if len(shown) <= _SHOWN else shown[:_SHOWN] + "…"
