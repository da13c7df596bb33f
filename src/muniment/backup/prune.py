"""Floor 3, `backup`: scheduled snapshots go by a written policy; no other snapshot ever does.

A snapshot counts as scheduled when the vault says so and the ledger witness it carries is of this
workspace.  Each deletion is announced in the ledger before it is asked for (ADR 0611).
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from muniment.backup.errors import NotGone
from muniment.backup.model import snapshot_json
from muniment.backup.schedule_rules import Dated, Local, Policy, kept
from muniment.backup.service import Backups
from muniment.backup.subject import DELETED, DELETING
from muniment.bundle.vault import Snapshot, Soundness, Vault
from muniment.canonical import Json, canonical
from muniment.errors import NotFound
from muniment.record.consent import Confirmation
from muniment.record.event import Draft


@dataclass(frozen=True, slots=True)
class Choice:
    """What a policy means for the snapshots there are: those that stay, those that go, both newest
    first, and the one that a half-done restore still needs."""

    policy: Policy
    vault: str
    stay: tuple[Snapshot, ...]
    go: tuple[Snapshot, ...]
    needed: str | None = None

    @property
    def shown(self) -> bytes:
        """The bytes that a confirmation binds to."""
        return canonical({"act": "prune", **self.to_json()})

    def to_json(self) -> dict[str, Json]:
        """The choice for programs."""
        return {
            **self.policy.to_json(),
            "vault": self.vault,
            "keep": [snapshot_json(one) for one in self.stay],
            "delete": [snapshot_json(one) for one in self.go],
            "needed_by_restore": self.needed,
        }


class Pruning:
    """Pruning in one workspace's vault."""

    def __init__(self, backups: Backups, local: Local) -> None:
        self._backups = backups
        self._local = local

    def choose(self, policy: Policy) -> Choice:
        """Which scheduled snapshots of this workspace go; nothing is changed."""
        vault = self._backups.open_vault()
        own: list[Snapshot] = []
        dated: list[Dated] = []
        for one in vault.list().snapshots:
            partial = self._partial(vault, one)
            if partial is not None:
                own.append(one)
                whole = not partial and one.soundness is Soundness.SOUND
                dated.append(Dated(one.id, one.created_at, whole))
        stay = kept(dated, policy, self._local)
        half = self._backups.half_restore()  # the snapshot it comes from is still needed
        needed = None if half is None else half.backup_id
        return Choice(
            policy,
            vault.identity,
            tuple(one for one in own if one.id in stay or one.id == needed),
            tuple(one for one in own if one.id not in stay and one.id != needed),
            needed,
        )

    def _partial(self, vault: Vault, one: Snapshot) -> bool | None:
        """Whether a scheduled snapshot of this workspace is partial; None for any other snapshot."""
        if not one.scheduled:
            return None
        try:
            facts = vault.facts(one.id)
        except NotFound:
            return None  # it was deleted meanwhile
        witness = facts.get("witness")
        root_id = witness.get("root_id") if isinstance(witness, dict) else None
        if root_id != self._backups.workspace.identity.root_id:
            return None
        return facts.get("partial") is not False

    def confirmed(self, choice: Choice) -> list[Snapshot]:
        """Delete what was shown and confirmed, as far as the policy still lets it go."""
        workspace = self._backups.workspace
        # A restore that goes on holds the workspace alone: its snapshot is not taken from under it.
        with workspace.working(wait=False):
            confirmation = workspace.consents.spend("prune", choice.shown, self._backups.options.relayed)
            again = {one.id for one in self.choose(choice.policy).go}
            still = tuple(one for one in choice.go if one.id in again)
            return self._delete(still, choice.vault, confirmation)

    def carry_out(self, choice: Choice, standing: Confirmation) -> list[Snapshot]:
        """Delete what goes, on a standing consent that covers the policy."""
        with self._backups.workspace.working(wait=False):
            return self._delete(choice.go, choice.vault, standing)

    def _delete(
        self, snapshots: tuple[Snapshot, ...], vault_id: str, confirmation: Confirmation
    ) -> list[Snapshot]:
        """Oldest first, so that one that is ended in the middle leaves what is wanted most."""
        vault, ledger = self._backups.open_vault(), self._backups.workspace.ledger
        gone: list[Snapshot] = []
        for one in reversed(snapshots):
            evidence: dict[str, Json] = {
                "root": one.root.hex,
                "vault": vault_id,
                "confirmation": confirmation.to_json(),
                "pruned": True,
            }
            ledger.append(Draft(DELETING, one.id, evidence))
            with suppress(NotFound):  # somebody else deleted it meanwhile, which is what was wanted
                vault.delete(one.id)
            if _there(vault, one.id):
                raise NotGone(where=one.id)
            ledger.append(Draft(DELETED, one.id, evidence))
            gone.append(one)
        return gone


def _there(vault: Vault, snapshot_id: str) -> bool:
    try:
        vault.show(snapshot_id)
    except NotFound:
        return False
    return True
