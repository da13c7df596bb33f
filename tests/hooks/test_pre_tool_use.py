"""`muniment hook pre-tool-use`: a table of tool calls, and events that nobody would expect."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.hooks import calls
from tests.hooks.calls import ALLOW, ARCHIVE, CODEX, CURSOR, FILES, HOSTED, SHELL, Call

from muniment.faces.hooks import pre_tool_use
from muniment.faces.hooks.pre_tool_use import denial
from muniment.hosts.openclaw.layout import BASE

SOURCE = Path(__file__).parents[2] / "src"
SKILL_PAGE = "---\nname: backup\nmetadata:\n  project: muniment\n  installed: claude\n---\n"


@pytest.fixture
def scene(tmp_path: Path) -> Path:
    """The workspace of the table."""
    workspace = tmp_path / "w"
    for place in (
        "archives/s1/PLAN.md",
        "archives/s1/T/report.md",
        "archives/s1/T/run.log",
        "archives/s1/T/data/rows.csv",
        "notes.md",
        "plain/archives/x.md",
        "sub/a",
        "资料/a",
    ):
        path = workspace / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("a\n")
    (workspace / ".muniment").mkdir()
    (workspace / "skills/backup").mkdir(parents=True)
    (workspace / "skills/backup/SKILL.md").write_text(SKILL_PAGE)
    (workspace / "keep").symlink_to("archives")
    (workspace / "inside.md").symlink_to("archives/s1/T/report.md")
    (tmp_path / "elsewhere").mkdir()
    (workspace / "out").symlink_to("../elsewhere")
    (tmp_path / "elsewhere/back").symlink_to("../w")
    return workspace


def filled(value: Any, workspace: Path) -> Any:
    """A value with the workspace where `{w}` stands."""
    if isinstance(value, str):
        return value.replace("{w}", str(workspace))
    if isinstance(value, dict):
        return {key: filled(each, workspace) for key, each in value.items()}
    return [filled(each, workspace) for each in value] if isinstance(value, list) else value


def event_of(call: Call, workspace: Path, name: str = "PreToolUse") -> dict[str, Any]:
    """The event as the hosts document it."""
    return {
        "session_id": "abc",
        "transcript_path": "/home/ada/transcript.jsonl",
        "cwd": str(workspace),
        "permission_mode": "default",
        "hook_event_name": name,
        "tool_name": call[1],
        "tool_input": filled(call[2], workspace),
        "tool_use_id": "toolu_01",
    }


def code_of(reason: str) -> str:
    found = re.search(r"\(([A-Z_]+)\)", reason)
    return found[1] if found else ""


def named(table: list[Call]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("call", table, ids=[call[0] for call in table])


ENVIRONMENT = {"MUNIMENT_ARCHIVE_MUTABLE": "*.log", "HOME": "/home/ada"}


@named(FILES + SHELL + CODEX)
def test_the_table(scene: Path, call: Call) -> None:
    assert code_of(denial(event_of(call, scene), ENVIRONMENT)) == call[3]


@named(CURSOR)
def test_cursor(scene: Path, call: Call) -> None:
    event = event_of(call, scene, "preToolUse") | {"workspace_roots": [str(scene)], "cursor_version": "3.0"}
    assert code_of(denial(event, ENVIRONMENT)) == call[3]


@named(HOSTED)
def test_hosted_openclaw(scene: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    layout = re.escape(str(scene.parent)) + "/(w)/*"
    monkeypatch.setattr(pre_tool_use, "HOSTED", re.compile(layout))
    environment = {**ENVIRONMENT, "OPENCLAW_WORKSPACE_DIR": str(scene)}
    assert code_of(denial(event_of(call, scene), environment)) == call[3]


def test_the_layout_is_the_one_of_the_host() -> None:
    assert pre_tool_use.HOSTED.fullmatch(f"{BASE}/w-7/workspace")
    assert not pre_tool_use.HOSTED.fullmatch("/home/ada/workspace/w-7/workspace")


def test_there_are_enough_calls() -> None:
    table = FILES + SHELL + CODEX + CURSOR + HOSTED
    assert len(table) >= 60
    assert {ALLOW, ARCHIVE, calls.SKILL, calls.OUTSIDE} == {call[3] for call in table}
    names = [call[0] for call in FILES + SHELL + CODEX]
    assert len(set(names)) == len(names)


def test_without_a_record_nothing_is_an_archive(scene: Path) -> None:
    (scene / ".muniment").rmdir()
    assert denial(event_of(SHELL[2], scene), ENVIRONMENT) == ""


def test_patterns_come_from_the_workspace_too(scene: Path) -> None:
    call: Call = ("", "Edit", {"file_path": "{w}/archives/s1/T/data/rows.csv"}, ARCHIVE)
    assert code_of(denial(event_of(call, scene), {"HOME": "/nowhere"})) == ARCHIVE
    (scene / ".muniment/config.toml").write_text('[archive]\nmutable = ["data"]\n')
    assert denial(event_of(call, scene), {"HOME": "/nowhere"}) == ""


def test_it_says_where_the_change_belongs_in_the_readers_language(scene: Path) -> None:
    call = SHELL[2]
    english = denial(event_of(call, scene), ENVIRONMENT)
    assert "muniment archive PATH" in english and "archive.mutable" in english
    chinese = denial(event_of(call, scene), {**ENVIRONMENT, "MUNIMENT_LANG": "zh-CN"})
    assert "归档" in chinese and "ARCHIVE_PROTECTED" in chinese and str(scene) in chinese
    skill = denial(event_of(FILES[26], scene), ENVIRONMENT)
    assert "Extra excludes" in skill and "Extra paths" in skill


def hook(event: bytes, **environment: str) -> tuple[int, Any, str]:
    """The hook as a process: its exit code, its answer and what it says."""
    done = subprocess.run(
        [sys.executable, "-P", "-m", "muniment", "hook", "pre-tool-use"],
        input=event,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(SOURCE), **environment},
        cwd="/",
        capture_output=True,
        check=False,
    )
    return done.returncode, json.loads(done.stdout) if done.stdout else None, done.stderr.decode()


def test_the_answer_of_claude_code_and_codex(scene: Path) -> None:
    code, answer, said = hook(json.dumps(event_of(SHELL[2], scene)).encode())
    assert (code, said) == (0, "")
    verdict = answer["hookSpecificOutput"]
    assert set(answer) == {"hookSpecificOutput"}
    assert verdict["hookEventName"] == "PreToolUse" and verdict["permissionDecision"] == "deny"
    assert ARCHIVE in verdict["permissionDecisionReason"]
    assert hook(json.dumps(event_of(SHELL[0], scene)).encode()) == (0, None, "")


def test_the_answer_of_cursor(scene: Path) -> None:
    _, answer, _ = hook(json.dumps(event_of(CURSOR[0], scene, "preToolUse")).encode())
    assert answer["permission"] == "deny" and ARCHIVE in answer["agent_message"] == answer["user_message"]


def test_bytes_that_are_not_utf8(scene: Path) -> None:
    event = json.dumps(event_of(("", "Write", {"file_path": "{w}/archives/s1/T/@.md"}, ""), scene))
    _, answer, _ = hook(event.encode().replace(b"@", b"\xff\xfe"))
    assert answer["hookSpecificOutput"]["permissionDecision"] == "deny"


def test_a_path_that_can_not_be_looked_at_hides_no_other(scene: Path) -> None:
    event = event_of(("", "Bash", {"command": "touch \ud800 archives/s1/x"}, ""), scene)
    assert code_of(denial(event, ENVIRONMENT)) == ARCHIVE


DEEP = b'{"tool_name": "Write", "tool_input": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"

NO_EVENTS = {
    "nothing": b"",
    "no JSON": b"{",
    "no object": b"[1]",
    "a number": b"7",
    "too deep": DEEP,
    "bytes": bytes(range(256)),
}


@pytest.mark.parametrize("event", NO_EVENTS.values(), ids=NO_EVENTS)
def test_what_is_no_event_blocks_nothing_and_says_so(event: bytes) -> None:
    code, answer, said = hook(event)
    assert code == 1 and answer is None
    assert said.startswith("muniment: ") and "BAD_EVENT" in said and "Traceback" not in said


STRANGE: list[dict[str, Any]] = [
    {},
    {"tool_name": None, "tool_input": None},
    {"tool_name": 3, "tool_input": {}},
    {"tool_name": "Bash", "tool_input": []},
    {"tool_name": "Bash", "tool_input": {"command": {"a": 1}}},
    {"tool_name": "Bash", "tool_input": {"command": ["rm", 3, None]}},
    {"tool_name": "Write", "tool_input": {"file_path": ["a"]}},
    {"tool_name": "Write", "tool_input": {"file_path": "a\0b"}},
    {"tool_name": "Write", "tool_input": {"file_path": "x" * 100_000}},
    {"tool_name": "Write", "tool_input": {"file_path": "/" * 10_000 + "a"}},
    {"tool_name": "Write", "tool_input": {"file_path": "a"}, "cwd": 7},
    {"tool_name": "Write", "tool_input": {"file_path": "a"}, "cwd": "not absolute"},
    {"tool_name": "Bash", "tool_input": {"command": "(" * 50_000}},
    {"tool_name": "Bash", "tool_input": {"command": "$(" * 5_000}},
    {"tool_name": "Bash", "tool_input": {"command": '"' * 99_999}},
    {"tool_name": "Bash", "tool_input": {"command": "bash -c " * 3_000}},
    {"tool_name": "Bash", "tool_input": {"command": "<<" * 9_999}},
    {"tool_name": "Bash", "tool_input": {"command": "\\"}},
    {"tool_name": "apply_patch", "tool_input": {"command": "*** Move to: x"}},
    {"hook_event_name": ["PreToolUse"], "tool_name": "Write", "tool_input": {"file_path": "a"}},
    {"hook_event_name": "PostToolUse", "tool_name": "Write", "tool_input": {"file_path": "archives/x"}},
]


@pytest.mark.parametrize("event", STRANGE, ids=range(len(STRANGE)))
def test_strange_events_block_nothing(event: dict[str, Any]) -> None:
    try:
        assert denial({"cwd": "/", **event}, {}) == ""
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return  # what `run` says on standard error


@pytest.mark.parametrize("event", STRANGE[:8], ids=range(8))
def test_strange_events_end_quietly(event: dict[str, Any]) -> None:
    code, answer, said = hook(json.dumps({"cwd": "/", **event}).encode())
    assert code in (0, 1) and answer is None and "Traceback" not in said
