"""Floor 3, `backup`: all that the desk knows of it: what is half done, and the newest snapshot.

Only the ledger and the restore log are asked, so that no vault is opened, or made, to tell.
"""

from __future__ import annotations

from collections.abc import Iterator

from muniment.backup.restore_log import look
from muniment.errors import MunimentError
from muniment.hosts.places import Places
from muniment.path import printable
from muniment.record.event import Event
from muniment.record.ledger import Ledger
from muniment.record.subject import Newest, Unfinished, newest_of

PREFIX = "bk_"

CREATING = "backup.creating"
"""What is about to be asked of the vault: should the answer be lost, the next act goes on from here."""

GIVEN_UP = "backup.given_up"
"""What was announced is not in the vault, and nobody is at work on it."""

CREATED = "backup.created"
DELETING = "backup.deleting"
"""What is about to be deleted: should the answer be lost, the next act tells what became of it."""

DELETED = "backup.deleted"
SCHEDULED = "backup.scheduled"
"""A person has consented to runs that nobody is asked about."""

UNSCHEDULED = "backup.unscheduled"
FAILED = "backup.run_failed"
"""A scheduled run that stored nothing."""


class BackupSubject:
    """The desk's view of the snapshots of one workspace; `ledger` is None while it has no record."""

    prefix = PREFIX

    def __init__(self, places: Places, ledger: Ledger | None) -> None:
        self._places = places
        self._ledger = ledger
        self._found: list[Event] | None = None

    def unfinished(self) -> list[Unfinished]:
        """A restore that is half done, and a snapshot that the vault was asked to keep and of which
        nobody has said yet whether it does."""
        return [*self._restore(), *self._announced()]

    def _restore(self) -> Iterator[Unfinished]:
        try:
            half = look(self._places.restore_log, self._places.former_restore_logs)
        except MunimentError as error:
            step = "muniment doctor"
            yield Unfinished(printable(error.where), error.code, step, half=True, fault=error.message)
            return
        if half is not None:
            snapshot = printable(half.backup_id)
            yield Unfinished(snapshot, "half_restored", f"muniment backup restore {snapshot}", half=True)

    def _announced(self) -> Iterator[Unfinished]:
        last = next((event for event in reversed(self._events()) if event.kind != DELETED), None)
        if last is not None and last.kind == CREATING:
            yield Unfinished(f"ev_{last.event_id}", "announced", "muniment backup list")

    def newest(self) -> Newest | None:
        """The snapshot that was stored last and was not deleted since; `kept_in` is the vault's id."""
        events = self._events()
        gone = {event.subject for event in events if event.kind == DELETED}
        for event in reversed(events):
            if event.kind == CREATED and event.subject not in gone:
                return newest_of(event, str(event.evidence.get("vault", "")))
        return None

    def _events(self) -> list[Event]:
        """What the ledger says of snapshots; it is read once for everything that is asked."""
        if self._found is None and self._ledger is not None:
            kinds = (CREATING, GIVEN_UP, CREATED, DELETED)
            found = self._ledger.events(containing=b'"kind":"backup.')
            self._found = [event for event in found if event.kind in kinds]
        return self._found or []
