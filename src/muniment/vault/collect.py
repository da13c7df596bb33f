"""Floor 3, `vault`: collecting garbage: what nobody needs goes, and nothing else.

A pack goes a day after it was found that no snapshot and no upload needs it, since somebody may
still read it.  Only what a row of the catalogue says may go is removed; a file that no row knows
of stays, as it may be all that is left of a snapshot after the catalogue was lost.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

from muniment.errors import MunimentError
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


def tidy(store: VaultStore) -> None:
    """Collect after a snapshot was kept or deleted: what costs nothing while nothing is to be done.

    The act before it has succeeded, so whatever fails here leaves it as it is, and the next one goes
    on.
    """
    with contextlib.suppress(MunimentError):
        collect(store, thorough=False)


def collect(store: VaultStore, *, thorough: bool = True) -> Collected:
    """End idle uploads, mark packs that nobody needs, and remove those marked a day ago.

    It may be killed anywhere; the next one goes on.  Unless it is `thorough`, unfinished files are
    sought only where an upload's rows went: one that died while it wrote left such rows too.
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
    if buried:
        with catalogue.writing():
            catalogue.forget_packs(buried)
    for snapshot in going:
        store.drop_files(snapshot)
    unfinished = 0
    if thorough or buried or going:
        unfinished = sum(blobs.sweep(prefix, GRACE_S) for prefix in (PACKS, SNAPSHOTS))
    return Collected(uploads, marked, len(buried), len(going), unfinished)
