"""Tools: whatever an agent calls in whatever order, no job is submitted without the person's yes (spec 2)."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.job.registries import awaiting, finished, submitted
from tests.job.standin import StandIn, open_service, registry_json

from muniment.disk.root import Root
from muniment.faces.house import House
from muniment.faces.tools.job import TOOLS
from muniment.faces.tools.tool import Answer, Client, Question, Reply
from muniment.job.backend import EngineState
from muniment.job.service import JobService
from muniment.job.writer import dump

BY_NAME = {tool.shape.name: tool for tool in TOOLS}
YAML = [dump(value).decode() for value in (awaiting(), submitted(), finished())]
BEYOND = ("submitted", "finalize")


@dataclass
class Machine:
    """What a job tool asks of the house, over a stand-in for an engine."""

    root: Root
    jobs: JobService


Call = tuple[str, dict[str, Any]]
_JOB = st.sampled_from(["j", "k"])
_ACTS: list[st.SearchStrategy[Call]] = [
    st.builds(lambda job: ("job_init", {"job": job, "engine": "cwl"}), _JOB),
    st.builds(
        lambda job, flow: ("job_plan", {"job": job, "flow": flow, "input": "/data/input"}),
        _JOB,
        st.sampled_from(["rna", "dna"]),
    ),
    # `True` stands for the digest of the plan as it is.
    st.builds(
        lambda job, plan: ("job_confirm", {"job": job, "plan": plan}), _JOB, st.sampled_from([True, "0" * 64])
    ),
    st.builds(lambda job: ("job_confirm", {"job": job}), _JOB),
    st.builds(
        lambda job, more: ("job_submit", {"job": job, **more}),
        _JOB,
        st.sampled_from([{}, {"found": "p_0"}, {"absent": True}]),
    ),
    st.builds(lambda job, yaml: ("job_import", {"job": job, "yaml": yaml}), _JOB, st.sampled_from(YAML)),
    # A stranger writes the registry, and the agent has it accepted.
    st.builds(lambda job: ("job_adopt", {"job": job, "reason": "it is right"}), _JOB),
    st.builds(
        lambda name, job: (name, {"job": job}),
        st.sampled_from(
            ["job_revise", "job_poll", "job_finalize", "job_resolve_gap", "job_cancel", "job_show"]
        ),
        _JOB,
    ),
    st.builds(lambda job: ("job_gap", {"job": job, "topic": "t", "reason": "r"}), _JOB),
]


LAST: list[Call] = [
    ("job_plan", {"job": "j", "flow": "rna", "input": "/data/input"}),
    ("job_confirm", {"job": "j"}),
    ("job_confirm", {"job": "j", "plan": True}),
    ("job_submit", {"job": "j"}),
    ("job_submit", {"job": "j", "absent": True}),
    ("job_submit", {"job": "j", "found": "p_0"}),
]
"""What an agent tries in the end, wherever the calls before have led."""


def run(machine: Machine, name: str, arguments: dict[str, Any], client: Client) -> Answer | Question:
    if arguments.get("plan") is True:
        shown = BY_NAME["job_show"].answer(cast(House, machine), {"job": arguments["job"]}, client)
        assert isinstance(shown, Answer)
        plan = shown.structured["plan_sha256"] if shown.structured is not None else "1" * 64
        arguments = {**arguments, "plan": plan}
    return BY_NAME[name].answer(cast(House, machine), arguments, client)


def phases(place: Path) -> set[str]:
    """The phase of each job that there is, as its file says."""
    found = {path.parent.name for path in (place / "jobs").glob("*/registry.yaml")}
    return {str(cast(dict[str, Any], registry_json(place, job)["workflow"])["phase"]) for job in found}


def quiet(files: int, read: int) -> None:
    """Progress that nobody wants to hear of."""


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    calls=st.lists(st.one_of(_ACTS), min_size=4, max_size=14),
    can_ask=st.booleans(),
    begun=st.booleans(),
    foreign=st.booleans(),
)
def test_no_call_of_an_agent_reaches_submitted(
    calls: list[Call], can_ask: bool, begun: bool, foreign: bool
) -> None:
    engine = StandIn(state=EngineState.SUCCEEDED)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        service = open_service(place, engine)
        machine = Machine(service.workspace.root, service)
        client = Client(quiet, can_ask)
        if begun:
            run(machine, "job_init", {"job": "j", "engine": "cwl"}, client)
            run(machine, "job_plan", {"job": "j", "flow": "rna", "input": "/data/input"}, client)
        for name, arguments in [*calls, *LAST]:
            kept = place / "jobs" / arguments["job"] / "registry.yaml"
            if name == "job_adopt" and foreign and kept.exists():
                before = kept.read_bytes()
                kept.write_bytes(dump(submitted()))
                answer = run(machine, name, arguments, client)
                assert isinstance(answer, Answer) and answer.failed
                kept.write_bytes(before)
                continue
            answer = run(machine, name, arguments, client)
            if isinstance(answer, Question):  # the person says no, or says yes to something else
                for reply in (Reply(answer.shown, False), Reply(type(answer.shown)("2" * 64), True)):
                    again = run(machine, name, arguments, Client(quiet, True, reply))
                    assert isinstance(again, Question) or again.failed
        assert engine.created == []
        assert phases(place).isdisjoint(BEYOND)


def test_the_persons_yes_reaches_it(tmp_path: Path) -> None:
    """The twin of the above: what is missing there is the yes alone."""
    engine = StandIn()
    service = open_service(tmp_path, engine)
    machine = Machine(service.workspace.root, service)
    client = Client(quiet, can_ask=True)
    run(machine, "job_init", {"job": "j", "engine": "cwl"}, client)
    run(machine, "job_plan", {"job": "j", "flow": "rna", "input": "/data/input"}, client)
    asked = run(machine, "job_confirm", {"job": "j"}, client)
    assert isinstance(asked, Question)
    done = run(machine, "job_confirm", {"job": "j"}, Client(quiet, True, Reply(asked.shown, True)))
    assert isinstance(done, Answer) and not done.failed
    run(machine, "job_submit", {"job": "j"}, client)
    assert engine.created == ["openclaw-j"] and phases(tmp_path) == {"submitted"}
    asked = run(machine, "job_import", {"job": "k", "yaml": YAML[1]}, client)
    assert isinstance(asked, Question)
    done = run(
        machine, "job_import", {"job": "k", "yaml": YAML[1]}, Client(quiet, True, Reply(asked.shown, True))
    )
    assert isinstance(done, Answer) and not done.failed


def test_with_the_setting_a_relayed_yes_is_enough(tmp_path: Path) -> None:
    engine = StandIn()
    service = open_service(tmp_path, engine, **{"confirm.relayed": ["plan", "create", "submit"]})
    machine = Machine(service.workspace.root, service)
    client = Client(quiet)
    run(machine, "job_init", {"job": "j", "engine": "cwl"}, client)
    run(machine, "job_plan", {"job": "j", "flow": "rna", "input": "/data/input"}, client)
    run(machine, "job_submit", {"job": "j"}, client)
    assert engine.created == []
    run(machine, "job_confirm", {"job": "j", "plan": True}, client)
    run(machine, "job_submit", {"job": "j"}, client)
    assert engine.created == ["openclaw-j"]
