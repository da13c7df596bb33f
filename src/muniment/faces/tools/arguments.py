"""Faces, tools: reading what a client sends: arguments, paths, the roots of its workspace."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote_to_bytes, urlsplit

from muniment.archive.accept import source_errors
from muniment.archive.errors import InvalidInput, InvalidSource
from muniment.canonical import NotJson, canonical
from muniment.disk.root import Root
from muniment.errors import MunimentError
from muniment.faces.errors import InvalidArgument
from muniment.faces.tools.shape import Shape
from muniment.handoff.shapes import DOCUMENT_MAX
from muniment.hosts.errors import WorkspaceMissing
from muniment.message import Message, say
from muniment.path import RelPath, printable

_SHOWN = 80
_CHARACTERS = 1 << 16
_ITEMS = 10_000
_WHOLE_MOST = 2**53 - 1


class _Misfit(ValueError):
    """An argument that does not fit: which, and why."""

    def __init__(self, where: str, why: Message) -> None:
        self.where = where
        self.why = why
        super().__init__(where, why)


def read_arguments(shape: Shape, arguments: Mapping[str, object]) -> dict[str, Any]:
    """The arguments of a call, each as its tool takes it; anything else is `InvalidArgument`, and
    `InvalidInput` where the archive has its own code for it.

    What was sent is named and never repeated: a value may be long, or hostile.  A document that a
    room has a shape for is only held to be whole here; the room judges it.

    >>> from muniment.faces.tools.archive_shapes import ARCHIVE
    >>> read_arguments(ARCHIVE, {"kind": "file", "sourcePath": "a.md"})
    {'kind': 'file', 'sourcePath': 'a.md'}
    """
    known = shape.takes["properties"]
    try:
        for name in arguments:
            if name not in known:
                raise _Misfit(_short(name), say("{tool} takes no argument of this name", tool=shape.name))
        for name in shape.required:
            if name not in arguments:
                raise _Misfit(name, say("{tool} needs this argument", tool=shape.name))
        return {name: _value(name, value, known[name]) for name, value in arguments.items()}
    except _Misfit as misfit:
        raise unfit(shape, misfit.why, misfit.where) from misfit


def unfit(shape: Shape, why: Message, where: str = "") -> MunimentError:
    """What says that a call does not fit its tool: the archive has a code of its own for it."""
    refusal = InvalidInput if shape.room == "archive" else InvalidArgument
    return refusal(where=where, why=why)


def _value(where: str, value: object, schema: Mapping[str, Any]) -> object:
    kind = schema.get("type")
    if kind == "string" or "enum" in schema:
        return _text(where, value, schema)
    if kind == "boolean":
        if not isinstance(value, bool):
            raise _Misfit(where, say("true or false was expected"))
        return value
    if kind == "integer":
        return _whole(where, value, schema["minimum"], schema.get("maximum", _WHOLE_MOST))
    if kind == "array":
        if not isinstance(value, list):
            raise _Misfit(where, say("a list was expected"))
        if len(value) > _ITEMS:
            raise _Misfit(where, say("a list of at most {most} was expected", most=_ITEMS))
        return [_value(f"{where}[{at}]", each, schema["items"]) for at, each in enumerate(value)]
    if kind == "object" and isinstance(schema.get("additionalProperties"), Mapping):
        member = schema["additionalProperties"]
        if not isinstance(value, Mapping):
            raise _Misfit(where, say("an object was expected"))
        return {
            _text(where, name, {}): _value(f"{where}.{_short(name)}", each, member)
            for name, each in value.items()
        }
    return _document(where, value)


def _text(where: str, value: object, schema: Mapping[str, Any]) -> str:
    if not isinstance(value, str):
        raise _Misfit(where, say("a text was expected"))
    words = schema.get("enum")
    if words is not None and value not in words:
        raise _Misfit(where, say("one of {words} was expected", words=", ".join(words)))
    least, most = schema.get("minLength", 0), schema.get("maxLength", _CHARACTERS)
    if not least <= len(value) <= most:
        why = say("a text of {least} to {most} characters was expected", least=least, most=most)
        raise _Misfit(where, why)
    if any("\ud800" <= sign <= "\udfff" for sign in value):
        raise _Misfit(where, say("it is no whole Unicode text"))
    if re.search(schema.get("pattern", ""), value) is None:
        raise _Misfit(where, say("it does not have the form that was expected"))
    return value


def _whole(where: str, value: object, least: int, most: int) -> int:
    if type(value) is not int or not least <= value <= most:
        raise _Misfit(
            where, say("a whole number from {least} to {most} was expected", least=least, most=most)
        )
    return value


def _document(where: str, value: Any) -> Any:
    """A document that a room reads by a shape of its own: bounded, and with canonical bytes."""
    try:
        size = len(canonical(value))
    except NotJson as error:
        raise _Misfit(where, say("it can not be kept exactly: {finding}", finding=error)) from error
    if size > DOCUMENT_MAX:
        raise _Misfit(where, say("{size} bytes; {most} is the most", size=size, most=DOCUMENT_MAX))
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
