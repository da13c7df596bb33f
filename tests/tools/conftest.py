"""Tools: what every conversation of these tests has: an era of the protocol, and checked answers."""

from __future__ import annotations

import pytest
from tests.tools.server import ERAS, Era


@pytest.fixture(params=ERAS)
def era(request: pytest.FixtureRequest) -> Era:
    found: Era = request.param
    return found
