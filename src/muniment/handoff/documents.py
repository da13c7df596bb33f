"""Handoff room: hostile bytes into a checked document, and a document into its kept bytes."""

from __future__ import annotations

from typing import Any

from muniment.canonical import Json, NotJson, canonical, read_json
from muniment.handoff.errors import HandoffShape
from muniment.handoff.shape import Misfit, Shape, closed
from muniment.handoff.shapes import DOCUMENT_MAX, WHO
from muniment.message import Message, say
from muniment.path import BadPath, check_name


def parse(kind: str | Message, shape: Shape, data: bytes, where: str = "") -> dict[str, Any]:
    """Read one JSON object of a closed shape; `HandoffShape` names the field that does not fit.

    >>> from muniment.handoff.shapes import UNDELIVERED
    >>> parse("undelivered record", UNDELIVERED, b"{}")
    Traceback (most recent call last):
    muniment.handoff.errors.HandoffShape: The undelivered record does not have the shape it must have: \
recipient_id: this field is missing (HANDOFF_SHAPE)
    """
    if len(data) > DOCUMENT_MAX:
        why = say("{size} bytes; {most} is the most", size=len(data), most=DOCUMENT_MAX)
        raise HandoffShape(kind=kind, where=where, why=why)
    try:
        value = read_json(data)
    except NotJson as error:
        why = say("it is not strict JSON: {finding}", finding=error)
        raise HandoffShape(kind=kind, where=where, why=why) from error
    return fit(kind, shape, value, where)


def fit(kind: str | Message, shape: Shape, value: object, where: str = "") -> dict[str, Any]:
    """Check a value that is already JSON; gives it back as an object."""
    try:
        shape.check(value)
        if not isinstance(value, dict):
            raise Misfit("", say("an object was expected"))
    except Misfit as error:
        place = f"{where}: {error.at}" if where and error.at else where or error.at
        raise HandoffShape(kind=kind, where=place, why=error.why) from error
    return value


def check_recipient(name: str) -> None:
    """`HandoffShape` unless this can name a recipient, and a folder of its own."""
    fit(say("recipient"), closed(recipient=WHO), {"recipient": name})
    try:
        check_name(name)
    except BadPath as error:
        raise HandoffShape(kind=say("recipient"), where="recipient", why=error.why) from error


def kept(value: Json) -> bytes:
    """The bytes of a document as it is kept: canonical JSON and a newline."""
    return canonical(value) + b"\n"
