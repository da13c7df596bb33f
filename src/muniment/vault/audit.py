"""Floor 3, `vault`: the audit of a served vault: a line for each act that changed something.

Lines are JSON objects, appended whole and made durable before the act is acknowledged.  No token and
no label stands in them; a tenant is its digest.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path

from muniment.canonical import Json, canonical
from muniment.clock import Clock, instant
from muniment.disk import platform
from muniment.disk.errors import named
from muniment.disk.write import write_all


class Audit:
    """The file; safe from several threads and processes."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        with named(str(path)):
            self._fd = os.open(
                path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600
            )
        self._name = path.name

    def write(self, act: str, tenant: str, **facts: Json) -> None:
        """One line: when, what, whose, and whatever else there is to say."""
        told = {name: value for name, value in facts.items() if value is not None}
        record: dict[str, Json] = {"at": instant(self._clock()), "act": act, "tenant": tenant, **told}
        with self._lock, named(self._name):
            write_all(self._fd, canonical(record) + b"\n")
            platform.sync_data(self._fd)

    def close(self) -> None:
        """Let the file go."""
        platform.close(self._fd)
