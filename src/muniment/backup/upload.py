"""Floor 3, `backup`: handing a snapshot's extents to a vault: what it has is named, the rest is sent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from muniment.bundle.index import Index
from muniment.bundle.model import Extent
from muniment.bundle.vault import PUT_BYTES, Stored, Vault

_NAMED_AT_ONCE = 100_000


class Upload:
    """One upload.  What was named and is not missing stays pinned, so `has` is sure of it.

    What it takes was proven by the packer, where the vault works in this process.  `sent` are the stored
    bytes handed in so far; `replaces` is the snapshot that goes when it ends.
    """

    def __init__(self, vault: Vault, upload_id: str, replace: str | None = None) -> None:
        self.vault = vault
        self.replaces = replace
        self.sent = 0
        self._id = upload_id
        self._pinned: set[bytes] = set()
        self._batch: list[Extent] = []
        self._bytes = 0
        self._ended = False

    @classmethod
    def begin(cls, vault: Vault, replace: str | None = None) -> Upload:
        """Reserve; a vault without a free slot refuses here, before anything was packed."""
        upload = cls(vault, vault.reserve((), replace=replace).upload_id, replace)
        newest = next((one for one in vault.list().snapshots if not one.whole), None)
        if newest is not None:
            upload.name(vault.index(newest.id).ids)
        return upload

    def name(self, ids: Iterable[bytes]) -> None:
        """Name extents that may be used again; those that the vault has are pinned."""
        wanted = [one for one in dict.fromkeys(ids) if one not in self._pinned]
        for start in range(0, len(wanted), _NAMED_AT_ONCE):
            part = wanted[start : start + _NAMED_AT_ONCE]
            self._pinned.update(frozenset(part) - self.vault.ask(self._id, part))

    def has(self, extent: bytes) -> bool:
        """Whether an extent need not be made again (called from any thread)."""
        return extent in self._pinned

    def take(self, extent: Extent) -> None:
        """The next extent of the stream."""
        if extent.piece is None or extent.id in self._pinned:
            return
        self._pinned.add(extent.id)
        self._batch.append(extent)
        self._bytes += len(extent.piece)
        if self._bytes >= PUT_BYTES:
            self.flush()

    def flush(self) -> None:
        """Send what waits, less what the vault has from elsewhere."""
        batch, self._batch, self._bytes = self._batch, [], 0
        if not batch:
            return
        missing = self.vault.ask(self._id, [extent.id for extent in batch])
        owed = [extent for extent in batch if extent.id in missing]
        if owed:
            self.vault.put(self._id, owed, proven=self.vault.in_process)
            self.sent += sum(len(extent.piece or b"") for extent in owed)

    def finish(
        self, index: Index, *, label: str, sections: Sequence[str], facts: Mapping[str, object]
    ) -> Stored:
        """End it: durable and read back when this returns."""
        stored = self.vault.finish(self._id, index, label=label, sections=sections, facts=facts)
        self._ended = True
        return stored

    def abort(self) -> None:
        """Give it up, unless it has ended."""
        if not self._ended:
            self.vault.abort(self._id)
