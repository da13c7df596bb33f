"""Floor 3, `vault`: checking everything (`fsck`), and mending what can be mended."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from enum import StrEnum

from muniment.bundle.vault import Soundness
from muniment.canonical import canonical
from muniment.disk.errors import NotThere
from muniment.errors import MunimentError, NotVerified
from muniment.ids import new_ulid
from muniment.message import Message, say, say_count
from muniment.vault.catalogue import Kind, Upload
from muniment.vault.description import (
    DESCRIPTION_MOST,
    SNAPSHOTS,
    describe,
    description_blob,
    read_description,
    same_told,
    snapshot_in,
)
from muniment.vault.errors import BadPack, UnknownSnapshot
from muniment.vault.inspect import UNREADABLE, Inspected, inspect
from muniment.vault.packs import PACKS, Pack, pack_blob, pack_in
from muniment.vault.store import VaultStore

Progress = Callable[[int], None]
"""Told of bytes as they are read."""

WORKERS = 2
"""Packs that are checked at once; each is in memory while it is."""


class Part(StrEnum):
    """Which part of the vault a finding is about."""

    CATALOGUE = "catalogue"
    PACK = "pack"
    EXTENT = "extent"
    SNAPSHOT = "snapshot"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is not as it should be: the part, its name, and why."""

    part: Part
    name: str
    why: Message


@dataclass(slots=True)
class Examined:
    """What a whole check read and found; `repaired` when it was also to mend."""

    packs: int = 0
    extents: int = 0
    bytes: int = 0
    repaired: bool = False
    findings: list[Finding] = field(default_factory=list)

    def add(self, part: Part, name: str, why: Message) -> None:
        """One more finding."""
        self.findings.append(Finding(part, name, why))

    def names(self, part: Part) -> list[str]:
        """Names of that part that are not sound, each once."""
        return list(dict.fromkeys(one.name for one in self.findings if one.part is part))

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong."""
        return not self.findings


def examine(store: VaultStore, *, repair: bool = False, progress: Progress | None = None) -> Examined:
    """Read every pack and inflate every extent; check every index and description.

    With `repair` the sound pieces of damaged packs are written anew; damaged ones are forgotten, so
    that the next backup is asked for them; snapshots that need them are marked damaged.  Nothing
    that a snapshot needs is ever removed by it.
    """
    found = Examined(repaired=repair)
    for line in store.catalogue.damage():
        found.add(Part.CATALOGUE, "catalogue", say("{finding}", finding=line))
    names = [name for name, size in store.catalogue.packs() if size is not None]
    for read in in_turn(
        names, lambda name: inspect(store.blobs, name, store.catalogue.slots(name), store.entropy)
    ):
        _take(store, read, found, repair=repair)
        if progress is not None:
            progress(read.size)
    _examine_snapshots(store, found, repair=repair)
    _find_unknown(store, found)
    return found


def in_turn(names: Iterable[str], inspect_one: Callable[[str], Inspected]) -> Iterator[Inspected]:
    """Packs as they were read, in order, with no more of them in memory than there are workers."""
    with ThreadPoolExecutor(WORKERS, "inspect") as pool:
        flying: deque[Future[Inspected]] = deque()
        for name in names:
            if len(flying) == WORKERS:
                yield flying.popleft().result()
            flying.append(pool.submit(inspect_one, name))
        while flying:
            yield flying.popleft().result()


def _take(store: VaultStore, read: Inspected, found: Examined, *, repair: bool) -> None:
    found.packs += 1
    found.extents += len(read.sound) + len(read.bad)
    found.bytes += read.size
    if read.why is not None:
        found.add(Part.PACK, read.name, read.why)
    sound = {slot.id for slot, _ in read.sound}
    for extent, why in read.bad:
        if extent in sound:
            why = say("its row is not what is stored")
            found.add(Part.CATALOGUE, extent.hex(), why)
        else:
            found.add(Part.EXTENT, extent.hex(), why)
    if repair and not read.whole:
        _salvage(store, read)


def _salvage(store: VaultStore, read: Inspected) -> None:
    """Write the sound pieces of a pack into a new one; the old one is left to nobody."""
    if not read.sound:
        with store.catalogue.writing():
            store.catalogue.forget_extents(read.name)
        return
    pack = Pack(new_ulid(store.clock(), store.entropy))
    upload = f"fsck-{pack.name}"
    with store.catalogue.writing():
        store.catalogue.begin_upload(Upload(upload, store.clock().timestamp(), None, Kind.OWN))
        store.catalogue.announce_pack(pack.name, upload)
    extents = iter(read.extents())
    store.blobs.put(pack_blob(pack.name), pack.fill(next(extents), extents))
    with store.catalogue.writing():
        store.catalogue.add_pack(pack.name, pack.size, ())
        store.catalogue.move_extents(read.name, pack.name, pack.slots)
        store.catalogue.end_upload(upload)


def _examine_snapshots(store: VaultStore, found: Examined, *, repair: bool) -> None:
    lost = set(map(bytes.fromhex, found.names(Part.EXTENT)))
    for snapshot in store.catalogue.snapshots():
        _examine_description(store, snapshot.id, found, repair=repair)
        try:
            index = store.index(snapshot.id)
        except UnknownSnapshot:  # it was deleted meanwhile
            continue
        except (NotVerified, *UNREADABLE) as error:
            found.add(Part.SNAPSHOT, snapshot.id, error.why or error.message)
            if repair:
                with store.catalogue.writing():
                    store.catalogue.set_soundness(snapshot.id, Soundness.DAMAGED)
            continue
        with store.catalogue.reading():
            odd = store.catalogue.weigh(index).odd
        gone = odd or len(lost.intersection(index.ids))
        if gone:
            why = say_count("{count} of its pieces is lost", "{count} of its pieces are lost", gone)
            found.add(Part.SNAPSHOT, snapshot.id, why)
        if repair:
            with store.catalogue.writing():
                store.catalogue.settle(snapshot.id, index)


def _examine_description(store: VaultStore, snapshot_id: str, found: Examined, *, repair: bool) -> None:
    """Hold the row to its description, which has a digest; write a lost description anew."""
    try:
        snapshot, facts = store.show(snapshot_id), store.facts(snapshot_id)
    except UnknownSnapshot:
        return
    blob = description_blob(snapshot_id)
    try:
        told, told_facts = read_description(store.blobs.read(blob, DESCRIPTION_MOST))
    except (*UNREADABLE, ValueError) as error:
        finding = error.message if isinstance(error, MunimentError) else error
        found.add(Part.SNAPSHOT, snapshot_id, say("its description: {finding}", finding=finding))
        if repair:
            store.blobs.delete(blob)
            store.blobs.put(blob, [describe(snapshot, facts)])
        return
    if not same_told(told, snapshot) or told_facts != facts:
        found.add(Part.CATALOGUE, snapshot_id, say("its row is not what its description says"))
        if repair and told.id == snapshot_id:
            with store.catalogue.writing():
                store.catalogue.tell_anew(told, canonical(told_facts).decode())  # type: ignore[arg-type]


def _find_unknown(store: VaultStore, found: Examined) -> None:
    """Files that no row knows of: the catalogue is not the one that belongs to them."""
    on_disk = list(store.blobs.names(PACKS)), list(store.blobs.names(SNAPSHOTS))
    # Rows come before files, so rows that are read after them know of all that is under way.
    packs = {name for name, _ in store.catalogue.packs()}
    snapshots = store.catalogue.known_snapshots()
    for blob in on_disk[0]:
        try:
            known = pack_in(blob) in packs
        except BadPack:
            known = False
        if not known and _is_there(store, blob):
            found.add(Part.UNKNOWN, blob, say("the catalogue knows nothing of it"))
    for blob in on_disk[1]:
        try:
            known = snapshot_in(blob)[0] in snapshots
        except ValueError:
            known = False
        if not known and _is_there(store, blob):
            found.add(Part.UNKNOWN, blob, say("the catalogue knows nothing of it"))


def _is_there(store: VaultStore, blob: str) -> bool:
    """Whether it is there now: what was removed meanwhile took its row along."""
    try:
        store.blobs.size(blob)
    except NotThere:
        return False
    return True
