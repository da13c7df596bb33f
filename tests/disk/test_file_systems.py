"""Other file systems: tmpfs, overlay, read-only, full, and one that folds case."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.children import ENVIRONMENT
from tests.disk import trees
from tests.disk.mounts import folding, mounted, overlay
from tests.faults.stage import MS_BIND, MS_RDONLY, MS_REMOUNT, mount, refuse_or_skip

from muniment.disk import move, platform
from muniment.disk.copy import copy_verified
from muniment.disk.errors import AlreadyThere, DiskFault, NoPermission, NoSpace, ReadbackFailed, SourceChanged
from muniment.disk.locks import locked
from muniment.disk.move import move_verified
from muniment.disk.root import Root
from muniment.disk.tree import measure, remove_tree
from muniment.disk.write import write_verified
from muniment.path import RelPath

OLD, NEW = RelPath.parse("old"), RelPath.parse("new")


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Root]:
    """A root on a tmpfs of eight megabytes."""
    with mounted("tmpfs", tmp_path / "memory", "size=8m") as where, Root.open(where) as opened:
        yield opened


@pytest.mark.parametrize("kind", ["file", "tree"])
def test_a_move_to_another_file_system_and_back(root: Root, memory: Root, place: Path, kind: str) -> None:
    if kind == "tree":
        trees.build(place / "old")
    else:
        (place / "old").write_bytes(b"x" * 100_000)
        os.setxattr(place / "old", "user.a", b"b")
    before = trees.look(place / "old")
    assert move_verified(root, OLD, memory, NEW, measure(root, OLD, refuse_writers=True)).copied
    assert trees.look(Path(memory.path) / "new") == before and os.listdir(place) == []
    assert move_verified(memory, NEW, root, OLD, measure(memory, NEW)).copied
    assert trees.look(place / "old") == before and os.listdir(memory.path) == []


def test_nothing_is_written_over_across_file_systems(root: Root, memory: Root, place: Path) -> None:
    trees.build(place / "old")
    before = trees.look(place / "old")
    (Path(memory.path) / "new").mkdir()
    with pytest.raises(AlreadyThere):
        move_verified(root, OLD, memory, NEW, measure(root, OLD))
    assert trees.look(place / "old") == before and os.listdir(memory.path) == ["new"]


def test_a_target_without_room(root: Root, memory: Root, place: Path) -> None:
    (place / "old").mkdir()
    for number in range(20):
        (place / "old" / str(number)).write_bytes(os.urandom(500_000))
    before = trees.look(place / "old")
    for act in (copy_verified, move_verified):
        with pytest.raises(NoSpace):
            act(root, OLD, memory, NEW, measure(root, OLD))
        assert os.listdir(memory.path) == [] and os.listdir(place) == ["old"]
    assert trees.look(place / "old") == before
    with pytest.raises(NoSpace):
        write_verified(memory, NEW, (b"x" * (1 << 20) for _ in range(9)))
    assert os.listdir(memory.path) == []


@pytest.mark.parametrize("elsewhere", [False, True])
@pytest.mark.parametrize("kind", ["file", "tree"])
def test_a_move_out_of_a_lower_layer(tmp_path: Path, kind: str, elsewhere: bool) -> None:
    lower = tmp_path / "lower"
    lower.mkdir()
    if kind == "tree":
        trees.build(lower / "old")
    else:
        (lower / "old").write_bytes(b"x" * 100_000)
    before = trees.look(lower / "old")
    with mounted("tmpfs", tmp_path / "memory", "size=16m") as memory:
        upper = memory / "layers" if elsewhere else None
        with overlay(tmp_path, lower=lower, upper=upper) as merged, Root.open(merged) as root:
            if kind == "tree":
                with pytest.raises(OSError) as caught:
                    os.rename(merged / "old", merged / "new")
                assert caught.value.errno == errno.EXDEV, (
                    "the kernel renames lower folders now: nothing is tried here"
                )
            moved = move_verified(root, OLD, root, NEW, measure(root, OLD, refuse_writers=True))
            assert moved.copied is (kind == "tree")
            assert trees.look(merged / "new") == before
            assert os.listdir(merged) == ["new"]
            remove_tree(root, NEW)
    assert trees.look(lower / "old") == before


def test_a_lower_folder_that_changes_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lower = tmp_path / "lower"
    lower.mkdir()
    trees.build(lower / "old")
    with overlay(tmp_path, lower=lower) as merged, Root.open(merged) as root:
        measured = measure(root, OLD)
        give_up = move.give_up_source

        def late(*args: object) -> None:
            (merged / "old" / "late").write_bytes(b"late")
            give_up(*args)  # type: ignore[arg-type]

        monkeypatch.setattr(move, "give_up_source", late)
        before = trees.look(merged / "old")
        with pytest.raises(SourceChanged):
            move_verified(root, OLD, root, NEW, measured)
        assert os.listdir(merged) == ["old"]
        assert trees.look(merged / "old").keys() == before.keys() | {"late"}


def test_a_copy_that_rots_is_not_believed(
    root: Root, memory: Root, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "old").write_bytes(b"x" * 10_000)
    measured = measure(root, OLD)
    sync = platform.sync_folder

    def rot(fd: int) -> None:
        sync(fd)
        new = Path(memory.path) / "new"
        if new.exists():
            new.write_bytes(b"y" + b"x" * 9_999)

    monkeypatch.setattr(platform, "sync_folder", rot)
    with pytest.raises(ReadbackFailed):
        move_verified(root, OLD, memory, NEW, measured)
    assert os.listdir(memory.path) == [] and (place / "old").read_bytes() == b"x" * 10_000


def test_a_file_system_that_may_only_be_read(root: Root, place: Path, tmp_path: Path) -> None:
    trees.build(place / "old")
    (place / "lock").write_bytes(b"")
    before = trees.look(place)
    with mounted("none", tmp_path / "view", source=str(place), flags=MS_BIND) as view:
        mount("none", view, flags=MS_REMOUNT | MS_BIND | MS_RDONLY)
        (tmp_path / "to").mkdir()
        with Root.open(view) as read_only, Root.open(tmp_path / "to") as target:
            measured = measure(read_only, OLD, refuse_writers=True)
            for act in (
                lambda: write_verified(read_only, NEW, b"x"),
                lambda: write_verified(read_only, RelPath.parse("lock"), b"x", replace=True),
                lambda: read_only.make_folders(RelPath.parse("a/b")),
                lambda: read_only.unlink(RelPath.parse("lock")),
                lambda: copy_verified(read_only, OLD, read_only, NEW, measured),
                lambda: move_verified(read_only, OLD, read_only, NEW, measured),
                lambda: move_verified(read_only, OLD, target, NEW, measured),
            ):
                with pytest.raises(NoPermission):
                    act()
            assert os.listdir(tmp_path / "to") == []
            copy_verified(read_only, OLD, target, NEW, measured)
            with locked(read_only, RelPath.parse("lock"), shared=True):
                pass
    assert trees.look(place) == before
    assert trees.look(tmp_path / "to" / "new") == trees.look(place / "old")


def test_a_bind_mount_is_told_from_its_source(root: Root, place: Path, tmp_path: Path) -> None:
    with mounted("none", tmp_path / "a view", source=str(place), flags=MS_BIND) as view:
        with Root.open(view) as other:
            mine, theirs = platform.mount_of(root.fd), platform.mount_of(other.fd)
        assert mine is not None and theirs is not None
        assert mine.mount_id != theirs.mount_id and theirs.mount_point == str(view)


def test_a_mount_point_is_refused_as_a_source(root: Root, place: Path, tmp_path: Path) -> None:
    (tmp_path / "to").mkdir()
    with mounted("tmpfs", place / "old", "size=1m") as inner:
        (inner / "file").write_bytes(b"x")
        with Root.open(tmp_path / "to") as target:
            for to in (root, target):
                with pytest.raises(DiskFault, match=r"in use \(EBUSY\)"):
                    move_verified(root, OLD, to, NEW, measure(root, OLD))
        assert (inner / "file").read_bytes() == b"x"
    assert os.listdir(place) == ["old"] and os.listdir(tmp_path / "to") == []


@pytest.fixture
def folded(tmp_path: Path) -> Iterator[Root]:
    """A root on a file system that folds case."""
    with folding(tmp_path) as where, Root.open(where) as opened:
        yield opened


def test_names_on_a_file_system_that_folds_case(folded: Root) -> None:
    write_verified(folded, RelPath.parse("Report.md"), b"first")
    assert folded.exists(RelPath.parse("rEPORT.MD"))
    for asked, answer in (("Report.md", True), ("report.md", False), ("REPORT.MD", False)):
        assert folded.spelled_exactly(RelPath.parse(asked)) is answer
    write_verified(folded, RelPath.parse("123"), b"")
    assert folded.spelled_exactly(RelPath.parse("123"))
    with pytest.raises(AlreadyThere):
        write_verified(folded, RelPath.parse("REPORT.md"), b"second")
    assert folded.read(RelPath.parse("Report.md")) == b"first"
    with pytest.raises(AlreadyThere):
        folded.claim_folder(RelPath.parse("REPORT.MD"))


def test_the_acts_on_a_file_system_without_links_and_flags(folded: Root, root: Root, place: Path) -> None:
    write_verified(folded, OLD, b"one")
    write_verified(folded, OLD, b"two", replace=True)
    move_verified(folded, OLD, folded, NEW, measure(folded, OLD))
    assert folded.names(RelPath()) == ["new"] and folded.read(NEW) == b"two"
    (place / "old" / "sub").mkdir(parents=True)
    (place / "old" / "sub" / "file").write_bytes(b"x" * 2_000_000)
    measured = measure(root, OLD)
    tree = RelPath.parse("tree")
    copy_verified(root, OLD, folded, tree, measured)
    moved = move_verified(folded, tree, folded, RelPath.parse("again"), measure(folded, tree))
    assert moved.table == measured.table
    with pytest.raises(AlreadyThere):
        move_verified(root, OLD, folded, RelPath.parse("AGAIN"), measured)
    move_verified(root, OLD, folded, RelPath.parse("third"), measured)
    assert folded.names(RelPath()) == ["again", "new", "third"] and os.listdir(place) == []


def test_a_rename_that_the_kernel_does_not_know_falls_back(place: Path) -> None:
    if shutil.which("strace") is None:
        refuse_or_skip("strace")
    code = (
        "import os, sys, errno\n"
        "from muniment.disk import platform\n"
        "fd = os.open(sys.argv[1], os.O_RDONLY)\n"
        "open(sys.argv[1] + '/old', 'w').close()\n"
        "platform.rename_exclusive(fd, 'old', fd, 'new')\n"
        "print(os.listdir(fd))\n"
    )
    options = ["-qq", "-e", "trace=none", "-e", "inject=renameat2:error=ENOSYS", "-o", "/dev/null"]
    ran = subprocess.run(
        ["strace", *options, sys.executable, "-c", code, str(place)],
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
    )
    assert ran.stdout == "['new']\n", ran.stderr
