"""One workspace with its handoffs, on a real disk, with a clock and entropy of our own."""

from __future__ import annotations

import hashlib
import json
import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from muniment.disk.root import Root
from muniment.handoff.gather import Options
from muniment.handoff.lint import STANDING_PITFALLS
from muniment.handoff.model import Target
from muniment.handoff.nonces import Nonces
from muniment.handoff.receipts import Dispatch
from muniment.handoff.service import Handoffs
from muniment.handoff.worker import Worker
from muniment.hosts.git import ask_git
from muniment.record.event import Context
from muniment.record.state import open_workspace

PATHS = {"employee_memory": "agents/mei/MEMORY.md", "employee_worklog": "agents/mei/WORKLOG.md"}
HOST = json.dumps({"status": "accepted", "runId": "run-7", "childSessionKey": "agent:mei:7"}).encode()


@dataclass
class Machine:
    """A clock that moves by a second a look, and bytes that never repeat; both go on after a restart."""

    now: datetime = datetime(2026, 11, 30, 10, tzinfo=UTC)
    drawn: int = 0

    def clock(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now

    def entropy(self, size: int) -> bytes:
        self.drawn += 1
        return hashlib.sha512(str(self.drawn).encode()).digest()[:size]


@dataclass
class Place:
    """A workspace; `reopen` is a restart of the parent."""

    path: Path
    user: Path
    machine: Machine = field(default_factory=Machine)
    options: Options = field(default_factory=lambda: Options(ask_git=ask_git))
    roots: list[Root] = field(default_factory=list)

    def reopen(self, context: Context | None = None, path: Path | None = None) -> Handoffs:
        root = Root.open(path or self.path)
        self.roots.append(root)
        context = context or Context()
        workspace = open_workspace(
            root, clock=self.machine.clock, entropy=self.machine.entropy, context=context
        )
        return Handoffs(workspace, Nonces(self.user, root), replace(self.options, context=context))


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    (tmp_path / "work").mkdir()
    found = Place(tmp_path / "work", tmp_path / "user")
    yield found
    for root in found.roots:
        root.close()


def packet(*owed: str, contract: bool = True, **more: Any) -> dict[str, Any]:
    """A draft that owes these targets, memory and worklog alone by default."""
    owed = owed or tuple(PATHS)
    targets: dict[str, Any] = {}
    paths = {**PATHS, "team_journal": "team/journal", "central_board": "team/BOARD.json"}
    writers = {"team_journal": "team_journal", "central_board": "lead"}
    for target in ("employee_memory", "employee_worklog", "team_journal", "central_board"):
        if target in owed:
            entry = {"state": "required", "path": paths[target], "writer": writers.get(target, "mei")}
            targets[target] = {**entry, "verification": []}
        else:
            targets[target] = {"state": "not_applicable", "reason": "Nobody else works on this."}
    draft = {
        "goal": "Make the parser read files without a header.",
        "context_constraints": ["The parser lies in src/parser."],
        "acceptance_criteria": ["All forty sample files are read."],
        "known_pitfalls": list(STANDING_PITFALLS),
        **more,
    }
    return {**draft, "persistence_contract": {"targets": targets}} if contract else draft


def dispatched(handoffs: Handoffs, draft: dict[str, Any] | None = None) -> str:
    """A handoff that a host took for `mei`."""
    handoff = handoffs.new(draft or packet(), recipient="mei").handoff_id
    assert isinstance(handoffs.deliver_by_host(handoff, "openclaw", "mei", HOST), Dispatch)
    return handoff


def killed(place: Place, act: Callable[[], object]) -> None:
    """Do an act in a child that does not survive it."""
    child = os.fork()
    if child == 0:
        place.machine.drawn += 10_000  # or the parent would draw the same afterwards
        try:
            act()
        finally:
            os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


MEMORY = b"The parser keeps each record's offset; a file without one is read from its start.\n"
WORKLOG = b"Read forty files, found two without a header, wrote tests for both and ran all.\n"
CONCLUSION = "The parser reads all forty files; two without a header are covered by new tests."


def work(handoffs: Handoffs, handoff_id: str, **returned: Any) -> Worker:
    """An honest worker: it records both of its targets and returns."""
    worker = Worker(handoffs)
    worker.record(handoff_id, Target.EMPLOYEE_MEMORY, MEMORY)
    worker.record(handoff_id, Target.EMPLOYEE_WORKLOG, WORKLOG)
    worker.give_back(handoff_id, worker.compose(handoff_id, conclusion=CONCLUSION, **returned))
    return worker
