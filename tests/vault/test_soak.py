"""Tenants at work for a while, against a model: no difference (issue 9, must show 6)."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.vault.servers import Served
from tests.vault.soak import soak

from muniment.vault.examine import examine
from muniment.vault.tenants import SERVED


def all_sound(served: Served) -> None:
    """Nothing is wrong in any tenant's vault."""
    for name in served.tenants.names():
        with served.tenants.using(name) as tenant:
            assert examine(tenant.store).findings == []


def test_a_few_tenants_for_a_moment(quick_path: Path) -> None:
    served = Served(quick_path / "served", SERVED)
    try:
        assert soak(served, tenants=4, rounds=6, acts=12, seed=1) == 4 * 6 * 12
        all_sound(served)
    finally:
        served.close()


@pytest.mark.long
def test_twenty_tenants_for_ten_minutes(quick_path: Path) -> None:
    """So many acts take about ten minutes on two cores."""
    served = Served(quick_path / "served", SERVED)
    try:
        assert soak(served, tenants=20, rounds=140, acts=40, seed=20261130) == 20 * 140 * 40
        all_sound(served)
    finally:
        served.close()
