"""Floor 3, `vault`: collecting garbage: what nobody needs goes, and nothing else.

A pack goes a day after it was found that no snapshot and no upload needs it, since somebody may
still read it.  Only what a row of the catalogue says may go is removed; a file that no row knows
of stays, as it may be all that is left of a snapshot after the catalogue was lost.
"""

from __future__ import annotations

from dataclasses import dataclass

from muniment.vault.description import SNAPSHOTS
from muniment.vault.packs import PACKS, pack_blob
from muniment.vault.store import IDLE_S, VaultStore

GRACE_S = 24 * 3600.0
"""So long a dead pack, and what a dead writer left, is kept (spec 5, extents)."""


@dataclass(frozen=True, slots=True)
class Collected:
    """What was done: uploads given up, packs newly marked dead, packs and snapshots' files removed,
    unfinished files removed."""

    uploads: int
    marked: int
    packs: int
    snapshots: int
    unfinished: int


def collect(store: VaultStore) -> Collected:
    """End idle uploads, mark packs that nobody needs, and remove those marked a day ago.

    It may be killed anywhere; the next one goes on.
    """
    catalogue, blobs = store.catalogue, store.blobs
    now = store.clock().timestamp()
    with catalogue.writing():
        uploads = catalogue.expire(now, IDLE_S)
        catalogue.abandon(now - GRACE_S)
        marked = catalogue.mark_dead(now)
        buried = catalogue.bury(now - GRACE_S)
        going = catalogue.going()
    for name in buried:
        blobs.delete(pack_blob(name))
    with catalogue.writing():
        catalogue.forget_packs(buried)
    for snapshot in going:
        store.drop_files(snapshot)
    unfinished = sum(blobs.sweep(prefix, now - GRACE_S) for prefix in (PACKS, SNAPSHOTS))
    return Collected(uploads, marked, len(buried), len(going), unfinished)
