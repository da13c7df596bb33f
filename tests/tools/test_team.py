"""Tools: what a team shares, and workers dispatched by tools, over MCP (spec 3, surface)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from tests.handoff.conftest import CONCLUSION, WORKLOG, packet
from tests.tools.server import PATIENCE_S, Era, Talk, talk
from tests.tools.test_handoff import environment

ENTRY = WORKLOG.decode().strip()


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    place = tmp_path / "workspace"
    (place / ".muniment").mkdir(parents=True)
    return place


def converse(workspace: Path, era: Era, scene: Any) -> None:
    async def whole(client: Client) -> None:
        await scene(Talk(client))

    talk(workspace, era, whole, environment=environment(workspace))


def test_journal_board_and_inbox(workspace: Path, era: Era) -> None:
    async def scene(tell: Talk) -> None:
        entry = await tell.good("journal_append", text=ENTRY)
        assert (entry["position"], entry["version"]) == (0, 1)
        assert [each["text"] for each in (await tell.good("journal_tail"))["entries"]] == [ENTRY]
        assert (await tell.good("journal_verify"))["whole"] is True
        assert "OUTSIDE_ROOT" in await tell.refused("journal_append", text=ENTRY, path="../out")
        offered = await tell.good("board_propose", heading="Parser", text=ENTRY)
        assert offered["proposal"]["base"] == offered["base"]
        assert (await tell.good("board_show"))["version"] == 0  # nothing was changed
        assert "INVALID_ARGUMENT" in await tell.refused("board_propose", heading="Parser")
        left = await tell.good("inbox_send", recipient="mei", sender="lead", text="Sample 17 was replaced.")
        for _ in range(2):
            waiting = await tell.good("inbox_read", recipient="mei")
            assert [each["text"] for each in waiting["messages"]] == ["Sample 17 was replaced."]
        acks = [await tell.good("inbox_ack", recipient="mei", message=left["message_id"]) for _ in range(2)]
        assert [each["already"] for each in acks] == [False, True]
        assert "SECRET_VALUE" in await tell.refused(
            "inbox_send", recipient="mei", sender="lead", text="ghp_" + "aB3d" * 9
        )

    converse(workspace, era, scene)


def test_a_handoff_that_owes_journal_and_board(workspace: Path, era: Era) -> None:
    host = json.dumps({"agentId": "a7"})

    async def scene(tell: Talk) -> None:
        draft = packet("team_journal", "central_board")
        handoff = (await tell.good("handoff_new", packet=draft, recipient="mei"))["handoff_id"]
        await tell.good("handoff_send", handoff=handoff, host="claude", recipient="mei", answer=host)
        view = await tell.good("handoff_take", handoff=handoff)
        receipt = await tell.good("journal_append", handoff=handoff, text=ENTRY)
        operations = [{"op": "add", "path": "/parser", "value": ENTRY}]
        offered = await tell.good("board_propose", handoff=handoff, operations=operations)
        for anchor in view["anchors"].values():
            assert anchor not in json.dumps([receipt, offered])
        await tell.good("handoff_return", handoff=handoff, conclusion=CONCLUSION)
        early = await tell("handoff_check", handoff=handoff)
        assert early.is_error  # the board's writer has not applied it yet
        assert "NOT_THE_WRITER" in await tell.refused("board_apply", handoff=handoff, writer="mei")
        done = [await tell.good("board_apply", handoff=handoff, writer="lead") for _ in range(2)]
        assert [(each["version"], each["already"]) for each in done] == [(1, False), (1, True)]
        assert (await tell.good("handoff_check", handoff=handoff))["trace"]["complete"]
        assert "NO_CALL_RECORD" in await tell.refused("handoff_message", handoff=handoff, text="Again.")
        assert (await tell.good("handoff_message", handoff=handoff, answer=host))["kind"] == "message"
        assert (await tell.good("handoff_show", handoff=handoff))["calls"] == 1

    converse(workspace, era, scene)


def set_agents(folder: Path, **agents: list[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    lines = [f"{name} = {json.dumps(words)}" for name, words in agents.items()]
    (folder / "config.toml").write_text("[handoff.agents]\n" + "\n".join(lines) + "\n")


def test_a_tool_dispatches_only_to_agents_that_the_person_has_set(workspace: Path, era: Era) -> None:
    user = workspace.parent / "home/.config/muniment"
    set_agents(user, reader=["sh", "-c", f"echo '{CONCLUSION}'"], gone=["no-such-command"])

    async def scene(tell: Talk) -> None:
        handoff = (await tell.good("handoff_new", packet=packet(contract=False)))["handoff_id"]
        given = {"handoff": handoff, "recipient": "mei"}
        assert "AGENT_UNKNOWN" in await tell.refused("handoff_dispatch", agent="sh", **given)
        missing = await tell("handoff_dispatch", agent="gone", **given)
        assert missing.is_error and missing.structured_content["undelivered"]["reason"] == "adapter_failed"
        sent = await tell.good("handoff_dispatch", agent="reader", **given)
        assert sent["dispatch"]["provider_receipt"]["argv"][0] == "sh"
        assert (await tell.good("handoff_look", handoff=handoff)) == sent
        with anyio.fail_after(PATIENCE_S):
            while not (await tell.good("handoff_collect", handoff=handoff))["collected"]:
                pass
        assert (await tell.good("handoff_check", handoff=handoff))["trace"]["complete"]

    converse(workspace, era, scene)


def test_a_workspace_names_no_commands(workspace: Path, era: Era) -> None:
    set_agents(workspace / ".muniment", reader=["sh", "-c", "touch was-run"])

    async def scene(tell: Talk) -> None:
        handoff = (await tell.good("handoff_new", packet=packet(contract=False)))["handoff_id"]
        told = await tell.refused("handoff_dispatch", handoff=handoff, agent="reader", recipient="mei")
        assert "BAD_SETTING" in told and "handoff.agents" in told

    converse(workspace, era, scene)
    assert not (workspace / "was-run").exists()
