"""Handoff room: nonces and anchors.

An anchor can not exist before the dispatch it names: it needs the contract's nonce, which only
the parent holds, and the dispatch id, which the provider's acknowledgement brings (spec 3).
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterable

from muniment.canonical import canonical
from muniment.ids import Entropy

CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
NONCE_BYTES = 16
ANCHOR_BITS = 130
ANCHOR_PATTERN = "ev1-[0-9A-HJKMNP-TV-Z]{26}"
_TOKEN = re.compile(rb"(?<![0-9A-Za-z-])" + ANCHOR_PATTERN.encode() + rb"(?![0-9A-Za-z])")
_LINE = re.compile(rb"(?m)^[ \t]*(?:<!-- )?" + ANCHOR_PATTERN.encode() + rb"(?: -->)?[ \t]*(?:\r?\n|\Z)")


def new_nonce(entropy: Entropy) -> bytes:
    """128 fresh random bits.

    >>> len(new_nonce(lambda n: bytes(n)))
    16
    """
    return entropy(NONCE_BYTES)


def nonce_digest(nonce: bytes) -> str:
    """What the recipient may know of a nonce: the SHA-256 of its 16 bytes, in hex."""
    return hashlib.sha256(nonce).hexdigest()


def anchor(nonce: bytes, *, contract_id: str, dispatch_id: str, handoff_id: str, target: str) -> str:
    """The anchor of one target in one dispatch.

    >>> anchor(bytes(16), contract_id="ct_1", dispatch_id="dp_1", handoff_id="ho_1", target="t")
    'ev1-GNNZYHRTFBTE178ZR7QZ56W65J'
    """
    if len(nonce) != NONCE_BYTES:
        raise ValueError(f"a nonce of {len(nonce)} bytes; {NONCE_BYTES} are needed")
    named = {
        "contract_id": contract_id,
        "dispatch_id": dispatch_id,
        "handoff_id": handoff_id,
        "target": target,
    }
    code = hmac.new(nonce, canonical(named), hashlib.sha256).digest()
    return "ev1-" + crockford(int.from_bytes(code, "big") >> (256 - ANCHOR_BITS), ANCHOR_BITS // 5)


def crockford(value: int, length: int) -> str:
    """A number in Crockford's base 32, the highest digit first.

    >>> crockford(32, 2)
    '10'
    """
    return "".join(CROCKFORD[value >> (5 * place) & 31] for place in reversed(range(length)))


def same(one: str, other: str) -> bool:
    """Whether two anchors are equal, in a time that tells nothing."""
    return hmac.compare_digest(one.encode("utf-8", "surrogatepass"), other.encode("utf-8", "surrogatepass"))


def find_anchors(data: bytes) -> list[tuple[int, str]]:
    """Every anchor in the bytes with its offset; one that is part of a longer word is none.

    >>> find_anchors(b"x ev1-00000000000000000000000000.")
    [(2, 'ev1-00000000000000000000000000')]
    """
    return [(match.start(), match.group().decode()) for match in _TOKEN.finditer(data)]


def holds(data: bytes, wanted: str) -> bool:
    """Whether the anchor stands in the bytes as a word of its own."""
    return any(same(found, wanted) for _, found in find_anchors(data))


def holds_any(data: bytes, others: Iterable[str]) -> str | None:
    """The first of these anchors that stands in the bytes, or none."""
    found = {text for _, text in find_anchors(data)}
    return next((other for other in others if other in found), None)


def without_anchors(data: bytes) -> bytes:
    """The bytes less all anchors: a line that holds nothing else goes whole, else the word alone.

    >>> without_anchors(b"work\\nev1-00000000000000000000000000\\n")
    b'work\\n'
    """
    return _TOKEN.sub(b"", _LINE.sub(b"", data))
