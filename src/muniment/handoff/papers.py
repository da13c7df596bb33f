"""Handoff room: what is kept of the handoffs of one workspace, read and written, without judgement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from muniment.canonical import Json
from muniment.errors import MunimentError
from muniment.handoff.documents import parse
from muniment.handoff.errors import HandoffUnknown, NotDispatched
from muniment.handoff.facts import Baseline, Intent
from muniment.handoff.model import Packet, Target
from muniment.handoff.receipts import Dispatch, Undelivered, read_outcome
from muniment.handoff.store import BASELINES, INTENT, Folder, KeptDocument, handoffs
from muniment.handoff.trace import read_trace
from muniment.ids import is_ulid
from muniment.message import Message
from muniment.path import printable
from muniment.record.event import Draft, Event
from muniment.record.state import Workspace


@dataclass(frozen=True, slots=True)
class Summary:
    """One handoff in a list: what it is, where it went, and how it stands.

    `state` is `issued`, `undelivered`, `unknown`, `dispatched`, `returned`,
    `complete` or `incomplete`, or the code of the error for which it can not be read; `fault` is then
    what it says.  `missing` names the owed targets that were not verified.
    """

    handoff_id: str
    goal: str
    recipient: str | None
    state: str
    created: str
    missing: tuple[str, ...] = ()
    fault: Message | None = None

    def to_json(self) -> dict[str, Json]:
        """What programs get."""
        return {
            "handoff_id": self.handoff_id,
            "state": self.state,
            "recipient": self.recipient,
            "goal": self.goal,
            "created": self.created,
            "missing": list(self.missing),
        }


class Papers:
    """The documents of every handoff, and what the ledger says of them."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace

    def folder(self, handoff_id: str) -> Folder:
        """The documents of a handoff; `HandoffUnknown` when there is none."""
        if not is_handoff_id(handoff_id):
            shown = printable(handoff_id[:64])
            raise HandoffUnknown(handoff=shown, where=shown)
        return Folder(self.workspace.root, handoff_id).require()

    def packet(self, folder: Folder) -> Packet:
        """The packet as it was issued."""
        found = folder.read("packet.json")
        if found is None:
            raise HandoffUnknown(handoff=folder.handoff_id, where=folder.handoff_id)
        return Packet.read(found.data, found.where)

    def outcome(self, folder: Folder) -> Dispatch | Undelivered | None:
        """What became of the last launch.

        One that was begun and has no outcome is undelivered, of which nobody knows (spec 3, shapes).
        """
        if not self.answered(folder):
            intent, mode = self.intent_document(folder), self.packet(folder).mode
            return Undelivered(intent["recipient_id"], intent["at"], mode, "delivery_unknown")
        found = folder.last("outcomes")
        return read_outcome(found.data, found.where) if found is not None else None

    def answered(self, folder: Folder) -> bool:
        """Whether the last intent has its outcome."""
        return len(folder.names("outcomes")) >= len(folder.names("intents"))

    def intent_document(self, folder: Folder) -> dict[str, Any]:
        """What was written down before the last launch; `NotDispatched` when nothing was."""
        found = folder.last("intents")
        if found is None:
            raise NotDispatched(handoff=folder.handoff_id, where=folder.handoff_id)
        return parse(found.name, INTENT, found.data, found.where)

    def intent(self, folder: Folder) -> Intent | None:
        """The last intent as a fact."""
        if not folder.names("intents"):
            return None
        document, outcome = self.intent_document(folder), self.outcome(folder)
        unknown = isinstance(outcome, Undelivered) and outcome.unknown
        return Intent(document["at"], document["recipient_id"], not unknown)

    def baselines(self, folder: Folder) -> dict[Target, Baseline]:
        """The targets as they were before the last launch."""
        found = folder.last("baselines")
        if found is None:
            return {}
        document = parse(found.name, BASELINES, found.data, found.where)
        return {Target(name): Baseline.from_json(each) for name, each in document.items()}

    def trace(self, handoff_id: str) -> Mapping[str, Any] | None:
        """The last verdict as it was kept."""
        found = self.folder(handoff_id).last("traces")
        return read_trace(found.data, found.where) if found is not None else None

    def chain(self, current: str | None) -> list[str]:
        """A handoff and those above it, the first one first."""
        found: list[str] = []
        while current is not None and current not in found and is_handoff_id(current):
            found.insert(0, current)
            folder = Folder(self.workspace.root, current)
            current = folder.meta().get("parent") if folder.exists() else None
        return found

    def events(self, handoff_id: str) -> Iterator[Event]:
        """What the ledger says of a handoff."""
        for event in self.workspace.ledger.events(containing=handoff_id.encode()):
            if event.subject == handoff_id:
                yield event

    def altered(self, handoff_id: str, documents: Sequence[KeptDocument]) -> tuple[str, ...]:
        """The stored documents of which the ledger does not know these very bytes."""
        known = {
            (each.evidence.get("document"), each.evidence.get("sha256")) for each in self.events(handoff_id)
        }
        return tuple(each.name for each in documents if (each.name, each.sha256) not in known)

    def note(self, kind: str, handoff_id: str, kept: KeptDocument, **more: Any) -> None:
        """Put a document's digest into the ledger."""
        evidence = {"document": kept.name, "sha256": kept.sha256, **more}
        self.workspace.ledger.append(Draft(kind, handoff_id, evidence))

    def every(self) -> list[Summary]:
        """Every handoff of the workspace, oldest first; one that can not be read hides no other."""
        return [self._summed(handoff_id) for handoff_id in handoffs(self.workspace.root)]

    def _summed(self, handoff_id: str) -> Summary:
        try:
            return self.summary(handoff_id)
        except MunimentError as error:
            return Summary(handoff_id, "", None, error.code, "", fault=error.message)

    def unfinished(self) -> list[Summary]:
        """Handoffs that somebody still has to look at."""
        return [each for each in self.every() if each.state != "complete"]

    def summary(self, handoff_id: str) -> Summary:
        """How one handoff stands, by what is kept; nothing is read back for it."""
        folder = self.folder(handoff_id)
        packet, meta, trace = self.packet(folder), folder.meta(), folder.last("traces")
        outcome, answer, intent = self.outcome(folder), folder.last("returns"), self.intent(folder)
        recipient = intent.recipient_id if intent is not None else meta.get("recipient")
        missing: tuple[str, ...] = ()
        state = "issued"
        if isinstance(outcome, Undelivered):
            state = "unknown" if outcome.unknown else "undelivered"
        elif outcome is not None:
            state = "dispatched" if answer is None else "returned"
        if trace is not None and answer is not None:
            found = read_trace(trace.data, trace.where)
            if found.get("return_sha256") == answer.sha256:
                state = "complete" if found["complete"] else "incomplete"
                missing = missing_targets(found)
        return Summary(handoff_id, packet.goal, recipient, state, meta["created"], missing)


def is_handoff_id(text: str) -> bool:
    """Whether a text is the id of a handoff, here or elsewhere.

    >>> is_handoff_id("ho_01KDVDNA000000000000000001"), is_handoff_id("../x")
    (True, False)
    """
    return text.startswith("ho_") and is_ulid(text[3:])


def missing_targets(trace: Mapping[str, Any]) -> tuple[str, ...]:
    """The targets of a kept trace that are owed and not verified, in contract order."""
    done = ("verified", "not_applicable")
    return tuple(row["target"] for row in trace["rows"] if row["status"] not in done)
