"""Hostile paths and hostile things against every operation of `root`, `write`, `copy` and `move`."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.disk.outside import Outside
from tests.faults.stage import refuse_or_skip

from muniment.disk.copy import copy_verified
from muniment.disk.errors import AlreadyThere, NotThere, OutsideRoot, SpecialFile, WrongKind
from muniment.disk.locks import locked
from muniment.disk.move import move_verified
from muniment.disk.root import Root, real_folder
from muniment.disk.tree import measure, remove_tree, walk_stats
from muniment.disk.write import write_verified
from muniment.evidence import Kind
from muniment.path import RelPath

REFUSED_PATHS = [
    "..",
    "../x",
    "a/../b",
    "a/..",
    "./..",
    "a//../..",
    "/",
    "/etc/passwd",
    "/proc/self/root/etc/passwd",
    "x\0y",
    "n" * 256,
    "é" * 128,
    "a/" + "n" * 256,
    "\ud800",
]


@pytest.mark.parametrize("path", REFUSED_PATHS)
def test_a_path_from_outside_that_names_nothing_inside(root: Root, path: str) -> None:
    with pytest.raises(OutsideRoot):
        root.relative(path)


@pytest.mark.parametrize(
    ("path", "posix"),
    [
        ("a", "a"),
        ("./a/", "a"),
        ("a//b/.", "a/b"),
        (".", ""),
        ("", ""),
        ("...", "..."),
        ("..a", "..a"),
        ("n" * 255, "n" * 255),
        ("\udcff\udcfe", "\udcff\udcfe"),
        (" ", " "),
        ("-rf", "-rf"),
        ("a\\b", "a\\b"),
        ("a\nb", "a\nb"),
    ],
)
def test_a_path_from_outside_that_is_plain(root: Root, path: str, posix: str) -> None:
    assert root.relative(path).posix == posix


def test_an_absolute_path_below_the_root_by_any_spelling(place: Path, root: Root, tmp_path: Path) -> None:
    (tmp_path / "other").symlink_to(place)
    assert root.relative(f"{place}/a/b").posix == "a/b"
    assert root.relative(f"{tmp_path}/other/a").posix == "a"
    assert root.relative(str(place)) == RelPath()
    assert root.relative("b", base=f"{place}/a").posix == "a/b"
    for path in (f"{tmp_path}", f"{tmp_path}/rootx/a", f"{place}/../outside", f"{place}/a/../../x"):
        with pytest.raises(OutsideRoot):
            root.relative(path)
    with pytest.raises(OutsideRoot):
        root.relative("b", base=str(tmp_path))


def _socket(path: Path) -> None:
    here = os.getcwd()
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(here)


def _device(path: Path, kind: int, number: int) -> None:
    try:
        os.mknod(path, kind | 0o666, number)
    except PermissionError:
        refuse_or_skip("the right to make a device")


THINGS: dict[str, Callable[[Path, Path], None]] = {
    "link to a file": lambda path, out: path.symlink_to(out / "file"),
    "link to a folder": lambda path, out: path.symlink_to(out / "deep"),
    "relative link": lambda path, out: path.symlink_to(os.path.relpath(out / "file", path.parent)),
    "dangling link": lambda path, out: path.symlink_to(out / "nothing"),
    "link to itself": lambda path, out: path.symlink_to(path.name),
    "link to the root": lambda path, out: path.symlink_to("/"),
    "pipe": lambda path, out: os.mkfifo(path),
    "socket": lambda path, out: _socket(path),
    "character device": lambda path, out: _device(path, stat.S_IFCHR, os.makedev(1, 3)),
    "block device": lambda path, out: _device(path, stat.S_IFBLK, os.makedev(7, 250)),
}
LINKS = [name for name in THINGS if "link" in name]
SPECIAL = [name for name in THINGS if "link" not in name]


def rel(path: str) -> RelPath:
    return RelPath.parse(path)


def _copy(root: Root, path: RelPath) -> None:
    copy_verified(root, path, root, rel("copied"), measure(root, path))


def _move(root: Root, path: RelPath) -> None:
    move_verified(root, path, root, rel("moved"), measure(root, path))


def _lock(root: Root, path: RelPath) -> None:
    with locked(root, path, wait=False):
        pass


OPENING: dict[str, Callable[[Root, RelPath], object]] = {
    "read": lambda root, path: root.read(path),
    "open to read": lambda root, path: os.close(root.open_file(path)),
    "open to write": lambda root, path: os.close(root.open_file(path, os.O_WRONLY)),
    "open to truncate": lambda root, path: os.close(root.open_file(path, os.O_WRONLY | os.O_TRUNC)),
    "open to make": lambda root, path: os.close(root.open_file(path, os.O_RDWR | os.O_CREAT)),
    "lock": _lock,
}
ENTERING: dict[str, Callable[[Root, RelPath], object]] = {
    "names": lambda root, path: root.names(path),
    "open folder": lambda root, path: os.close(root.open_folder(path)),
    "below": lambda root, path: root.below(path).close(),
    "sync": lambda root, path: root.sync_folder(path),
    "make folders": lambda root, path: root.make_folders(path),
}
PASSING: dict[str, Callable[[Root, RelPath], object]] = {
    **OPENING,
    **ENTERING,
    "stat": lambda root, path: root.stat(path),
    "exists": lambda root, path: root.exists(path),
    "spelled exactly": lambda root, path: root.spelled_exactly(path),
    "claim": lambda root, path: root.claim_folder(path),
    "unlink": lambda root, path: root.unlink(path, missing_ok=True),
    "remove folder": lambda root, path: root.remove_folder(path),
    "write": lambda root, path: write_verified(root, path, b"x"),
    "replace": lambda root, path: write_verified(root, path, b"x", replace=True),
    "measure": lambda root, path: measure(root, path),
    "walk": lambda root, path: list(walk_stats(root, path)),
    "remove tree": lambda root, path: remove_tree(root, path),
    "copy": _copy,
    "copy to": lambda root, path: copy_verified(root, rel("plain"), root, path, measure(root, rel("plain"))),
    "move": _move,
    "move to": lambda root, path: move_verified(root, rel("plain"), root, path, measure(root, rel("plain"))),
}


@pytest.mark.parametrize("act", OPENING)
@pytest.mark.parametrize("thing", THINGS)
def test_only_a_regular_file_is_opened(
    root: Root, place: Path, outside: Outside, thing: str, act: str
) -> None:
    THINGS[thing](place / "thing", outside.path)
    before = (place / "thing").lstat()
    with pytest.raises(OutsideRoot if thing in LINKS else SpecialFile):
        OPENING[act](root, rel("thing"))
    assert (place / "thing").lstat() == before
    assert os.listdir(place) == ["thing"]


@pytest.mark.parametrize("act", OPENING)
def test_a_folder_is_no_file(root: Root, place: Path, act: str) -> None:
    (place / "thing").mkdir()
    with pytest.raises(WrongKind):
        OPENING[act](root, rel("thing"))


@pytest.mark.parametrize("act", ENTERING)
@pytest.mark.parametrize("thing", THINGS)
def test_only_a_folder_is_entered(root: Root, place: Path, outside: Outside, thing: str, act: str) -> None:
    THINGS[thing](place / "thing", outside.path)
    with pytest.raises(OutsideRoot if thing in LINKS else WrongKind):
        ENTERING[act](root, rel("thing"))
    assert os.listdir(place) == ["thing"]


@pytest.mark.parametrize("act", PASSING)
@pytest.mark.parametrize("inner", ["file", "deep/file", "nothing", "deep"])
def test_nothing_passes_through_a_link(
    root: Root, place: Path, outside: Outside, act: str, inner: str
) -> None:
    (place / "plain").write_bytes(b"plain")
    (place / "folder").mkdir()
    (place / "folder" / "link").symlink_to(outside.path)
    with pytest.raises(OutsideRoot):
        PASSING[act](root, rel(f"folder/link/{inner}"))
    assert sorted(os.listdir(place)) == ["folder", "plain"]
    assert os.listdir(place / "folder") == ["link"]


@pytest.mark.parametrize("act", PASSING)
@pytest.mark.parametrize("thing", SPECIAL)
def test_nothing_lies_below_what_is_no_folder(root: Root, place: Path, thing: str, act: str) -> None:
    (place / "plain").write_bytes(b"plain")
    THINGS[thing](place / "thing", place)
    with pytest.raises(WrongKind):
        PASSING[act](root, rel("thing/below"))


@pytest.mark.parametrize("act", sorted(set(PASSING) - {"make folders"}))
def test_the_root_itself_is_nothing_to_act_on(root: Root, place: Path, act: str) -> None:
    (place / "plain").write_bytes(b"plain")
    if act in ("names", "open folder", "below", "sync", "stat", "exists"):
        PASSING[act](root, RelPath())
        return
    with pytest.raises(OutsideRoot):
        PASSING[act](root, RelPath())


@pytest.mark.parametrize("thing", THINGS)
def test_what_stands_at_a_name_is_never_written_through_or_over(
    root: Root, place: Path, outside: Outside, thing: str
) -> None:
    (place / "plain").write_bytes(b"plain")
    THINGS[thing](place / "thing", outside.path)
    before = (place / "thing").lstat()
    measured = measure(root, rel("plain"))
    for act in (
        lambda: write_verified(root, rel("thing"), b"x"),
        lambda: root.claim_folder(rel("thing")),
        lambda: copy_verified(root, rel("plain"), root, rel("thing"), measured),
        lambda: move_verified(root, rel("plain"), root, rel("thing"), measured),
    ):
        with pytest.raises(AlreadyThere):
            act()
    assert (place / "thing").lstat()[:9] == before[:9]
    assert sorted(os.listdir(place)) == ["plain", "thing"]
    assert (place / "plain").read_bytes() == b"plain"


@pytest.mark.parametrize("thing", THINGS)
def test_replacing_replaces_the_name_and_not_what_it_leads_to(
    root: Root, place: Path, outside: Outside, thing: str
) -> None:
    THINGS[thing](place / "thing", outside.path)
    write_verified(root, rel("thing"), b"new", replace=True)
    assert not (place / "thing").is_symlink() and (place / "thing").read_bytes() == b"new"
    assert os.listdir(place) == ["thing"]


def test_replacing_never_replaces_a_folder(root: Root, place: Path) -> None:
    (place / "thing").mkdir()
    (place / "thing" / "inner").write_bytes(b"kept")
    with pytest.raises(WrongKind):
        write_verified(root, rel("thing"), b"new", replace=True)
    assert (place / "thing" / "inner").read_bytes() == b"kept"
    assert os.listdir(place) == ["thing"]


@pytest.mark.parametrize("thing", THINGS)
@pytest.mark.parametrize("where", ["thing", "tree/thing"])
def test_what_a_tree_may_hold(root: Root, place: Path, outside: Outside, thing: str, where: str) -> None:
    (place / "tree").mkdir()
    THINGS[thing](place / where, outside.path)
    top = rel(where.split("/")[0])
    if thing in SPECIAL:
        for act in (measure, _copy, _move):
            with pytest.raises(SpecialFile):
                act(root, top)
        assert (place / where).lstat()
        return
    target = os.readlink(place / where)
    rows = measure(root, top).table.rows
    assert (rows[-1].kind, rows[-1].target) == (Kind.LINK, target)
    _copy(root, top)
    assert os.readlink(place / where.replace(top.name, "copied")) == target
    _move(root, top)
    assert os.readlink(place / where.replace(top.name, "moved")) == target
    remove_tree(root, rel("copied"))
    assert not os.path.lexists(place / where)


NAMES = [
    b"\xff\xfe\x80",
    b"caf\xc3\xa9",
    b"cafe\xcc\x81",
    b"n" * 255,
    "語".encode() * 85,
    b"a\nb\tc\x1b[2J",
    b" leading and trailing ",
    b"-rf",
    b"a\\b",
    b"...",
    b"con",
    b"\xed\xa0\x80",
    b"%s{0}$HOME`id`",
]


@pytest.mark.parametrize("name", NAMES)
def test_any_name_that_a_file_can_have_survives(root: Root, place: Path, name: bytes) -> None:
    given = root.relative(os.fsdecode(name))
    write_verified(root, given, b"bytes")
    assert os.listdir(os.fsencode(place)) == [name]
    assert root.names(RelPath()) == [os.fsdecode(name)]
    assert root.read(given) == b"bytes" and root.spelled_exactly(given)
    folder = rel("folder")
    root.make_folders(folder)
    move_verified(root, given, root, folder / given, measure(root, given))
    move_verified(root, folder, root, rel("moved"), measure(root, folder))
    copy_verified(root, rel("moved"), root, rel("copied"), measure(root, rel("moved")))
    for top in ("moved", "copied"):
        assert os.listdir(os.fsencode(place / top)) == [name]
        assert measure(root, rel(top)).table.rows[1].path == os.fsdecode(name)
    remove_tree(root, rel("copied"))
    assert os.listdir(place) == ["moved"]


@pytest.mark.parametrize("act", sorted(set(PASSING) - {"exists", "make folders", "unlink"}))
def test_what_is_not_there_is_said_to_be_not_there(root: Root, place: Path, act: str) -> None:
    (place / "plain").write_bytes(b"plain")
    with pytest.raises(NotThere) as caught:
        PASSING[act](root, rel("nothing/below"))
    assert caught.value.where.startswith("nothing")
    assert os.listdir(place) == ["plain"]


def test_a_message_spells_out_what_could_move_a_cursor(root: Root) -> None:
    with pytest.raises(NotThere) as caught:
        root.read(rel("\x1b[2Jevil\udcff"))
    assert caught.value.where == "\\x1b[2Jevil\\xff"


def test_a_real_folder(place: Path, tmp_path: Path) -> None:
    (tmp_path / "way").symlink_to(place)
    (place / "file").write_bytes(b"")
    assert real_folder(tmp_path / "way") == place
    for wrong, error in (("nothing", NotThere), ("file", WrongKind)):
        with pytest.raises(error):
            real_folder(place / wrong)
    with pytest.raises(WrongKind):
        Root.open(place / "file")


def test_making_folders_is_all_or_a_named_part(root: Root, place: Path) -> None:
    (place / "a").mkdir()
    (place / "a" / "file").write_bytes(b"x")
    with pytest.raises(WrongKind) as caught:
        root.make_folders(rel("a/file/c"))
    assert caught.value.where == "a/file"
    root.make_folders(rel("a/b/c"), 0o700)
    assert stat.S_IMODE((place / "a/b/c").stat().st_mode) == 0o700
    root.make_folders(rel("a/b/c"))
    with pytest.raises(AlreadyThere):
        root.claim_folder(rel("a/b"))
    with pytest.raises(AlreadyThere):
        root.remove_folder(rel("a/b"))


def test_a_small_file_that_is_not_small(root: Root, place: Path) -> None:
    (place / "file").write_bytes(b"12345")
    assert root.read(rel("file"), limit=5) == b"12345"
    with pytest.raises(WrongKind):
        root.read(rel("file"), limit=4)
