"""Floor 3½, `desk`: what one look of `doctor` found."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from muniment.canonical import Json
from muniment.message import Message


class Level(StrEnum):
    """How a finding is meant: all is well, it was mended, it is worth knowing, it is wrong."""

    GOOD = "good"
    MENDED = "mended"
    WARNING = "warning"
    WRONG = "wrong"


@dataclass(frozen=True, slots=True)
class Finding:
    """What one look at the workspace found."""

    subject: str
    level: Level
    message: Message

    def to_json(self) -> dict[str, Json]:
        """The finding for programs."""
        return {"subject": self.subject, "level": self.level.value, "message": str(self.message)}
