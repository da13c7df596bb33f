"""What the tests of `vault` share: a vault in a folder."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.vault.sites import Folder


@pytest.fixture
def quick_path(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one: a vault syncs often, and what that is worth is for the
    fault harness to say, on a real disk."""
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=memory, prefix="muniment-test-") as place:
        yield Path(place)


@pytest.fixture
def folder(quick_path: Path) -> Iterator[Folder]:
    """A new vault in a folder."""
    site = Folder(quick_path / "vault")
    yield site
    site.close()
