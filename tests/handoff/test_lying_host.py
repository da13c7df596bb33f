"""Whole conversations by seed: the gate believes exactly those children that the oracle knows honest."""

from __future__ import annotations

from collections import Counter

import pytest
from tests.handoff.lying_host import LIES, Child, Host
from tests.handoff.world import judge

from muniment.errors import MunimentError

SEEDS = 2_000
"""Conversations of one to four children each."""


def verdict(host: Host, child: Child) -> tuple[bool, set[str]]:
    try:
        trace = judge(host.world_of(child))
    except MunimentError as error:
        return False, {error.code}
    return trace.complete, {finding.code.value for finding in trace.findings}


def converse(seeds: range) -> Counter[str]:
    met: Counter[str] = Counter()
    for seed in seeds:
        host = Host(seed)
        for child in host.children:
            complete, codes = verdict(host, child)
            assert complete is child.told.honest, (seed, child.name, child.told, codes)
            for name in child.told.lies:
                assert codes & LIES[name].codes or child.told.harmed, (seed, child.name, name, codes)
            met.update(child.told.lies or ["honest"])
    return met


@pytest.mark.parametrize("part", range(4))
def test_the_gate_and_the_oracle_agree(part: int) -> None:
    share = SEEDS // 4
    met = converse(range(part * share, (part + 1) * share))
    assert met["honest"] > 200
    assert set(LIES) <= set(met), set(LIES) - set(met)


@pytest.mark.long
def test_many_more() -> None:
    converse(range(SEEDS, 40 * SEEDS))


def test_a_seed_tells_the_same_story_again() -> None:
    one, other = Host(7), Host(7)
    assert [one.world_of(child) for child in one.children] == [
        other.world_of(child) for child in other.children
    ]
