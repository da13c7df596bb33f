"""Floor 0: a digest, the only currency in which bytes are compared."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass

_HEX = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True, order=True)
class Digest:
    """A SHA-256, written `sha256:<64 lower-case hex>` on every face.

    >>> Digest.parse("sha256:" + "0" * 64).short
    '000000000000'
    """

    hex: str

    def __post_init__(self) -> None:
        if not _HEX.fullmatch(self.hex):
            raise ValueError(f"not 64 lower-case hex digits: {self.hex!r}")

    @classmethod
    def parse(cls, text: str) -> Digest:
        """Read `sha256:<hex>`; anything else is a `ValueError`."""
        prefix, _, rest = text.partition(":")
        if prefix != "sha256":
            raise ValueError(f"not a sha256 digest: {text!r}")
        return cls(rest)

    @property
    def short(self) -> str:
        """Twelve digits: for people, never for comparing."""
        return self.hex[:12]

    def __str__(self) -> str:
        return f"sha256:{self.hex}"


EMPTY = Digest(hashlib.sha256().hexdigest())
"""The digest of no bytes at all."""


def sha256(data: bytes | bytearray | memoryview) -> Digest:
    """The digest of bytes in memory.

    >>> sha256(b"") == EMPTY
    True
    """
    return Digest(hashlib.sha256(data).hexdigest())


def sha256_stream(chunks: Iterable[bytes]) -> tuple[Digest, int]:
    """The digest and the number of bytes of a stream, read once.

    >>> sha256_stream([b"a", b"bc"])[1]
    3
    """
    state, size = hashlib.sha256(), 0
    for chunk in chunks:
        state.update(chunk)
        size += len(chunk)
    return Digest(state.hexdigest()), size
