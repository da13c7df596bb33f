"""Floor 0: canonical JSON against its rules, and strict reading against what JSON allows too much."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.canonical import NotJson, canonical, canonical_digest, read_json
from muniment.digest import sha256

EXACT = 2**53 - 1

# A second writer of RFC 8785, from its rules and slow: numbers by ECMAScript's steps over the
# shortest digits, strings sign by sign, members by UTF-16 units.


def number_text(number: float) -> str:
    if number == 0:
        return "0"
    if number < 0:
        return "-" + number_text(-number)
    _, digits, exponent = Decimal(repr(number)).normalize().as_tuple()
    assert isinstance(exponent, int)
    spelled, n = "".join(map(str, digits)), len(digits) + exponent
    k = len(spelled)
    if k <= n <= 21:
        return spelled + "0" * (n - k)
    if 0 < n <= 21:
        return spelled[:n] + "." + spelled[n:]
    if -6 < n <= 0:
        return "0." + "0" * -n + spelled
    power = f"e{'+' if n > 0 else '-'}{abs(n - 1)}"
    return spelled + power if k == 1 else f"{spelled[0]}.{spelled[1:]}{power}"


SHORT = {8: "b", 9: "t", 10: "n", 12: "f", 13: "r", 34: '"', 92: "\\"}


def string_text(text: str) -> str:
    signs = []
    for sign in text:
        point = ord(sign)
        if point in SHORT:
            signs.append("\\" + SHORT[point])
        elif point < 32:
            signs.append("\\u00" + "0123456789abcdef"[point >> 4] + "0123456789abcdef"[point & 15])
        else:
            signs.append(sign)
    return '"' + "".join(signs) + '"'


def units(text: str) -> list[int]:
    raw = text.encode("utf-16-le")
    return [raw[at] | raw[at + 1] << 8 for at in range(0, len(raw), 2)]


def rewritten(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return string_text(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return number_text(value)
    if isinstance(value, list):
        return "[" + ",".join(rewritten(item) for item in value) + "]"
    members = sorted(value.items(), key=lambda member: units(member[0]))
    return "{" + ",".join(f"{string_text(key)}:{rewritten(item)}" for key, item in members) + "}"


texts = st.text(st.characters(codec="utf-8"), max_size=12)
fractions = st.floats(allow_nan=False, allow_infinity=False).filter(lambda x: not EXACT < abs(x) < 1e21)
numbers = st.integers(-EXACT, EXACT) | fractions
values = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


@given(values)
def test_it_is_what_the_rules_give(value: Any) -> None:
    assert canonical(value) == rewritten(value).encode("utf-8")


@given(values)
def test_it_reads_back_and_has_one_form(value: Any) -> None:
    once = canonical(value)
    assert canonical(read_json(once)) == once


@given(st.dictionaries(texts, st.integers(0, 9)))
def test_the_order_of_members_does_not_matter(members: dict[str, int]) -> None:
    assert canonical(dict(reversed(members.items()))) == canonical(members)


VECTORS: list[tuple[Any, str]] = [
    ([], "[]"),
    ({}, "{}"),
    ("", '""'),
    (0.0, "0"),
    (-0.0, "0"),
    (1.0, "1"),
    (-1.5, "-1.5"),
    (9007199254740991.0, "9007199254740991"),
    (1e21, "1e+21"),
    (1e-6, "0.000001"),
    (1e-7, "1e-7"),
    (5e-324, "5e-324"),
    (1.7976931348623157e308, "1.7976931348623157e+308"),
    (333333333.33333329, "333333333.3333333"),
    (EXACT, "9007199254740991"),
    (-EXACT, "-9007199254740991"),
    ("\x00\x1f\x7f\x80", '"\\u0000\\u001f\x7f\x80"'),
    ('/\\"\b\f\n\r\t', '"/\\\\\\"\\b\\f\\n\\r\\t"'),
    ("\u20ac\U0001f600\u2028", '"\u20ac\U0001f600\u2028"'),
    # By UTF-16 units a sign beyond the first plane comes before U+FF01; by code points after it.
    ({"\uff01": 1, "\U0001f600": 2, "a": 3}, '{"a":3,"\U0001f600":2,"\uff01":1}'),
    (
        {"b": {"y": 1, "x": [2]}, "": 0, "B": 1, "10": 2, "9": 3},
        '{"":0,"10":2,"9":3,"B":1,"b":{"x":[2],"y":1}}',
    ),
    ((1, (True,)), "[1,[true]]"),
]


@pytest.mark.parametrize(("value", "expected"), VECTORS)
def test_vectors(value: Any, expected: str) -> None:
    assert canonical(value) == expected.encode("utf-8")
    assert canonical_digest(value) == sha256(expected.encode("utf-8"))


def nested(depth: int) -> Any:
    value: Any = []
    for _ in range(depth):
        value = [value]
    return value


NO_FORM: list[Any] = [
    math.nan,
    math.inf,
    -math.inf,
    {"deep": [math.nan]},
    EXACT + 1,
    -EXACT - 1,
    10**5000,
    -(10**5000),
    # Written by the rules as integers that nobody reads exactly: what is written must be readable.
    2.0**53,
    [-1e20],
    "\ud800",
    "\udcff",
    {"\ud800": 1},
    {"a": ["\udfff"]},
    b"bytes",
    {1: "a"},
    {None: "a"},
    {"a": {1, 2}},
    object(),
    nested(100_000),
]


@pytest.mark.parametrize("value", NO_FORM, ids=range(len(NO_FORM)))
def test_what_has_no_form_is_refused(value: Any) -> None:
    with pytest.raises(NotJson) as caught:
        canonical(value)
    # The text must itself be fit for a record.
    canonical(str(caught.value))


ACCEPTED: list[tuple[bytes, Any]] = [
    (b" 1 ", 1),
    (b'{"a":1,"A":2}', {"a": 1, "A": 2}),
    (b'"\\ud83d\\ude00"', "\U0001f600"),
    ("\u4e16".encode().join([b'"', b'"']), "\u4e16"),
    (b"1e308", 1e308),
    (b"1e-400", 0.0),
    (b"9007199254740993", 2**53 + 1),
    (b"[[],{}]", [[], {}]),
]


@pytest.mark.parametrize(("data", "value"), ACCEPTED)
def test_reading(data: bytes, value: Any) -> None:
    assert read_json(data) == value
    assert read_json(data.decode("utf-8")) == value


REFUSED: dict[str, bytes | str] = {
    "nothing": b"",
    "blank": b" ",
    "two values": b"1 2",
    "a comma too many": b"[1,]",
    "single quotes": b"{'a':1}",
    "a comment": b"[1 /* one */]",
    "a key twice": b'{"a":1,"b":2,"a":3}',
    "a key twice by escape": b'{"a":1,"\\u0061":2}',
    "a key twice below": b'[{"x":{"a":1,"a":1}}]',
    "a surrogate as a key, twice": b'{"\\ud800":1,"\\ud800":2}',
    "NaN": b"NaN",
    "Infinity": b'{"a":Infinity}',
    "minus Infinity": b"[-Infinity]",
    "beyond all bounds": b"1e400",
    "beyond all bounds below zero": b'{"a":[-1e400]}',
    "digits without end": b"1" * 5000,
    "a lone surrogate": b'"\\ud800"',
    "a lone surrogate as a key": b'{"\\udc00":1}',
    "a pair in the wrong order": b'["\\ude00\\ud83d"]',
    "a lone surrogate in a text": '"\udcff"',
    "a lone surrogate as a key in a text": '{"\ud800":1}',
    "not UTF-8": b'"\xff"',
    "a surrogate in UTF-8": b'"\xed\xa0\x80"',
    "an overlong spelling": b'"\xc0\xaf"',
    "UTF-16": '{"a":1}'.encode("utf-16"),
    "a byte order mark": b"\xef\xbb\xbf{}",
    "a NUL": b"{}\0",
    "a control sign in a string": b'"\n"',
    "nested without end": b"[" * 200_000,
    "objects nested without end": b'{"a":' * 200_000,
}


@pytest.mark.parametrize("name", REFUSED)
def test_reading_refuses(name: str) -> None:
    with pytest.raises(NotJson) as caught:
        read_json(REFUSED[name])
    canonical(str(caught.value))


@given(st.binary(max_size=64))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        value = read_json(data)
    except NotJson:
        return
    assert json.loads(data) == value
