"""What the tests of `backup` share: worlds, closed at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.backup.world import World


@pytest.fixture
def make_world(tmp_path: Path) -> Iterator[Callable[..., World]]:
    """Builds worlds."""
    made: list[World] = []

    def make(**how: Any) -> World:
        world = World(tmp_path / f"world{len(made)}", **how)
        made.append(world)
        return world

    yield make
    for world in made:
        world.close()


@pytest.fixture
def world(make_world: Callable[..., World]) -> World:
    """A workspace with the stock rules and one note."""
    world = make_world()
    world.rules()
    world.write("memory/note.md", "remember")
    return world
