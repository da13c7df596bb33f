"""The desk over MCP: the same answers and the same refusals as on the command line (spec 6)."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from mcp import Client
from mcp_types import CallToolResult
from tests.desk.walk import REPORT, Walked
from tests.tools.server import ERAS, Era, content_of, talk, text_of

DIGEST = f"sha256:{hashlib.sha256(REPORT).hexdigest()}"


def calls(walk: Walked, era: Era, *asked: tuple[str, dict[str, Any]]) -> list[CallToolResult]:
    """Several calls of one conversation; the client holds each result to the tool's schema."""

    async def say(client: Client) -> list[CallToolResult]:
        await client.list_tools()
        return [await client.call_tool(tool, given) for tool, given in asked]

    return talk(walk.workspace, era, say, environment=walk.environment)


@pytest.mark.parametrize("era", ERAS)
def test_the_desk_answers(walked: Walked, era: Era) -> None:
    status, shown, found, verified, moments = calls(
        walked,
        era,
        ("desk_status", {}),
        ("desk_show", {"reference": walked.report[:20]}),
        ("desk_find", {"text": DIGEST}),
        ("desk_verify", {"all": True}),
        ("desk_timeline", {"count": 3}),
    )
    assert content_of(status)["not_archived"] == walked.call("status", "--json").object["not_archived"]
    assert content_of(shown)["reference"] == walked.report
    assert set(content_of(shown)["within"]) == {walked.handoff, walked.job}
    assert {one["reference"] for one in content_of(found)["hits"]} == {
        walked.report, walked.handoff, walked.job, walked.older, walked.newer,
    }  # fmt: skip
    assert content_of(verified)["good"] is True
    assert {one["reference"] for one in content_of(verified)["verified"]} == walked.everything
    assert content_of(moments)["events"] == walked.call("timeline", "--json", "--count", "3").object["events"]


@pytest.mark.parametrize("era", ERAS)
def test_what_is_wrong_is_an_error_of_the_call(walked: Walked, era: Era) -> None:
    (walked.job_folder / "outputs/report.txt").write_bytes(b"reads: 13\n")
    verified, one, found, unknown, neither, extra = calls(
        walked,
        era,
        ("desk_verify", {"all": True}),
        ("desk_verify", {"what": [walked.job, "ledger"]}),
        ("desk_find", {"text": DIGEST}),
        ("desk_show", {"reference": "job:nosuch"}),
        ("desk_verify", {}),
        ("desk_find", {"text": "x", "sessionKey": "agent:main:a"}),
    )
    assert verified.is_error and content_of(verified)["verified"][0]["reference"] == walked.job
    assert content_of(verified)["counts"] == {"good": 7, "bad": 1}
    assert one.is_error and {each["standing"] for each in content_of(one)["verified"]} == {"good", "bad"}
    assert found.is_error
    assert text_of(unknown).startswith("Desk blocked: Nothing here has the reference job:nosuch")
    assert unknown.is_error and neither.is_error and extra.is_error
