"""Room `job`: the journal of one job: `journal.jsonl`, one chain in the ledger's format.

It keeps what the closed registry has no field for.  Whoever appends holds the job's lock; an
append counts only after it is durable and was read again, as in the ledger (spec 0, ledger).
"""

from __future__ import annotations

from collections.abc import Sequence

from muniment.canonical import Json
from muniment.clock import Clock
from muniment.digest import sha256
from muniment.disk.errors import NotThere
from muniment.disk.root import Root
from muniment.disk.write import write_verified
from muniment.ids import Entropy, new_ulid
from muniment.job.errors import JournalDamaged
from muniment.message import say
from muniment.path import RelPath
from muniment.record.chain import append, cut_back, read_again, seal_all
from muniment.record.event import FIRST, BadRecord, Context, Draft, Event, read_line

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
        sealed, lines = seal_all(
            pending,
            known[-1].sha256 if known else FIRST,
            clock=self._clock,
            entropy=self._entropy,
            actor=self._actor,
            context=Context(job_id=self._job),
        )
        append(self._root, self._rel, size, lines, mode=0o644)
        read_again(self._root, self._rel, size, lines)
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
        cut_back(self._root, self._rel, keep)
        evidence: dict[str, Json] = {"torn": name, "bytes": len(torn), "sha256": sha256(torn).hex}
        return Draft("job.journal_repaired", f"job:{self._job}", evidence)
