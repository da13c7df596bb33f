"""Tools: jobs over MCP: up to the plan, and no further without the person (spec 2, phases; spec 6, MCP)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.client.session import ClientRequestContext
from mcp_types import (
    CallToolResult,
    ElicitRequestParams,
    ElicitResult,
    InputRequiredResult,
    ListRootsResult,
    Root,
)
from pydantic import FileUrl
from tests.job.engines import HERE
from tests.job.registries import submitted
from tests.tools.server import Era, Talk, talk

from muniment.job.writer import dump

FLOW = str(HERE / "flows" / "count.cwl")
WEAK = (
    "Job blocked: The plan was confirmed, but only as passed on by an agent (relayed): j "
    "(code: JOB_WITNESS_TOO_WEAK)"
)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    place = tmp_path / "workspace"
    (place / "in").mkdir(parents=True)
    (place / "in" / "sample.fastq").write_text("@a\nACGT\n+\nIIII\n")
    return place


def environment(workspace: Path) -> dict[str, str]:
    return {"MUNIMENT_JOB_ROOT": str(workspace.parent / "jobs")}


def phase(workspace: Path, job: str = "j") -> str:
    """The phase as the file says."""
    registry = json.loads((workspace.parent / "jobs" / job / "registry.yaml").read_text("utf-8"))
    found: str = registry["workflow"]["phase"]
    return found


async def planned(tell: Talk) -> str:
    """A job that awaits its yes; gives the digest of its plan."""
    await tell.good("job_init", job="j", objective="count", engine="cwl")
    read = await tell.good("job_docs", job="j", documents=["doc-1", "doc-2"])
    assert read["registry"]["knowledge"]["document_ids"] == ["doc-1", "doc-2"]
    view = await tell.good("job_plan", job="j", flow=FLOW, input="in")
    assert view["registry"]["workflow"]["phase"] == "awaiting_plan_confirmation"
    (binding,) = (one for one in view["registry"]["execution"]["bindings"] if one["filename"])
    assert binding["filename"].endswith("in/sample.fastq")
    plan: str = view["plan_sha256"]
    return plan


def nobody(plan: str) -> str:
    plan = f"sha256:{plan}"
    return (
        f"Job blocked: No confirmation of exactly this plan ({plan}) was found: j (code: JOB_NOT_CONFIRMED)"
    )


def test_without_a_person_to_ask_it_stops_at_the_plan(workspace: Path, era: Era) -> None:
    async def say(client: Client) -> None:
        tell = Talk(client)
        plan = await planned(tell)
        assert await tell.refused("job_submit", job="j") == nobody(plan)
        shown = await tell.good("job_confirm", job="j")
        assert (shown["plan_sha256"], shown["confirmed"], shown["changed"]) == (plan, None, False)
        assert plan in shown["next"]
        assert await tell.refused("job_submit", job="j") == nobody(plan)
        words = await tell.refused("job_confirm", job="j", plan="0" * 64)
        assert words.endswith("(code: JOB_NOT_CONFIRMED)")
        relayed = await tell.good("job_confirm", job="j", plan=plan)
        assert relayed["confirmed"]["witness"] == "relayed"
        assert await tell.refused("job_submit", job="j") == WEAK
        assert await tell.refused("job_submit", job="j", plan=plan) == (
            "Job blocked: The call does not fit the tool: plan: "
            "job_submit takes no argument of this name (code: INVALID_ARGUMENT)"
        )
        told = await tell.refused("job_import", job="k", yaml=dump(submitted()).decode())
        assert told.endswith(": k (code: JOB_NOT_CONFIRMED)")
        await tell.good("job_gap", job="j", topic="kit", reason="the flow needs it", missing=["the kit"])
        assert phase(workspace) == "document_gap"
        await tell.good("job_resolve_gap", job="j")
        assert [one["job"] for one in (await tell.good("job_list"))["jobs"]] == ["j"]
        assert (await tell.good("job_verify", job="j"))["verified"] is True

    talk(workspace, era, say, environment=environment(workspace))
    assert phase(workspace) == "awaiting_plan_confirmation"


class Person:
    """A person in front of the client, who answers one question after the other."""

    def __init__(self, *answers: ElicitResult) -> None:
        self.answers: Iterator[ElicitResult] = iter(answers)
        self.asked: list[str] = []

    async def __call__(self, context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        self.asked.append(params.message)
        return next(self.answers)


NOES = (
    ElicitResult(action="decline"),
    ElicitResult(action="cancel"),
    ElicitResult(action="accept", content={"yes": False}),
    ElicitResult(action="accept"),
    ElicitResult(action="decline", content={"yes": True}),
)
YES = ElicitResult(action="accept", content={"yes": True})


def test_the_person_is_asked_and_only_their_yes_counts(workspace: Path, era: Era) -> None:
    person = Person(*NOES, YES)

    async def roots(context: ClientRequestContext) -> ListRootsResult:
        return ListRootsResult(roots=[Root(uri=FileUrl(workspace.as_uri()))])

    async def say(client: Client) -> str:
        tell = Talk(client)
        plan = await planned(tell)
        for _ in NOES:
            words = await tell.refused("job_confirm", job="j")
            assert "the person did not say yes" in words and words.endswith("(code: JOB_NOT_CONFIRMED)")
        assert await tell.refused("job_submit", job="j") == nobody(plan)
        # A plan that is not the one that stands is not even asked about.
        await tell.refused("job_confirm", job="j", plan="0" * 64)
        view = await tell.good("job_confirm", job="j", plan=plan)
        assert view["confirmed"]["witness"] == "elicitation" and view["confirmed"]["plan_sha256"] == plan
        await tell.good("job_revise", job="j")
        assert (await tell("job_submit", job="j")).is_error
        return plan

    # The client tells its roots too: in the newer era both are asked for in one interim result.
    plan = talk(workspace, era, say, roots=roots, person=person, environment=environment(workspace))
    assert len(person.asked) == len(NOES) + 1
    for text in person.asked:
        assert text.startswith("Submit exactly this plan of j?\n")
        assert plan in text and "in/sample.fastq" in text
    assert phase(workspace) == "planned"


def test_an_answer_to_what_nobody_asked_counts_for_nothing(workspace: Path) -> None:
    """In the newer era the answer comes with the call; without its question's token it is none."""

    async def say(client: Client) -> None:
        tell = Talk(client)
        await planned(tell)

        async def confirm(state: str | None, **given: Any) -> CallToolResult | InputRequiredResult:
            return await client.session.call_tool(
                "job_confirm",
                {"job": "j", **given},
                input_responses={"yes": YES},
                request_state=state,
                allow_input_required=True,
            )

        token: str | None = None
        for state in (None, "", "made up"):
            asked = await confirm(state)
            assert isinstance(asked, InputRequiredResult)
            token = asked.request_state
        # The token of one question answers no other call, and after that not even its own.
        plan = (await tell.good("job_show", job="j"))["plan_sha256"]
        assert isinstance(await confirm(token, plan=plan), InputRequiredResult)
        assert isinstance(await confirm(token), InputRequiredResult)
        assert (await tell.good("job_show", job="j"))["confirmed"] is None
        # Twin: the token that belongs to the call.
        asked = await confirm(None)
        assert isinstance(asked, InputRequiredResult)
        done = await confirm(asked.request_state)
        assert isinstance(done, CallToolResult) and not done.is_error
        assert (await tell.good("job_show", job="j"))["confirmed"]["witness"] == "elicitation"

    talk(workspace, "2026-07-28", say, person=Person(), environment=environment(workspace))
