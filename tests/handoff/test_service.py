"""The acts of parent and worker on a real disk."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.handoff.conftest import CONCLUSION, HOST, MEMORY, WORKLOG, Place, dispatched, packet, work

from muniment.errors import ExitCode, MunimentError
from muniment.faces.i18n.language import Language
from muniment.faces.i18n.translate import Translator
from muniment.handoff import errors
from muniment.handoff.model import Target
from muniment.handoff.receipts import Dispatch, Undelivered
from muniment.handoff.service import Handoffs, incomplete
from muniment.handoff.subject import HandoffSubject
from muniment.handoff.trace import Status
from muniment.handoff.worker import Worker
from muniment.path import RelPath
from muniment.record.event import Context
from muniment.record.subject import Sought, Standing, Unfinished
from muniment.record.verify import verify


def test_an_honest_worker_is_believed(place: Place) -> None:
    handoffs = place.reopen()
    (place.path / "agents/mei").mkdir(parents=True)
    (place.path / "agents/mei/MEMORY.md").write_text("# Memory\n\nolder, without an end")
    (place.path / "report.md").write_text("Forty files pass.")
    handoff = dispatched(handoffs)
    work(handoffs, handoff, artifact_paths=["report.md"])
    trace = place.reopen().check(handoff).trace
    assert [str(each.why) for each in trace.findings] == []
    assert trace.complete
    assert [row.status.value for row in trace.rows] == [
        "verified",
        "verified",
        "not_applicable",
        "not_applicable",
    ]
    assert [row.written_by for row in trace.rows[:2]] == ["muniment", "muniment"]
    text = (place.path / "agents/mei/MEMORY.md").read_bytes()
    assert text.startswith(b"# Memory\n\nolder, without an end\n" + MEMORY)
    assert verify(handoffs.workspace.ledger).whole


def test_nothing_that_is_secret_lies_in_the_shared_root(place: Place) -> None:
    handoffs = place.reopen()
    handoff = dispatched(handoffs)
    nonces = handoffs.nonces.of(handoff)
    assert len(nonces) == 2
    files = [Path(folder, name) for folder, _, names in os.walk(place.path) for name in names]
    assert len(files) > 8
    for file in files:
        data = file.read_bytes()
        assert not any(nonce in data or nonce.hex().encode() in data for nonce in nonces.values())
        if ".muniment" in file.parts and file.name != ".gitignore":
            assert file.stat().st_mode & 0o077 == 0, file
    anchors = Worker(handoffs).take(handoff).anchors.values()
    ledger = b"".join(file.read_bytes() for file in (place.path / ".muniment/ledger").glob("*.jsonl"))
    assert not any(anchor.encode() in ledger for anchor in anchors)
    for file in (place.user / "handoff").rglob("*"):
        assert file.is_dir() or file.stat().st_mode & 0o777 == 0o600


def test_the_second_check_is_compared_with_the_first(place: Place) -> None:
    handoffs = place.reopen()
    handoff = dispatched(handoffs)
    work(handoffs, handoff)
    assert handoffs.check(handoff).before is None
    (place.path / "agents/mei/WORKLOG.md").unlink()
    again = handoffs.check(handoff)
    assert again.before is not None and again.before["complete"]
    assert [each.code.value for each in again.trace.findings] == ["TARGET_MISSING"]
    assert again.trace.rows[1].status is Status.FAILED


def four_targets(handoffs: Handoffs, *, without: str = "") -> str:
    """All four targets owed, and all but one done."""
    handoff = dispatched(handoffs, packet(*(target.value for target in Target)))
    worker, text = Worker(handoffs), WORKLOG.decode().strip()
    acts: dict[Target, Callable[[], object]] = {
        Target.EMPLOYEE_MEMORY: lambda: worker.record(handoff, Target.EMPLOYEE_MEMORY, MEMORY),
        Target.EMPLOYEE_WORKLOG: lambda: worker.record(handoff, Target.EMPLOYEE_WORKLOG, WORKLOG),
        Target.TEAM_JOURNAL: lambda: worker.journal(handoff, text),
        Target.CENTRAL_BOARD: lambda: worker.propose(
            handoff, operations=[{"op": "add", "path": "/parser", "value": text}]
        ),
    }
    for target, act in acts.items():
        if target.value != without:
            act()
    worker.give_back(handoff, worker.compose(handoff, conclusion=CONCLUSION))
    if without != "central_board":
        handoffs.apply(handoff, "lead")
    return handoff


def test_four_of_four(place: Place) -> None:
    handoffs = place.reopen()
    trace = handoffs.check(four_targets(handoffs)).trace
    assert [each.to_json() for each in trace.findings] == []
    assert trace.complete and {row.status for row in trace.rows} == {Status.VERIFIED}


MISSING = {
    "employee_worklog": (
        "the recipient's worklog (employee_worklog)",
        "接收方的工作日志（employee_worklog）",
    ),
    "team_journal": ("the team's journal (team_journal)", "团队日志（team_journal）"),
    "central_board": ("the central board (central_board)", "中央看板（central_board）"),
}


@pytest.mark.parametrize("target", MISSING)
def test_three_of_four_is_a_failure_that_names_the_missing_one(place: Place, target: str) -> None:
    handoffs = place.reopen()
    handoff = four_targets(handoffs, without=target)
    trace = handoffs.check(handoff).trace
    assert not trace.complete
    error = incomplete(trace)
    assert error.exit_code is ExitCode.NOT_VERIFIED and error.code == "HANDOFF_INCOMPLETE"
    english, chinese = MISSING[target]
    assert error.why is not None
    assert str(error.why) == f"3 of 4 targets are verified; missing: {english}"
    assert Translator(Language.CHINESE).text(error.why) == f"4 个目标中已核验 3 个；缺少：{chinese}"
    assert handoffs.papers.summary(handoff).missing == (target,)


def test_what_the_parent_sees_without_a_receipt_is_shown_as_that(place: Place) -> None:
    handoffs = place.reopen()
    handoff = dispatched(handoffs)
    worker = work(handoffs, handoff)
    answer = json.loads(worker.compose(handoff, conclusion=CONCLUSION))
    del answer["closures"][1]
    second = worker.give_back(handoff, json.dumps(answer).encode())
    assert second.superseded and second.number == 2
    trace = handoffs.check(handoff).trace
    assert trace.rows[1].status is Status.PARENT_VERIFIED
    assert not trace.complete
    assert trace.return_sha256 == second.sha256
    assert len(handoffs.papers.folder(handoff).names("returns")) == 2


@pytest.mark.parametrize(
    "name", ["packet.json", "outcomes/000001.json", "returns/000001.json", "baselines/000001.json"]
)
def test_a_stored_document_that_was_altered_is_named(place: Place, name: str) -> None:
    handoffs = place.reopen()
    handoff = dispatched(handoffs)
    work(handoffs, handoff)
    file = place.path / ".muniment/handoff" / handoff / name
    text = file.read_text()
    swaps = {"packet.json": ("forty", "fifty"), "outcomes/000001.json": ("run-7", "run-8")}
    old, new = swaps.get(name, ("forty", "fifty") if "returns" in name else ('"size":0', '"size":1'))
    assert old in text
    file.write_text(text.replace(old, new))
    trace = handoffs.check(handoff).trace
    assert ("DOCUMENT_ALTERED", name) in [(each.code.value, each.where) for each in trace.findings]


def test_a_nonce_is_never_issued_twice(place: Place) -> None:
    draft = packet("employee_memory")
    draft["persistence_contract"]["targets"]["employee_memory"]["evidence_nonce"] = "5a" * 16
    first = place.reopen().new(draft)
    with pytest.raises(errors.NonceReused) as caught:
        place.reopen().new(draft)  # after a restart
    assert caught.value.where == "employee_memory"
    (place.path.parent / "other").mkdir()
    with pytest.raises(errors.NonceReused):
        place.reopen(path=place.path.parent / "other").new(draft)  # and in another workspace
    twice = packet()
    for target in twice["persistence_contract"]["targets"].values():
        if target["state"] == "required":
            target["evidence_nonce"] = "6b" * 16
    with pytest.raises(errors.NonceReused):
        place.reopen().new(twice)
    assert [each.handoff_id for each in place.reopen().papers.every()] == [first.handoff_id]


def test_nonces_inside_the_shared_root_are_refused(place: Place) -> None:
    place.user = place.path / "private"
    with pytest.raises(errors.NoncesInside):
        place.reopen().new(packet())


def test_a_folder_of_nonces_that_can_not_be_had_is_said_to_be_that(place: Place) -> None:
    handoffs = place.reopen()
    handoff = handoffs.new(packet()).handoff_id
    place.user.rename(place.user.with_name("elsewhere"))
    place.user.write_text("a file")
    with pytest.raises(MunimentError) as caught:
        handoffs.new(packet())
    assert caught.value.where == str(place.user)
    with pytest.raises(errors.NonceMissing) as missing:
        handoffs.deliver_by_host(handoff, "openclaw", "mei", HOST)
    assert missing.value.where == str(place.user) and missing.value.why is not None
    place.user = place.path / "nonces"
    with pytest.raises(errors.NoncesInside):
        place.reopen().check(handoff)


def test_one_that_can_not_be_read_hides_no_other_and_says_where_it_lies(place: Place) -> None:
    handoffs = place.reopen()
    one, two = (handoffs.new(packet(contract=False)).handoff_id for _ in range(2))
    (place.path / ".muniment/handoff" / one / "packet.json").write_text("{}")
    assert [(each.handoff_id, each.state) for each in handoffs.papers.every()] == [
        (one, "HANDOFF_SHAPE"), (two, "issued")
    ]  # fmt: skip
    with pytest.raises(errors.HandoffShape) as caught:
        handoffs.papers.summary(one)
    assert caught.value.where == f".muniment/handoff/{one}/packet.json: goal"
    [damaged, _] = HandoffSubject(handoffs).unfinished()
    assert damaged.state == "HANDOFF_SHAPE" and damaged.fault is not None


def test_lost_nonces_are_said_to_be_lost(place: Place) -> None:
    handoffs = place.reopen()
    handoff = dispatched(handoffs)
    work(handoffs, handoff)
    kept = place.user / "handoff/nonces" / f"{handoff}.json"
    kept.write_text('{"employee_memory": "zz"}')
    with pytest.raises(errors.NonceMissing):
        handoffs.check(handoff)
    kept.unlink()
    with pytest.raises(errors.NonceMissing):
        handoffs.check(handoff)


def test_without_a_receipt_there_are_no_anchors_and_no_return(place: Place) -> None:
    handoffs = place.reopen()
    handoff = handoffs.new(packet()).handoff_id
    worker = Worker(handoffs)
    for act in (
        lambda: worker.take(handoff),
        lambda: worker.record(handoff, Target.EMPLOYEE_MEMORY, MEMORY),
        lambda: worker.give_back(handoff, b"{}"),
        lambda: handoffs.deliver(handoff, {"runId": "x"}),
        lambda: handoffs.fail(handoff, "unreachable"),
    ):
        with pytest.raises(errors.NotDispatched):
            act()
    codes = {each.code.value for each in handoffs.check(handoff).trace.findings}
    assert codes == {"RETURN_MISSING", "NO_RECEIPT"}


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"[]",
        b"null",
        b'{"status": "accepted"}',
        b'{"status": "accepted", "runId": "r", "childSessionKey": " "}',
        b'{"status": "rejected", "runId": "r", "childSessionKey": "k"}',
        b'{"status": "accepted", "runId": 7, "childSessionKey": "k"}',
        b'{"status": "accepted", "runId": "r", "childSessionKey": "k", "n": 9007199254740993}',
        b'{"status": "accepted", "runId": "r", "runId": "s", "childSessionKey": "k"}',
        b'{"status": "accepted", "runId": "r", "childSessionKey": "k", "error": "no"}',
    ],
)
def test_an_answer_that_proves_nothing_is_no_dispatch(place: Place, answer: bytes) -> None:
    handoffs = place.reopen()
    handoff = handoffs.new(packet()).handoff_id
    with pytest.raises(errors.HostAnswer):
        handoffs.deliver_by_host(handoff, "openclaw", "mei", answer)
    assert handoffs.papers.summary(handoff).state == "issued"


def test_the_answer_is_kept_as_it_came(place: Place) -> None:
    handoffs = place.reopen()
    handoff = handoffs.new(packet()).handoff_id
    answer = {"agentId": "a1", "deep": {"list": [1, None, "é"]}}
    receipt = handoffs.deliver_by_host(handoff, "claude", "mei", json.dumps(answer).encode())
    assert isinstance(receipt, Dispatch) and receipt.provider_receipt == answer
    with pytest.raises(errors.HostAnswer):
        handoffs.deliver_by_host(handoff, "emacs", "mei", HOST)


def test_a_launch_without_an_outcome_is_unknown_until_it_was_looked_up(place: Place) -> None:
    handoffs = place.reopen()
    handoff = handoffs.new(packet()).handoff_id
    handoffs.intend(handoff, "mei", "process")  # killed here
    handoffs = place.reopen()
    assert handoffs.papers.summary(handoff).state == "unknown"
    codes = {each.code.value for each in handoffs.check(handoff).trace.findings}
    assert codes == {"RETURN_MISSING", "DELIVERY_UNKNOWN"}
    with pytest.raises(errors.AlreadyDispatched):
        handoffs.deliver_by_host(handoff, "openclaw", "mei", HOST)
    assert isinstance(handoffs.deliver_by_host(handoff, "openclaw", "mei", HOST, looked_up=True), Dispatch)
    with pytest.raises(errors.AlreadyDispatched):
        handoffs.deliver_by_host(handoff, "openclaw", "mei", HOST, looked_up=True)
    work(handoffs, handoff)
    assert handoffs.check(handoff).trace.complete


@pytest.mark.parametrize("who", ["", " ", "a b", "a/b", "..", "x" * 200, "a\x00b"])
def test_nothing_is_sent_to_a_name_that_is_none(place: Place, who: str) -> None:
    """An intent with such a name could not be read again, and with it nothing of the handoff."""
    handoffs = place.reopen()
    handoff = handoffs.new(packet(contract=False)).handoff_id
    with pytest.raises(errors.HandoffShape):
        handoffs.deliver_by_host(handoff, "openclaw", who, HOST)
    assert handoffs.papers.summary(handoff).state == "issued"
    handoffs.deliver_by_host(handoff, "openclaw", "mei", HOST)


def test_undelivered_work_may_be_sent_again(place: Place) -> None:
    handoffs = place.reopen()
    handoff = handoffs.new(packet()).handoff_id
    handoffs.intend(handoff, "mei", "process")
    assert handoffs.fail(handoff, "unreachable").reason == "unreachable"
    assert handoffs.papers.summary(handoff).state == "undelivered"
    assert isinstance(handoffs.deliver_by_host(handoff, "openclaw", "mei", HOST), Dispatch)


def test_a_host_makes_no_independent_tasks(place: Place) -> None:
    handoffs = place.reopen()
    task = handoffs.new(packet(execution_mode="independent_task")).handoff_id
    found = handoffs.deliver_by_host(task, "openclaw", "mei", HOST)
    assert isinstance(found, Undelivered) and found.reason == "no_task_adapter"
    task = handoffs.new(packet(execution_mode="independent_task", allow_mode_degradation=True)).handoff_id
    receipt = handoffs.deliver_by_host(task, "openclaw", "mei", HOST)
    assert isinstance(receipt, Dispatch) and receipt.degradation_reason
    work(handoffs, task)
    assert handoffs.check(task).trace.complete
    task = handoffs.new(
        packet(execution_mode="independent_task", allow_mode_degradation=True, continuity_required=True)
    ).handoff_id
    assert isinstance(handoffs.deliver_by_host(task, "openclaw", "mei", HOST), Undelivered)


def test_depth_is_taken_from_the_context(place: Place) -> None:
    parent = place.reopen(Context(session="s1")).new(packet())
    child = place.reopen(Context(session="s2", handoff_id=parent.handoff_id)).new(packet())
    assert (parent.depth, child.depth) == (1, 2)
    grand = place.reopen(Context(handoff_id=child.handoff_id))
    with pytest.raises(errors.DepthExceeded):
        grand.new(packet())
    with pytest.raises(errors.ParentDiffers):
        place.reopen(Context(handoff_id=parent.handoff_id)).new(packet(), parent=child.handoff_id)
    assert grand.papers.folder(child.handoff_id).meta()["initiator"] == "s1"


@pytest.mark.parametrize(
    ("change", "error", "where"),
    [
        ({"goal": "use ghp_" + "aB3d" * 9}, errors.SecretValue, "goal"),
        ({"known_pitfalls": ["x", "password=hunter2hunter2"]}, errors.SecretValue, "known_pitfalls[1]"),
        ({"execution_mode": "independent_task", "persistence_contract": None}, errors.ContractRequired, None),
        ({"goal": ""}, errors.HandoffShape, "goal"),
        ({"model": "best"}, errors.HandoffShape, "model"),
        ({"persistence_contract": {"targets": {}}}, errors.HandoffShape, None),
    ],
)
def test_packets_that_are_refused(
    place: Place, change: dict[str, Any], error: type[MunimentError], where: str | None
) -> None:
    draft = {**packet(), **change}
    if draft["persistence_contract"] is None:
        del draft["persistence_contract"]
    handoffs = place.reopen()
    with pytest.raises(error) as caught:
        handoffs.new(draft)
    assert where is None or caught.value.where == where
    assert handoffs.papers.every() == []
    assert not (place.user / "handoff").exists()


def test_a_recipient_that_is_not_the_writer_gets_nothing(place: Place) -> None:
    handoffs = place.reopen()
    handoff = handoffs.new(packet()).handoff_id
    with pytest.raises(errors.WriterRefused):
        handoffs.deliver_by_host(handoff, "openclaw", "bob", HOST)
    assert handoffs.papers.summary(handoff).state == "issued"


@pytest.mark.parametrize("content", [b"", b" \n\t", b"ev1-0123456789ABCDEFGHJKMNPQRS\n"])
def test_nothing_is_not_recorded(place: Place, content: bytes) -> None:
    handoffs = place.reopen()
    handoff = dispatched(handoffs)
    with pytest.raises(errors.NothingToRecord):
        Worker(handoffs).record(handoff, Target.EMPLOYEE_MEMORY, content)
    assert not (place.path / "agents").exists()


def test_only_its_own_targets_are_recorded(place: Place) -> None:
    handoffs = place.reopen()
    handoff = dispatched(handoffs, packet("employee_memory", "team_journal"))
    for target in (Target.EMPLOYEE_WORKLOG, Target.TEAM_JOURNAL, Target.CENTRAL_BOARD):
        with pytest.raises(errors.TargetRefused):
            Worker(handoffs).record(handoff, target, MEMORY)


def test_a_link_is_not_followed(place: Place) -> None:
    handoffs = place.reopen()
    handoff = dispatched(handoffs)
    (place.path / "agents/mei").mkdir(parents=True)
    victim = place.path.parent / "victim"
    victim.write_text("mine")
    (place.path / "agents/mei/MEMORY.md").symlink_to(victim)
    with pytest.raises(MunimentError) as caught:
        Worker(handoffs).record(handoff, Target.EMPLOYEE_MEMORY, MEMORY)
    assert caught.value.code == "OUTSIDE_ROOT"
    assert victim.read_text() == "mine"


def test_claims_hold_the_targets_until_they_are_verified(place: Place) -> None:
    handoffs = place.reopen()
    handoff = dispatched(handoffs)
    claims = handoffs.workspace.claims
    assert claims.against(RelPath.parse("agents")) is not None
    work(handoffs, handoff)
    assert handoffs.check(handoff).trace.complete
    assert claims.against(RelPath.parse("agents")) is None


def test_a_return_for_something_else_is_not_stored(place: Place) -> None:
    handoffs = place.reopen()
    one, other = dispatched(handoffs), dispatched(handoffs)
    worker = Worker(handoffs)
    answer = worker.compose(one, conclusion=CONCLUSION)
    with pytest.raises(errors.ReturnRefused):
        worker.give_back(other, answer)
    with pytest.raises(errors.HandoffShape):
        worker.give_back(one, b'{"conclusion": "x"')
    assert handoffs.papers.folder(other).names("returns") == []


@pytest.mark.parametrize("name", ["ho_x", "../../etc", "", "ho_01KDVDNA000000000000000001", "ho_\x1b[2J"])
def test_an_unknown_handoff(place: Place, name: str) -> None:
    with pytest.raises(errors.HandoffUnknown) as caught:
        place.reopen().check(name)
    assert "\x1b" not in str(caught.value)


def test_the_desk_finds_and_shows(place: Place) -> None:
    handoffs = place.reopen()
    handoff = dispatched(handoffs)
    subject = HandoffSubject(handoffs)
    assert [each.reference for each in subject.find(Sought("PARSER"))] == [handoff]
    step = f"muniment handoff show {handoff}"
    assert subject.unfinished() == [Unfinished(handoff, "dispatched", step)]
    folder = Path(handoffs.workspace.root.path) / ".muniment" / "handoff" / handoff
    packet = (folder / "packet.json").read_bytes()
    (folder / "packet.json").write_bytes(b"{")
    (odd,) = subject.unfinished()
    assert odd.fault is not None and odd.state.isupper(), "named, and no reason not to see the others"
    (folder / "packet.json").write_bytes(packet)
    newest = subject.newest()
    assert newest is not None and newest.reference == handoff
    work(handoffs, handoff)
    (verdict,) = subject.verify([handoff])
    assert (verdict.reference, verdict.standing) == (handoff, Standing.GOOD)
    (returned,) = subject.unfinished()  # to look keeps no verdict
    assert returned.state == "returned"
    assert handoffs.check(handoff).trace.complete
    assert subject.unfinished() == []
    shown = json.dumps(subject.show(handoff).value)
    assert "evidence_nonce" not in shown and "ev1-" not in shown
