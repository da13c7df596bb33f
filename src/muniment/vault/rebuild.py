"""Floor 3, `vault`: making the catalogue again, from packs and snapshots' files alone.

A snapshot whose creation or deletion was cut off by a kill may come back by it, since its files were
there.  None that can be restored is ever left out: an index alone is enough.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from muniment.bundle.index import BYTES_MOST, Index
from muniment.bundle.vault import Snapshot, Soundness
from muniment.canonical import canonical
from muniment.errors import MunimentError
from muniment.ids import Entropy
from muniment.message import Message, say
from muniment.path import printable
from muniment.vault.blobs import Blobs
from muniment.vault.catalogue import Catalogue
from muniment.vault.description import (
    DESCRIPTION_MOST,
    SNAPSHOTS,
    description_blob,
    index_blob,
    read_description,
    snapshot_in,
    time_in,
)
from muniment.vault.errors import BadPack
from muniment.vault.examine import Progress, in_turn
from muniment.vault.inspect import inspect
from muniment.vault.packs import PACKS, pack_blob, pack_in
from muniment.vault.store import size_of


@dataclass(frozen=True, slots=True)
class Refused:
    """A file that could not be taken in, and why."""

    blob: str
    why: Message


@dataclass(slots=True)
class Rebuilt:
    """What was taken in, how many extents were damaged, how many snapshots lack some, and which files
    were refused."""

    packs: int = 0
    extents: int = 0
    lost: int = 0
    snapshots: int = 0
    damaged: int = 0
    refused: list[Refused] = field(default_factory=list)


def rebuild(
    blobs: Blobs, catalogue: Catalogue, entropy: Entropy, progress: Progress | None = None
) -> Rebuilt:
    """Fill an empty catalogue.

    Every pack is read and only sound extents are taken in, so that nothing which is damaged comes
    to be believed in again.  A snapshot whose index or extents are not all there is listed as
    damaged; one without its description is listed without label.
    """
    done = Rebuilt()
    names: set[str] = set()
    for blob in blobs.names(PACKS):
        try:
            names.add(pack_in(blob))
        except BadPack as error:
            done.refused.append(_refused(blob, error))
    # The newest first: what `fsck` has written anew counts before what it was made from.
    for read in in_turn(sorted(names, reverse=True), lambda name: inspect(blobs, name, (), entropy)):
        if progress is not None:
            progress(read.size)
        if read.why is not None:
            done.refused.append(Refused(pack_blob(read.name), read.why))
            continue
        with catalogue.writing():
            catalogue.add_pack(read.name, read.size, [slot for slot, _ in read.sound])
        done.packs += 1
        done.extents += len(read.sound)
        done.lost += len(read.bad)
    ids: set[str] = set()
    for blob in blobs.names(SNAPSHOTS):
        try:
            ids.add(snapshot_in(blob)[0])
        except ValueError as error:
            done.refused.append(_refused(blob, error))
    for snapshot_id in sorted(ids):
        _take_in(blobs, catalogue, snapshot_id, done)
    return done


def _take_in(blobs: Blobs, catalogue: Catalogue, snapshot_id: str, done: Rebuilt) -> None:
    told, facts = None, dict[str, object]()
    blob = description_blob(snapshot_id)
    try:
        told, facts = read_description(blobs.read(blob, DESCRIPTION_MOST))
        if told.id != snapshot_id:
            told, facts = None, {}
            raise ValueError("it tells of another snapshot")
    except (ValueError, MunimentError) as error:
        done.refused.append(_refused(blob, error))
    index = None
    blob = index_blob(snapshot_id)
    try:
        index = Index.read(blobs.read(blob, BYTES_MOST))
        if told is not None and index.root != told.root:
            index = None
            raise ValueError("it is another one")
    except (ValueError, MunimentError) as error:
        done.refused.append(_refused(blob, error))
    if told is None and index is not None:
        told = Snapshot(snapshot_id, "", time_in(snapshot_id), 0, (), index.root)
    if told is None:
        return
    told = replace(told, whole=index is not None and index.whole)
    with catalogue.writing():
        catalogue.list_snapshot(
            replace(told, soundness=Soundness.DAMAGED),
            canonical(facts).decode(),  # type: ignore[arg-type]
        )
        if index is not None:
            weight = catalogue.settle(snapshot_id, index)
            # Pieces may lie in other packs than before, made by another encoder.
            catalogue.resize(snapshot_id, size_of(index, weight))
    done.snapshots += 1
    done.damaged += index is None or bool(weight.odd)


def _refused(blob: str, error: ValueError | MunimentError) -> Refused:
    if isinstance(error, MunimentError):
        return Refused(blob, error.why or error.message)
    return Refused(blob, say("{finding}", finding=printable(str(error))))
