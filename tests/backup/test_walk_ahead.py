"""What another process walks is what this one would have walked, also where that process is lost."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest
from tests.backup.world import World

from muniment.backup import taking, walk_ahead
from muniment.backup.excludes import Excludes
from muniment.backup.model import Request
from muniment.backup.survey import excludes_of
from muniment.backup.walk import Many, Seen, Walk
from muniment.backup.walk_ahead import WalksAhead
from muniment.bundle.model import Fault
from muniment.disk import platform
from muniment.message import say

pytestmark = pytest.mark.skipif(not platform.LINUX, reason="processes are forked on Linux only")


def walked_elsewhere(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on another process walks, however little there is."""
    world.workers = 1
    monkeypatch.setattr(taking, "FORK_FROM", 0)
    monkeypatch.setattr(walk_ahead, "may_fork", lambda: True)


@pytest.fixture
def tree(world: World) -> World:
    """A workspace with everything that a walk tells apart."""
    world.rules(excludes=["secret", "*.tmp"])
    for name in ("a", "a.txt", "a/b", "a-b/c", "行/列 🚀.md", "deep/er/and/deeper"):
        world.write(name if "/" in name or "." in name else f"{name}/inside", name)
    for number in range(600):
        world.write(f"many/{number:04}.md", str(number))
    (world.workspace / os.fsdecode(b"caf\xe9 \xff")).write_bytes(b"latin")
    (world.workspace / "empty").mkdir()
    for name, target in {"in": "memory/note.md", "far": "/etc/passwd", "gone": "nowhere"}.items():
        (world.workspace / name).symlink_to(target)
    for name in ("secret/key", "x.tmp", "a/y.tmp"):
        world.write(name)
    os.mkfifo(world.workspace / "pipe")
    with closing(sqlite3.connect(world.workspace / "app.db")) as base, base:
        base.execute("CREATE TABLE t (n)")
    world.write("app.db-wal", b"")
    return world


class Place:
    """The same folder, walked as often as one likes."""

    def __init__(self, world: World) -> None:
        self.fd = os.open(world.workspace, os.O_RDONLY | os.O_DIRECTORY)
        self.excludes: Excludes = excludes_of(world.places, world.backups.rules()[0], "default")

    def walk(self, **how: Any) -> Walk:
        return Walk(self.fd, "workspace", self.excludes, "files/workspace", **how)


@pytest.fixture
def place(tree: World) -> Iterator[Place]:
    place = Place(tree)
    yield place
    os.close(place.fd)


def one_by_one(parts: Iterator[Seen | Many]) -> list[Seen]:
    return [one for part in parts for one in (part.each() if isinstance(part, Many) else (part,))]


@pytest.fixture
def forked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The processes that were begun."""
    begun: list[int] = []
    fork = os.fork

    def noted() -> int:
        pid = fork()
        if pid:
            begun.append(pid)
        return pid

    monkeypatch.setattr(os, "fork", noted)
    monkeypatch.setattr(walk_ahead, "may_fork", lambda: True)
    return begun


@pytest.mark.parametrize(
    "how", [{}, {"settled_ns": 0}, {"raw_databases": True}, {"keep_outside_links": True}]
)
def test_it_gives_the_same(place: Place, forked: list[int], how: dict[str, Any]) -> None:
    here, there, again = (place.walk(**how) for _ in range(3))
    with WalksAhead([there, again]) as ahead:
        wanted = list(here.parts())
        assert list(ahead.parts(there)) == wanted and list(ahead.parts(again)) == wanted
    assert there.exclusions == again.exclusions == here.exclusions != []
    (pid,) = forked
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_who_else_lists_the_same_folder_takes_nothing_away(place: Place) -> None:
    """How far a listing has come belongs to what was opened, which a forked process shares."""
    wanted = list(place.walk().parts())
    with os.scandir(place.fd) as other:
        next(other)
        assert list(place.walk().parts()) == wanted
        assert list(place.walk().parts()) == wanted


def test_a_process_that_is_lost_while_it_lists_takes_nothing_away(
    place: Place, forked: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    here, pid = place.walk(), os.getpid()
    wanted = one_by_one(here.parts())
    scandir = os.scandir

    def cut(fd: int) -> Any:
        listing = scandir(fd)
        if os.getpid() != pid:
            next(listing)
            os._exit(1)
        return listing

    monkeypatch.setattr(os, "scandir", cut)
    walk = place.walk()
    with WalksAhead([walk]) as ahead:
        assert one_by_one(ahead.parts(walk)) == wanted
    assert forked and walk.exclusions == here.exclusions


def test_what_could_not_be_read_is_told(
    place: Place, forked: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    scandir = os.scandir

    def refused(fd: int) -> Any:
        if os.readlink(f"/proc/self/fd/{fd}").endswith("/deep/er"):
            raise OSError(errno.EIO, "broken")
        return scandir(fd)

    monkeypatch.setattr(os, "scandir", refused)
    there = place.walk()
    with WalksAhead([there]) as ahead:
        list(ahead.parts(there))
    why = say("it could not be read: {error}", error="broken")
    assert [(one.path, one.kind) for one in there.faults] == [("files/workspace/deep/er", "left_out")]
    assert isinstance(there.faults[0], Fault) and type(there.faults[0].finding) is type(why)
    assert forked


def test_a_process_that_is_lost_anywhere_is_done_without(
    place: Place, forked: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ended after each of its values in turn; one that ends in the middle of two walks among them."""
    here = place.walk()
    wanted = one_by_one(here.parts())
    told = walk_ahead._told
    monkeypatch.setattr("muniment.bundle.ahead.TOGETHER", 1)
    values = len(list(told([place.walk()])))
    for most in range(0, 2 * values, 3):

        def cut(walks: list[Walk], most: int = most) -> Iterator[tuple[Any, ...]]:
            for number, value in enumerate(told(walks)):
                if number == most:
                    os._exit(1)
                yield value

        monkeypatch.setattr(walk_ahead, "_told", cut)
        walks = [place.walk(), place.walk()]
        with WalksAhead(walks) as ahead:
            for walk in walks:
                assert one_by_one(ahead.parts(walk)) == wanted
                assert walk.exclusions == here.exclusions
    assert len(forked) > values // 2


def test_what_came_and_went_meanwhile_stands_there_once(
    tree: World, place: Place, forked: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process is lost within a large folder, which then is another."""
    told = walk_ahead._told
    monkeypatch.setattr("muniment.bundle.ahead.TOGETHER", 1)
    walk = place.walk()
    first = next(part for part in place.walk().parts() if isinstance(part, Many) and part.below == "many/")
    last = os.fsdecode(first.part.last)

    def cut(walks: list[Walk]) -> Iterator[tuple[Any, ...]]:
        for value in told(walks):
            yield value
            if value[1] == "many/":
                os._exit(1)

    monkeypatch.setattr(walk_ahead, "_told", cut)
    with WalksAhead([walk]) as ahead:
        parts = ahead.parts(walk)
        seen: list[str] = []
        for part in parts:
            seen += [one.rel for one in (part.each() if isinstance(part, Many) else (part,))]
            if seen[-1] == f"many/{last}":
                break
        tree.write("many/0000.later", "before where it stood")
        tree.write("many/9999.md", "after it")
        (tree.workspace / "many" / "0599.md").unlink()
        seen += [one.rel for one in one_by_one(parts)]
    assert len(seen) == len(set(seen)) and [*map(os.fsencode, seen)] == sorted(map(os.fsencode, seen))
    assert "many/9999.md" in seen and "many/0599.md" not in seen and "many/0000.later" not in seen


@pytest.mark.parametrize("call", ["pipe", "fork"])
def test_where_none_can_be_had_it_is_walked_here(
    place: Place, forked: list[int], monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    def refused() -> None:
        raise OSError(errno.EAGAIN, "no more")

    wanted = list(place.walk().parts())
    monkeypatch.setattr(os, call, refused)
    before = len(os.listdir("/proc/self/fd"))
    walk = place.walk()
    with WalksAhead([walk]) as ahead:
        assert list(ahead.parts(walk)) == wanted
        assert len(os.listdir("/proc/self/fd")) == before


def test_what_goes_wrong_there_goes_wrong_here(
    place: Place, forked: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*arguments: object) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(os, "scandir", broken)
    with WalksAhead([walk := place.walk()]) as ahead, pytest.raises(RuntimeError, match="broken"):
        list(ahead.parts(walk))


def test_nothing_is_left_of_it_when_it_is_not_heard_to_the_end(place: Place, forked: list[int]) -> None:
    before = len(os.listdir("/proc/self/fd"))
    with WalksAhead([walk := place.walk()]) as ahead:
        next(ahead.parts(walk))
    with pytest.raises(ProcessLookupError):
        os.kill(forked[0], 0)
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize("layout", ["generic", "starchild"])
def test_a_snapshot_is_the_same(
    make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch, layout: str, forked: list[int]
) -> None:
    """Both sections of it, with a further folder between; also when nothing has changed since."""
    world = make_world(layout=layout)
    world.rules()
    for number in range(300):
        world.write(f"notes/{number:03}.md", str(number))
        world.write(f"notes/{number:03}/x.tmp")
    further = world.place / "further"
    further.mkdir()
    (further / "one").write_text("1")
    api = world.place / "api"
    api.mkdir()
    (api / "settings.json").write_text("{}")
    request = Request(include=(str(further),), exclude=("*.tmp",), api_dir=str(api))
    here = world.snapshot(request)
    walked_elsewhere(world, monkeypatch)
    there, again = world.snapshot(request), world.snapshot(request)
    assert len(forked) >= 2  # one that walks for each, and one that packs where that may be
    assert world.paths(here) == world.paths(there) == world.paths(again)
    assert world.exclusions(here) == world.exclusions(there) == world.exclusions(again)
    for receipt in (there, again):
        assert world.reading(receipt).verify().files == receipt.files
