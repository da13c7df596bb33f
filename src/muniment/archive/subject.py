"""Floor 3, `archive`: all that the desk knows of it: what is not archived, and what came last."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from shlex import quote

from muniment.path import RelPath
from muniment.record.ledger import Ledger
from muniment.record.subject import Newest, Unfinished, newest_of

PREFIX = "arc_"


class ArchiveSubject:
    """The desk's view of the archive; `ledger` is None while a workspace has no record."""

    prefix = PREFIX

    def __init__(self, loose: Callable[[], Sequence[RelPath]], ledger: Ledger | None) -> None:
        self._loose = loose
        self._ledger = ledger

    def unfinished(self) -> list[Unfinished]:
        """What was made and is not archived."""
        return [
            Unfinished(path.posix, "loose", f"muniment archive {quote(path.posix)}") for path in self._loose()
        ]

    def newest(self) -> Newest | None:
        """The deliverable that was archived last, wherever it has gone since."""
        return newest_of(self._ledger.newest(b'"kind":"archive.kept"') if self._ledger else None)
