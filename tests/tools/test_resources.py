"""Resources over MCP: what is recorded of a thing, as `muniment show` tells it (spec 6, MCP)."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError
from mcp.client.session import ClientRequestContext
from mcp_types import INVALID_PARAMS, ListRootsResult, Root, TextResourceContents
from pydantic import FileUrl
from tests.desk.walk import Walked, kept_walk, walked
from tests.tools.server import Era, talk

from muniment.faces.tools.resources import RECENT

__all__ = ["kept_walk", "walked"]

BASE = "muniment://show/"


async def text_at(client: Client, uri: str) -> str:
    """The one text of a resource."""
    result = await client.read_resource(uri)
    (content,) = result.contents
    assert isinstance(content, TextResourceContents)
    assert (content.uri, content.mime_type) == (uri, "application/json")
    return content.text


async def refusal_of(client: Client, uri: str) -> tuple[int, str, Any]:
    """What is said in place of a resource."""
    with pytest.raises(MCPError) as caught:
        await client.read_resource(uri)
    error = caught.value.error
    return error.code, error.message, error.data


def ask(walk: Walked, era: Era, say: Callable[[Client], Awaitable[Any]]) -> Any:
    return talk(walk.workspace, era, say, environment=walk.environment)


def test_a_resource_is_what_show_prints(walked: Walked, era: Era) -> None:
    (event,) = walked.call("timeline", "--count", "1", "--json").object["events"]
    references = [walked.report, walked.job, walked.handoff, walked.newer, event["event"]]
    before = walked.segment.read_bytes()

    async def say(client: Client) -> list[str]:
        return [await text_at(client, BASE + one) for one in references]

    texts = ask(walked, era, say)
    assert texts == [walked.call("show", one, "--json").out for one in references]
    assert [json.loads(text)["reference"] for text in texts[:3]] == references[:3]
    assert walked.segment.read_bytes() == before


def test_the_templates_are_the_grammar_of_references(walked: Walked, era: Era) -> None:
    async def say(client: Client) -> list[str]:
        found = await client.list_resource_templates()
        assert all(
            one.mime_type == "application/json" and one.description for one in found.resource_templates
        )
        return [one.uri_template for one in found.resource_templates]

    assert ask(walked, era, say) == [
        f"{BASE}{beginning}{{id}}" for beginning in ("arc_", "job:", "ho_", "bk_", "ev_")
    ]


def test_what_was_recent_is_listed_and_each_of_it_can_be_read(walked: Walked, era: Era) -> None:
    async def say(client: Client) -> list[str]:
        listed = (await client.list_resources()).resources
        for one in listed:
            assert one.uri == BASE + one.name and one.annotations is not None
            assert json.loads(await text_at(client, one.uri))
        times = [one.annotations.last_modified or "" for one in listed if one.annotations]
        assert times == sorted(times, reverse=True)
        return [one.name for one in listed]

    assert set(ask(walked, era, say)) == {walked.report, walked.notes, walked.job, walked.handoff}


def test_the_list_is_bounded(tmp_path: Path, era: Era) -> None:
    for number in range(RECENT + 5):
        (tmp_path / f"{number:03}.md").write_text(f"{number}")

    async def say(client: Client) -> tuple[list[str], list[str]]:
        kept = []
        for number in range(RECENT + 5):
            given = {"kind": "file", "sourcePath": f"{number:03}.md"}
            result = (await client.call_tool("archive", given)).structured_content
            assert result is not None
            kept.append(result["evidence"][0]["reference"])
        return kept, [one.name for one in (await client.list_resources()).resources]

    kept, listed = talk(tmp_path, era, say)
    assert listed == kept[::-1][:RECENT]


UNKNOWN = {
    "job:nosuch": "Nothing here has the reference job:nosuch: job:nosuch (code: REFERENCE_UNKNOWN)",
    "arc_01KDVDNA000000000000000000": "UNKNOWN_REFERENCE",
    "ev_01KDVDNA000000000000000000": "NOT_IN_LEDGER",
    "sha256:" + "0" * 64: "desk_find looks for a digest (code: REFERENCE_UNKNOWN)",
    "report.md": "NO_REFERENCE",
    "../../etc/passwd": "NO_REFERENCE",
    "%2e%2e%2fetc": "NO_REFERENCE",
    "job:%ff": "NO_REFERENCE",
    "arc_0": "REFERENCE_AMBIGUOUS",
    "": "NO_REFERENCE",
    "job:" + "x" * 100_000: "NO_REFERENCE",
    "job:\x1b[2J": "NO_REFERENCE",
}


def test_what_there_is_not_is_said_in_our_words(walked: Walked, era: Era) -> None:
    async def say(client: Client) -> dict[str, tuple[int, str, Any]]:
        found = {one: await refusal_of(client, BASE + one) for one in UNKNOWN}
        for uri in ("file:///etc/passwd", "muniment://card/x", "show/job:counts"):
            code, message, data = await refusal_of(client, uri)
            assert (code, data["code"]) == (INVALID_PARAMS, "NO_REFERENCE") and BASE in message
        return found

    for reference, (code, message, data) in ask(walked, era, say).items():
        assert code == INVALID_PARAMS, reference
        assert message.startswith("Desk blocked: ") and UNKNOWN[reference] in message, message
        assert len(message) + len(json.dumps(data)) < 1200 and "\x1b" not in message


def test_a_workspace_without_a_record_has_none_and_gets_none(tmp_path: Path, era: Era) -> None:
    async def say(client: Client) -> tuple[int, str, Any]:
        assert (await client.list_resources()).resources == []
        return await refusal_of(client, BASE + "job:rna-7")

    workspace = tmp_path / "workspace"
    workspace.mkdir()
    _, message, data = talk(workspace, era, say)
    assert data["code"] == "NOTHING_RECORDED" and message.startswith("Desk blocked: Nothing was recorded")
    assert list(workspace.iterdir()) == []


def test_the_clients_root_is_where_resources_are(walked: Walked, tmp_path: Path, era: Era) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()

    async def roots(context: ClientRequestContext) -> ListRootsResult:
        return ListRootsResult(roots=[Root(uri=FileUrl(walked.workspace.as_uri()))])

    async def say(client: Client) -> tuple[str, list[str]]:
        text = await text_at(client, BASE + walked.report)
        return text, [one.name for one in (await client.list_resources()).resources]

    text, listed = talk(elsewhere, era, say, roots=roots, environment=walked.environment)
    assert text == walked.call("show", walked.report, "--json").out
    # In the newer era a list can not ask for roots, so it shows nothing of any folder.
    assert (walked.report in listed) is (era == "legacy")
    assert list(elsewhere.iterdir()) == []
