"""Floor 2, `hosts`: the session that the host is in, as a value."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class SessionSource(StrEnum):
    """Who told the session; stands in receipts and in the ledger (spec 1, archive id)."""

    HOST = "host"
    SESSION_STATUS = "session_status"
    FLAG = "flag"
    COMMAND = "command"
    FALLBACK = "fallback"


@dataclass(frozen=True, slots=True)
class Session:
    """A session: the id that paths bear, who told it, and the host's own key if there is one.

    `mirror_id` is set for a scheduled run: the id of the scheduled job's own session, under
    which a copy is kept too.
    """

    archive_id: str
    source: SessionSource
    key: str | None = None
    mirror_id: str | None = None

    @property
    def from_host(self) -> bool:
        """Whether it is a host's session, not one that serves paths only."""
        return self.source is not SessionSource.FALLBACK
