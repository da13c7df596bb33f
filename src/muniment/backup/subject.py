"""Floor 3, `backup`: all that the desk knows of it: the snapshots, how they stand, what is half done.

What is half done, and the newest snapshot, come from the ledger and the restore log alone, so that no
vault is opened to tell; none is ever made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from muniment.backup.errors import RootDiffers
from muniment.backup.restore_log import look
from muniment.digest import Digest
from muniment.errors import MunimentError, NotFound
from muniment.hosts.places import Places
from muniment.message import Message, say, say_count
from muniment.path import printable
from muniment.record.event import Event
from muniment.record.ledger import Ledger
from muniment.record.reference import Kind
from muniment.record.subject import (
    Hit,
    Newest,
    Shown,
    Sought,
    Standing,
    Unfinished,
    Verdict,
    Watch,
    Weighed,
    Weight,
    newest_of,
    unread,
    unsearched,
    unwatched,
)

if TYPE_CHECKING:
    from muniment.backup.reading import Reading
    from muniment.bundle.vault import Snapshot, Vault

PREFIX = Kind.SNAPSHOT.value

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

_WEIGHTS = {
    CREATING: (Weight.CLAIMED, "create"),
    GIVEN_UP: (Weight.REFUTED, "create"),
    CREATED: (Weight.PROVED, "create"),
    DELETING: (Weight.CLAIMED, "delete"),
    DELETED: (Weight.PROVED, "delete"),
    "backup.fetched": (Weight.PROVED, "fetch"),
    "backup.restoring": (Weight.CLAIMED, "restore"),
    "backup.restored": (Weight.PROVED, "restore"),
}
"""What each event is worth, and the act that it is about."""

Lost = Callable[[], Mapping[str, Message] | None]
"""Why each snapshot of a vault that was read whole is not sound; None where it can not be read whole."""


def nothing_read() -> None:
    """Nobody has read the whole vault."""


def require_root(ledger: Ledger, snapshot_id: str, root: Digest) -> None:
    """`RootDiffers` when the ledger saw another snapshot stored under this id."""
    for event in ledger.events(containing=f'"subject":"{snapshot_id}"'.encode()):
        # None when its vault told none.
        if event.kind == CREATED and event.evidence.get("root") not in (None, root.hex):
            raise RootDiffers(where=snapshot_id)


class BackupSubject:
    """The desk's view of the snapshots of one workspace; `ledger` is None while it has no record.

    `vault` opens the one that is set, if there is one.  `lost` says what a reading of the whole vault
    found, where it can be read whole; else each snapshot is fetched to be verified.
    """

    prefix = PREFIX

    def __init__(
        self,
        places: Places,
        ledger: Ledger | None,
        vault: Callable[[], Vault | None] = nothing_read,
        lost: Lost = nothing_read,
    ) -> None:
        self._places = places
        self._ledger = ledger
        self._vault = vault
        self._lost = lost
        self._found: list[Event] | None = None

    def references(self) -> list[str]:
        """What the vault keeps, and what the ledger says was stored and not removed since."""
        there = [one.id for one in self._snapshots()]
        return sorted({*there, *self._kept()})

    def _snapshots(self) -> tuple[Snapshot, ...]:
        """What the vault keeps; one that can not be opened has a verdict of its own."""
        try:
            vault = self._vault()
            return vault.list().snapshots if vault is not None else ()
        except MunimentError:
            return ()

    def _kept(self) -> dict[str, str]:
        """Snapshots that were stored from here and not removed since, each with its vault's id."""
        found: dict[str, str] = {}
        for event in self._events():
            if event.kind == CREATED:
                found.pop(str(event.evidence.get("replaces")), None)
                found[event.subject] = str(event.evidence.get("vault", ""))
            elif event.kind == DELETED:
                found.pop(event.subject, None)
        return found

    def _reading(self, reference: str) -> Reading:
        """One snapshot, to be looked into; `RootDiffers` when it is not the one stored from here."""
        # `muniment status` asks nothing of a snapshot's content, and shall not wait for what reads it.
        from muniment.backup.reading import Reading

        vault = self._vault()
        if vault is None:
            raise NotFound(where=reference, why=say("there is no vault"))
        snapshot = vault.show(reference)
        index = vault.index(snapshot.id)
        if self._ledger is not None:
            require_root(self._ledger, snapshot.id, index.root)
        return Reading(vault, snapshot, index)

    def show(self, reference: str) -> Shown:
        """One snapshot: what it is and what it holds."""
        from muniment.backup.model import snapshot_json

        reading = self._reading(reference)
        one, facts = reading.snapshot, reading.contents.facts
        lines: list[tuple[Message, object]] = [
            (say("label"), printable(one.label)),
            (say("taken"), one.created_at),
            (say("files"), len(reading.contents.files)),
            (say("root"), str(one.root)),
            (say("sections"), tuple(printable(name) for name in one.sections)),
        ]
        value = {**snapshot_json(one), "manifest": facts}
        return Shown(reference, lines, value, f"muniment backup ls {reference}")

    def find(self, sought: Sought) -> Iterator[Hit]:
        """Snapshots by id or label, and files in them by path or digest; only indexes and manifests are
        fetched for it."""
        text = f"sha256:{sought.digest}" if sought.digest else sought.text
        try:
            vault = self._vault()
            snapshots = vault.list().snapshots if vault is not None else ()
        except MunimentError as error:
            yield unsearched("vault", error.message, printable(error.where))
            return
        for one in snapshots:
            if not sought.digest and sought.is_in(one.id, one.label):
                yield Hit(one.id, say("snapshot"), printable(one.label))
            try:
                for packed in self._reading(one.id).find(text):
                    path = printable(packed.path.removeprefix("files/"))
                    yield Hit(one.id, say("file in the snapshot"), path, None, packed.sha256)
            except MunimentError as error:
                yield unsearched(one.id, error.message)

    def verify(self, references: Iterable[str], watch: Watch = unwatched) -> Iterator[Verdict]:
        """Hold each snapshot to the ledger and to its bytes in the vault.

        Where the whole vault was read, what was found there counts; else the snapshot is read whole and
        every file compared with its manifest.
        """
        kept = self._kept()
        for reference in references:
            watch(0, 0, reference)
            step = f"muniment backup verify {reference}"
            try:
                self._vault()
            except MunimentError as error:  # the vault's own verdict says more
                finding = say("the vault can not be opened: {what}", what=error.message)
                yield Verdict(reference, Standing.UNKNOWN, finding, step="muniment vault status")
                continue
            try:
                yield self._judged(reference, step)
            except NotFound:
                yield self._missing(reference, kept.get(reference, ""))
            except MunimentError as error:
                yield unread(reference, error, step)

    def _judged(self, reference: str, step: str) -> Verdict:
        reading = self._reading(reference)
        lost = self._lost()
        if lost is None:
            verified = reading.verify()
            files = say_count("{count} file compared", "{count} files compared", verified.files)
            return Verdict(reference, Standing.GOOD, files, step=step)
        if reference in lost:
            return Verdict(reference, Standing.BAD, lost[reference], step="muniment vault fsck")
        rows = say_count("{count} piece read", "{count} pieces read", len(reading.index))
        return Verdict(reference, Standing.GOOD, rows, step=step)

    def _missing(self, reference: str, vault_id: str) -> Verdict:
        vault = self._vault()
        if vault is not None and vault_id in ("", vault.identity):
            finding = say("it was stored, and the vault does not have it")
            return Verdict(reference, Standing.BAD, finding, step="muniment backup list")
        if vault is None:
            finding = say("there is no vault where one is set")
        else:
            finding = say("another vault keeps it; that one was not read")
        return Verdict(reference, Standing.UNKNOWN, finding, step="muniment vault status")

    def weigh(self, event: Event) -> Weighed | None:
        """What is announced is a claim until the vault, or the folder restored into, was read back."""
        if event.kind not in _WEIGHTS:
            return None
        weight, act = _WEIGHTS[event.kind]
        # A snapshot has no id before it is stored; its root is known by then.
        what = event.evidence.get("root") if act == "create" else event.subject
        return Weighed(weight, f"{act} {what}")

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
