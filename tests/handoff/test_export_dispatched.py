"""An export of work that went out by an adapter proves the same elsewhere."""

from __future__ import annotations

from pathlib import Path

from tests.handoff.conftest import CONCLUSION, MEMORY, WORKLOG, Place, dispatched, packet

from muniment.handoff import sending
from muniment.handoff.codes import Code
from muniment.handoff.export import export, verify_folder
from muniment.handoff.model import Target
from muniment.handoff.process import ProcessDispatcher
from muniment.handoff.worker import Worker


def test_four_targets_by_their_adapters(place: Place, tmp_path: Path) -> None:
    handoffs = place.reopen()
    handoff = dispatched(handoffs, packet(*(target.value for target in Target)))
    worker = Worker(handoffs)
    worker.record(handoff, Target.EMPLOYEE_MEMORY, MEMORY)
    worker.record(handoff, Target.EMPLOYEE_WORKLOG, WORKLOG)
    worker.journal(handoff, WORKLOG.decode())
    operations = [{"op": "add", "path": "/parser", "value": {"state": WORKLOG.decode().strip()}}]
    worker.propose(handoff, operations=operations)
    worker.give_back(handoff, worker.compose(handoff, conclusion=CONCLUSION))
    waiting = handoffs.check(handoff).trace
    assert [each.code for each in waiting.findings] == [Code.BOARD_NOT_APPLIED]
    assert [row.status.value for row in waiting.rows] == ["verified", "verified", "verified", "pending"]
    handoffs.apply(handoff, "lead")
    assert handoffs.check(handoff).trace.complete
    export(handoffs, handoff, tmp_path / "proof")
    found = verify_folder(tmp_path / "proof")
    assert found.now.complete
    assert [row.written_by for row in found.now.rows] == ["muniment", "muniment", "muniment", "parent"]


def test_a_worker_that_ended_badly_did_so_in_the_export_too(place: Place, tmp_path: Path) -> None:
    handoffs = place.reopen()
    handoff = handoffs.new(packet(contract=False), recipient="mei").handoff_id
    handoffs.send(handoff, ProcessDispatcher(("sh", "-c", f"echo '{CONCLUSION}'; exit 3")), "mei")
    sending.wait(handoffs, handoff)
    sending.collect(handoffs, handoff)
    export(handoffs, handoff, tmp_path / "proof")
    found = verify_folder(tmp_path / "proof").now
    assert not found.complete
    assert [(each.code, str(each.why)) for each in found.findings] == [
        (Code.WORKER_FAILED, "the worker ended with 3")
    ]
