"""Floor 3, `vault`: making the catalogue again, from packs and snapshots' files alone.

A snapshot whose creation or deletion was cut off by a kill may come back by it: its files were all
there.  None that is whole is ever left out.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from muniment.bundle.index import BYTES_MOST, Index
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

    Of packs only the footers are read.  A snapshot whose pieces are not all there is listed as
    damaged.
    """
    done = Rebuilt()
    for blob in blobs.names(PACKS):
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
    for blob in blobs.names(SNAPSHOTS):
        if blob.endswith(".json"):
            try:
                _take_in(blobs, catalogue, blob, done)
            except (ValueError, MunimentError) as error:
                done.refused.append(_refused(blob, error))
    return done


def _take_in(blobs: Blobs, catalogue: Catalogue, blob: str, done: Rebuilt) -> None:
    snapshot, facts = read_description(blobs.read(blob, DESCRIPTION_MOST))
    if blob != description_blob(snapshot.id):
        raise ValueError("it tells of another snapshot")
    index = Index.read(blobs.read(index_blob(snapshot.id), BYTES_MOST))
    if index.root != snapshot.root:
        raise ValueError("its index is another one")
    with catalogue.writing():
        weight = catalogue.weigh(index)
        # Pieces may lie in other packs than before, made by another encoder.
        size = snapshot.size if weight.odd else weight.size + AROUND
        catalogue.list_snapshot(
            replace(snapshot, size=size),
            canonical(facts).decode(),  # type: ignore[arg-type]
            index,
        )
    done.snapshots += 1
    done.damaged += bool(weight.odd)


def _refused(blob: str, error: ValueError | MunimentError) -> Refused:
    if isinstance(error, MunimentError):
        return Refused(blob, error.why or error.message)
    return Refused(blob, say("{finding}", finding=printable(str(error))))
