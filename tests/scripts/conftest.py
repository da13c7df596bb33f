"""What the tests of the scripts share: one server, and an agent whose scripts are installed."""

from __future__ import annotations

import itertools
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.scripts.agent import Agent
from tests.vault.load import Process

_NUMBERS = itertools.count()


@pytest.fixture(scope="session")
def server() -> Iterator[Process]:
    """`muniment serve` as a process of its own, in memory where there is some."""
    memory = Path("/dev/shm")
    place = memory if os.access(memory, os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=place, prefix="muniment-test-") as folder:
        found = Process(Path(folder))
        found.begin()
        yield found
        found.end()


@pytest.fixture
def bare(tmp_path: Path, server: Process) -> Agent:
    """An agent of a user of its own, with scripts and nothing else."""
    agent = Agent(tmp_path / "star", server, user=f"user-{next(_NUMBERS)}")
    done = agent.muniment("install", "starchild", "--json")
    assert done.returncode == 0, done.stderr
    return agent


@pytest.fixture
def agent(bare: Agent) -> Agent:
    """An agent with something to save."""
    bare.furnish()
    return bare


@pytest.fixture(scope="module")
def caller(tmp_path_factory: pytest.TempPathFactory) -> Agent:
    """An agent with scripts and no vault, for calls that change nothing; one a module."""
    agent = Agent(tmp_path_factory.mktemp("caller") / "star", None)
    done = agent.muniment("install", "starchild", "--json")
    assert done.returncode == 0, done.stderr
    return agent
