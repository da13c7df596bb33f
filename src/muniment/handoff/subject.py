"""Handoff room: all that the desk knows of it: its prefix, and how to find, show, verify and list."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from muniment.errors import MunimentError
from muniment.handoff.papers import Summary
from muniment.handoff.service import Handoffs
from muniment.handoff.store import handoffs
from muniment.handoff.trace import Trace
from muniment.message import Message
from muniment.record.subject import Newest, Unfinished, newest_of

PREFIX = "ho_"


class HandoffSubject:
    """The desk's view of the handoffs of one workspace."""

    prefix = PREFIX

    def __init__(self, handoffs: Handoffs) -> None:
        self._handoffs = handoffs

    def find(self, text: str) -> Iterator[Summary]:
        """Handoffs whose id, goal or recipient holds the text."""
        wanted = text.casefold()
        for each in self._handoffs.papers.every():
            if any(
                wanted in field.casefold() for field in (each.handoff_id, each.goal, each.recipient or "")
            ):
                yield each

    def show(self, reference: str) -> Mapping[str, Any]:
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

    def verify(self, reference: str) -> Trace:
        """Read everything back once more and judge it."""
        return self._handoffs.check(reference).trace

    def unfinished(self) -> list[Unfinished]:
        """Handoffs that somebody still has to look at."""
        found: list[Unfinished] = []
        for handoff_id in handoffs(self._handoffs.workspace.root):
            fault: Message | None = None
            try:
                state = self._handoffs.papers.summary(handoff_id).state
            except MunimentError as error:
                state, fault = error.code, error.message
            if state != "complete":
                act = "check" if state in ("returned", "incomplete") else "show"
                found.append(
                    Unfinished(handoff_id, state, f"muniment handoff {act} {handoff_id}", fault=fault)
                )
        return found

    def newest(self) -> Newest | None:
        """The handoff that was issued last."""
        return newest_of(self._handoffs.workspace.ledger.newest(b'"kind":"handoff.issued"'))
