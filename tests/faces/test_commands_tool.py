"""`muniment tool`: one call of a tool, as a plugin makes it: its bytes, its codes, its refusals (spec 6)."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.faces.at_work import STAMP, AtWork

from muniment.faces.tools.one import tool_named
from muniment.faces.tools.table import TOOLS

KEY = {"MUNIMENT_SESSION_KEY": "agent:main:abc123"}


def test_the_text_is_the_card_and_nothing_else(work: AtWork) -> None:
    content = work.write("report.md").read_bytes()
    arguments = json.dumps({"kind": "file", "sourcePath": "report.md", "displayName": "The report"})
    answer = work.call("tool", "archive", environment=KEY, typed=arguments)
    root = f"{work.folder}/archives/abc123"
    lines = ["```json", "{", '  "type": "archive_grid",', '  "data": {', '    "type": "file",']
    lines += [f'    "archive_root": "{root}",', rf'    "subpath": "({STAMP}/report\.md)",']
    lines += ['    "name": "The report"', "  }", "}", "```", ""]
    found = re.fullmatch("\n".join(lines).replace("{", r"\{").replace(r"\d\{", r"\d{"), answer.out)
    assert answer.code == 0 and found is not None, answer.out
    assert work.snapshot() == {f"archives/abc123/{found[1]}": content}


def test_a_program_gets_text_and_evidence(work: AtWork) -> None:
    work.write("report.md")
    arguments = '{"kind": "file", "sourcePath": "report.md"}'
    told = work.call("tool", "archive", "--json", environment=KEY, typed=arguments).object
    assert set(told) == {"text", "structured", "failed"} and told["failed"] is False
    (card,) = told["structured"]["cards"]
    assert told["text"] == f"```json\n{json.dumps(card, indent=2, ensure_ascii=False)}\n```"
    (evidence,) = told["structured"]["evidence"]
    assert (evidence["archive_id"], evidence["archive_id_source"]) == ("abc123", "host")


@pytest.mark.parametrize(
    ("typed", "reason", "code"),
    [
        ("", "the arguments are no JSON: ", "INVALID_INPUT"),
        ("{", "the arguments are no JSON: ", "INVALID_INPUT"),
        ("[]", "an object was expected", "INVALID_INPUT"),
        ('{"kind": "file"}', "sourcePath: archive needs this argument", "INVALID_INPUT"),
        (
            '{"kind": "file", "sourcePath": "a", "kind": "plan"}',
            'the key "kind" stands twice',
            "INVALID_INPUT",
        ),
        ('{"kind": "file", "sourcePath": "a", "session": "b"}', "session: archive takes no", "INVALID_INPUT"),
        ('{"kind": "file", "sourcePath": "./report.md"}', "“.” stands in the path", "INVALID_SOURCE"),
        ('{"kind": "file", "sourcePath": "gone.md"}', "gone.md", "MISSING_SOURCE"),
    ],
)
def test_a_refusal_is_one_line_of_the_card_dialect(work: AtWork, typed: str, reason: str, code: str) -> None:
    content = work.write("report.md").read_bytes()
    answer = work.call("tool", "archive", "--lang", "zh-CN", environment=KEY, typed=typed)
    assert answer.code == 3
    assert re.fullmatch(rf"Archive blocked: [^\n]*{re.escape(reason)}[^\n]*\(code: {code}\)\n", answer.out)
    told = work.call("tool", "archive", "--json", environment=KEY, typed=typed)
    assert told.code == 3
    assert told.object == {"text": answer.out.rstrip("\n"), "structured": None, "failed": True}
    assert work.snapshot() == {"report.md": content}


def test_a_workspace_of_openclaw_without_a_session_is_refused(work: AtWork) -> None:
    work.write("report.md")
    environment = {"OPENCLAW_WORKSPACE_DIR": str(work.folder)}
    typed = '{"kind": "file", "sourcePath": "report.md"}'
    answer = work.call("tool", "archive", environment=environment, typed=typed)
    assert answer.code == 3
    assert answer.out.startswith("Archive blocked: invalid Session") and "INVALID_SESSION" in answer.out


def test_a_workspace_that_is_none_is_a_refusal_too(work: AtWork) -> None:
    environment = {**KEY, "OPENCLAW_WORKSPACE_DIR": str(work.folder / "gone")}
    answer = work.call("tool", "archive", environment=environment, typed='{"kind":"file","sourcePath":"a"}')
    assert answer.code == 3
    assert re.fullmatch(r"Archive blocked: [^\n]+ \(code: WORKSPACE_MISSING\)\n", answer.out)


def test_a_tool_that_does_not_exist(work: AtWork) -> None:
    answer = work.call("tool", "nothing")
    assert (answer.code, answer.out) == (2, "") and "there is no tool nothing" in answer.err


def test_it_has_every_tool_of_the_server() -> None:
    assert {name: tool_named(name) for name in TOOLS} == TOOLS


def test_a_call_of_the_archive_loads_no_other_room() -> None:
    code = (
        "import sys; from muniment.faces.tools.one import tool_named; tool_named('archive');"
        "print(*(name for name in sys.modules if name.split('.')[:2] in "
        "(['muniment', 'job'], ['muniment', 'vault'], ['mcp'])))"
    )
    source = Path(__file__).parents[2] / "src"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(source)},
        check=True,
    )
    assert done.stdout == "\n"
