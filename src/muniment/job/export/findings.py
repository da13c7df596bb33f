"""Room `job`: what can be wrong with an exported document: the code, the place, wanted and found.  Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from muniment.canonical import Json
from muniment.message import Message


class Code(StrEnum):
    """What kind of thing is wrong."""

    DOCUMENT = "DOCUMENT"
    REGISTRY = "REGISTRY"
    JOURNAL = "JOURNAL"
    MISSING_FILE = "MISSING_FILE"
    EXTRA_FILE = "EXTRA_FILE"
    NOT_A_FILE = "NOT_A_FILE"
    CHECKSUM = "CHECKSUM"
    SIZE = "SIZE"
    DIGEST_FORM = "DIGEST_FORM"
    IMAGE = "IMAGE"
    STATUS = "STATUS"
    EXIT_CODE = "EXIT_CODE"
    DANGLING = "DANGLING"
    MISSING = "MISSING"
    EXTRA = "EXTRA"
    DIFFERS = "DIFFERS"
    SIGNATURE = "SIGNATURE"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is not as the record says."""

    code: Code
    where: str
    wanted: Message | str
    found: Message | str

    def to_json(self) -> dict[str, Json]:
        """What `--json` shows of it."""
        return {
            "code": self.code.value,
            "where": self.where,
            "wanted": str(self.wanted),
            "found": str(self.found),
        }
