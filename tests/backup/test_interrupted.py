"""A create that ends anywhere: nothing is acknowledged that is not so, and the next one goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.backup.world import World

from muniment.backup.service import Backups, picked_bytes
from muniment.errors import MunimentError, Unreachable
from muniment.record.consent import WitnessKind
from muniment.record.ledger import Ledger
from muniment.record.verify import verify

Worlds = Callable[..., World]


class Failing:
    """A stand-in for a vault that is lost at its nth call, before or after it has acted."""

    def __init__(self, world: World, at: int, *, after: bool) -> None:
        self._vault, self._left, self._after = world.vault, at, after
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._vault, name)
        if not callable(found):
            return found

        def call(*arguments: Any, **named: Any) -> Any:
            self.calls.append(name)
            self._left -= 1
            if self._left == 0 and not self._after:
                raise Unreachable(where=name)
            done = found(*arguments, **named)
            if self._left == 0:
                raise Unreachable(where=name)
            return done

        return call


def through(world: World, vault: object) -> Backups:
    room = world.backups
    return Backups(room.workspace, room.places, lambda: vault, room.options)  # type: ignore[arg-type, return-value]


def calls_of_one_create(world: World) -> int:
    watching = Failing(world, 10**9, after=False)
    planned = world.plan()
    world.confirm(planned)
    through(world, watching).create(planned.plan.plan_id)
    return len(watching.calls)


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_vault_that_is_lost_at_any_call(make_world: Worlds, after: bool) -> None:
    counted = make_world()
    counted.rules()
    counted.write("a", "a")
    counted.snapshot()
    counted.write("a", "b")
    total = calls_of_one_create(counted)
    assert total >= 6
    for at in range(1, total + 1):
        world = make_world()
        world.rules()
        world.write("a", "a")
        first = world.snapshot()
        world.write("a", "b")
        planned = world.plan()
        world.confirm(planned)
        room = through(world, Failing(world, at, after=after))
        with pytest.raises(MunimentError):
            room.create(planned.plan.plan_id)
        created = {one.subject for one in world.record.ledger.events() if one.kind == "backup.created"}
        assert created == {first.snapshot.id}, "it was refused, so it is not in the ledger yet"
        assert world.restored(first, "a").read_text() == "a"
        second = world.snapshot()
        assert world.restored(second, "a").read_text() == "b"
        assert verify(world.record.ledger).whole
        created = {one.subject for one in world.record.ledger.events() if one.kind == "backup.created"}
        assert created == {one.id for one in world.vault.list().snapshots}, "each is in the ledger once"
        world.close()


def test_a_snapshot_whose_event_was_lost_is_entered_by_the_next_act(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned = world.plan()
    world.confirm(planned)
    honest = Ledger.append

    def dying(self: Ledger, draft: Any) -> Any:
        if draft.kind == "backup.created":
            raise KeyboardInterrupt
        return honest(self, draft)

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "append", dying)
        with pytest.raises(KeyboardInterrupt):
            world.backups.create(planned.plan.plan_id)
    (stored,) = world.vault.list().snapshots
    assert not [one for one in world.record.ledger.events() if one.kind == "backup.created"]
    (listed,) = world.backups.list().snapshots
    assert listed.id == stored.id
    (event,) = [one for one in world.record.ledger.events() if one.kind == "backup.created"]
    assert event.subject == stored.id and event.evidence["recovered"] is True
    world.backups.list()
    assert len([one for one in world.record.ledger.events() if one.kind == "backup.created"]) == 1


def test_a_snapshot_that_this_ledger_never_announced_is_not_entered(make_world: Worlds, world: World) -> None:
    """Somebody who writes to the vault can not have his snapshot taken for ours."""
    stranger = make_world()
    stranger.rules()
    stranger.write("bait", "x")
    stranger.vault.close()
    stranger.vault = world.vault
    foreign = stranger.snapshot()
    assert [one.id for one in world.backups.list().snapshots] == [foreign.snapshot.id]
    assert not [one for one in world.record.ledger.events() if one.kind == "backup.created"]


KILLED = """
import os, signal, sqlite3, sys
from contextlib import closing
from pathlib import Path
from tests.backup.world import World
from muniment.backup import content

honest = content.copy_database

def dying(*arguments):
    honest(*arguments)
    os.kill(os.getpid(), signal.SIGKILL)

content.copy_database = dying
world = World(Path(sys.argv[1]))
world.rules()
with closing(sqlite3.connect(world.write("app.db", b""))) as base:
    base.execute("CREATE TABLE t (n INTEGER)")
world.snapshot()
"""


def test_copies_of_a_killed_run_are_removed_by_the_next_one(
    make_world: Worlds, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path / "killed")],
        env={**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    (left,) = temporary.iterdir()
    assert any(left.iterdir()), "a copy lies there"
    world = make_world()
    world.rules()
    world.snapshot()
    assert list(temporary.iterdir()) == []


def deletions(world: World) -> list[str]:
    return [one.subject for one in world.record.ledger.events() if one.kind == "backup.deleted"]


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_deletion_whose_answer_was_lost_is_told_by_the_next_act(world: World, after: bool) -> None:
    receipt = world.snapshot()
    shown = picked_bytes(receipt.snapshot)
    world.record.consents.give("delete", shown, WitnessKind.TERMINAL)
    # `show` is the first call of the vault, `delete` the second.
    with pytest.raises(Unreachable):
        through(world, Failing(world, 2, after=after)).delete(receipt.snapshot.id, receipt.snapshot.id, shown)
    assert deletions(world) == []
    world.backups.list()
    world.backups.list()
    if after:
        (told,) = [one for one in world.record.ledger.events() if one.kind == "backup.deleted"]
        assert told.subject == receipt.snapshot.id and told.evidence["recovered"] is True
        assert told.evidence["confirmation"]["witness"] == "terminal"
    else:
        assert deletions(world) == []
        assert world.restored(receipt, "memory/note.md").read_text() == "remember"
    assert verify(world.record.ledger).whole
