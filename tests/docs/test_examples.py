"""Documentation: what the pages show is what the program prints."""

from __future__ import annotations

import pytest
from tests.docs.examples import BLOCK, PAGES, PROJECT, Example, examples, run, settled

ENGLISH = tuple(page for page in PAGES if "zh" not in page)
"""The other README has the same blocks, byte for byte, by a test of its own."""


def text(page: str) -> str:
    """A page's text."""
    return (PROJECT / page).read_text("utf-8")


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What the commands of each page print, each page in a home of its own."""
    return {
        page: run([one.command for one in examples(text(page))], tmp_path_factory.mktemp("home") / "ada")
        for page in ENGLISH
    }


def differences(found: list[Example], texts: list[str]) -> list[str]:
    """Each command that printed something else than the page shows, with both."""
    pairs = zip(settled([one.shown for one in found]), settled(texts), strict=True)
    return [
        f"$ {one.command}\nthe page:\n{wanted}the program:\n{told}"
        for one, (wanted, told) in zip(found, pairs, strict=True)
        if wanted != told
    ]


@pytest.mark.parametrize("name", ENGLISH)
def test_the_examples_of_a_page_run_and_print_what_it_shows(name: str, printed: dict[str, list[str]]) -> None:
    found = examples(text(name))
    assert len(found) > 8
    told = differences(found, printed[name])
    assert told == [], "\n".join([*told, "written by: python tests/docs/examples.py --write"])


def test_every_page_with_examples_is_run() -> None:
    pages = [*PROJECT.glob("*.md"), *(PROJECT / "docs").rglob("*.md")]
    having = {path.relative_to(PROJECT).as_posix() for path in pages if examples(path.read_text("utf-8"))}
    assert having == set(PAGES)


def test_what_is_left_out_are_the_commands_of_the_source_tree() -> None:
    blocks = [block for page in ENGLISH for block in BLOCK.findall(text(page)) if "make " in block]
    lines = {line.removeprefix("$ ") for block in blocks for line in block.splitlines()}
    assert lines == {"make demo", "make test", ". .venv/bin/activate"}


CHANGES = {
    "a word of the output": ("ARCHIVE_STATUS: OK", "ARCHIVE_STATUS: DONE"),
    "an exit code": ("$ echo $?\n4\n", "$ echo $?\n0\n"),
    "a number": ("2 events", "3 events"),
    "a line left out": ("session       none yet\n", ""),
    "the width of a column": ("host          generic", "host         generic"),
    "another id in one place": ("muniment archive undo arc_0", "muniment archive undo arc_1"),
    "output below a command that prints nothing": ("> report.md\n", "> report.md\nwritten\n"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_page_that_says_something_else_is_found(change: str, printed: dict[str, list[str]]) -> None:
    """The comparison is no decoration: each kind of change is a difference."""
    page, (old, new) = text("docs/tutorial.md"), CHANGES[change]
    assert old in page, "the page has changed; change this table too"
    assert differences(examples(page.replace(old, new, 1)), printed["docs/tutorial.md"]) != []
