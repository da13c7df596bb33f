"""The pages of handoffs say what the program does."""

from __future__ import annotations

import re
from pathlib import Path

from tests.handoff.test_lies import LIES, load

import muniment
from muniment.handoff.codes import Code

PAGES = Path(__file__).parents[2] / "docs" / "protocols"
ROOM = Path(muniment.__file__).parent / "handoff"


def test_every_code_of_the_gate_is_explained_once() -> None:
    text = (PAGES.parent / "reference" / "handoff-codes.md").read_text("utf-8")
    rows = re.findall(r"^\| `([A-Z_]+)` \|", text, re.MULTILINE)
    assert rows == [code.value for code in Code]


def test_every_code_is_used_by_some_rule() -> None:
    source = "".join(path.read_text("utf-8") for path in ROOM.glob("*.py") if path.name != "codes.py")
    unused = [code.value for code in Code if f"Code.{code.name}" not in source]
    assert unused == []


SHOWN_ELSEWHERE = {"ARTIFACT_UNREADABLE", "TARGET_UNREADABLE"}
"""What only a real disk can do; `test_reading` shows it there."""


def test_every_code_of_the_gate_has_its_lie() -> None:
    shown = {code for name in LIES for code in load(name)["refused"]}
    gate = {code.value for code in list(Code)[: list(Code).index(Code.SECRET_VALUE)]}
    assert gate - shown - SHOWN_ELSEWHERE == set()


def test_the_chinese_page_has_the_steps_and_the_code_of_the_english_one() -> None:
    """Its headings, tables and blocks are compared with those of all protocols in the tests of the pages."""
    one, other = ((PAGES / name).read_text("utf-8") for name in ("handoff.md", "handoff.zh-CN.md"))
    steps, spans = re.compile(r"^\d\. ", re.MULTILINE), re.compile(r"`([^`]+)`")
    assert len(steps.findall(one)) == len(steps.findall(other)) > 0
    assert set(spans.findall(one)) == set(spans.findall(other))
