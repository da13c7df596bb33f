"""Floor 3, `vault`: upkeep: collecting garbage, checking everything, and making the catalogue again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from muniment.bundle.errors import BadExtent
from muniment.bundle.extent import check
from muniment.bundle.index import Index
from muniment.bundle.model import Row
from muniment.bundle.vault import Soundness
from muniment.canonical import canonical
from muniment.clock import Clock
from muniment.digest import sha256
from muniment.disk.errors import NotThere
from muniment.errors import MunimentError
from muniment.ids import Entropy
from muniment.vault.blobs import Blobs
from muniment.vault.catalogue import Catalogue
from muniment.vault.errors import BadPack
from muniment.vault.packs import PACK_MOST, digest_in, read_footer
from muniment.vault.store import IDLE_S, VaultStore, facts_name, index_name, read_description

GRACE_S = 24 * 3600
"""A dead pack, or a file that no row names, is kept for so long: a reader may still be in it."""

Progress = Callable[[int], None]
"""Told of bytes as they are read."""


@dataclass(slots=True)
class Collected:
    """What collecting garbage did: uploads given up, packs marked dead, packs and files removed."""

    uploads: int = 0
    marked: int = 0
    packs: int = 0
    files: int = 0


def collect(store: VaultStore, clock: Clock) -> Collected:
    """Let idle uploads go, mark packs that nobody needs, and remove those marked a day ago.

    What a snapshot, an upload or a reader of the last day needs is never touched.
    """
    now = clock().timestamp()
    done = Collected()
    catalogue = store.catalogue
    with catalogue.writing():
        for upload in catalogue.idle_uploads(now - IDLE_S):
            catalogue.end_upload(upload)
            done.uploads += 1
        done.marked = catalogue.mark_dead(now)
        buried = catalogue.bury(now - GRACE_S)
    for name in buried:
        store.blobs.delete(name)
        done.packs += 1
    known = {name for name, _ in catalogue.packs()}
    known |= {part for one in catalogue.snapshots() for part in (index_name(one.id), facts_name(one.id))}
    for prefix in ("packs", "snapshots", "incoming"):
        for name in list(store.blobs.names(prefix)):
            # A file without a row may belong to a creation that is still under way.
            if name not in known and store.blobs.age_s(name, now) > GRACE_S:
                store.blobs.delete(name)
                done.files += 1
    return done


@dataclass(slots=True)
class Examined:
    """What a whole check found: packs and extents read, extents that are damaged, packs that are
    damaged or gone, and snapshots that can not be restored whole."""

    packs: int = 0
    extents: int = 0
    bytes: int = 0
    damaged_extents: list[str] = field(default_factory=list)
    damaged_packs: list[str] = field(default_factory=list)
    damaged_snapshots: list[str] = field(default_factory=list)
    repaired: bool = False

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong."""
        return not (self.damaged_extents or self.damaged_packs or self.damaged_snapshots)


def examine(
    store: VaultStore, entropy: Entropy, *, repair: bool = False, progress: Progress | None = None
) -> Examined:
    """Read every pack and inflate every extent; check every index (`fsck`).

    With `repair`, damaged extents are forgotten, so that the next backup is asked for them, and
    snapshots that need them are marked damaged.  Nothing is ever removed by it.
    """
    found = Examined(repaired=repair)
    bad: set[bytes] = set()
    for name, _ in store.catalogue.packs():
        found.packs += 1
        try:
            data = store.blobs.read(name, 0, PACK_MOST + 1)
        except NotThere:
            data = b""
        if not _whole(store.blobs, name, data):
            found.damaged_packs.append(name)
        for slot in store.catalogue.slots(name):
            found.extents += 1
            found.bytes += slot.stored
            claim = Row(slot.id, slot.length, slot.crc, 0, b"")
            try:
                check(data[slot.offset : slot.offset + slot.stored], claim, entropy)
            except BadExtent:
                bad.add(slot.id)
        if progress is not None:
            progress(len(data))
    found.damaged_extents = sorted(one.hex() for one in bad)
    if repair and bad:
        with store.catalogue.writing():
            store.catalogue.drop_extents(bad)
    for snapshot in store.catalogue.snapshots():
        try:
            ids = list(store.index(snapshot.id).ids)
            lost = bad.intersection(ids) or store.catalogue.missing(ids)
        except MunimentError:
            lost = frozenset((b"",))
        if lost:
            found.damaged_snapshots.append(snapshot.id)
        if repair:
            with store.catalogue.writing():
                store.catalogue.set_soundness(snapshot.id, Soundness.DAMAGED if lost else Soundness.SOUND)
    return found


def _whole(blobs: Blobs, name: str, data: bytes) -> bool:
    """Whether a pack has the digest in its name and a footer that fits."""
    try:
        if sha256(data) != digest_in(name):
            return False
        read_footer(blobs, name)
    except (BadPack, NotThere):
        return False
    return True


@dataclass(slots=True)
class Rebuilt:
    """What making the catalogue again found."""

    packs: int = 0
    extents: int = 0
    snapshots: int = 0
    refused: list[str] = field(default_factory=list)


def rebuild(blobs: Blobs, catalogue: Catalogue, entropy: Entropy) -> Rebuilt:
    """Fill an empty catalogue from packs and indexes alone.

    Only footers are read, save of packs whose footer is damaged: these are named and left for
    `fsck`.  A snapshot whose pieces are not all there is listed as damaged.
    """
    done = Rebuilt()
    for name in blobs.names("packs"):
        try:
            digest_in(name)
            slots = read_footer(blobs, name)
        except BadPack:
            done.refused.append(name)
            continue
        with catalogue.writing():
            catalogue.add_pack(name, blobs.size(name), slots)
        done.packs += 1
        done.extents += len(slots)
    for name in blobs.names("snapshots"):
        if name.endswith(".json"):
            _restore_snapshot(blobs, catalogue, name, done)
    return done


def _restore_snapshot(blobs: Blobs, catalogue: Catalogue, name: str, done: Rebuilt) -> None:
    try:
        snapshot, facts = read_description(blobs.read(name))
        index = Index.read(blobs.read(index_name(snapshot.id)))
        if index.root != snapshot.root or name != facts_name(snapshot.id):
            raise ValueError("its index is another one")
    except (ValueError, MunimentError):
        done.refused.append(name)
        return
    ids = list(index.ids)
    with catalogue.writing():
        if catalogue.missing(ids):
            snapshot = replace(snapshot, soundness=Soundness.DAMAGED)
        catalogue.add_snapshot(snapshot, canonical(facts).decode(), ids)
    done.snapshots += 1
