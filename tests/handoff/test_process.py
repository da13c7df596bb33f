"""The adapter `process`: real workers, real kills, nothing begun before its receipt."""

from __future__ import annotations

import json
import os
import random
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.handoff.conftest import CONCLUSION, Place, killed, packet

from muniment.disk import platform
from muniment.disk.errors import Locked
from muniment.handoff import errors, process, sending
from muniment.handoff.codes import Code
from muniment.handoff.dispatch import Launched, LookedUp, Order
from muniment.handoff.process import ProcessDispatcher
from muniment.handoff.receipts import Dispatch, Undelivered
from muniment.handoff.service import Handoffs
from muniment.handoff.worker import Worker


@pytest.fixture
def gate(tmp_path: Path) -> Path:
    """A pipe with a name: a worker that reads it works until somebody opens it for writing."""
    path = tmp_path / "gate"
    os.mkfifo(path)
    return path


def shell(script: str) -> ProcessDispatcher:
    return ProcessDispatcher(("sh", "-c", script))


def issue(handoffs: Handoffs) -> str:
    return handoffs.new(packet(contract=False), recipient="mei").handoff_id


def codes(handoffs: Handoffs, handoff: str) -> list[str]:
    return [each.code.value for each in handoffs.check(handoff).trace.findings]


def test_a_worker_gets_its_packet_and_what_it_prints_is_its_conclusion(place: Place) -> None:
    handoffs = place.reopen()
    handoff = issue(handoffs)
    sent = handoffs.send(
        handoff, shell('tee got.json; cmp got.json "$MUNIMENT_PACKET" || exit 9; env > env'), "mei"
    )
    assert isinstance(sent, Dispatch)
    assert sending.wait(handoffs, handoff).exit_code == 0
    view = json.loads((place.path / "got.json").read_text())
    assert view["dispatch_id"] == sent.dispatch_id and view["packet"]["handoff_id"] == handoff
    env = dict(line.split("=", 1) for line in (place.path / "env").read_text().splitlines() if "=" in line)
    assert json.loads(env["MUNIMENT_CONTEXT"])["handoff_id"] == handoff
    assert env["MUNIMENT_WORKSPACE"] == str(place.path)
    assert env.get("PYTHONPATH") == os.environ.get("PYTHONPATH")
    receipt = sent.provider_receipt
    assert receipt["boot_id"] == platform.boot_id() and receipt["argv"][0] == "sh"
    assert receipt["pid"] > 0 and receipt["start_time"].isdigit()


def test_last_words_are_the_conclusion_and_a_return_is_a_return(place: Place) -> None:
    handoffs = place.reopen()
    handoff = issue(handoffs)
    handoffs.send(handoff, shell(f"echo '{CONCLUSION}'"), "mei")
    sending.wait(handoffs, handoff)
    assert codes(handoffs, handoff) == ["RETURN_MISSING"]
    assert sending.collect(handoffs, handoff) is not None
    assert handoffs.check(handoff).trace.complete
    assert sending.collect(handoffs, handoff) is None  # it has returned
    silent = issue(handoffs)
    handoffs.send(silent, shell("true"), "mei")
    sending.wait(handoffs, silent)
    assert sending.collect(handoffs, silent) is None
    whole = issue(handoffs)
    answer = {"handoff_id": whole, "execution_mode": "bounded_subagent", "conclusion": CONCLUSION,
              "evidence": [], "gaps": ["none known"], "artifact_paths": []}  # fmt: skip
    dispatch = """$(sed 's/.*"dispatch_id":"\\([^"]*\\)".*/\\1/')"""
    script = f"""echo '{json.dumps(answer)[:-1]}, "dispatch_id": "'{dispatch}'"}}'"""
    handoffs.send(whole, shell(script), "mei")
    sending.wait(handoffs, whole)
    assert sending.collect(handoffs, whole) is not None
    last = handoffs.papers.folder(whole).last("returns")
    assert last is not None and json.loads(last.data)["gaps"] == ["none known"]


@pytest.mark.parametrize(("script", "code"), [("exit 3", 3), ("kill -9 $$", -9)])
def test_the_exit_code_is_kept(place: Place, script: str, code: int) -> None:
    handoffs = place.reopen()
    handoff = issue(handoffs)
    handoffs.send(handoff, shell(f"echo '{CONCLUSION}'; {script}"), "mei")
    assert sending.wait(handoffs, handoff).exit_code == code
    sending.collect(handoffs, handoff)
    trace = place.reopen().check(handoff).trace
    assert [each.code for each in trace.findings] == [Code.WORKER_FAILED]
    assert str(code) in str(trace.findings[0].why)


def test_a_command_that_is_not_there_is_no_dispatch(place: Place) -> None:
    handoffs = place.reopen()
    handoff = issue(handoffs)
    sent = handoffs.send(handoff, ProcessDispatcher(("no-such-command",)), "mei")
    assert isinstance(sent, Undelivered) and sent.reason == "adapter_failed"
    assert "no-such-command" in str(sent.why)
    assert isinstance(handoffs.send(handoff, shell("true"), "mei"), Dispatch)


def test_a_key_in_the_command_is_refused(place: Place) -> None:
    handoffs = place.reopen()
    handoff = issue(handoffs)
    with pytest.raises(errors.SecretValue):
        handoffs.send(handoff, ProcessDispatcher(("sh", "ghp_" + "aB3d" * 9)), "mei")
    assert handoffs.papers.summary(handoff).state == "issued"


def test_a_worker_that_still_runs_is_not_complete(place: Place, gate: Path) -> None:
    handoffs = place.reopen()
    handoff = issue(handoffs)
    handoffs.send(handoff, shell(f"echo '{CONCLUSION}'; cat {gate}"), "mei")
    folder = handoffs.papers.folder(handoff)
    worker = Worker(handoffs)
    worker.give_back(handoff, worker.compose(handoff, conclusion=CONCLUSION))
    trace = handoffs.check(handoff).trace
    assert trace.worker_alive and not trace.complete
    assert [each.code for each in trace.findings] == [Code.WORKER_ALIVE]
    with pytest.raises(errors.AlreadyDispatched):
        handoffs.send(handoff, shell("true"), "mei")
    gate.write_text("go on\n")
    sending.wait(handoffs, handoff)
    assert handoffs.check(handoff).trace.complete
    assert not sending.worker_state(handoffs.papers, folder).alive


def test_a_worker_whose_attendant_was_killed_is_waited_for_all_the_same(place: Place, gate: Path) -> None:
    handoffs = place.reopen()
    handoff = issue(handoffs)
    sent = handoffs.send(handoff, shell(f"cat {gate} > /dev/null"), "mei")
    assert isinstance(sent, Dispatch)
    pid = sent.provider_receipt["pid"]
    attendant = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill(attendant, signal.SIGKILL)
    folder = handoffs.papers.folder(handoff)
    with sending.run_folder(handoffs.papers, folder) as run:
        assert run is not None
        assert process.worker_state(run[1], sent.provider_receipt).alive
        later = {**sent.provider_receipt, "start_time": "1"}  # another process got the number
        assert not process.worker_state(run[1], later).alive
        assert not process.worker_state(run[1], {**sent.provider_receipt, "boot_id": "before"}).alive
    gate.write_text("")
    state = sending.wait(handoffs, handoff)
    assert not state.alive and state.exit_code is None  # nobody was there to keep it


# --- the parent is killed


@dataclass
class Killing:
    """The real adapter in a parent that is killed at a chosen point."""

    inner: ProcessDispatcher
    at: str
    name: str = "process"
    creates_tasks: bool = False
    address: str = ""

    def launch(self, order: Order) -> Launched:
        if self.at == "intended":
            os.kill(os.getpid(), signal.SIGKILL)
        launched = self.inner.launch(order)
        if self.at == "launched":
            os.kill(os.getpid(), signal.SIGKILL)
        return _Killing(launched, self.at)

    def look_up(self, order: Order) -> LookedUp:
        return self.inner.look_up(order)


@dataclass
class _Killing:
    inner: Launched
    at: str

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def release(self, view: Any) -> None:
        if self.at == "receipt":
            os.kill(os.getpid(), signal.SIGKILL)
        self.inner.release(view)
        os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("at", ["intended", "launched"])
def test_killed_between_intent_and_receipt(place: Place, at: str) -> None:
    handoffs = place.reopen()
    handoff = issue(handoffs)
    killed(place, lambda: handoffs.send(handoff, Killing(shell("touch worked"), at), "mei"))
    again = place.reopen()
    assert again.papers.summary(handoff).state == "unknown"
    assert codes(again, handoff) == ["RETURN_MISSING", "DELIVERY_UNKNOWN"]
    outcome = again.papers.outcome(again.papers.folder(handoff))
    assert isinstance(outcome, Undelivered) and outcome.unknown
    with pytest.raises(errors.AlreadyDispatched):
        again.send(handoff, shell("touch worked"), "mei")
    found = sending.look_up(again, handoff, ProcessDispatcher(()))
    assert isinstance(found, Undelivered) and found.reason == "adapter_failed"
    assert not (place.path / "worked").exists()  # no work without a receipt
    assert isinstance(again.send(handoff, shell("touch worked"), "mei"), Dispatch)
    sending.wait(again, handoff)
    assert (place.path / "worked").exists()


def test_a_person_may_say_that_they_looked(place: Place) -> None:
    handoffs = place.reopen()
    handoff = issue(handoffs)
    killed(place, lambda: handoffs.send(handoff, Killing(shell("true"), "launched"), "mei"))
    assert isinstance(handoffs.send(handoff, shell("true"), "mei", looked_up=True), Dispatch)


def test_killed_after_the_receipt_the_work_never_begins_and_the_gate_says_so(place: Place) -> None:
    handoffs = place.reopen()
    handoff = issue(handoffs)
    killed(place, lambda: handoffs.send(handoff, Killing(shell("touch worked"), "receipt"), "mei"))
    again = place.reopen()
    sending.wait(again, handoff)
    assert not (place.path / "worked").exists()
    assert codes(again, handoff) == ["RETURN_MISSING", "WORKER_FAILED"]


def test_a_worker_outlives_its_parent(place: Place, gate: Path) -> None:
    handoffs = place.reopen()
    handoff = issue(handoffs)
    work = shell(f"cat {gate} >/dev/null; echo '{CONCLUSION}'; exit 0")
    killed(place, lambda: handoffs.send(handoff, Killing(work, "released"), "mei"))
    again = place.reopen()
    assert again.check(handoff).trace.worker_alive
    gate.write_text("")
    assert sending.wait(again, handoff).exit_code == 0
    sending.collect(again, handoff)
    assert again.check(handoff).trace.complete


def test_nobody_looks_up_a_launch_that_is_under_way(place: Place) -> None:
    handoffs = place.reopen()
    handoff = issue(handoffs)
    with handoffs.papers.folder(handoff).launching():
        with pytest.raises(Locked):
            sending.look_up(handoffs, handoff, ProcessDispatcher(()))
        with pytest.raises(Locked):
            handoffs.send(handoff, shell("true"), "mei", looked_up=True)


@pytest.mark.long
def test_killed_at_any_time_there_is_no_work_without_receipt_and_never_twice(place: Place) -> None:
    """A parent is killed after random times; then somebody looks, and dispatches what was not."""
    dice = random.Random(10)
    for _ in range(60):
        handoffs = place.reopen()
        handoff = issue(handoffs)
        mark = place.path / f"{handoff}.worked"
        work = shell(f"echo once >> {mark}")
        child = os.fork()
        if child == 0:
            place.machine.drawn += 10_000
            signal.setitimer(signal.ITIMER_REAL, dice.uniform(0.001, 0.25))
            signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGKILL))
            try:
                handoffs.send(handoff, work, "mei")
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        again = place.reopen()
        outcome = (
            again.papers.outcome(again.papers.folder(handoff))
            if again.papers.folder(handoff).names("intents")
            else None
        )
        if isinstance(outcome, Undelivered):
            assert not mark.exists()
            found = sending.look_up(again, handoff, ProcessDispatcher(()))
            assert isinstance(found, Undelivered) and not found.unknown
        if not isinstance(outcome, Dispatch):
            assert isinstance(again.send(handoff, work, "mei"), Dispatch)
        sending.wait(again, handoff)
        assert not mark.exists() or mark.read_text() == "once\n"
