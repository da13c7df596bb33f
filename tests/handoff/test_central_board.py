"""The central board: parts, conflicts that can be seen, nothing lost, nothing twice."""

from __future__ import annotations

import json
import os
import signal
from functools import partial
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.disk.processes import gather, start
from tests.handoff.conftest import CONCLUSION, WORKLOG, Place, dispatched, killed, packet

from muniment.disk.errors import OutsideRoot
from muniment.disk.write import write_verified
from muniment.handoff import errors, patch
from muniment.handoff.board import section
from muniment.handoff.central_board import CentralBoard
from muniment.handoff.headings import headings
from muniment.handoff.service import Handoffs
from muniment.handoff.worker import Worker
from muniment.path import RelPath
from muniment.record.event import Context

TEXT = WORKLOG.decode().strip()


def send(handoffs: Handoffs, path: str = "team/BOARD.md") -> str:
    draft = packet("central_board")
    draft["persistence_contract"]["targets"]["central_board"]["path"] = path
    return dispatched(handoffs, draft)


def propose(place: Place, handoff: str, **more: Any) -> None:
    worker = Worker(place.reopen())
    worker.propose(handoff, **more)
    worker.give_back(handoff, worker.compose(handoff, conclusion=CONCLUSION))


# --- RFC 6902, appendix A, the operations we take


@pytest.mark.parametrize(
    ("before", "operation", "after"),
    [
        ({"foo": "bar"}, {"op": "add", "path": "/baz", "value": "qux"}, {"baz": "qux", "foo": "bar"}),
        (
            {"foo": ["bar", "baz"]},
            {"op": "add", "path": "/foo/1", "value": "q"},
            {"foo": ["bar", "q", "baz"]},
        ),
        ({"baz": "qux", "foo": "bar"}, {"op": "remove", "path": "/baz"}, {"foo": "bar"}),
        ({"foo": ["bar", "q", "baz"]}, {"op": "remove", "path": "/foo/1"}, {"foo": ["bar", "baz"]}),
        ({"baz": "qux"}, {"op": "replace", "path": "/baz", "value": "boo"}, {"baz": "boo"}),
        (
            {"foo": "bar"},
            {"op": "add", "path": "/child", "value": {"g": {}}},
            {"foo": "bar", "child": {"g": {}}},
        ),
        ({"foo": ["bar"]}, {"op": "add", "path": "/foo/-", "value": ["a"]}, {"foo": ["bar", ["a"]]}),
        ({"/": 9, "~1": 10}, {"op": "replace", "path": "/~01", "value": 1}, {"/": 9, "~1": 1}),
        ({"a": 1}, {"op": "replace", "path": "", "value": [1]}, [1]),
        ({"a": 1}, {"op": "add", "path": "/a", "value": 2}, {"a": 2}),
    ],
)
def test_operations_of_rfc_6902(before: Any, operation: dict[str, Any], after: Any) -> None:
    kept = json.dumps(operation)
    changed = patch.operated(before, operation)
    assert changed == after
    if isinstance(operation.get("value"), dict):
        changed["child"]["g"] = 1
    assert json.dumps(operation) == kept


@pytest.mark.parametrize(
    ("before", "operation"),
    [
        ({"foo": "bar"}, {"op": "add", "path": "/baz/bat", "value": "qux"}),
        ({"foo": "bar"}, {"op": "remove", "path": "/baz"}),
        ({"foo": "bar"}, {"op": "replace", "path": "/baz", "value": 1}),
        ({"foo": [1]}, {"op": "add", "path": "/foo/2", "value": 1}),
        ({"foo": [1]}, {"op": "add", "path": "/foo/01", "value": 1}),
        ({"foo": [1]}, {"op": "add", "path": "/foo/x", "value": 1}),
        ({"foo": [1]}, {"op": "replace", "path": "/foo/-", "value": 1}),
        ({"foo": [1]}, {"op": "remove", "path": "/foo/1"}),
        ({"foo": 1}, {"op": "add", "path": "/foo/x", "value": 1}),
    ],
)
def test_operations_that_rfc_6902_makes_errors(before: Any, operation: dict[str, Any]) -> None:
    with pytest.raises(patch.NotApplicable):
        patch.operated(before, operation)


# --- parts


def base(board: Any, *paths: str) -> str:
    operations = [{"op": "add", "path": path, "value": "x"} for path in paths]
    return patch.base_of(json.dumps(board).encode(), {"form": "json", "patch": operations})


def test_the_base_is_the_digest_of_the_parts_as_the_page_describes_them() -> None:
    board = {"a": {"x": 1}, "b": [1, 2]}
    parts = [{"path": "/b", "value": [1, 2]}] * 2 + [{"path": "/a/y"}, {"path": "/b", "value": [1, 2]}]
    wanted = json.dumps(parts, separators=(",", ":"), sort_keys=True).encode()
    assert base(board, "/b/-", "/b/0", "/a/y", "/b/1") == sha256(wanted).hexdigest()


def test_only_the_part_touched_counts() -> None:
    one: dict[str, Any] = {"a": {"x": 1}, "b": [1, 2]}
    assert base(one, "/a/x") == base({**one, "b": []}, "/a/x") == base({**one, "a": {"x": 1, "y": 2}}, "/a/x")
    assert base(one, "/a/x") != base({**one, "a": {"x": 2}}, "/a/x")
    assert base(one, "/a") != base({**one, "a": {"x": 1, "y": 2}}, "/a")
    assert base(one, "/b/0") != base({**one, "b": [1, 2, 3]}, "/b/0")  # places in a list move
    assert base(one, "/new") != base({**one, "new": None}, "/new")  # absent is not null
    assert base({"a": 1}, "/a") != base({"a": True}, "/a")


MARKDOWN = b"# Board\n\n## One\n\nfirst\n\n```\n## Two\n```\n\n### Deeper\nmore\n\n## Two\n\nsecond\n"


def test_sections_end_at_headings_of_their_level_and_fences_hold_none() -> None:
    assert [each.words for each in headings(MARKDOWN)] == ["Board", "One", "Deeper", "Two"]
    assert section(MARKDOWN, "One") == b"\n\nfirst\n\n```\n## Two\n```\n\n### Deeper\nmore\n\n"
    assert section(MARKDOWN, "## Two") == b"\n\nsecond\n"
    assert section(MARKDOWN, "Three") is None


@given(st.lists(st.sampled_from(["## One", "## Two", "x", "", "```", "~~~", "### d", "# Top"]), max_size=14))
def test_text_goes_into_its_section_and_nothing_else_changes(lines: list[str]) -> None:
    board = "\n".join(lines).encode()
    proposal = {"form": "markdown", "heading": "One", "text": "- added line"}
    try:
        after = patch.applied(board, proposal)
    except patch.NotApplicable:
        assert any(line in ("```", "~~~") for line in lines)  # an open fence swallows what comes
        return
    lost = [line for line in board.split(b"\n") if line.strip()]
    kept = [line for line in after.split(b"\n") if line.strip()]
    added = [b"- added line"] if section(board, "One") is not None else [b"## One", b"- added line"]
    for each in added:  # the last of its kind: another one may stand in a fence
        del kept[len(kept) - 1 - kept[::-1].index(each)]
    assert kept == lost
    for other in {each.words for each in headings(board)} - {"One", "Top"}:
        if other == "Two":
            assert (section(after, other) or b"").split() == (section(board, other) or b"").split()


@pytest.mark.parametrize("text", ["# Higher", "## Same level", "a\n\n## b", "```\nopen"])
def test_a_text_that_would_leave_its_section_is_refused(place: Place, text: str) -> None:
    handoffs = place.reopen()
    handoff = send(handoffs)
    (place.path / "team").mkdir()
    (place.path / "team/BOARD.md").write_bytes(MARKDOWN)
    with pytest.raises(errors.ProposalRefused):
        Worker(handoffs).propose(handoff, heading="One", text=text)
    assert (place.path / "team/BOARD.md").read_bytes() == MARKDOWN


# --- children and the one writer


@pytest.mark.parametrize("path", ["team/BOARD.md", "team/BOARD.json"])
def test_eight_children_on_eight_sections_are_all_applied(place: Place, path: str) -> None:
    handoffs = place.reopen()
    sent = [send(handoffs, path) for _ in range(8)]
    (place.path / "team").mkdir()
    markdown = "\n".join(f"## Part {number}\n\nold {number}\n" for number in range(8))
    start_text = markdown if path.endswith(".md") else json.dumps({f"p{n}": {"old": n} for n in range(8)})
    (place.path / path).write_text(start_text)

    def child(number: int) -> None:
        text = f"{TEXT} (part {number})"
        operations = [{"op": "add", "path": f"/p{number}/report", "value": text}]
        given: dict[str, Any] = {"operations": operations}
        if path.endswith(".md"):
            given = {"heading": f"Part {number}", "text": text}
        place.machine.drawn += 1_000 * (number + 1)
        propose(place, sent[number], **given)

    def parent(number: int) -> int:
        place.machine.drawn += 100_000 * (number + 1)
        return place.reopen().apply(sent[number], "lead").version

    gather([start(partial(child, number)) for number in range(8)])
    versions = gather([start(partial(parent, number)) for number in range(8)])
    assert sorted(versions) == list(range(1, 9))
    again = place.reopen()
    text = (place.path / path).read_text()
    for number, handoff in enumerate(sent):
        assert text.count(f"(part {number})") == 1
        trace = again.check(handoff).trace
        assert [each.to_json() for each in trace.findings] == []
        assert trace.complete and trace.rows[3].written_by == "parent"
    for number in range(8):
        assert (f"old {number}" if path.endswith(".md") else f'"old": {number}') in text


def test_two_on_one_section_are_one_conflict_that_can_be_seen(place: Place) -> None:
    handoffs = place.reopen()
    one, two = send(handoffs), send(handoffs)
    propose(place, one, heading="Part", text=f"{TEXT} One.")
    propose(place, two, heading="Part", text=f"{TEXT} Two.")

    def parent(handoff: str, drawn: int) -> int:
        place.machine.drawn += drawn
        return place.reopen().apply(handoff, "lead").version

    ends = gather([start(partial(parent, one, 100_000)), start(partial(parent, two, 200_000))])
    assert sorted(ends, key=str) == [1, "BOARD_CONFLICT"]
    text = (place.path / "team/BOARD.md").read_text()
    assert ("One." in text) is not ("Two." in text)
    conflicts = [each for each in place.reopen().workspace.ledger.events() if each.kind == "board.conflict"]
    assert [each.subject for each in conflicts] == ["team/BOARD.md"]
    loser = two if ends[0] == 1 else one
    propose(place, loser, heading="Part", text=f"{TEXT} Again.")
    place.machine.drawn += 300_000
    assert place.reopen().apply(loser, "lead").version == 2


def test_a_proposal_applied_twice_stands_once(place: Place) -> None:
    handoffs = place.reopen()
    handoff = send(handoffs)
    propose(place, handoff, heading="Part", text=TEXT)
    first = handoffs.apply(handoff, "lead")
    before = (place.path / "team/BOARD.md").read_bytes()
    second = place.reopen().apply(handoff, "lead")
    assert (first.already, second.already, second.version) == (False, True, 1)
    assert (place.path / "team/BOARD.md").read_bytes() == before
    assert len(handoffs.papers.folder(handoff).all("applied")) == 1
    assert handoffs.check(handoff).trace.complete


def test_a_proposal_without_an_anchor_is_applied_once_too(place: Place) -> None:
    workspace = place.reopen().workspace
    board = CentralBoard(workspace, RelPath.parse("B.json"))
    proposal = board.propose(operations=[{"op": "add", "path": "/a", "value": [1]}])
    assert [board.apply(proposal).already for _ in range(3)] == [False, True, True]
    assert json.loads((place.path / "B.json").read_text()) == {"a": [1]}


@pytest.mark.parametrize("at", ["state", "board", "note"])
def test_a_writer_that_is_killed_leaves_a_whole_board_and_a_true_version(
    place: Place, at: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    handoffs = place.reopen()
    board = CentralBoard(handoffs.workspace, RelPath.parse("team/BOARD.md"))
    board.apply(board.propose(heading="Part", text="what stood there first"))
    handoff = send(handoffs)
    propose(place, handoff, heading="Part", text=TEXT)
    before = (place.path / "team/BOARD.md").read_bytes()
    calls: list[Any] = []

    def killing(*given: Any, **more: Any) -> Any:
        calls.append(given[1])
        done = write_verified(*given, **more)
        if len(calls) == {"state": 1, "board": 2, "note": 3}[at]:
            os.kill(os.getpid(), signal.SIGKILL)
        return done

    with monkeypatch.context() as patch:
        patch.setattr("muniment.handoff.central_board.write_verified", killing)
        killed(place, lambda: handoffs.apply(handoff, "lead"))
    found = board.show()
    assert found.version == (1 if at == "state" else 2)
    changed = (place.path / "team/BOARD.md").read_bytes() != before
    assert changed is (at != "state")
    place.machine.drawn += 90_000
    again = place.reopen()
    done = again.apply(handoff, "lead")
    assert done.already is (at != "state") and done.version == 2
    assert again.check(handoff).trace.complete
    assert (place.path / "team/BOARD.md").read_text().count(TEXT) == 1


@pytest.mark.parametrize("writer", ["mei", "parent", ""])
def test_only_the_one_writer_applies(place: Place, writer: str) -> None:
    handoffs = place.reopen()
    handoff = send(handoffs)
    propose(place, handoff, heading="Part", text=TEXT)
    with pytest.raises(errors.NotTheWriter):
        handoffs.apply(handoff, writer)
    with pytest.raises(errors.NotTheWriter):  # the worker, under the writer's name
        place.reopen(Context(handoff_id=handoff)).apply(handoff, "lead")
    assert not (place.path / "team").exists()


def test_nothing_to_apply(place: Place) -> None:
    handoffs = place.reopen()
    handoff = send(handoffs)
    with pytest.raises(errors.NoProposal):
        handoffs.apply(handoff, "lead")
    with pytest.raises(errors.ProposalRefused):
        CentralBoard(handoffs.workspace, RelPath.parse("B.json")).propose(
            operations=[{"op": "remove", "path": "/nothing"}]
        )
    with pytest.raises(errors.HandoffShape):
        CentralBoard(handoffs.workspace, RelPath.parse("B.json")).propose(
            operations=[{"op": "move", "from": "/a", "path": "/b"}]
        )


def test_a_stored_application_that_was_altered_is_named(place: Place) -> None:
    handoffs = place.reopen()
    handoff = send(handoffs)
    propose(place, handoff, heading="Part", text=TEXT)
    handoffs.apply(handoff, "lead")
    file = place.path / ".muniment/handoff" / handoff / "applied/000001.json"
    file.write_text(file.read_text().replace('"version":1', '"version":2'))
    found = handoffs.check(handoff).trace.findings
    assert [(each.code.value, each.where) for each in found] == [("DOCUMENT_ALTERED", "applied/000001.json")]


def test_what_is_shown(place: Place) -> None:
    workspace = place.reopen().workspace
    board = CentralBoard(workspace, RelPath.parse("B.json"))
    assert board.show().part == {} and board.show().version == 0
    board.apply(board.propose(operations=[{"op": "add", "path": "/a", "value": {"b": [1]}}]))
    shown = board.show("/a/b")
    assert (shown.part, shown.version) == ([1], 1)
    assert shown.sha256 == sha256((place.path / "B.json").read_bytes()).hexdigest()
    (place.path / "B.json").write_text("{broken")
    with pytest.raises(errors.ProposalRefused):
        board.show("/a")
    (place.path / "B.json").unlink()
    os.symlink("/etc/passwd", place.path / "B.json")
    with pytest.raises(OutsideRoot):
        board.show()
