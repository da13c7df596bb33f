"""Tools: delegated work over MCP: an honest worker passes, a lying one is refused (spec 3, surface)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from tests.handoff.conftest import CONCLUSION, HOST, MEMORY, WORKLOG, packet
from tests.tools.server import Era, Talk, talk, text_of

UNKNOWN = "Handoff blocked: The call does not fit the tool: {name}: {tool} takes no argument of this name"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    place = tmp_path / "workspace"
    (place / ".muniment").mkdir(parents=True)  # a contract wants a root that somebody made one
    return place


def environment(workspace: Path) -> dict[str, str]:
    return {"MUNIMENT_HANDOFF_NONCES": str(workspace.parent / "nonces")}


async def dispatched(tell: Talk) -> tuple[str, dict[str, Any]]:
    """A handoff that the host has accepted, as its recipient takes it."""
    handoff = (await tell.good("handoff_new", packet=packet(), recipient="mei"))["handoff_id"]
    given = {"handoff": handoff, "host": "openclaw", "recipient": "mei", "answer": HOST.decode()}
    await tell.good("handoff_send", **given)
    return handoff, await tell.good("handoff_take", handoff=handoff)


def secrets(workspace: Path) -> set[str]:
    """Every nonce that the issuer keeps, read from its own folder."""
    found: set[str] = set()
    for path in (workspace.parent / "nonces").rglob("*"):
        if path.is_file():
            found |= set(re.findall(r"\b[0-9a-f]{32}\b", path.read_text("utf-8")))
    return found


def test_an_honest_handoff_passes_and_a_lie_is_refused(workspace: Path, era: Era) -> None:
    (workspace / "log.txt").write_bytes(WORKLOG)

    async def say(client: Client) -> tuple[Talk, set[str]]:
        tell = Talk(client)
        lint = await tell("handoff_lint", packet=packet(goal="ghp_" + "aB3d" * 9), recipient="mei")
        assert lint.is_error and [one["code"] for one in lint.structured_content["refused"]] == [
            "SECRET_VALUE"
        ]
        assert await tell.good("handoff_lint", packet=packet(), recipient="mei") == {
            "refused": [],
            "notes": [],
        }
        assert await tell.good("handoff_list") == {"total": 0, "handoffs": []}

        early = (await tell.good("handoff_new", packet=packet(), recipient="mei"))["handoff_id"]
        assert await tell.refused("handoff_take", handoff=early) == (
            f"Handoff blocked: {early} has no dispatch receipt: {early} (code: NOT_DISPATCHED)"
        )
        words = await tell.refused(
            "handoff_send", handoff=early, host="openclaw", recipient="mei", answer='{"status": "queued"}'
        )
        assert words.endswith("(code: HOST_ANSWER)") and "not accepted" in words

        handoff, view = await dispatched(tell)
        assert set(view["anchors"]) == {"employee_memory", "employee_worklog"}
        await tell.good("handoff_record", handoff=handoff, target="employee_memory", text=MEMORY.decode())
        done = await tell.good("handoff_record", handoff=handoff, target="employee_worklog", file="log.txt")
        anchor = view["anchors"]["employee_worklog"]
        assert (workspace / done["closure"]["path"]).read_bytes() == WORKLOG + anchor.encode() + b"\n"
        await tell.good("handoff_return", handoff=handoff, conclusion=CONCLUSION, artifactPaths=["log.txt"])
        trace = (await tell.good("handoff_check", handoff=handoff))["trace"]
        assert trace["complete"] and {row["status"] for row in trace["rows"]} == {
            "verified",
            "not_applicable",
        }
        again = await tell.good("handoff_check", handoff=handoff, again=True)
        assert again["before"] == trace
        assert (await tell.good("handoff_show", handoff=handoff))["state"] == "complete"

        lie, taken = await dispatched(tell)
        closures = [
            {
                "target": target,
                "state": "updated",
                "handoff_id": lie,
                "contract_id": taken["packet"]["persistence_contract"]["contract_id"],
                "dispatch_id": taken["dispatch_id"],
                "evidence_anchor": taken["anchors"][target],
                "path": taken["packet"]["persistence_contract"]["targets"][target]["path"],
                "offset": 0,
                "length": 90,
                "exit_code": 0,
                "sha256": "ab" * 32,
            }
            for target in ("employee_worklog",)
        ]
        await tell.good("handoff_record", handoff=lie, target="employee_memory", text=MEMORY.decode())
        await tell.good("handoff_return", handoff=lie, conclusion=CONCLUSION, closures=closures)
        caught = await tell("handoff_check", handoff=lie)
        assert caught.is_error
        assert text_of(caught).splitlines()[0] == (
            f"Handoff blocked: {lie} is not complete: {lie}: 1 of 2 targets are verified; missing: "
            "the recipient's worklog (employee_worklog) (code: HANDOFF_INCOMPLETE)"
        )
        assert caught.structured_content["trace"]["complete"] is False
        listed = await tell.good("handoff_list", openOnly=True)
        assert [one["handoff_id"] for one in listed["handoffs"]] == [lie, early]
        assert listed["handoffs"][0]["missing"] == ["employee_worklog"]

        await tell.good("handoff_export", handoff=handoff, folder="proof")
        assert (workspace / "proof" / "manifest.json").is_file()
        for folder in (".muniment/proof", "."):
            assert (await tell.refused("handoff_export", handoff=handoff, folder=folder)).startswith(
                "Handoff "
            )
        words = await tell.refused("handoff_export", handoff=handoff, folder="../proof")
        assert words.endswith("(code: OUTSIDE_ROOT)")
        return tell, set(view["anchors"].values()) | set(taken["anchors"].values())

    tell, anchors = talk(workspace, era, say, environment=environment(workspace))
    nonces = secrets(workspace)
    assert len(anchors) == 4 and len(nonces) == 6
    for tool, result in tell.answers:
        told = text_of(result) + str(result.structured_content)
        assert not any(nonce in told for nonce in nonces), tool
        assert tool == "handoff_take" or not any(anchor in told for anchor in anchors), tool


REFUSED: dict[str, tuple[str, dict[str, Any], str]] = {
    "an unknown argument": ("handoff_list", {"root": "/x"}, UNKNOWN.format(name="root", tool="handoff_list")),
    "a session": (
        "handoff_check",
        {"handoff": "ho_x", "sessionKey": "agent:main:x"},
        UNKNOWN.format(name="sessionKey", tool="handoff_check"),
    ),
    "a flag that is a text": (
        "handoff_list",
        {"openOnly": "yes"},
        "Handoff blocked: The call does not fit the tool: openOnly: true or false was expected",
    ),
    "a list that is none": (
        "handoff_return",
        {"handoff": "ho_x", "conclusion": "done", "gaps": "none"},
        "Handoff blocked: The call does not fit the tool: gaps: a list was expected",
    ),
    "a gap that is a number": (
        "handoff_return",
        {"handoff": "ho_x", "conclusion": "done", "gaps": ["a", 1]},
        "Handoff blocked: The call does not fit the tool: gaps[1]: a text was expected",
    ),
    "both text and file": (
        "handoff_record",
        {"handoff": "ho_x", "target": "employee_memory", "text": "a", "file": "b"},
        "Handoff blocked: The call does not fit the tool: text: give either text or file",
    ),
}


def test_what_does_not_fit_is_refused_in_exact_words(workspace: Path, era: Era) -> None:
    async def say(client: Client) -> dict[str, str]:
        tell = Talk(client)
        told = {case: await tell.refused(tool, **given) for case, (tool, given, _) in REFUSED.items()}
        open_packet = {**packet(), "model": "large"}
        told["a packet with a field of its own"] = await tell.refused("handoff_new", packet=open_packet)
        return told

    told = talk(workspace, era, say, environment=environment(workspace))
    assert told.pop("a packet with a field of its own") == (
        "Handoff blocked: The packet does not have the shape it must have: model: "
        "this field is not known here (code: HANDOFF_SHAPE)"
    )
    assert told == {case: f"{words} (code: INVALID_ARGUMENT)" for case, (_, _, words) in REFUSED.items()}
