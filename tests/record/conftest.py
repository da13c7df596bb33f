"""What the tests of `record` share: a workspace's root and the ledger in it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.record.ledgers import Desk

from muniment.disk.root import Root


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Root]:
    """A workspace's root; beside it is room for what must not be touched."""
    (tmp_path / "workspace").mkdir()
    with Root.open(tmp_path / "workspace") as opened:
        yield opened


@pytest.fixture
def desk(root: Root) -> Desk:
    """A ledger in that workspace, and its files."""
    return Desk(root)


@pytest.fixture
def swift() -> Iterator[Desk]:
    """The same in memory, for sweeps whose thousands of syncs would only wear a disk."""
    memory = "/dev/shm"
    parent = memory if os.access(memory, os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=parent) as place, Root.open(place) as opened:
        yield Desk(opened)
