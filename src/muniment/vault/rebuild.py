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
from muniment.vault.packs import PACKS, pack_in, read_footer
from muniment.vault.store import AROUND


@dataclass(frozen=True, slots=True)
class Refused:
    """A file that could not be taken in, and why."""

    blob: str
    why: Message


@dataclass(slots=True)
class Rebuilt:
    """What was taken in, how many snapshots of it lack extents, and what was refused."""

    packs: int = 0
    extents: int = 0
    snapshots: int = 0
    damaged: int = 0
    refused: list[Refused] = field(default_factory=list)


def rebuild(blobs: Blobs, catalogue: Catalogue) -> Rebuilt:
    """Fill an empty catalogue.

    Of packs only the footers are read.  A snapshot whose index or pieces are not all there is listed
    as damaged; one without its description is listed without label.
    """
    done = Rebuilt()
    # The newest first: what `fsck` or a later backup has written anew counts before the damaged.
    for blob in sorted(blobs.names(PACKS), key=lambda blob: blob.rpartition("/")[2], reverse=True):
        try:
            name, size = pack_in(blob), blobs.size(blob)
            slots = read_footer(name, size, lambda at, count, blob=blob: blobs.piece(blob, at, count))  # type: ignore[misc]
        except MunimentError as error:
            done.refused.append(_refused(blob, error))
            continue
        with catalogue.writing():
            catalogue.add_pack(name, size, slots)
        done.packs += 1
        done.extents += len(slots)
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
    with catalogue.writing():
        catalogue.list_snapshot(
            replace(told, soundness=Soundness.DAMAGED),
            canonical(facts).decode(),  # type: ignore[arg-type]
        )
        if index is not None:
            weight = catalogue.settle(snapshot_id, index)
            # Pieces may lie in other packs than before, made by another encoder.
            catalogue.resize(snapshot_id, weight.size + AROUND)
    done.snapshots += 1
    done.damaged += index is None or bool(weight.odd)


def _refused(blob: str, error: ValueError | MunimentError) -> Refused:
    if isinstance(error, MunimentError):
        return Refused(blob, error.why or error.message)
    return Refused(blob, say("{finding}", finding=printable(str(error))))
