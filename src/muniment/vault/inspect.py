"""Floor 3, `vault`: one pack read whole: which of its pieces are sound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from muniment.bundle.errors import BadExtent
from muniment.bundle.extent import check
from muniment.bundle.model import Extent
from muniment.disk.errors import DiskFault, NotThere, OutsideRoot, SpecialFile, WrongKind
from muniment.ids import Entropy
from muniment.message import Message, say
from muniment.vault.blobs import Blobs
from muniment.vault.errors import BadPack
from muniment.vault.packs import PACK_MOST, Slot, pack_blob, read_footer

UNREADABLE = (NotThere, DiskFault, OutsideRoot, SpecialFile, WrongKind)
"""What a damaged file may be; a full table of descriptors or a missing right is none of it."""


@dataclass(frozen=True, slots=True)
class Inspected:
    """A pack of so many bytes: its sound extents with where they lie, those that are not, and why
    the pack as a whole is not sound, if it is not."""

    name: str
    size: int
    sound: list[tuple[Slot, bytes]]
    bad: list[tuple[bytes, Message]]
    why: Message | None

    @property
    def whole(self) -> bool:
        """Whether nothing is wrong."""
        return self.why is None and not self.bad

    def extents(self) -> list[Extent]:
        """The sound extents with their pieces."""
        return [Extent(slot.id, slot.length, slot.crc, b"", piece) for slot, piece in self.sound]


def inspect(blobs: Blobs, name: str, known: Sequence[Slot], entropy: Entropy) -> Inspected:
    """Read a pack and inflate every extent that its footer or the catalogue (`known`) tells of.

    The footer has a digest and the catalogue has none; where they differ both are tried.
    """
    why: Message | None = None
    slots: Sequence[Slot] = ()
    data = b""
    try:
        data = blobs.read(pack_blob(name), PACK_MOST)
        slots = read_footer(name, len(data), lambda at, size: data[at : at + size])
    except BadPack as error:
        why = error.why or error.message
    except UNREADABLE as error:
        why = say("{finding}", finding=error.message)
    sound: list[tuple[Slot, bytes]] = []
    bad: list[tuple[bytes, Message]] = []
    for slot in dict.fromkeys((*slots, *known)):
        piece = data[slot.offset : slot.offset + slot.stored]
        try:
            check(piece, Extent(slot.id, slot.length, slot.crc, b"", None), entropy)
        except BadExtent as error:
            bad.append((slot.id, error.why or error.message))
        else:
            sound.append((slot, piece))
    return Inspected(name, len(data), sound, bad, why)
