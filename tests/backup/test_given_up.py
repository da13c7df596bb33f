"""A snapshot that was announced and never came: given up once that is sure, and no sooner."""

from __future__ import annotations

from typing import Any

import pytest
from tests.backup.world import World

from muniment.backup.subject import CREATED, CREATING, GIVEN_UP, BackupSubject
from muniment.errors import MunimentError, Unreachable
from muniment.record.event import Draft


class Refuses:
    """The real vault, which does not end an upload; or does, and its answer is lost."""

    def __init__(self, vault: Any, *, stores: bool = False, away: bool = False) -> None:
        self._vault, self._stores, self._away, self._ended = vault, stores, away, False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._vault, name)

    def finish(self, *arguments: Any, **more: Any) -> Any:
        self._ended = True
        if self._stores:
            self._vault.finish(*arguments, **more)
        raise Unreachable(where="vault")

    def list(self) -> Any:
        if self._ended and self._away:
            raise Unreachable(where="vault")
        return self._vault.list()


def kinds(world: World) -> list[str]:
    return [event.kind for event in world.record.ledger.events(containing=b'"kind":"backup.')]


def unfinished(world: World) -> list[str]:
    return [one.state for one in BackupSubject(world.places, world.record.ledger).unfinished()]


def fail(world: World, **how: bool) -> None:
    honest = world.vault
    world.vault = Refuses(honest, **how)  # type: ignore[assignment]
    with pytest.raises(MunimentError):
        world.snapshot()
    world.vault = honest


def test_a_vault_that_did_not_take_it(world: World) -> None:
    fail(world)
    assert kinds(world) == [CREATING, GIVEN_UP]
    assert unfinished(world) == []


def test_a_vault_that_took_it_and_could_not_say_so(world: World) -> None:
    fail(world, stores=True)
    assert kinds(world) == [CREATING]
    assert unfinished(world) == ["announced"]
    world.backups.list()
    assert kinds(world) == [CREATING, CREATED]


def test_a_vault_that_is_away_is_asked_later(world: World) -> None:
    fail(world, away=True)
    assert unfinished(world) == ["announced"], "nobody knows"
    world.backups.list()
    assert kinds(world) == [CREATING, GIVEN_UP]
    world.backups.list()
    assert kinds(world) == [CREATING, GIVEN_UP], "once is enough"


def test_not_while_another_act_is_at_work_on_it(world: World) -> None:
    fail(world, away=True)
    with world.record.working():
        world.backups.list()
    assert kinds(world) == [CREATING]


def test_one_that_comes_after_all_is_entered(world: World) -> None:
    """It was given up, and is found in the vault later."""
    fail(world, stores=True)
    (begun,) = world.record.ledger.events(containing=b'"kind":"backup.')
    world.record.ledger.append(Draft(GIVEN_UP, begun.subject, {"root": begun.evidence["root"]}))
    world.backups.list()
    assert kinds(world) == [CREATING, GIVEN_UP, CREATED]


def test_what_was_announced_to_another_vault_stands(world: World) -> None:
    world.record.ledger.append(Draft(CREATING, "f" * 64, {"root": "a" * 64, "vault": "another"}))
    world.backups.list()
    assert kinds(world) == [CREATING]
