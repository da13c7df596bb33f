"""Anchors against vectors that were computed without the room."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.handoff.anchors import (
    anchor,
    crockford,
    find_anchors,
    holds,
    new_nonce,
    nonce_digest,
    without_anchors,
)

VECTORS = json.loads((Path(__file__).parent / "vectors.json").read_text())
PAGES = Path(__file__).parents[2] / "docs" / "protocols"
ONE, TWO = VECTORS[0]["anchor"].encode(), VECTORS[1]["anchor"].encode()


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["anchor"])
def test_vectors(vector: dict[str, str]) -> None:
    nonce = bytes.fromhex(vector["nonce"])
    assert anchor(nonce, **json.loads(vector["message"])) == vector["anchor"]
    assert nonce_digest(nonce) == vector["nonce_sha256"]


@pytest.mark.parametrize("page", ["handoff.md", "handoff.zh-CN.md"])
def test_the_vectors_are_printed_in_the_documentation(page: str) -> None:
    text = (PAGES / page).read_text()
    for vector in VECTORS:
        assert all(vector[name] in text for name in ("nonce", "message", "hmac", "anchor"))


def test_a_nonce_has_its_bits() -> None:
    assert len(new_nonce(lambda size: b"\1" * size)) == 16
    with pytest.raises(ValueError):
        anchor(b"short", contract_id="c", dispatch_id="d", handoff_id="h", target="t")


@given(st.integers(0, 2**130 - 1))
def test_crockford_is_base_32_without_the_four_letters(value: int) -> None:
    text = crockford(value, 26)
    assert not set(text) & set("ILOU")
    assert (
        sum("0123456789ABCDEFGHJKMNPQRSTVWXYZ".index(sign) * 32 ** (25 - at) for at, sign in enumerate(text))
        == value
    )


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (ONE, True),
        (b"(" + ONE + b")", True),
        (b'{"a":"' + ONE + b'"}', True),
        (b"<!-- " + ONE + b" -->", True),
        (ONE + b".", True),
        (b"a" + ONE, False),
        (ONE + b"0", False),
        (b"-" + ONE, False),
        (ONE.lower(), False),
        (ONE[:-1], False),
        (TWO, False),
        (b"", False),
    ],
)
def test_an_anchor_is_a_word_of_its_own(text: bytes, found: bool) -> None:
    assert holds(text, ONE.decode()) is found


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        (b"work\n" + ONE + b"\n", b"work\n"),
        (b"work\r\n" + ONE + b"\r\nmore", b"work\r\nmore"),
        (b"work " + ONE + b" more", b"work  more"),
        (b"<!-- " + ONE + b" -->\nwork", b"work"),
        (ONE + b"\n" + TWO, b""),
        (b"x" + ONE + b"0", b"x" + ONE + b"0"),
    ],
)
def test_anchors_are_taken_out(text: bytes, rest: bytes) -> None:
    assert without_anchors(text) == rest


@given(st.binary(max_size=200))
def test_hostile_bytes_are_only_bytes(data: bytes) -> None:
    assert find_anchors(without_anchors(data)) == []
    assert find_anchors(data + b" " + ONE)[-1] == (len(data) + 1, ONE.decode())
