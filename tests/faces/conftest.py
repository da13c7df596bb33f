"""What the tests of the faces share: somebody at work in a fresh workspace."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.faces.at_work import AtWork


@pytest.fixture
def outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AtWork:
    """Somebody in a folder that is no workspace yet, with no settings anywhere."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    return AtWork((tmp_path / "work").resolve(), monkeypatch)


@pytest.fixture
def work(outside: AtWork) -> AtWork:
    """The same, with the workspace opened."""
    outside.done("init")
    return outside
