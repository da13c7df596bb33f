"""Documentation: the changelog is made of fragments, and the fragments make a changelog."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib

from tests.docs.tables import PROJECT

CONFIGURED = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))["tool"]["towncrier"]
FRAGMENTS = sorted(path for path in (PROJECT / "changelog.d").iterdir() if path.name != ".gitignore")


def test_fragments_have_a_kind_and_a_sentence() -> None:
    kinds = "|".join(kind["directory"] for kind in CONFIGURED["type"])
    for fragment in FRAGMENTS:
        assert re.fullmatch(rf"(\d+|\+[a-z0-9-]+)\.({kinds})(\.\d+)?\.md", fragment.name), fragment.name
        assert fragment.read_text("utf-8").strip().endswith("."), fragment.name


def test_the_place_for_the_next_version_is_there() -> None:
    assert CONFIGURED["start_string"] in (PROJECT / "CHANGELOG.md").read_text("utf-8")


def test_a_version_can_be_made_of_them() -> None:
    draft = subprocess.run(
        [sys.executable, "-m", "towncrier", "build", "--draft", "--version", "9.9.9", "--date", "2026-11-30"],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert draft.returncode == 0, draft.stderr
    assert "## 9.9.9 (2026-11-30)" in draft.stdout
    for fragment in FRAGMENTS:
        assert " ".join(fragment.read_text("utf-8").split())[:60] in " ".join(draft.stdout.split())
