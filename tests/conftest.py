"""What all tests share: the catalogues are compiled before any of them runs; properties are not timed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hatch_build import compile_catalogues
from hypothesis import HealthCheck, settings
from tests.faults.stage import mounts_of_our_own

# The machine may be busy with something else.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")


def pytest_configure(config: pytest.Config) -> None:
    """Compile once, in the process that starts the others, so that none reads a half-written file."""
    if not hasattr(config, "workerinput"):
        compile_catalogues(Path(__file__).parent.parent)
    mounts_of_our_own()


@pytest.fixture(autouse=True)
def _stays_where_it_is() -> Iterator[None]:
    """A test that leaves its process in another folder would fail whichever test comes after it."""
    here = os.getcwd()
    yield
    there = os.getcwd()
    os.chdir(here)
    assert there == here
