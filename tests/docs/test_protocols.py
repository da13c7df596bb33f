"""Documentation: the pages of the protocols: two languages, one content, the codes of the program."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.docs.tables import PROJECT, error_classes
from tests.docs.test_readme import FENCE, headings, tables

from muniment.archive.card import fenced, status_line
from muniment.archive.model import Card, ReadBack, Standing
from muniment.errors import MunimentError
from muniment.evidence import Kind
from muniment.faces.tools.archive import TOOLS
from muniment.faces.tools.archive_shapes import ARCHIVE
from muniment.hosts.openclaw.layout import BASE
from muniment.hosts.openclaw.session import ID_MAX, session_key
from muniment.hosts.session import SessionSource

FOLDER = PROJECT / "docs" / "protocols"
PAGES = sorted(path for path in FOLDER.glob("*.md") if not path.name.endswith(".zh-CN.md"))
ARCHIVE_PAGE = (FOLDER / "archive.md").read_text("utf-8")

SPECIFIED = (
    "INVALID_INPUT",
    "INVALID_FLAG",
    "WORKSPACE_MISSING",
    "INVALID_SESSION",
    "INVALID_SOURCE",
    "MISSING_SOURCE",
    "EMPTY_SOURCE",
    "EMPTY_TARGET",
    "TARGET_EXISTS",
    "SOURCE_BUSY",
    "SOURCE_CHANGED",
    "READBACK_FAILED",
    "NO_SPACE",
)
"""Spec 1, codes."""


def in_chinese(page: Path) -> str:
    return page.with_suffix(".zh-CN.md").read_text("utf-8")


def leads(text: str) -> list[str]:
    """Where links lead, whichever language of a page it is."""
    return [lead.replace(".zh-CN", "") for lead in re.findall(r"\]\(([^)]+)\)", FENCE.sub("", text))]


def disagreements(english: str, chinese: str) -> list[str]:
    """In what the two languages of a page differ."""
    asked: dict[str, Callable[[str], object]] = {
        "headings": headings,
        "tables": tables,
        "blocks": FENCE.findall,
        "links": leads,
    }
    return [name for name, find in asked.items() if find(english) != find(chinese)]


README = PROJECT / "README.md"
BOTH = [README, *PAGES]


@pytest.mark.parametrize("page", BOTH, ids=lambda page: page.stem)
def test_the_two_languages_agree(page: Path) -> None:
    english = page.read_text("utf-8")
    assert disagreements(english, in_chinese(page)) == []
    assert headings(english) and tables(english) and leads(english)


def without_first(pattern: str, text: str, new: str = "") -> str:
    """The text with the first place that fits changed; something has to fit."""
    changed, count = re.subn(pattern, lambda _: new, text, count=1, flags=re.MULTILINE | re.DOTALL)
    assert count == 1 and changed != text, "the page has nothing of the kind"
    return changed


LINK = r"\]\((?!\w+(\.zh-CN)?\.md\))[^)]+\)"

CHANGED: dict[str, tuple[str, Callable[[str], str]]] = {
    "a cell": ("tables", lambda text: without_first(r"(?<=\| )`[^`|\n]+`(?= \|\n)", text, "`other`")),
    "a row": ("tables", lambda text: without_first(r"^\| [^-\n]*\|\n(?=\n)", text, "\n")),
    "a column": ("tables", lambda text: without_first(r"^\|---\|", text, "|")),
    "a heading": ("headings", lambda text: without_first(r"^## [^\n]*\n", text)),
    "a heading's level": ("headings", lambda text: without_first(r"^## ", text, "### ")),
    "a link": ("links", lambda text: without_first(LINK, text, "](other.html)")),
    "a block": ("blocks", lambda text: without_first(r"^```.*?^```\n", text)),
    "a byte in a block": ("blocks", lambda text: without_first(r"(?<=^```)(?=\w+\n)", text, "x")),
}


@pytest.mark.parametrize("change", CHANGED)
@pytest.mark.parametrize("page", BOTH, ids=lambda page: page.stem)
def test_a_change_in_one_language_alone_is_found(page: Path, change: str) -> None:
    """The comparison is no decoration: each kind of change in one language is a difference."""
    kind, damage = CHANGED[change]
    english, chinese = page.read_text("utf-8"), in_chinese(page)
    if kind == "blocks" and not FENCE.findall(english):
        assert page.stem in ("handoff", "job", "backup"), "a page without blocks"
        assert disagreements(english + "\n```text\nx\n```\n", chinese) == ["blocks"]
        return
    assert kind in disagreements(damage(english), chinese)
    assert kind in disagreements(english, damage(chinese))


def codes(text: str) -> dict[str, int]:
    """The codes of a page's tables, with their exit codes."""
    return {
        code: int(number) for code, number in re.findall(r"^\| `([A-Z_]+)` \| (\d+) \|", text, re.MULTILINE)
    }


def test_the_codes_are_those_of_the_program() -> None:
    known: dict[str, type[MunimentError]] = {error.code: error for error in error_classes()}
    assert codes(ARCHIVE_PAGE) == {code: int(known[code].exit_code) for code in codes(ARCHIVE_PAGE)}
    assert [code for code in SPECIFIED if code not in codes(ARCHIVE_PAGE)] == []


def test_the_formats_are_those_of_the_program() -> None:
    blocks = FENCE.findall(ARCHIVE_PAGE)
    assert status_line("{ARCHIVE_ID}") in blocks[0]
    card = Card(Kind.FILE, "archives/{ARCHIVE_ID}", "{TIMESTAMP}/{ORIGIN_NAME}", "{ORIGIN_NAME}")
    assert fenced(card.to_json()) in blocks
    (line,) = (block for block in blocks if "🧵" in block)
    assert session_key(line.splitlines()[1].encode()) == "agent:main:abc123"


def test_the_words_are_those_of_the_program() -> None:
    for word in (
        *(source.value for source in SessionSource),
        *(standing.value for standing in Standing),
        *ReadBack(True, True, True, "", True, "").to_json(),
        *(tool.shape.name for tool in TOOLS),
        *ARCHIVE.takes["properties"],
        *ARCHIVE.gives["properties"],
        f"{BASE}/{{WORKSPACE_ID}}/workspace",
    ):
        assert f"`{word}`" in ARCHIVE_PAGE, word
    assert f"{ID_MAX} characters" in ARCHIVE_PAGE


def test_the_host_configuration_that_is_shown_can_be_read() -> None:
    page = (PROJECT / "docs" / "how-to" / "mcp.md").read_text("utf-8")
    (block,) = re.findall(r"```json\n(.*?)```", page, re.DOTALL)
    assert json.loads(block) == {"mcpServers": {"muniment": {"command": "muniment", "args": ["mcp"]}}}
