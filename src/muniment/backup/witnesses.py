"""Floor 3, `backup`: the ledger's witnesses that travelled with snapshots, fetched from the vault."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from muniment.errors import NotFound
from muniment.record.witness import Witness

if TYPE_CHECKING:
    from muniment.bundle.vault import Vault


def kept_witnesses(vault: Vault, root_id: str) -> Iterator[tuple[str, Witness]]:
    """The witnesses of one workspace's ledger, each with the snapshot that carried it.

    Snapshots of other workspaces say nothing of it, and one without a witness that can be read was
    made by something else; neither is an error, since a vault may be shared.
    """
    for snapshot in vault.list().snapshots:
        with suppress(NotFound, ValueError):  # it was deleted meanwhile; it carries none
            witness = Witness.from_json(vault.facts(snapshot.id).get("witness"))
            if witness.root_id == root_id:
                yield snapshot.id, witness
