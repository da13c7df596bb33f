"""Job: one registry and one store a runtime for all tests with containers."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.job.bench import Bench, benches


@pytest.fixture(scope="session")
def all_benches() -> Iterator[dict[str, Bench]]:
    # Short, for the names of sockets; and never in memory, where stores can not lie.
    with (
        tempfile.TemporaryDirectory(prefix="mct-", dir="/tmp", ignore_cleanup_errors=True) as place,
        benches(Path(place)) as found,
    ):
        yield found


@pytest.fixture(params=["podman", "docker"])
def bench(request: pytest.FixtureRequest, all_benches: dict[str, Bench]) -> Bench:
    """Each runtime in turn: whatever a test says holds for both."""
    return all_benches[request.param]
