"""A hostile `.muniment/`: links, pipes and folders where files should be are refused, and nothing
outside is touched."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.children import ENVIRONMENT
from tests.faults.stage import refuse_or_skip
from tests.record.ledgers import Desk, chained, draft, lay

from muniment.clock import system_clock
from muniment.disk.errors import NoPermission, NoSpace, OutsideRoot, SpecialFile, WrongKind
from muniment.errors import MunimentError
from muniment.evidence import Table
from muniment.record.consent import WitnessKind
from muniment.record.damage import Finding
from muniment.record.state import open_workspace
from muniment.record.verify import verify
from muniment.record.witness import bear_witness

LINES = chained(3)
Act = Callable[[Desk], object]

ACTS: dict[str, Act] = {
    "append": lambda desk: desk.ledger().append(draft()),
    "name damage": lambda desk: desk.ledger().name_damage([Finding("000001.jsonl", 1, 0, "bad")]),
    "verify": lambda desk: verify(desk.ledger()),
    "last": lambda desk: desk.ledger().last(1),
    "events": lambda desk: list(desk.ledger().events()),
    "witness": lambda desk: bear_witness(desk.ledger(), "01KDVDNA000000000000000000"),
}


def folder_is_a_link(desk: Desk, outside: Path) -> None:
    desk.folder.rename(outside / "ledger")
    desk.folder.symlink_to(outside / "ledger")


def state_is_a_link(desk: Desk, outside: Path) -> None:
    desk.folder.parent.rename(outside / "state")
    desk.folder.parent.symlink_to(outside / "state")


def segment_is_a_link(desk: Desk, outside: Path) -> None:
    desk.segments[-1].rename(outside / "segment")
    (desk.folder / "000001.jsonl").symlink_to(outside / "segment")


def lock_is_a_link(desk: Desk, outside: Path) -> None:
    (outside / "lock").write_bytes(b"")
    (desk.folder / "lock").symlink_to(outside / "lock")


def lock_is_a_dangling_link(desk: Desk, outside: Path) -> None:
    (desk.folder / "lock").symlink_to(outside / "new")


def segment_is_a_dangling_link(desk: Desk, outside: Path) -> None:
    desk.segments[-1].unlink()
    (desk.folder / "000001.jsonl").symlink_to(outside / "new")


def segment_is_a_pipe(desk: Desk, outside: Path) -> None:
    desk.segments[-1].unlink()
    os.mkfifo(desk.folder / "000001.jsonl")


def lock_is_a_pipe(desk: Desk, outside: Path) -> None:
    os.mkfifo(desk.folder / "lock")


def lock_is_a_folder(desk: Desk, outside: Path) -> None:
    (desk.folder / "lock").mkdir()


def segment_is_a_folder(desk: Desk, outside: Path) -> None:
    desk.segments[-1].unlink()
    (desk.folder / "000001.jsonl").mkdir()


def folder_is_a_file(desk: Desk, outside: Path) -> None:
    desk.folder.rename(outside / "ledger")
    desk.folder.write_bytes(b"")


def folder_is_a_pipe(desk: Desk, outside: Path) -> None:
    desk.folder.rename(outside / "ledger")
    os.mkfifo(desk.folder)


SEGMENT_OR_FOLDER: dict[str, tuple[Callable[[Desk, Path], None], type[MunimentError]]] = {
    "the folder is a link": (folder_is_a_link, OutsideRoot),
    "the state's folder is a link": (state_is_a_link, OutsideRoot),
    "the folder is a file": (folder_is_a_file, WrongKind),
    "the folder is a pipe": (folder_is_a_pipe, WrongKind),
    "a segment is a link": (segment_is_a_link, OutsideRoot),
    "a segment is a dangling link": (segment_is_a_dangling_link, OutsideRoot),
    "a segment is a pipe": (segment_is_a_pipe, SpecialFile),
    "a segment is a folder": (segment_is_a_folder, WrongKind),
}
LOCK: dict[str, tuple[Callable[[Desk, Path], None], type[MunimentError]]] = {
    "the lock is a link": (lock_is_a_link, OutsideRoot),
    "the lock is a dangling link": (lock_is_a_dangling_link, OutsideRoot),
    "the lock is a pipe": (lock_is_a_pipe, SpecialFile),
    "the lock is a folder": (lock_is_a_folder, WrongKind),
}
LOCKING = {"append", "name damage", "verify", "witness"}


def everything(place: Path) -> dict[str, tuple[int, bytes]]:
    """All below a place: kinds, and bytes of files."""
    return {
        str(path.relative_to(place)): (
            path.lstat().st_mode,
            path.read_bytes() if path.is_file() and not path.is_symlink() else b"",
        )
        for path in sorted(place.rglob("*"))
        if path.name != "lock" or path.is_symlink()
    }


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("name", [*SEGMENT_OR_FOLDER, *LOCK])
def test_hostile_places_are_refused(desk: Desk, tmp_path: Path, name: str, act: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    lay(desk, LINES)
    spoil, expected = (SEGMENT_OR_FOLDER | LOCK)[name]
    spoil(desk, outside)
    before = everything(tmp_path)
    if name in LOCK and act not in LOCKING:
        ACTS[act](desk)
    else:
        with pytest.raises(expected):
            ACTS[act](desk)
    assert everything(tmp_path) == before


@pytest.mark.parametrize("kind", ["link", "dangling link", "pipe", "file"])
def test_a_hostile_place_for_what_is_set_aside(desk: Desk, tmp_path: Path, kind: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    lay(desk, b"\n".join(LINES) + b"\ntorn")
    torn = desk.folder / "torn"
    if kind == "link":
        torn.symlink_to(outside)
    elif kind == "dangling link":
        torn.symlink_to(outside / "new")
    elif kind == "pipe":
        os.mkfifo(torn)
    else:
        torn.write_bytes(b"")
    before = everything(tmp_path)
    with pytest.raises((OutsideRoot, WrongKind)):
        desk.ledger().append(draft())
    assert everything(tmp_path) == before


@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_a_hostile_file_among_what_was_set_aside(desk: Desk, tmp_path: Path, kind: str) -> None:
    lay(desk, LINES)
    (desk.folder / "torn").mkdir()
    path = desk.folder / "torn" / "01KDVDNA000000000000000000.pending"
    if kind == "link":
        (tmp_path / "secret").write_bytes(b"secret")
        path.symlink_to(tmp_path / "secret")
    else:
        os.mkfifo(path)
    before = everything(tmp_path)
    with pytest.raises((OutsideRoot, SpecialFile)):
        desk.ledger().append(draft())
    assert everything(tmp_path) == before


STATE = ["", "root.json", "claims", "consent", "evidence"]


@pytest.mark.parametrize("name", STATE)
def test_links_in_the_state_lead_nowhere(desk: Desk, tmp_path: Path, name: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    if name:
        open_workspace(desk.root, clock=system_clock)
    state = desk.folder.parent
    path = state / name if name else state
    if path.exists():
        path.rename(outside / "moved")
        path.symlink_to(outside / "moved")
    else:
        path.symlink_to(outside)
    before = everything(tmp_path)
    with pytest.raises(OutsideRoot):
        workspace = open_workspace(desk.root, clock=system_clock)
        if name == "claims":
            workspace.claims.make(desk.ledger().folder, "job:1")
        elif name == "consent":
            workspace.consents.give("delete", b"shown", WitnessKind.TERMINAL)
        elif name == "evidence":
            workspace.tables.keep(Table.of([]))
    assert everything(tmp_path) == before


# No room.  Each in a child of its own: limits and mounts end with it.

CHILD = """
import os, resource, signal, sys
from muniment.disk.errors import NoSpace
from muniment.disk.root import Root
from tests.children import ENVIRONMENT
from tests.record.ledgers import Desk, draft

def main(place, full):
    with Root.open(place) as root:
        desk = Desk(root)
        ledger = desk.ledger()
        acknowledged = [event.event_id for event in desk.fill(3, ledger)]
        give_room = full(desk)
        refused = 0
        for number in range(60):
            before = [path.read_bytes() for path in desk.segments]
            try:
                acknowledged += [e.event_id for e in ledger.append_many([draft(number, text="x" * 900)] * 3)]
            except NoSpace as error:
                refused += 1
                assert error.exit_code == 3 and error.retryable
                assert [path.read_bytes() for path in desk.segments] == before, "not cut back"
                assert desk.verify().whole
                if refused == 3:
                    break
        assert refused == 3, refused
        give_room()
        acknowledged += [event.event_id for event in desk.fill(3, ledger)]
        verdict = desk.verify()
        assert verdict.whole and verdict.repaired == 0, verdict
        assert [record["event_id"] for record in desk.records] == acknowledged
    print("held")
"""

LIMIT = """
def full(desk):
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    # No multiple of a record's length, so that the last write before it is short.
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_011, hard))
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))

main(sys.argv[1], full)
"""

MOUNT = """
import ctypes, pathlib
libc = ctypes.CDLL(None, use_errno=True)
NEWNS, NEWUSER, PRIVATE, REC = 0x20000, 0x10000000, 1 << 18, 1 << 14

def call(what, *arguments):
    if what(*arguments):
        print("refused", os.strerror(ctypes.get_errno()))
        sys.exit(0)

if os.getuid():
    uid = os.getuid()
    call(libc.unshare, NEWUSER | NEWNS)
    pathlib.Path("/proc/self/uid_map").write_text(f"0 {uid} 1")
else:
    call(libc.unshare, NEWNS)
call(libc.mount, b"none", b"/", None, REC | PRIVATE, None)
call(libc.mount, b"tmpfs", sys.argv[1].encode(), b"tmpfs", 0, b"size=128k")

def full(desk):
    ballast = pathlib.Path(sys.argv[1]) / "ballast"
    ballast.write_bytes(bytes(60_000))
    return ballast.unlink

main(sys.argv[1], full)
"""


def in_a_child(program: str, place: Path) -> str:
    """What a child says that appends until there is no room."""
    done = subprocess.run(
        [sys.executable, "-c", CHILD + program, str(place)],
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        check=True,
    )
    return done.stdout.decode().strip()


def test_a_limit_on_the_size_of_files(tmp_path: Path) -> None:
    assert in_a_child(LIMIT, tmp_path) == "held"


def test_a_full_disk(tmp_path: Path) -> None:
    said = in_a_child(MOUNT, tmp_path)
    if said.startswith("refused"):
        refuse_or_skip(f"the right to mount apart from others ({said})")
    assert said == "held"


def test_no_space_to_set_an_end_aside(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then it stays where it is, and nothing is appended to it."""
    lay(desk, b"\n".join(LINES) + b"\n" + b"x" * 5000)
    before = desk.segments[0].read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (3000, hard))
    try:
        with pytest.raises(NoSpace):
            desk.ledger().append(draft())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert desk.segments[0].read_bytes() == before
    desk.fill(1)
    assert desk.verify().whole and desk.verify().repaired == 1


@pytest.mark.parametrize("act", ["append", "verify", "events"])
def test_no_permission(desk: Desk, act: str) -> None:
    lay(desk, LINES)
    ACTS["append"](desk)
    (desk.folder / "lock").chmod(0o666)
    desk.segments[0].chmod(0)
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    try:
        with pytest.raises(NoPermission) as caught:
            ACTS[act](desk)
    finally:
        os.seteuid(user)
    assert caught.value.where.endswith("000001.jsonl")
