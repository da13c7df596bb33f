"""The verified move on one file system: nothing is lost, overwritten, or changed by others later."""

from __future__ import annotations

import mmap
import os
import resource
import stat
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from tests.disk import trees
from tests.disk.processes import PLAIN_USER, in_child, open_the_way
from tests.disk.test_write import flip

from muniment.disk import copy, move, platform
from muniment.disk.copy import copy_verified
from muniment.disk.errors import (
    AlreadyThere,
    IntoItself,
    NotThere,
    PutBackFailed,
    ReadbackFailed,
    SourceBusy,
    SourceChanged,
    SourceNotRemoved,
)
from muniment.disk.move import aside_of, give_up_source, move_verified
from muniment.disk.root import Root
from muniment.disk.tree import measure
from muniment.errors import MunimentError
from muniment.path import RelPath

OLD, NEW = RelPath.parse("old"), RelPath.parse("new")


def put(place: Path, kind: str) -> None:
    if kind == "tree":
        trees.build(place / "old")
    else:
        (place / "old").write_bytes(b"deliverable" * 1000)


@pytest.mark.parametrize("act", ["move", "copy"])
def test_everything_about_a_tree_survives(root: Root, place: Path, act: str) -> None:
    trees.build(place / "old")
    before = trees.look(place / "old")
    measured = measure(root, OLD, refuse_writers=True)
    if act == "move":
        moved = move_verified(root, OLD, root, NEW, measured)
        assert not moved.copied and moved.table == measured.table
    else:
        assert copy_verified(root, OLD, root, NEW, measured) == measured.table
        assert trees.look(place / "old") == before
    assert trees.look(place / "new") == before
    assert sorted(os.listdir(place)) == (["new"] if act == "move" else ["new", "old"])


def test_between_two_roots(root: Root, place: Path, tmp_path: Path) -> None:
    put(place, "tree")
    before = trees.look(place / "old")
    (tmp_path / "other").mkdir()
    with Root.open(tmp_path / "other") as other:
        move_verified(root, OLD, other, NEW, measure(root, OLD))
    assert trees.look(tmp_path / "other" / "new") == before and os.listdir(place) == []


@pytest.mark.parametrize("act", [move_verified, copy_verified])
@pytest.mark.parametrize("kind", ["file", "tree"])
@pytest.mark.parametrize("taken", ["file", "folder", "full folder", "dangling link", "itself"])
def test_a_taken_name_is_never_written_over(
    root: Root, place: Path, kind: str, taken: str, act: Callable[..., object]
) -> None:
    put(place, kind)
    target = OLD if taken == "itself" else NEW
    if taken == "file":
        (place / "new").write_bytes(b"theirs")
    elif taken == "dangling link":
        (place / "new").symlink_to("nowhere")
    elif taken != "itself":
        (place / "new").mkdir()
    if taken == "full folder":
        (place / "new" / "theirs").write_bytes(b"theirs")
    before = trees.look(place)
    with pytest.raises((AlreadyThere, IntoItself) if taken == "itself" else AlreadyThere):
        act(root, OLD, root, target, measure(root, OLD))
    after = trees.look(place)
    assert {name: entry for name, entry in after.items() if name != "."} == {
        name: entry for name, entry in before.items() if name != "."
    }


@pytest.mark.parametrize("act", [move_verified, copy_verified])
@pytest.mark.parametrize("target", ["old/new", "old/sub/new", "old/sub/deep/new"])
def test_a_folder_does_not_go_into_itself(
    root: Root, place: Path, target: str, act: Callable[..., object]
) -> None:
    put(place, "tree")
    before = trees.look(place / "old")
    with pytest.raises(IntoItself):
        act(root, OLD, root, RelPath.parse(target), measure(root, OLD))
    with root.below(RelPath.parse("old/sub")) as inner, pytest.raises(IntoItself):
        act(root, OLD, inner, NEW, measure(root, OLD))
    assert trees.look(place / "old") == before


@pytest.mark.parametrize("act", [move_verified, copy_verified])
def test_what_is_missing_is_named(root: Root, place: Path, act: Callable[..., object]) -> None:
    put(place, "file")
    measured = measure(root, OLD)
    with pytest.raises(NotThere) as caught:
        act(root, OLD, root, RelPath.parse("no/new"), measured)
    assert caught.value.where.startswith("no")
    (place / "old").unlink()
    with pytest.raises(NotThere) as caught:
        act(root, OLD, root, NEW, measured)
    assert caught.value.where == "old"
    assert os.listdir(place) == []


def test_a_file_that_is_open_for_writing_is_busy(root: Root, place: Path) -> None:
    put(place, "tree")
    for flags in (os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_APPEND):
        fd = os.open(place / "old/sub/big", flags)
        with pytest.raises(SourceBusy) as caught:
            measure(root, OLD, refuse_writers=True)
        assert caught.value.where == "old/sub/big"
        os.close(fd)
    fd = os.open(place / "old/sub/big", os.O_RDONLY)
    assert measure(root, OLD, refuse_writers=True).writers_known
    os.close(fd)


def test_a_file_that_is_mapped_for_writing_is_busy(root: Root, place: Path) -> None:
    put(place, "file")
    with open(place / "old", "r+b") as stream:
        mapped = mmap.mmap(stream.fileno(), 4096)
    with pytest.raises(SourceBusy):
        measure(root, OLD, refuse_writers=True)
    mapped.close()
    assert measure(root, OLD, refuse_writers=True).writers_known


def hooked(monkeypatch: pytest.MonkeyPatch, name: str, late: Callable[[], object]) -> None:
    """Do something just before a function is called for the first time."""
    call = getattr(move, name)

    def first(*args: object, **named: object) -> object:
        monkeypatch.setattr(move, name, call)
        late()
        return call(*args, **named)

    monkeypatch.setattr(move, name, first)


@pytest.mark.parametrize("kind", ["file", "tree"])
def test_bytes_that_differ_when_read_back_put_everything_back(
    root: Root, place: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    put(place, kind)
    measured = measure(root, OLD)
    path = place / ("new" if kind == "file" else "new/sub/big")
    hooked(monkeypatch, "confirm", lambda: flip(path))
    with pytest.raises(ReadbackFailed):
        move_verified(root, OLD, root, NEW, measured)
    assert os.listdir(place) == ["old"]
    flip(place / "old" if kind == "file" else place / "old/sub/big")
    assert measure(root, OLD).table == measured.table


def test_a_source_that_changed_is_called_changed_and_put_back(
    root: Root, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(place, "tree")
    measured = measure(root, OLD)
    (place / "old/a.md").write_bytes(b"another text")
    for act in (move_verified, copy_verified):
        with pytest.raises(SourceChanged):
            act(root, OLD, root, NEW, measured)
        assert os.listdir(place) == ["old"]
    assert (place / "old/a.md").read_bytes() == b"another text"


def _link(path: Path, target: str) -> Path:
    path.symlink_to(target)
    return path


def _file(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


CHANGES: dict[str, Callable[[Path], object]] = {
    "a file more": lambda top: (top / "more").write_bytes(b""),
    "a file less": lambda top: (top / "a.md").unlink(),
    "a folder more": lambda top: (top / "more").mkdir(),
    "a link elsewhere": lambda top: os.replace(_link(top / "sub/x", "/"), top / "sub/inside"),
    "a file for a link": lambda top: os.replace(_file(top / "sub/x", b"# a\n"), top / "sub/inside"),
    "same size": lambda top: (top / "a.md").write_bytes(b"# b\n"),
}


def kinds_and_content(top: Path) -> dict[str, tuple[str, str]]:
    """What stands in a tree of `trees`, but for what is another at each building."""
    return {
        name: (kind, what) for name, (kind, _, _, what, _) in trees.look(top).items() if name != "sub/big"
    }


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("when", ["before", "after the rename", "after the copy", "after it was set aside"])
def test_any_change_in_between_is_seen(
    root: Root, place: Path, monkeypatch: pytest.MonkeyPatch, change: str, when: str
) -> None:
    put(place, "tree")
    if "copy" in when or "aside" in when:
        os.link(place / "old/a.md", place / "other name")
    measured = measure(root, OLD)
    token = "act"
    if when == "before":
        CHANGES[change](place / "old")
    elif when == "after the rename":
        hooked(monkeypatch, "confirm", lambda: CHANGES[change](place / "new"))
    elif when == "after the copy":
        hooked(monkeypatch, "give_up_source", lambda: CHANGES[change](place / "old"))
    else:
        aside = place / aside_of(OLD, token).name
        hooked(monkeypatch, "check_stamps", lambda: CHANGES[change](aside))
    with pytest.raises(SourceChanged):
        move_verified(root, OLD, root, NEW, measured, token=token)
    assert sorted(set(os.listdir(place)) - {"other name"}) == ["old"]
    again = place / "again"
    trees.build(again)
    CHANGES[change](again)
    assert kinds_and_content(place / "old") == kinds_and_content(again), "the change itself is kept"


def test_a_writer_that_comes_during_the_move(
    root: Root, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(place, "tree")
    measured = measure(root, OLD, refuse_writers=True)
    opened: list[int] = []
    hooked(monkeypatch, "_rename", lambda: opened.append(os.open(place / "old/a.md", os.O_WRONLY)))
    with pytest.raises(SourceBusy):
        move_verified(root, OLD, root, NEW, measured)
    assert os.listdir(place) == ["old"]
    os.write(opened[0], b"late")
    os.close(opened[0])
    with pytest.raises(SourceChanged):
        move_verified(root, OLD, root, NEW, measured)
    assert (place / "old/a.md").read_bytes() == b"late"


def test_another_name_can_not_change_what_was_moved(root: Root, place: Path) -> None:
    put(place, "file")
    os.link(place / "old", place / "other name")
    measured = measure(root, OLD)
    assert measured.linked_outside
    assert move_verified(root, OLD, root, NEW, measured).copied
    (place / "other name").write_bytes(b"changed through the other name")
    assert measure(root, NEW).table == measured.table
    assert sorted(os.listdir(place)) == ["new", "other name"]


def test_another_name_inside_a_tree_is_no_way_in(root: Root, place: Path) -> None:
    put(place, "tree")
    os.link(place / "old/a.md", place / "old/sub/again")
    measured = measure(root, OLD)
    assert not measured.linked_outside
    assert not move_verified(root, OLD, root, NEW, measured).copied
    os.link(place / "new/a.md", place / "other name")
    measured = measure(root, NEW)
    assert measured.linked_outside and move_verified(root, NEW, root, OLD, measured).copied
    (place / "other name").write_bytes(b"changed")
    assert measure(root, OLD).table == measured.table


def test_another_name_given_in_between(root: Root, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(place, "file")
    measured = measure(root, OLD)
    hooked(monkeypatch, "_rename", lambda: os.link(place / "old", place / "other name"))
    with pytest.raises(SourceChanged):
        move_verified(root, OLD, root, NEW, measured)
    assert sorted(os.listdir(place)) == ["old", "other name"]
    assert move_verified(root, OLD, root, NEW, measure(root, OLD)).copied


@pytest.mark.parametrize("copying", [False, True])
def test_a_source_name_that_is_taken_meanwhile(
    root: Root, place: Path, monkeypatch: pytest.MonkeyPatch, copying: bool
) -> None:
    put(place, "file")
    if copying:
        os.link(place / "old", place / "other name")
    measured = measure(root, OLD)

    def late() -> None:
        (place / "old").write_bytes(b"theirs")
        raise SourceChanged(where="a fault of the test")

    hooked(monkeypatch, "check_stamps" if copying else "confirm", late)
    with pytest.raises(PutBackFailed) as caught:
        move_verified(root, OLD, root, NEW, measured, token="act")
    assert caught.value.facts["source"] == "old" and isinstance(caught.value.__cause__, AlreadyThere)
    assert (place / "old").read_bytes() == b"theirs"
    left = Path(caught.value.where)
    assert left == place / ("new" if not copying else aside_of(OLD, "act").name)
    assert measure(root, RelPath.parse(left.name)).table == measured.table


def test_a_removal_that_stops_midway_says_where_the_content_is(
    root: Root, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(place, "tree")
    os.link(place / "old/a.md", place / "other name")
    measured = measure(root, OLD)
    unlink, calls = os.unlink, 0

    def failing(*args: object, **named: object) -> None:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise OSError(5, "Input/output error")
        unlink(*args, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "unlink", failing)
    with pytest.raises(SourceNotRemoved) as caught:
        move_verified(root, OLD, root, NEW, measured, token="act")
    assert caught.value.facts["target"] == str(place / "new")
    assert caught.value.where == aside_of(OLD, "act").name
    assert measure(root, NEW).table == measured.table
    assert (place / aside_of(OLD, "act").name).is_dir() and not (place / "old").exists()


@pytest.mark.parametrize("listed", ["first", "last"])
def test_what_came_into_the_source_after_the_last_look_is_not_removed(
    root: Root, place: Path, monkeypatch: pytest.MonkeyPatch, listed: str
) -> None:
    put(place, "tree")
    measured = measure(root, OLD)
    copy_verified(root, OLD, root, NEW, measured)
    aside = place / aside_of(OLD, "act").name
    hooked(monkeypatch, "remove_tree", lambda: (aside / "~").write_bytes(b"came late"))
    listdir = os.listdir
    monkeypatch.setattr(os, "listdir", lambda at: sorted(listdir(at), reverse=listed == "first"))
    with pytest.raises(SourceChanged if listed == "first" else SourceNotRemoved):
        give_up_source(root, OLD, root, NEW, measured, "act")
    # Met first, all is put back; met last, the rest of the source is gone and its copy stands.
    left = place / "old" if listed == "first" else aside
    assert (left / "~").read_bytes() == b"came late"
    assert (place / "new").exists() is (listed == "last")


def test_a_read_only_folder_is_given_up_too(place: Path) -> None:
    put(place, "file")
    top = place / "old tree"
    (top / "locked").mkdir(parents=True)
    (top / "locked" / "file").write_bytes(b"x")
    (top / "locked" / "twice").write_bytes(b"y")
    os.link(top / "locked" / "twice", place / "other name")
    (top / "locked").chmod(0o555)
    open_the_way(place, 0o001)
    for path in [place, *place.rglob("*")]:
        os.chown(path, PLAIN_USER, PLAIN_USER)

    def plain() -> object:
        with Root.open(place) as root:
            old = RelPath.parse("old tree")
            return move_verified(root, old, root, NEW, measure(root, old)).copied

    assert in_child(plain, user=PLAIN_USER) is True
    assert sorted(os.listdir(place)) == ["new", "old", "other name"]
    assert stat.S_IMODE((place / "new/locked").stat().st_mode) == 0o555


def test_files_that_a_user_may_not_read(place: Path) -> None:
    put(place, "tree")
    open_the_way(place, 0o005)
    os.chown(place, PLAIN_USER, PLAIN_USER)
    before = trees.look(place / "old")

    def plain() -> object:
        with Root.open(place) as root:
            return str(measure(root, OLD).table.digest)

    assert in_child(plain, user=PLAIN_USER) == "NO_PERMISSION"
    assert trees.look(place / "old") == before


def test_a_copy_by_another_user_never_runs_with_that_user_s_rights(place: Path) -> None:
    put(place, "file")
    (place / "old").chmod(0o6755)
    open_the_way(place, 0o005)
    place.chmod(0o777)

    def plain() -> object:
        with Root.open(place) as root:
            copy_verified(root, OLD, root, NEW, measure(root, OLD))
        return "copied"

    assert in_child(plain, user=PLAIN_USER) == "copied"
    found = (place / "new").stat()
    assert (found.st_uid, stat.S_IMODE(found.st_mode)) == (PLAIN_USER, 0o755)
    with Root.open(place) as root:
        copy_verified(root, OLD, root, RelPath.parse("by root"), measure(root, OLD))
    assert stat.S_IMODE((place / "by root").stat().st_mode) == 0o6755


def test_an_owner_that_can_not_be_given_is_no_fault(
    root: Root, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: object) -> None:
        raise OSError(22, "Invalid argument")

    monkeypatch.setattr(os, "fchown", refuse)
    put(place, "file")
    copy_verified(root, OLD, root, NEW, measure(root, OLD))
    assert (place / "new").exists()


@pytest.mark.parametrize(
    "parts",
    [
        [],
        [(0, b"head")],
        [(8 << 20, b"tail")],
        [(0, b"head"), (3 << 20, b"middle" * 1000), (6 << 20, b"x")],
        [(1, b"x"), ((2 << 20) - 1, b"yy")],
    ],
)
def test_a_sparse_file_stays_sparse(root: Root, place: Path, parts: list[tuple[int, bytes]]) -> None:
    with open(place / "old", "wb") as stream:
        stream.truncate(12 << 20)
        for offset, data in parts:
            stream.seek(offset)
            stream.write(data)
    whole = (place / "old").read_bytes()
    copy_verified(root, OLD, root, NEW, measure(root, OLD))
    assert (place / "new").read_bytes() == whole
    assert (place / "new").stat().st_blocks <= (place / "old").stat().st_blocks + 16
    assert (place / "new").stat().st_blocks * 512 < 1 << 20


def test_a_deep_tree_and_one_too_deep(root: Root, place: Path) -> None:
    def deep(name: str, levels: int) -> None:
        fd = os.open(place, os.O_RDONLY)
        for _ in range(levels):
            os.mkdir(name, dir_fd=fd)
            inner = os.open(name, os.O_RDONLY, dir_fd=fd)
            os.close(fd)
            fd = inner
        os.close(fd)

    deep("old", 200)
    copy_verified(root, OLD, root, NEW, measure(root, OLD))
    move_verified(root, OLD, root, RelPath.parse("moved"), measure(root, OLD))
    deep("deep", 202)
    with pytest.raises(MunimentError) as caught:
        measure(root, RelPath.parse("deep"))
    assert caught.value.code == "TOO_DEEP"


def test_a_limit_on_open_files(place: Path) -> None:
    put(place, "tree")
    before = trees.look(place / "old")

    def limited(act: Callable[..., object], limit: int) -> object:
        with Root.open(place) as root:
            measured = measure(root, OLD)
            resource.setrlimit(resource.RLIMIT_NOFILE, (root.fd + limit, root.fd + limit))
            act(root, OLD, root, NEW, measured)
            return "done"

    for act in (copy_verified, move_verified):
        ends = []
        for limit in range(1, 256):  # other descriptors may stand above the root's
            ends.append(in_child(partial(limited, act, limit)))
            if ends[-1] == "done":
                break
            assert os.listdir(place) == ["old"], ends
            assert trees.look(place / "old") == before
        assert ends[-1] == "done" and set(ends[:-1]) == {"TOO_MANY_OPEN"}, ends
        if act is copy_verified:
            os.rename(place / "new", place.parent / "copied")
    assert trees.look(place / "new") == before == trees.look(place.parent / "copied")


def test_ten_thousand_files(root: Root, place: Path) -> None:
    (place / "old").mkdir()
    for folder in range(10):
        (place / "old" / str(folder)).mkdir()
        for number in range(1000):
            (place / "old" / str(folder) / str(number)).write_bytes(b"%d" % number)
    measured = measure(root, OLD, refuse_writers=True)
    moved = move_verified(root, OLD, root, NEW, measured)
    assert moved.table.count == 10_000 and not moved.copied
    assert os.listdir(place) == ["new"]


def test_a_put_back_whose_sync_fails_still_names_what_went_wrong(
    root: Root, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(place, "file")
    measured = measure(root, OLD)

    def broken(fd: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(platform, "sync_folder", broken)
    with pytest.raises(MunimentError) as caught:
        move_verified(root, OLD, root, NEW, measured)
    assert caught.value.code == "DISK" and os.listdir(place) == ["old"]
    with pytest.raises(MunimentError):
        copy.copy_verified(root, OLD, root, NEW, measured)
    assert os.listdir(place) == ["old"]
