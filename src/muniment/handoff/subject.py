"""Handoff room: all that the desk knows of it: what there is, how it stands, and how to find it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from muniment.errors import MunimentError, NotFound
from muniment.handoff.receipts import Return
from muniment.handoff.service import Handoffs, shortfall
from muniment.handoff.store import Folder, Kept, handoffs
from muniment.handoff.trace import Trace
from muniment.message import Message, say, say_count
from muniment.path import printable
from muniment.record.event import Event
from muniment.record.reference import Kind
from muniment.record.subject import (
    Hit,
    Newest,
    Shown,
    Sought,
    Standing,
    Unfinished,
    Verdict,
    Watch,
    Weighed,
    Weight,
    newest_of,
    unread,
    unsearched,
    unwatched,
)

PREFIX = Kind.HANDOFF.value

_CLAIMS = frozenset({"handoff.dispatched", "handoff.returned"})


class HandoffSubject:
    """The desk's view of the handoffs of one workspace."""

    prefix = PREFIX

    def __init__(self, handoffs: Handoffs) -> None:
        self._handoffs = handoffs

    def references(self) -> list[str]:
        """Every handoff of the workspace: what lies there, and what the ledger says was issued."""
        workspace = self._handoffs.workspace
        return sorted({*handoffs(workspace.root), *workspace.ledger.subjects(PREFIX)})

    def papers(self, reference: str) -> Mapping[str, Any]:
        """Everything kept of one handoff that may be shown: never nonces, never anchors."""
        folder = self._handoffs.papers.folder(reference)
        outcome, answer = self._handoffs.papers.outcome(folder), folder.last("returns")
        summary = self._handoffs.papers.summary(reference)
        return {
            "handoff_id": reference,
            "state": summary.state,
            "recipient": summary.recipient,
            "created": summary.created,
            "missing": list(summary.missing),
            "packet": self._handoffs.papers.packet(folder).to_json(),
            "outcome": outcome.to_json() if outcome is not None else None,
            "calls": len(folder.names("calls")),
            "returns": len(folder.names("returns")),
            "return_sha256": answer.sha256 if answer is not None else None,
            "trace": self._handoffs.papers.trace(reference),
        }

    def show(self, reference: str) -> Shown:
        """One handoff as people see it."""
        shown = self.papers(reference)
        rows: list[tuple[Message, object]] = [
            (say("handoff"), reference),
            (say("goal"), printable(shown["packet"]["goal"])),
            (say("recipient"), shown["recipient"] or "–"),
            (say("state"), shown["state"]),
            (say("asked again"), shown["calls"]),
            (say("returns"), shown["returns"]),
            (say("missing"), tuple(shown["missing"]) or "–"),
        ]
        return Shown(reference, rows, dict(shown), f"muniment handoff check {reference}")

    def find(self, sought: Sought) -> Iterator[Hit]:
        """Handoffs by id, goal or recipient; and by digest the bytes that the last verdict read, what
        the worker claims, and the documents themselves."""
        for handoff_id in handoffs(self._handoffs.workspace.root):
            folder = Folder(self._handoffs.workspace.root, handoff_id)
            try:
                if sought.digest:
                    yield from self._bytes(folder, sought)
                else:
                    each = self._handoffs.papers.summary(handoff_id)
                    if sought.is_in(each.handoff_id, each.goal, each.recipient or ""):
                        yield Hit(handoff_id, say("handoff"), printable(each.goal))
            except MunimentError as error:
                yield unsearched(handoff_id, error.message)

    def _bytes(self, folder: Folder, sought: Sought) -> Iterator[Hit]:
        trace = self._handoffs.papers.trace(folder.handoff_id)
        told: set[str] = set()
        for artifact in trace["artifacts"] if trace is not None else ():
            if sought.is_digest(artifact["sha256"]):
                told.add(artifact["path"])
                path = printable(artifact["path"])
                yield Hit(folder.handoff_id, say("artifact of the handoff"), path, None, artifact["sha256"])
        for row in trace["rows"] if trace is not None else ():
            read = row.get("read")
            if read is not None and sought.is_digest(read["sha256"]):
                role = say("target {target} of the handoff", target=row["target"])
                yield Hit(folder.handoff_id, role, printable(read["path"]), None, read["sha256"])
        answer = folder.last("returns")
        for claim in Return.read(answer.data, answer.where).claims if answer is not None else ():
            if sought.is_digest(claim.sha256) and claim.path not in told:
                yield Hit(
                    folder.handoff_id, say("claim of the worker"), printable(claim.path), None, claim.sha256
                )
        for kept in self._documents(folder):
            if sought.is_digest(kept.sha256):
                yield Hit(folder.handoff_id, say("document of the handoff"), kept.name, None, kept.sha256)

    @staticmethod
    def _documents(folder: Folder) -> Iterator[Kept]:
        series = ("intents", "outcomes", "baselines", "returns", "traces")
        for name in ("packet.json", *(name for one in series for name in folder.names(one))):
            found = folder.read(name)
            if found is not None:
                yield found

    def verify(self, references: Iterable[str], watch: Watch = unwatched) -> Iterator[Verdict]:
        """Read back what was owed and judge it; unlike `handoff check` this keeps no verdict.

        One that has not returned claims nothing: only its documents are held to the ledger.
        """
        for reference in references:
            watch(0, 0, reference)
            step = f"muniment handoff check {reference}"
            try:
                yield self._judged(reference, step)
            except NotFound:
                finding = say("the ledger names it, and its documents are not there")
                yield Verdict(reference, Standing.BAD, finding, step=f"muniment handoff show {reference}")
            except MunimentError as error:
                yield unread(reference, error, step)

    def _judged(self, reference: str, step: str) -> Verdict:
        state = self._handoffs.papers.summary(reference).state
        altered, trace = self._handoffs.look(reference)
        if altered:
            details = tuple(
                say("{document} is not the one that the ledger recorded", document=one) for one in altered
            )
            return Verdict(reference, Standing.BAD, say("its documents were altered"), details, step)
        if trace is None:
            return Verdict(reference, Standing.OPEN, say("not returned yet: {state}", state=state), step=step)
        if trace.complete:
            return Verdict(reference, Standing.GOOD, _proved(trace), step=step)
        details = tuple(
            say("{code}: {where}: {why}", code=one.code.value, where=printable(one.where), why=one.why)
            for one in trace.findings
        )
        return Verdict(reference, Standing.BAD, shortfall(trace), details, step)

    def weigh(self, event: Event) -> Weighed | None:
        """What a host or a worker says is a claim; the parent's gate proves it, or does not."""
        if event.kind in _CLAIMS:
            return Weighed(Weight.CLAIMED, event.subject)
        if event.kind == "handoff.checked":
            proved = event.evidence.get("complete") is True
            return Weighed(Weight.PROVED if proved else Weight.REFUTED, event.subject)
        return None

    def unfinished(self) -> list[Unfinished]:
        """Handoffs that somebody still has to look at."""
        found: list[Unfinished] = []
        for each in self._handoffs.papers.unfinished():
            act = "check" if each.state in ("returned", "incomplete") else "show"
            step = f"muniment handoff {act} {each.handoff_id}"
            found.append(Unfinished(each.handoff_id, each.state, step, fault=each.fault))
        return found

    def newest(self) -> Newest | None:
        """The handoff that was issued last."""
        return newest_of(self._handoffs.workspace.ledger.newest(b'"kind":"handoff.issued"'))


def _proved(trace: Trace) -> Message:
    owed = sum(row.status.value == "verified" or row.status.value == "parent_verified" for row in trace.rows)
    targets = say_count("{count} target", "{count} targets", owed)
    artifacts = say_count("{count} artifact", "{count} artifacts", len(trace.artifacts))
    return say("complete: {targets} and {artifacts} read back", targets=targets, artifacts=artifacts)
