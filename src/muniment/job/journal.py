"""Room `job`: the journal of one job: `journal.jsonl`, one chain in the ledger's format.

It keeps what the closed registry has no field for.  Whoever appends holds the job's lock; an
append counts only after it is durable and was read again, as in the ledger (spec 0, ledger).
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Sequence

from muniment.canonical import Json
from muniment.clock import Clock, instant
from muniment.digest import sha256
from muniment.disk import platform
from muniment.disk.errors import NotThere, ReadbackFailed, named
from muniment.disk.root import Root
from muniment.disk.write import write_verified
from muniment.ids import Entropy, new_ulid
from muniment.job.errors import JournalDamaged
from muniment.message import say
from muniment.path import RelPath, printable
from muniment.record.errors import EventTooLarge
from muniment.record.event import FIRST, LINE_LIMIT, BadRecord, Context, Draft, Event, read_line, seal
from muniment.record.segments import read_range

NAME = "journal.jsonl"
LIMIT = 256 << 20
"""Bytes of a journal at the most."""


class JobJournal:
    """The events of one job, in the folder of the job."""

    def __init__(self, folder: Root, job: str, *, clock: Clock, entropy: Entropy, actor: str) -> None:
        self._root = folder
        self._rel = RelPath((NAME,))
        self._job = job
        self._clock = clock
        self._entropy = entropy
        self._actor = actor

    def events(self) -> tuple[Event, ...]:
        """Every event; a torn last line does not count, anything else that is wrong is `JournalDamaged`."""
        return self._read()[0]

    def append(self, drafts: Sequence[Draft]) -> list[Event]:
        """Write events by one write and one sync; all are acknowledged, or none."""
        known, size, torn = self._read()
        pending = list(drafts)
        if torn:
            pending.insert(0, self._set_aside(size, torn))
        prev = known[-1].sha256 if known else FIRST
        sealed: list[Event] = []
        lines: list[bytes] = []
        for draft in pending:
            now = self._clock()
            event, line = seal(
                draft,
                event_id=new_ulid(now, self._entropy),
                at=instant(now),
                actor=self._actor,
                context=Context(job_id=self._job),
                prev=prev,
            )
            if len(line) > LINE_LIMIT:
                raise EventTooLarge(size=len(line), limit=LINE_LIMIT, where=printable(event.kind))
            sealed.append(event)
            lines.append(line)
            prev = event.sha256
        blob = b"".join(lines)
        self._write(size, blob)
        if read_range(self._root, self._rel, size, len(blob)) != blob:
            raise ReadbackFailed(where=NAME, why=say("the event is not there as it was written"))
        return sealed[len(sealed) - len(drafts) :]

    def _read(self) -> tuple[tuple[Event, ...], int, bytes]:
        """The events, the size up to which the journal is whole, and the torn rest."""
        try:
            data = self._root.read(self._rel, LIMIT)
        except NotThere:
            return (), 0, b""
        found: list[Event] = []
        prev, at = FIRST, 0
        for number, line in enumerate(data.splitlines(keepends=True), 1):
            last = at + len(line) == len(data)
            try:
                if not line.endswith(b"\n"):
                    raise BadRecord("it has no end")
                event = read_line(line[:-1])
                if event.prev != prev or event.subject != f"job:{self._job}":
                    raise BadRecord("it does not continue the line before")
            except BadRecord as error:
                if last:
                    return tuple(found), at, data[at:]
                why = say("line {line}: {finding}", line=number, finding=error)
                raise JournalDamaged(where=NAME, why=why, job=self._job) from error
            found.append(event)
            prev, at = event.sha256, at + len(line)
        return tuple(found), at, b""

    def _set_aside(self, keep: int, torn: bytes) -> Draft:
        """Keep what a crash left at the end, and cut it off; the next record names it."""
        name = f"journal.torn-{new_ulid(self._clock(), self._entropy)}"
        write_verified(self._root, RelPath((name,)), torn, mode=0o600)
        fd = self._root.open_file(self._rel, os.O_WRONLY)
        try:
            with named(self._rel):
                os.ftruncate(fd, keep)
                platform.sync_data(fd)
        finally:
            platform.close(fd)
        evidence: dict[str, Json] = {"torn": name, "bytes": len(torn), "sha256": sha256(torn).hex}
        return Draft("job.journal_repaired", f"job:{self._job}", evidence)

    def _write(self, size: int, blob: bytes) -> None:
        flags = os.O_WRONLY | os.O_APPEND | (os.O_CREAT if size == 0 else 0)
        fd = self._root.open_file(self._rel, flags, 0o644)
        try:
            if size == 0:
                self._root.sync_folder(RelPath())
            try:
                with named(self._rel):
                    if os.write(fd, blob) != len(blob):
                        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                    platform.sync_data(fd)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.ftruncate(fd, size)
                    platform.sync_data(fd)
                raise
        finally:
            platform.close(fd)
