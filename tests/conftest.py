"""What all tests share: the catalogues are compiled before any of them runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from hatch_build import compile_catalogues


def pytest_configure(config: pytest.Config) -> None:
    """Compile once, in the process that starts the others, so that none reads a half-written file."""
    if not hasattr(config, "workerinput"):
        compile_catalogues(Path(__file__).parent.parent)
