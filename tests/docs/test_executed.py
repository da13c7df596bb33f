"""Documentation: what the pages show is what the program prints (spec 6; design, what proves it)."""

from __future__ import annotations

import re

import pytest
from tests.docs.console import PREPARES_A_MACHINE, differences, run, to_run, typed
from tests.docs.tables import PROJECT

PAGES = ("README.md", "docs/tutorial.md")


def text(page: str) -> str:
    """A page's text."""
    return (PROJECT / page).read_text("utf-8")


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What the commands of each page printed."""
    return {page: run(text(page), tmp_path_factory.mktemp("reader")) for page in PAGES}


@pytest.mark.parametrize("page", PAGES)
def test_a_page_shows_what_the_program_prints(page: str, outputs: dict[str, list[str]]) -> None:
    told = differences(text(page), outputs[page])
    assert told == [], "\n".join(told)


def test_every_page_with_commands_is_run_or_only_prepares_a_machine() -> None:
    pages = [*PROJECT.glob("*.md"), *(PROJECT / "docs").rglob("*.md")]
    having = {path.relative_to(PROJECT).as_posix() for path in pages if to_run(path.read_text("utf-8"))}
    # the Chinese page has the same blocks, byte for byte, which another test holds
    assert having - {"README.zh-CN.md"} == set(PAGES)


def test_what_is_not_run_still_stands_on_a_page() -> None:
    pages = "\n".join(
        path.read_text("utf-8") for path in [*PROJECT.glob("*.md"), PROJECT / "docs/tutorial.md"]
    )
    assert {one.command for one in typed(pages)} >= PREPARES_A_MACHINE


CHANGES = {
    "a word of the output": ("ARCHIVE_STATUS: OK", "ARCHIVE_STATUS: DONE"),
    "an exit code": ("$ echo $?\n4\n", "$ echo $?\n0\n"),
    "a number": ("2 events", "3 events"),
    "a line left out": ("session       none yet\n", ""),
    "the width of a column": ("host          generic", "host         generic"),
    "another id in one place": (
        "verify: muniment archive verify arc_0",
        "verify: muniment archive verify arc_1",
    ),
    "another digest in one place": ("ledger        1 event, head 5f1c", "ledger        1 event, head 9c33"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_page_that_says_something_else_is_found(change: str, outputs: dict[str, list[str]]) -> None:
    """The comparison is no decoration: each kind of change is a difference."""
    page, (old, new) = text("docs/tutorial.md"), CHANGES[change]
    assert old in page, "the page has changed; change this table too"
    assert differences(page.replace(old, new, 1), outputs["docs/tutorial.md"]) != []


def test_the_blocks_of_a_page_are_all_of_the_kinds_that_are_looked_at() -> None:
    for page in PAGES:
        kinds = set(re.findall(r"^```(\S*)", text(page), re.MULTILINE)) - {""}
        assert kinds == {"console"}, f"{page} has blocks that nobody runs"
