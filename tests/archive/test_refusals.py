"""Every code of the protocol by several causes: the source stays as it was, and nothing is left."""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
import resource
import signal
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.archive.scene import FALLBACK, REPORT, Scene, fail_at, open_scene, rel, untouched

from muniment.archive.model import Request, Track
from muniment.disk import copy as disk_copy
from muniment.disk import move as disk_move
from muniment.disk import tree
from muniment.errors import MunimentError
from muniment.hosts.errors import InvalidSession
from muniment.hosts.session import Session, SessionSource
from muniment.path import RelPath


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    with open_scene(tmp_path / "w") as opened:
        yield opened


def refused(scene: Scene, code: str, *requests: Request, why: str = "", **options: Any) -> MunimentError:
    """The call is refused with this code; what was there is there."""
    with (
        untouched(scene, *{request.source.posix for request in requests if request.source.parts}),
        pytest.raises(MunimentError) as caught,
    ):
        scene.archive(**options).keep(list(requests))
    assert caught.value.code == code, caught.value
    assert why in caught.value.reason
    return caught.value


def at(name: str, track: Track | None = None, shown: str | None = None) -> Request:
    return Request(rel(name), track, shown)


# INVALID_INPUT


def test_a_plan_that_is_not_named_so(scene: Scene) -> None:
    scene.write("report.md")
    refused(scene, "INVALID_INPUT", at("report.md", Track.PLAN))


def test_plan_md_as_a_file(scene: Scene) -> None:
    scene.write("PLAN.md")
    refused(scene, "INVALID_INPUT", at("PLAN.md", Track.FILE))


def test_a_folder_as_a_plan(scene: Scene) -> None:
    scene.write("PLAN.md/inner.md")
    refused(scene, "INVALID_INPUT", at("PLAN.md", Track.PLAN))


@pytest.mark.parametrize("shown", ["\n", "a\x1b[2J", "a\udcffb", " ", "x" * 501], ids=repr)
def test_a_name_that_no_card_can_show(scene: Scene, shown: str) -> None:
    scene.write("report.md")
    refused(scene, "INVALID_INPUT", at("report.md", None, shown))


# INVALID_SESSION


def test_a_session_that_is_none(scene: Scene) -> None:
    scene.write("report.md")

    def none() -> Session:
        raise InvalidSession()

    archive = scene.archive()
    archive._session = none
    with untouched(scene, "report.md"), pytest.raises(InvalidSession, match="invalid Session"):
        archive.keep([at("report.md")])


@pytest.mark.parametrize("archive_id", ["", "a/b", "..", "ä", "x" * 201], ids=repr)
def test_an_id_that_is_no_name(scene: Scene, archive_id: str) -> None:
    scene.write("report.md")
    session = Session(archive_id, SessionSource.HOST)
    with untouched(scene, "report.md"), pytest.raises(MunimentError) as caught:
        scene.archive(session).keep([at("report.md")])
    assert caught.value.code == "INVALID_SESSION"


# INVALID_SOURCE


def test_places_that_are_never_archived(scene: Scene) -> None:
    scene.write("archives/old/2026-01-01-00-00-00/x.md")
    scene.write(".restore/x.md")
    scene.write("sub/.muniment/root.json")
    for path in (
        RelPath(),
        rel("archives"),
        rel("archives/old"),
        rel("archives/old/2026-01-01-00-00-00/x.md"),
        rel(".muniment"),
        rel(".muniment/root.json"),
        rel(".restore/x.md"),
        rel("sub"),
        rel("sub/.muniment"),
        rel("sub/.muniment/root.json"),
    ):
        before = scene.archived()
        with pytest.raises(MunimentError) as caught:
            scene.archive().keep([Request(path)])
        assert caught.value.code == "INVALID_SOURCE", path
        assert scene.archived() == before and scene.journals() == [] and scene.events() == []


def test_links(scene: Scene) -> None:
    scene.write("real/report.md")
    (scene.path / "link.md").symlink_to("real/report.md")
    (scene.path / "way").symlink_to("real")
    (scene.path / "dangling").symlink_to("nowhere")
    for name in ("link.md", "way", "dangling"):
        refused(scene, "INVALID_SOURCE", at(name), why="link")
    with untouched(scene, "real"), pytest.raises(MunimentError) as caught:
        scene.keep("way/report.md")
    assert caught.value.code == "INVALID_SOURCE"


@pytest.mark.parametrize(
    "target", ["../outside.md", "/etc/hostname", "deep/../../outside.md", "loop", "up/../x"]
)
def test_links_that_lead_out_of_a_folder(scene: Scene, target: str) -> None:
    scene.write("results/a.md")
    scene.write("results/deep/b.md")
    (scene.path / "results/up").symlink_to("..")
    (scene.path / "results/loop").symlink_to(target)
    refused(scene, "INVALID_SOURCE", at("results"), why="leads out of the folder")


def test_links_that_would_be_followed_for_ever(scene: Scene) -> None:
    """Each leads through the next twice: forty deep, no reader would ever come to an end."""
    scene.write("results/a.md")
    for number in range(40):
        name = f"l{number + 1}"
        (scene.path / f"results/l{number}").symlink_to(f"{name}/../{name}")
    (scene.path / "results/l40").mkdir()
    refused(scene, "INVALID_SOURCE", at("results"), why="leads out of the folder")


def test_as_many_links_are_followed_as_a_kernel_follows(scene: Scene) -> None:
    """Forty on one path, and not one more; the kernel itself is asked."""
    scene.write("results/l40", b"the end of the chain\n")
    for number in range(40):
        (scene.path / f"results/l{number}").symlink_to(f"l{number + 1}")
    assert (scene.path / "results/l0").read_bytes() == b"the end of the chain\n"
    (scene.path / "results/one-more").symlink_to("l0")
    with pytest.raises(OSError, match="Too many levels"):
        (scene.path / "results/one-more").read_bytes()
    refused(scene, "INVALID_SOURCE", at("results"), why="results/one-more")
    (scene.path / "results/one-more").unlink()
    assert scene.keep("results")


def test_what_is_neither_file_nor_folder(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(scene.path / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        monkeypatch.chdir(scene.path)  # the name of a socket is short
        listener.bind("socket")
    scene.write("results/a.md")
    os.mkfifo(scene.path / "results/pipe")
    for name in ("pipe", "socket", "results"):
        refused(scene, "INVALID_SOURCE", at(name))


def test_names_that_no_card_can_hold(scene: Scene) -> None:
    for name in ("a\nb.md", "a\x1b[31m.md", "a\x7f.md", "a\udcff.md", "f\udcff/a.md"):
        scene.write(name)
        refused(scene, "INVALID_SOURCE", at(name))


def test_what_somebody_claims(scene: Scene) -> None:
    scene.write("out/run/result.csv")
    claim = scene.workspace.claims.make(rel("out/run"), "job:01")
    for name in ("out", "out/run", "out/run/result.csv"):
        refused(scene, "INVALID_SOURCE", at(name), why="job:01 claims out/run")
    scene.workspace.claims.end(claim)
    assert scene.keep("out/run/result.csv")


def test_paths_of_one_call_that_overlap(scene: Scene) -> None:
    scene.write("a/b/c.md")
    scene.write("a-b.md")
    refused(scene, "INVALID_SOURCE", at("a/b"), at("a-b.md"), at("a"), why="archived by the same call")
    twice = at("a-b.md")
    refused(scene, "INVALID_SOURCE", twice, twice, why="archived by the same call")


# MISSING_SOURCE


def test_nothing_there(scene: Scene) -> None:
    scene.write("here.md")
    refused(scene, "MISSING_SOURCE", at("nowhere.md"))
    refused(scene, "MISSING_SOURCE", at("no/folder/report.md"))
    refused(scene, "MISSING_SOURCE", at("here.md"), at("nowhere.md"))


def test_it_goes_away_after_it_was_accepted(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    path = scene.write("report.md")
    scene.write("other.md")
    first(monkeypatch, disk_move, "sync_tree", lambda: path.rename(scene.path / "taken.md"))
    with untouched(scene, "other.md"), pytest.raises(MunimentError) as caught:
        scene.archive().keep([at("report.md"), at("other.md")])
    assert caught.value.code == "MISSING_SOURCE"
    assert (scene.path / "taken.md").read_bytes() == REPORT


# EMPTY_SOURCE


def test_not_one_byte(scene: Scene) -> None:
    scene.write("empty.md", b"")
    (scene.path / "nothing").mkdir()
    scene.write("hollow/a.md", b"")
    scene.write("hollow/b/c.txt", b"")
    (scene.path / "hollow/link").symlink_to("a.md")
    for name in ("empty.md", "nothing", "hollow"):
        refused(scene, "EMPTY_SOURCE", at(name))


# EMPTY_TARGET


def test_the_copy_is_emptied_before_it_is_read_back(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    os.link(scene.write("report.md"), scene.path / "other-name.md")
    spoil(monkeypatch, scene, lambda path: os.truncate(path, 0))
    refused(scene, "EMPTY_TARGET", at("report.md"))


def test_a_disk_that_keeps_nothing_of_what_it_takes(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    scene.write("results/a.txt")
    os.link(scene.write("results/b.txt"), scene.path / "other-name.txt")
    monkeypatch.setattr(disk_copy, "write_all", lambda fd, data: None)
    with untouched(scene, "results"), pytest.raises(MunimentError) as caught:
        scene.keep("results")
    assert caught.value.code == "EMPTY_TARGET"


# TARGET_EXISTS


def test_a_second_plan(scene: Scene) -> None:
    scene.write("PLAN.md", b"# First\n")
    scene.keep("PLAN.md")
    scene.write("PLAN.md", b"# Second\n")
    error = refused(scene, "TARGET_EXISTS", at("PLAN.md"))
    assert "in place" in str(error.next_step)
    scene.write("sub/PLAN.md", b"# Third\n")
    refused(scene, "TARGET_EXISTS", at("sub/PLAN.md"), at("PLAN.md"))


def test_a_plan_that_somebody_put_there_meanwhile(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    scene.write("PLAN.md", b"# Mine\n")
    theirs = scene.path / f"archives/{FALLBACK.archive_id}/PLAN.md"
    first(monkeypatch, disk_move, "sync_tree", lambda: theirs.write_bytes(b"# Theirs\n"))
    before = (scene.path / "PLAN.md").read_bytes()
    with pytest.raises(MunimentError) as caught:
        scene.keep("PLAN.md")
    assert caught.value.code == "TARGET_EXISTS"
    assert theirs.read_bytes() == b"# Theirs\n" and (scene.path / "PLAN.md").read_bytes() == before
    assert scene.journals() == [] and scene.events() == []


def test_no_second_is_free(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    scene.write("report.md")
    monkeypatch.setattr("muniment.archive.rules.TRIES", 3)
    for second in range(3):
        (scene.path / f"archives/{FALLBACK.archive_id}/2026-11-30-12-00-0{second}").mkdir(parents=True)
    refused(scene, "TARGET_EXISTS", at("report.md"))


# SOURCE_BUSY


def test_open_for_writing(scene: Scene) -> None:
    path = scene.write("report.md")
    with path.open("r+b"):
        refused(scene, "SOURCE_BUSY", at("report.md"))
    with path.open("rb"):  # a reader does no harm
        assert scene.keep("report.md")


def test_mapped_for_writing_after_it_was_closed(scene: Scene) -> None:
    path = scene.write("results/data.bin", b"x" * 5000)
    with path.open("r+b") as stream:
        mapping = mmap.mmap(stream.fileno(), 0)
    try:
        refused(scene, "SOURCE_BUSY", at("results"))
    finally:
        mapping.close()
    assert scene.keep("results")


def test_opened_for_writing_while_it_is_moved(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    path = scene.write("report.md")
    opened: list[int] = []
    first(monkeypatch, disk_move, "sync_tree", lambda: opened.append(os.open(path, os.O_RDWR)))
    try:
        refused(scene, "SOURCE_BUSY", at("report.md"))
    finally:
        os.close(opened[0])


# SOURCE_CHANGED


def test_written_to_between_reading_and_moving(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    path = scene.write("report.md")
    first(monkeypatch, disk_copy, "copy_unchecked", lambda: append(path, b"more\n"))
    os.link(path, scene.path / "other-name.md")
    with pytest.raises(MunimentError) as caught:
        scene.keep("report.md")
    assert caught.value.code == "SOURCE_CHANGED"
    assert path.read_bytes() == REPORT + b"more\n"
    assert nothing_is_left(scene)


def test_a_file_more_after_the_folder_was_copied(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    os.link(scene.write("results/a.txt"), scene.path / "other-name.txt")
    first(monkeypatch, disk_move, "give_up_source", lambda: scene.write("results/late.txt"))
    with pytest.raises(MunimentError) as caught:
        scene.keep("results")
    assert caught.value.code == "SOURCE_CHANGED"
    assert sorted(os.listdir(scene.path / "results")) == ["a.txt", "late.txt"]
    assert nothing_is_left(scene)


def test_other_bytes_when_its_fields_are_looked_at(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bytes that were hashed say `failed`; what is parsed must be just these."""
    scene.write("result.json", b'{"status": "failed"}')
    monkeypatch.setattr(type(scene.root), "read", lambda *_: b'{"status": "passed"}')
    with pytest.raises(MunimentError) as caught:
        scene.archive().keep([at("result.json")])
    monkeypatch.undo()
    assert caught.value.code == "SOURCE_CHANGED" and nothing_is_left(scene)


# READBACK_FAILED


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("result.json", b'{"a": 1,}'),
        ("result.json", b'{"a": NaN}'),
        ("result.json", b"\xff\xfe{}"),
        ("config.yaml", b"a: [1, 2\nb: }"),
        ("config.yml", b"\ta: 1\n\t- b"),
        ("pyproject.toml", b"[tool\nname = 1"),
        ("report.md", b" \n\t\n\xe3\x80\x80\n"),
    ],
)
def test_a_file_that_is_not_what_its_name_says(scene: Scene, name: str, data: bytes) -> None:
    scene.write(name, data)
    refused(scene, "READBACK_FAILED", at(name), why="key fields")


def test_a_requirement_that_is_not_met(scene: Scene) -> None:
    scene.write("results/report-1.md", b"# Report\n\n```\n# Summary\n```\n")
    scene.write("results/result.json", b'{"status": null}')
    refused(scene, "READBACK_FAILED", at("results"), require={"report*.md": ("# Summary",)}, why="# Summary")
    refused(scene, "READBACK_FAILED", at("results"), require={"result.json": ("/status",)}, why="/status")


def test_a_requirement_on_what_is_too_large_to_look_into(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("muniment.archive.accept.PARSED_LIMIT", 10)
    scene.write("result.json", b'{"status": "passed"}')
    refused(scene, "READBACK_FAILED", at("result.json"), require={"result.json": ("/status",)})
    (receipt,) = scene.archive().keep([at("result.json")])
    assert receipt.read_back.key_fields == "none to check"
    assert receipt.warnings == ("result.json: too large to be parsed",)


def test_a_copy_in_which_one_bit_is_another(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    os.link(scene.write("report.md"), scene.path / "other-name.md")

    def flip(path: Path) -> None:
        data = bytearray(path.read_bytes())
        data[5] ^= 1
        path.write_bytes(data)

    spoil(monkeypatch, scene, flip)
    refused(scene, "READBACK_FAILED", at("report.md"))


def test_a_disk_that_reads_other_bytes_at_the_address(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    scene.write("data.bin", b"x" * 5000)
    true = tree._hash
    reads: list[int] = []

    def lying(fd: int, buffer: bytearray) -> tuple[Any, int]:
        digest, size = true(fd, buffer)
        reads.append(size)
        return (digest if len(reads) == 1 else type(digest)("0" * 64)), size

    monkeypatch.setattr(tree, "_hash", lying)
    refused(scene, "READBACK_FAILED", at("data.bin"))


def test_an_address_that_is_spelled_in_another_way(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a folder that folds case would answer."""
    scene.write("Report.md")
    monkeypatch.setattr(
        type(scene.root), "spelled_exactly", lambda root, path: path.parts[0] != "archives", raising=True
    )
    refused(scene, "READBACK_FAILED", at("Report.md"), why="under exactly this name")


# NO_SPACE


@pytest.mark.parametrize("function", ["rename_exclusive", "sync_data", "sync_folder"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_wherever_it_says_so(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, function: str, number: int
) -> None:
    """The call fails at each of its uses in turn, until the act gets through."""
    scene.write("PLAN.md", b"# Plan\n")
    scene.write("results/a.txt")
    scene.keep("PLAN.md")
    failed = 0
    for use in range(1, 60):
        scene.later()
        with monkeypatch.context() as patch:
            fail_at(patch, function, use, number)
            try:
                with untouched_on_error(scene, "results"):
                    scene.keep("results")
            except MunimentError as error:
                failed += 1
                assert error.code == "NO_SPACE", (use, error)
            else:
                break
    else:
        pytest.fail("it never got through")
    assert failed > 2


def test_no_file_may_grow(scene: Scene) -> None:
    """A true limit: the evidence, and a copy, can not be written."""
    scene.write("large.bin", b"x" * 200_000)
    os.link(scene.path / "large.bin", scene.path / "other-name.bin")
    for limit in (1, 3000, 100_000):
        with file_size_limit(limit):
            with pytest.raises(MunimentError) as caught:
                scene.keep("large.bin")
            assert caught.value.code == "NO_SPACE", limit
        assert nothing_is_left(scene)
    assert (scene.path / "large.bin").read_bytes() == b"x" * 200_000


def test_the_ledger_has_no_room(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    scene.write("report.md")
    scene.write("results/a.txt")
    true = os.write

    def full(fd: int, data: bytes) -> int:
        if os.readlink(f"/proc/self/fd/{fd}").endswith(".jsonl"):
            true(fd, bytes(data)[:40])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return true(fd, data)

    monkeypatch.setattr(os, "write", full)
    with untouched(scene, "report.md", "results"), pytest.raises(MunimentError) as caught:
        scene.keep("report.md", "results")
    assert caught.value.code == "NO_SPACE"


# How the disk is made to fail


def first(monkeypatch: pytest.MonkeyPatch, owner: object, name: str, do: Callable[[], object]) -> None:
    """Do something once, just before a function is first called."""
    true = getattr(owner, name)
    done: list[bool] = []

    def instead(*arguments: Any, **named: Any) -> Any:
        if not done:
            done.append(True)
            do()
        return true(*arguments, **named)

    monkeypatch.setattr(owner, name, instead)


def spoil(monkeypatch: pytest.MonkeyPatch, scene: Scene, do: Callable[[Path], None]) -> None:
    """Do something to a copied file at its address, before it is read back."""
    true = disk_copy.confirm

    def instead(root: Any, place: RelPath, *arguments: Any, **named: Any) -> Any:
        do(scene.path / place.posix)
        return true(root, place, *arguments, **named)

    monkeypatch.setattr(disk_copy, "confirm", instead)


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as stream:
        stream.write(data)


def nothing_is_left(scene: Scene) -> bool:
    assert (scene.archived(), scene.events(), scene.journals(), scene.unfinished()) == ({}, [], [], [])
    return scene.sound()


@contextlib.contextmanager
def untouched_on_error(scene: Scene, *names: str) -> Iterator[None]:
    """As `untouched`, for an act that may also succeed."""
    failed: list[MunimentError] = []
    guard = untouched(scene, *names)
    guard.__enter__()
    try:
        yield
    except MunimentError as error:
        failed.append(error)
    if failed:
        guard.__exit__(None, None, None)
        raise failed[0]


@contextlib.contextmanager
def file_size_limit(size: int) -> Iterator[None]:
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, old[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
        signal.signal(signal.SIGXFSZ, handler)
