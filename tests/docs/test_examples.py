"""Documentation: what the pages show is what the program prints."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.docs.examples import PAGES, PROJECT, examples, run, settled


@pytest.mark.parametrize("name", [page for page in PAGES if "zh" not in page])
def test_the_examples_of_a_page_run_and_print_what_it_shows(name: str, tmp_path: Path) -> None:
    """The other README has the same blocks, byte for byte, by a test of its own."""
    found = examples((PROJECT / name).read_text("utf-8"))
    printed = run([one.command for one in found], tmp_path / "ada")
    compared = [(one, text) for one, text in zip(found, printed, strict=True) if one.shown]
    assert len(compared) >= 3
    fresh = "written by: python tests/docs/examples.py --write"
    assert settled([one.shown for one, _ in compared]) == settled([text for _, text in compared]), fresh
    for one, text in zip(found, printed, strict=True):
        assert "Traceback" not in text and "not found" not in text, one.command
