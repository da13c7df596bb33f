"""Floor 3½, `desk`: the ledger read whole and held to every witness that can be reached."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from muniment.backup.witnesses import kept_witnesses
from muniment.bundle.vault import Vault
from muniment.errors import MunimentError
from muniment.message import Message, say, say_count
from muniment.record.state import Workspace
from muniment.record.subject import Standing, Verdict
from muniment.record.verify import Verdict as Reading
from muniment.record.verify import verify
from muniment.record.witness import Witness

LEDGER = "ledger"
"""What the ledger is called where references stand."""


@dataclass(frozen=True, slots=True)
class ReadWhole:
    """What a whole reading found; `carried` says who carried each witness, and `unreachable` why those
    of the vault could not be compared, if they could not."""

    found: Reading
    carried: Mapping[Witness, str] = field(default_factory=dict)
    unreachable: MunimentError | None = None

    def verdict(self) -> Verdict:
        """How the ledger stands."""
        found, step = self.found, "muniment ledger verify"
        if found.whole:
            events = say_count("{count} event, one chain", "{count} events, one chain", found.events)
            return Verdict(
                LEDGER,
                Standing.GOOD,
                say("{facts}", facts=(events, self._seen())),
                step=step,
            )
        count = say_count("{count} event can be read", "{count} events can be read", found.events)
        return Verdict(LEDGER, Standing.BAD, say("NOT whole: {count}", count=count), self.details(), step)

    def details(self) -> tuple[Message, ...]:
        """Each fault, and each witness that saw more or something else."""
        faults = [
            say(
                "{segment}, line {line}, byte {offset}: {why}",
                segment=one.segment,
                line=one.line,
                offset=one.offset,
                why=one.why,
            )
            for one in self.found.findings
        ]
        witnesses = [
            say(
                "the witness in {source}, of {at}, saw {count} events; they are not there",
                source=self.carried[one],
                at=one.at,
                count=one.count,
            )
            for one in self.found.contradicted
        ]
        return (*faults, *witnesses)

    def _seen(self) -> Message:
        newest = self.found.newest_witness
        if newest is None:
            return say("no witness was compared")
        return say("newest witness: {at}, in {source}", at=newest.at, source=self.carried[newest])


def read_whole(
    workspace: Workspace, vault: Callable[[], Vault | None], given: Mapping[Witness, str] | None = None
) -> ReadWhole:
    """Read the ledger of a workspace, and compare it with the witnesses given and with the vault's.

    It is judged all the same where the vault can not be reached: whoever is offline learns what can be
    learnt there.
    """
    carried: dict[Witness, str] = dict(given or {})
    unreachable: MunimentError | None = None
    try:
        opened = vault()
        if opened is not None:
            for snapshot, witness in kept_witnesses(opened, workspace.identity.root_id):
                carried.setdefault(witness, snapshot)
    except MunimentError as error:
        unreachable = error
    found = verify(workspace.ledger, carried, root_id=workspace.identity.root_id)
    return ReadWhole(found, carried, unreachable)
