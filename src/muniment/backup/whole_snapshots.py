"""Floor 3, `backup`: the acts over a vault that takes and gives whole bundles: list, send, delete.

They are what the original scripts do; each stands in the ledger as its counterpart of `service` does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from muniment.backup.bundle_upload import Sending, opened
from muniment.backup.errors import NotGone
from muniment.backup.service import require_typed
from muniment.backup.subject import CREATED, DELETED, DELETING
from muniment.bundle.whole import Full, Kept, Listed, Shelf, WholeVault
from muniment.canonical import Json, canonical
from muniment.disk.locks import locked
from muniment.hosts.places import Places
from muniment.message import Message
from muniment.record.event import Draft
from muniment.record.state import FOLDER, Workspace

UPLOADING = FOLDER / "uploading.lock"
"""One upload by offsets at a time: its state has one place."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A bundle file to be sent; label and sections are those of its manifest where none are given."""

    bundle: Path
    label: str | None = None
    sections: tuple[str, ...] | None = None
    replace: str | None = None
    by_offsets: bool = False


@dataclass(frozen=True, slots=True)
class WholeSnapshots:
    """The snapshots of one workspace's vault; `note` is told what a person should know."""

    workspace: Workspace
    places: Places
    vault: WholeVault
    relayed: tuple[str, ...]
    note: Callable[[Message], None]

    def shelf(self) -> Shelf:
        """Everything there is, newest first."""
        return self.vault.shelf()

    def send(self, wanted: Wanted, *, progress: Callable[[int], object] = lambda size: None) -> Kept | Full:
        """Verify a bundle file, send it, and enter what the vault kept of it in the ledger."""
        with (
            self.workspace.working(),
            locked(self.workspace.root, UPLOADING, wait=False),
            opened(wanted.bundle, wanted.label, wanted.sections) as bundle,
        ):
            sending = Sending(
                self.vault, bundle, wanted.replace, self.places.upload_state, self.note, progress
            )
            outcome = sending.send(by_offsets=wanted.by_offsets)
            if isinstance(outcome, Kept):
                evidence: dict[str, Json] = {
                    "root": outcome.root,
                    "vault": self.vault.shelf().identity,
                    "bundle": bundle.sha256,
                    "stored_bytes": outcome.size,
                    **({} if wanted.replace is None else {"replaces": wanted.replace}),
                }
                self.workspace.ledger.append(Draft(CREATED, outcome.id, evidence))
            return outcome

    def show(self, backup_id: str) -> Listed:
        """One snapshot."""
        return self.vault.show(backup_id)

    def delete(self, backup_id: str, typed: str, picked: bytes) -> Listed:
        """Delete one snapshot: its id was typed, and `picked`, what was shown of it, confirmed."""
        require_typed(backup_id, typed)
        one = self.vault.show(backup_id)
        confirmation = self.workspace.consents.spend("delete", picked, self.relayed)
        evidence: dict[str, Json] = {
            "root": one.root,
            "vault": self.vault.shelf().identity,
            "confirmation": confirmation.to_json(),
        }
        self.workspace.ledger.append(Draft(DELETING, one.id, evidence))
        self.vault.delete(one.id)
        if any(other.id == one.id for other in self.vault.shelf().listed):
            raise NotGone(where=one.id)
        self.workspace.ledger.append(Draft(DELETED, one.id, evidence))
        return one


def picked_bytes(one: Listed) -> bytes:
    """What is shown of a snapshot before it is deleted."""
    return canonical({"act": "delete", "snapshot": one.to_json()})
