"""What is on record of a tool: closed shapes, and what never started can not look started."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from muniment.job.errors import JournalDamaged
from muniment.job.history import fold
from muniment.job.model import Artifact
from muniment.job.tool_run import (
    BadToolRecord,
    Engine,
    Image,
    Intent,
    Limits,
    NoNetwork,
    Proof,
    Pull,
    PullOutcome,
    RunOutcome,
    Start,
    ToolRun,
    container_of,
)
from muniment.record.event import Event

RUN = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
ID, OTHER = "sha256:" + "a" * 64, "sha256:" + "b" * 64
AT, LATER = "2026-11-30T14:28:00Z", "2026-11-30T14:28:01Z"
IMAGE = Image(
    "127.0.0.1:5000/seqtk:1", ID, OTHER, "application/vnd.oci.image.manifest.v1+json", "linux/amd64"
)
LIMITS = Limits(1 << 30, 1, 64, 1 << 30, 60, 1 << 30)
FILE = Artifact("/jobs/a/tool/x/outputs/o", 3, "c" * 64, "tool")
PULL = Pull(IMAGE.reference, PullOutcome.PULLED, None, ID, False, False, AT, OTHER, "", "linux/amd64", "")
INTENT = Intent(RUN, container_of(RUN), Engine.PODMAN, "4.3.1", IMAGE, ("seqtk", ""), LIMITS)
GOOD = ToolRun(
    run=RUN,
    container=container_of(RUN),
    engine=Engine.PODMAN,
    engine_version="4.3.1",
    image=IMAGE,
    argv=("seqtk", "comp", ""),
    limits=LIMITS,
    network=NoNetwork(Proof.READ, ("lo",)),
    outcome=RunOutcome.EXITED,
    exit_code=0,
    started_at=AT,
    ended_at=LATER,
    outputs=(FILE,),
    collected=True,
)
NEVER = replace(
    GOOD,
    outcome=RunOutcome.START_FAILED,
    network=None,
    exit_code=None,
    started_at="",
    ended_at="",
    outputs=(),
    collected=False,
)


def event(kind: str, evidence: dict[str, Any]) -> Event:
    return Event("e", AT, "test", kind, "job:a", {}, evidence, "0" * 64, "1" * 64)


def test_records_come_back_as_they_went() -> None:
    for run in (GOOD, NEVER, replace(GOOD, outcome=RunOutcome.TIMED_OUT, exit_code=137)):
        assert ToolRun.from_json(run.to_json()) == run
    assert Pull.from_json(PULL.to_json()) == PULL
    assert Intent.from_json(INTENT.to_json()) == INTENT


@pytest.mark.parametrize(
    "change",
    [
        {"exit_code": 0},
        {"network": {"proof": "read", "interfaces": ["lo"]}},
        {"started_at": AT},
        {"ended_at": AT},
        {"outputs": [{"path": FILE.path, "size": 3, "sha256": "c" * 64, "role": "tool"}]},
        {"logs": [{"path": FILE.path, "size": 3, "sha256": "c" * 64, "role": "stdout"}]},
        {"collected": True},
    ],
)
@pytest.mark.parametrize("outcome", ["start_failed", "pull_failed"])
def test_a_run_that_never_started_can_not_claim_to_have(outcome: str, change: dict[str, Any]) -> None:
    with pytest.raises(BadToolRecord):
        ToolRun.from_json({**NEVER.to_json(), "outcome": outcome, **change})


@pytest.mark.parametrize(
    "change",
    [
        {"exit_code": None},
        {"exit_code": -1},
        {"exit_code": True},
        {"network": None},
        {"network": {"proof": "read", "interfaces": ["lo", "eth0"]}},
        {"network": {"proof": "read", "interfaces": []}},
        {"network": {"proof": "believed", "interfaces": ["lo"]}},
        {"started_at": ""},
        {"collected": False},
        {"ended_at": "yesterday"},
        {"outcome": "complete"},
        {"container": "muniment-" + "0" * 26},
        {"image": {**GOOD.to_json()["image"], "id": None}},  # type: ignore[dict-item]
        {"image": {**GOOD.to_json()["image"], "id": "a" * 64}},  # type: ignore[dict-item]
        {"argv": ["seqtk\0"]},
        {"argv": "seqtk"},
        {"engine": "other"},
        {"note": "an extra field"},
    ],
)
def test_a_run_holds_together_and_takes_no_other_field(change: dict[str, Any]) -> None:
    with pytest.raises(BadToolRecord):
        ToolRun.from_json({**GOOD.to_json(), **change})


@pytest.mark.parametrize(
    "change",
    [
        {"preexisting": True},
        {"pre_image_id": ID},
        {"post_image_id": None},
        {"pulled_at": ""},
        {"moved": True},
        {"outcome": "pull_failed"},
        {"pre_image_id": OTHER, "preexisting": True},
    ],
)
def test_a_pull_holds_together(change: dict[str, Any]) -> None:
    with pytest.raises(BadToolRecord):
        Pull.from_json({**PULL.to_json(), **change})


def test_only_exit_code_0_of_an_ended_run_is_success() -> None:
    assert GOOD.succeeded
    assert not replace(GOOD, exit_code=7).succeeded
    assert not replace(GOOD, collected=False, outputs=()).succeeded
    for outcome in RunOutcome:
        if outcome is not RunOutcome.EXITED:
            assert not replace(GOOD, outcome=outcome).succeeded


def test_the_journal_tells_of_pulls_and_runs() -> None:
    again = replace(PULL, outcome=PullOutcome.PRESENT, pre_image_id=ID, preexisting=True)
    start = Start(RUN, NoNetwork(Proof.READ, ("lo",)), AT)
    events = [event("job.tool_pull", PULL.to_json()), event("job.tool_pull", again.to_json())]
    assert fold(events).pull == again
    failed = replace(again, outcome=PullOutcome.FAILED, post_image_id=None, manifest_digest="", why="no")
    lost = fold([*events, event("job.tool_pull", failed.to_json())])
    assert (lost.pull, lost.fetched) == (failed, again)
    events.append(event("job.tool_intent", INTENT.to_json()))
    assert fold(events).run_intent == INTENT
    events.append(event("job.tool_start", start.to_json()))
    assert fold(events).run_intent == replace(INTENT, network=start.network, started_at=AT)
    events += [event("job.tool_run", GOOD.to_json()), event("job.tool_run", NEVER.to_json())]
    told = fold(events)
    assert told.run_intent is None
    assert told.runs == (GOOD, NEVER)


def test_a_record_that_is_none_is_damage() -> None:
    with pytest.raises(JournalDamaged):
        fold([event("job.tool_run", {**GOOD.to_json(), "exit_code": None})])
    with pytest.raises(JournalDamaged):
        fold([event("job.tool_start", Start(RUN, NoNetwork(Proof.READ, ("lo",)), AT).to_json())])


@pytest.mark.parametrize(
    ("kind", "evidence"),
    [
        ("job.begin", {}),
        ("job.begin", {"act": ["init"], "before": "", "after": "0" * 64, "facts": {}}),
        ("job.begin", {"act": "init", "before": None, "after": "0" * 64, "facts": {}}),
        ("job.begin", {"act": "init", "before": "", "after": "0" * 64, "facts": []}),
        ("job.plan_confirmed", {"plan": "x", "act": "submit", "witness": "terminal"}),
        ("job.plan_confirmed", {"plan": 7, "act": "submit", "witness": "terminal"}),
        ("job.plan_confirmed", {"plan": "0" * 64, "act": "submit", "witness": "the moon"}),
        ("job.submit_intent", {"name": 1, "plan": "0" * 64, "engine": "cwl"}),
        ("job.polled", {"state": {}}),
        ("job.adopted", {"registry": 7}),
        ("job.adopted", {"registry": "0" * 64, "back": {"phase": "elsewhere", "status": "active"}}),
    ],
    ids=str,
)
def test_an_event_of_no_form_is_damage(kind: str, evidence: dict[str, Any]) -> None:
    """Whoever wrote it knew the chain and not what stands in it; `job.end` reads what began."""
    with pytest.raises(JournalDamaged):
        fold([event(kind, evidence), event("job.end", {"begin": "e"})])


@pytest.mark.parametrize(
    "facts", [{"engine": 7}, {"back": {"phase": 1}}, {"confirmed": []}, {"confirmed": {}}]
)
def test_an_end_of_a_step_that_says_what_it_can_not(facts: dict[str, Any]) -> None:
    begun = {"act": "import", "before": "", "after": "0" * 64, "facts": facts}
    with pytest.raises(JournalDamaged):
        fold([event("job.begin", begun), event("job.end", {"begin": "e"})])
