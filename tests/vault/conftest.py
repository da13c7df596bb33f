"""What the tests of `vault` share: a vault in a folder, a served one and a caller of it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.vault.servers import Served
from tests.vault.sites import Folder
from tests.vault.table_client import TableClient

from muniment.vault.tenants import SERVED


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


@pytest.fixture
def served(quick_path: Path) -> Iterator[Served]:
    """A server with the limits of a served tenant."""
    found = Served(quick_path / "served", SERVED)
    yield found
    found.close()


@pytest.fixture
def one(served: Served) -> TableClient:
    """A caller."""
    return TableClient(served.port, served.token())
