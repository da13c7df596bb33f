"""Floor 3, `vault`: what server and client share of the wire of pieces (docs/operations.md)."""

from __future__ import annotations

import re
from struct import Struct
from typing import Any

from muniment.message import say
from muniment.vault.errors import BadCall

FORMAT = "muniment-1"
"""Names the format of extents, pieces and indexes (docs/format.md)."""

ROW = Struct("<32sIII")
"""Before each piece: id, raw length, CRC-32, length of the piece."""

HEAD = Struct("<I")
"""Before the JSON text of a finalise: its length."""

INDEX_MOST = 48 << 20
"""Bytes of a finalise: an index of some six hundred thousand extents, and what is said of it."""

IDS_MOST = 200_000
"""Extents named in one call."""

_ID = re.compile(r"[0-9a-f]{64}")


def read_ids(value: Any) -> list[bytes]:
    """Ids from JSON; `BadCall` when they are none.

    >>> read_ids(["00" * 32]) == [bytes(32)]
    True
    """
    if not isinstance(value, list) or len(value) > IDS_MOST:
        raise BadCall(why=say("{name} is missing or is not what it should be", name="extent_ids"))
    if not all(isinstance(one, str) and _ID.fullmatch(one) for one in value):
        raise BadCall(why=say("{name} is missing or is not what it should be", name="extent_ids"))
    return [bytes.fromhex(one) for one in value]
