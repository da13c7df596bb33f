"""Roots on real mounts: what is the same root, and what only looks like it (spec 3, gate, step 2)."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.children import MODULES
from tests.faults.stage import refuse_or_skip, require_mounts
from tests.handoff.conftest import Place

from muniment.handoff.delivery import durability, root_difference
from muniment.handoff.model import Root

FACTS = """
import json, sys
from muniment.disk.root import Root
from muniment.handoff.roots import root_facts
with Root.open(sys.argv[1]) as root:
    print(json.dumps(root_facts(root, "flag").to_json()))
"""
"""Run in a mount namespace of its own, after the mounts that the test wants."""


APART = ("unshare", "-m", "--propagation", "private")
needs_mounts = pytest.mark.usefixtures("mounts")


@pytest.fixture
def mounts() -> None:
    """The right to mount, and the program that does it apart from others."""
    require_mounts("tmpfs")
    if shutil.which(APART[0]) is None:
        refuse_or_skip(APART[0])


def facts(path: Path, *mounts: str) -> list[Root]:
    """The root at a path, first as it is and then after each mount, all in one namespace."""
    look = f'"{sys.executable}" -c \'{FACTS}\' "$1"'
    script = " && ".join([look, *(f"{mount} && {look}" for mount in mounts)])
    done = subprocess.run(
        [*APART, "sh", "-ec", script, "sh", str(path)],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": MODULES, "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"},
    )
    assert done.returncode == 0, done.stderr
    return [Root.from_json(json.loads(line)) for line in done.stdout.splitlines()]


@pytest.fixture
def work(place: Place) -> Path:
    place.reopen()
    return place.path


def copied(work: Path, to: Path) -> Path:
    """A copy that carries the same root id."""
    shutil.copytree(work, to)
    return to


@needs_mounts
def test_the_same_root_twice(work: Path) -> None:
    one, other = facts(work, "true")
    assert root_difference(one, other) is None
    assert durability(one) == ("ephemeral" if one.fs_type in ("tmpfs", "overlay") else "durable")


@needs_mounts
def test_a_copy_with_the_same_id(work: Path, tmp_path: Path) -> None:
    (one,), (other,) = facts(work), facts(copied(work, tmp_path / "copy"))
    assert one.root_id == other.root_id
    assert "real_path" in str(root_difference(one, other))
    moved = tmp_path / "away"
    work.rename(moved)
    (tmp_path / "copy").rename(work)
    (other,) = facts(work)
    assert (one.root_id, one.real_path) == (other.root_id, other.real_path)
    assert "inode" in str(root_difference(one, other))


@needs_mounts
def test_a_bind_of_another_folder(work: Path, tmp_path: Path) -> None:
    copy = copied(work, tmp_path / "copy")
    one, other = facts(work, f'mount --bind "{copy}" "{work}"')
    assert (one.root_id, one.real_path, one.device) == (other.root_id, other.real_path, other.device)
    why = str(root_difference(one, other))
    assert "mount_root" in why


@needs_mounts
def test_a_bind_of_itself_shares_device_and_inode_and_is_another_mount(work: Path) -> None:
    one, other = facts(work, f'mount --bind "{work}" "{work}"')
    assert (one.device, one.inode) == (other.device, other.inode)
    assert root_difference(one, other) is not None


@needs_mounts
def test_an_overlay_laid_over(work: Path, tmp_path: Path) -> None:
    space = tmp_path / "space"
    space.mkdir()
    one, other = facts(
        work,
        f'mount -t tmpfs none "{space}" && mkdir "{space}/up" "{space}/wk" && '
        f'mount -t overlay none -o "lowerdir={work},upperdir={space}/up,workdir={space}/wk" "{work}"',
    )
    assert one.root_id == other.root_id
    assert other.fs_type == "overlay" and "fs_type" in str(root_difference(one, other))
    assert durability(other) == "ephemeral"


@needs_mounts
@pytest.mark.parametrize("kind", ["tmpfs", "overlay"])
def test_a_root_that_lives_there_from_the_start_is_accepted_as_ephemeral(
    work: Path, tmp_path: Path, kind: str
) -> None:
    copy, space = copied(work, tmp_path / "copy"), tmp_path / "space"
    space.mkdir()
    mounts = {
        "tmpfs": f'mount -t tmpfs none "{work}" && cp -a "{copy}/." "{work}"',
        "overlay": f'mount -t tmpfs none "{space}" && mkdir "{space}/up" "{space}/wk" && '
        f'mount -t overlay none -o "lowerdir={copy},upperdir={space}/up,workdir={space}/wk" "{work}"',
    }
    _, recorded, now = facts(work, mounts[kind], "true")
    assert recorded.fs_type == kind
    assert root_difference(recorded, now) is None
    assert durability(recorded) == "ephemeral"


@needs_mounts
def test_a_tmpfs_laid_over(work: Path, tmp_path: Path) -> None:
    copy = copied(work, tmp_path / "copy")
    one, other = facts(work, f'mount -t tmpfs none "{work}" && cp -a "{copy}/." "{work}"')
    assert other.fs_type == "tmpfs"
    # Where the tests themselves lie on one, it is another one all the same.
    assert ("device" if one.fs_type == "tmpfs" else "fs_type") in str(root_difference(one, other))


SCENE = """
import subprocess, sys
from pathlib import Path
from tests.handoff.conftest import HOST, Place, packet, work
base, before, after = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
subprocess.run(before, shell=True, check=True, cwd=base)
place = Place(base / "work", base / "user")
handoffs = place.reopen()
handoff = handoffs.new(packet(), recipient="mei").handoff_id
handoffs.deliver_by_host(handoff, "openclaw", "mei", HOST)
work(handoffs, handoff)
subprocess.run(after, shell=True, check=True, cwd=base)
trace = handoffs.check(handoff).trace
codes = [each.code.value for each in trace.findings]
print(trace.complete, *codes, *(row.durability for row in trace.rows[:2]))
"""


@needs_mounts
@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        ("true", "true", "True here here"),
        ("mount -t tmpfs none work", "true", "True ephemeral ephemeral"),
        ("true", "cp -a work copy && mount --bind copy work", "False WRONG_ROOT None None"),
        ("true", "cp -a work copy && mv work away && mv copy work", "False WRONG_ROOT None None"),
        ("true", "mount --bind work work", "False WRONG_ROOT None None"),
        ("true", "mount -t tmpfs none work", "False WRONG_ROOT None None"),
        ("true", "mv work away", "False WRONG_ROOT None None"),
    ],
)
def test_the_gate_on_real_mounts(tmp_path: Path, before: str, after: str, verdict: str) -> None:
    (tmp_path / "work").mkdir()
    kind = subprocess.run(["stat", "-f", "-c", "%T", tmp_path], capture_output=True, text=True, check=True)
    here = "ephemeral" if kind.stdout.strip() in ("tmpfs", "overlayfs") else "durable"
    done = subprocess.run(
        [*APART, sys.executable, "-c", SCENE, str(tmp_path), before, after],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": MODULES, "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"},
    )
    assert done.stdout.strip() == verdict.replace("here", here), done.stderr


@needs_mounts
def test_a_linked_worktree(tmp_path: Path) -> None:
    main, linked = tmp_path / "main", tmp_path / "linked"
    git(tmp_path, "init", "-q", "main")
    (main / "a").write_text("a")
    git(main, "add", "a")
    git(main, "commit", "-qm", "a")
    git(main, "worktree", "add", "-q", str(linked))
    found = Place(main, tmp_path / "user")
    found.reopen()
    shutil.copytree(main / ".muniment", linked / ".muniment")
    for root in found.roots:
        root.close()
    (one,), (other,) = facts(main), facts(linked)
    assert one.root_id == other.root_id
    assert "real_path" in str(root_difference(one, other))


def git(folder: Path, *arguments: str) -> str:
    names = ["-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "init.defaultBranch=main"]
    done = subprocess.run(["git", *names, *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def recorded(**changes: Any) -> Root:
    values: dict[str, Any] = {
        "root_id": "01KDVDNA0000000000000000R1", "real_path": "/w", "device": 1, "inode": 2, "boot_id": "b",
        "mount_id": 3, "fs_type": "ext4", "mount_root": "/", "found_by": "flag",
    }  # fmt: skip
    return Root(**{**values, **changes})


@pytest.mark.parametrize(
    ("changes", "same"),
    [
        ({}, True),
        ({"found_by": "marker"}, True),
        ({"root_id": "x"}, False),
        ({"real_path": "/v"}, False),
        ({"device": 9}, False),
        ({"inode": 9}, False),
        ({"mount_id": 9}, False),
        ({"fs_type": "xfs"}, False),
        ({"mount_root": "/w"}, False),
        ({"boot_id": "c"}, True),
        ({"boot_id": "c", "device": 9, "inode": 9, "mount_id": 9}, True),
        ({"boot_id": "c", "real_path": "/v"}, False),
        ({"boot_id": "c", "fs_type": "overlay"}, False),
        ({"boot_id": "c", "mount_root": "/w"}, False),
        ({"boot_id": "c", "root_id": "x"}, False),
    ],
)
def test_comparison(changes: dict[str, Any], same: bool) -> None:
    assert (root_difference(recorded(), recorded(**changes)) is None) is same
