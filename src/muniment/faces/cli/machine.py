"""Faces, command line: the one JSON object that a program reads."""

from __future__ import annotations

import json
import re

from muniment.canonical import Json
from muniment.path import printable

_ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029]")
"""Signs that stand in strings only, so that they can be escaped in the finished text."""


def json_line(value: Json, *, unicode: bool = True) -> str:
    """A value as one line of strict JSON.

    Bytes of names that are not UTF-8 have no place in JSON and are spelled with a backslash.
    Control characters that JSON would allow as they are, and breaks of lines that are no line
    feeds, are escaped: the object may be looked at on a terminal.

    >>> json_line({"name": "a\\udcff"})
    '{"name": "a\\\\\\\\xff"}\\n'
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        value = _spelled(value)
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    shown = _ESCAPED.sub(lambda sign: f"\\u{ord(sign.group()):04x}", text)
    return (shown if unicode else json.dumps(value, allow_nan=False)) + "\n"


def _spelled(value: Json) -> Json:
    if isinstance(value, str):
        return "".join(printable(sign) if "\ud800" <= sign <= "\udfff" else sign for sign in value)
    if isinstance(value, dict):
        return {str(_spelled(name)): _spelled(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_spelled(item) for item in value]
    return value
