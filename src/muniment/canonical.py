"""Floor 0: canonical JSON (RFC 8785), the one form that is ever hashed.

Integers beyond 2^53 have no exact place in it; whoever writes a nanosecond time or an inode
number writes a string.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import rfc8785

from muniment.digest import Digest, sha256
from muniment.path import printable

Json = None | bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"]


_EXACT = 2**53 - 1
"""The largest integer that every reader of JSON keeps exactly."""

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), sort_keys=True).encode


class NotJson(ValueError):
    """Bytes that are not strict JSON, or a value that has no canonical form."""


def canonical(value: Json) -> bytes:
    """The canonical bytes of a JSON value; `NotJson` when it has none that are read back as it was.

    >>> canonical({"b": 1, "a": [True, None]})
    b'{"a":[true,null],"b":1}'
    """
    try:
        if _is_plain(value):
            return _encode(value).encode("utf-8")
        data = rfc8785.dumps(value)
        # A fraction without one, such as 2.0**60, is written as an integer that is read as one.
        if not _is_exact(value):
            raise ValueError
        return data
    except (ValueError, RecursionError) as error:
        # Nothing of the value itself stands in the text: it may be what no text can hold.
        raise NotJson(f"it has no canonical form ({type(error).__name__})") from error


def _is_plain(value: Json) -> bool:
    """Whether the value is one for which the standard encoder, many times faster, writes what
    RFC 8785 asks for: no fractions, and only keys that sort alike in every encoding."""
    todo: list[Any] = [value]
    while todo:
        item = todo.pop()
        kind = type(item)
        if kind is str or kind is bool or item is None:
            continue
        if kind is int:
            if not -_EXACT <= item <= _EXACT:
                return False
        elif kind is dict:
            for key in item:
                if type(key) is not str or not key.isascii():
                    return False
            todo.extend(item.values())
        elif kind is list or kind is tuple:
            todo.extend(item)
        else:
            return False
    return True


def _is_exact(value: Json) -> bool:
    """Whether every fraction is read back as what it was."""
    todo: list[Any] = [value]
    while todo:
        item = todo.pop()
        if isinstance(item, float):
            if _EXACT < abs(item) < 1e21:
                return False
        elif isinstance(item, dict):
            todo.extend(item.values())
        elif isinstance(item, list | tuple):
            todo.extend(item)
    return True


def canonical_digest(value: Json) -> Digest:
    """The digest of a value's canonical bytes.

    >>> canonical_digest({}).short
    '44136fa355b3'
    """
    return sha256(canonical(value))


def read_json(data: bytes | str) -> Any:
    """Read strict JSON: no doubled keys, no NaN, no number beyond all bounds, no lone surrogates,
    nothing too deep.

    >>> read_json(b'{"a": 1}')
    {'a': 1}
    >>> read_json(b'{"a": 1, "a": 2}')
    Traceback (most recent call last):
    muniment.canonical.NotJson: the key "a" stands twice
    """
    try:
        text = data if isinstance(data, str) else data.decode("utf-8")
        value = json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant, parse_float=_finite)
    except NotJson:
        raise
    except (ValueError, RecursionError) as error:
        raise NotJson(printable(str(error))) from error
    # Bytes were decoded strictly; a text from elsewhere, such as the environment, was not.
    if isinstance(data, str) or "\\u" in text:
        _no_lone_surrogate(value)
    return value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise NotJson(f'the key "{printable(key[:100])}" stands twice')
            seen.add(key)
    return found


def _no_constant(name: str) -> Any:
    raise NotJson(f"{name} is not a JSON number")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise NotJson("a number is too large")
    return number


def _no_lone_surrogate(value: Any) -> None:
    """JSON escapes can spell a surrogate that no UTF-8 text can hold."""
    todo = [value]
    while todo:
        item = todo.pop()
        if isinstance(item, str):
            try:
                item.encode("utf-8")
            except UnicodeEncodeError as error:
                raise NotJson("a lone surrogate stands in a string") from error
        elif isinstance(item, dict):
            todo.extend(item.keys())
            todo.extend(item.values())
        elif isinstance(item, list):
            todo.extend(item)
