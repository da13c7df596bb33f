"""The verified write: whole or not at all, never over what is there, by one or by many."""

from __future__ import annotations

import os
import resource
import stat
from collections.abc import Iterator
from functools import partial
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.disk.processes import PLAIN_USER, gather, in_child, open_the_way, start

from muniment.digest import sha256 as digest_of
from muniment.disk import platform, write
from muniment.disk.errors import AlreadyThere, NoSpace, NotThere, Overtaken, ReadbackFailed
from muniment.disk.root import Root
from muniment.disk.write import is_scratch, scratch_name, write_verified
from muniment.path import RelPath

REL = RelPath.parse("report.md")


@given(chunks=st.lists(st.binary(max_size=3000), max_size=6), replace=st.booleans())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30, deadline=None)
def test_what_is_written_is_what_is_read(root: Root, place: Path, chunks: list[bytes], replace: bool) -> None:
    (place / "report.md").unlink(missing_ok=True)
    if replace:
        (place / "report.md").write_bytes(b"older")
    data = b"".join(chunks)
    written = write_verified(root, REL, iter(chunks), replace=replace)
    assert (written.digest.hex, written.size) == (sha256(data).hexdigest(), len(data))
    assert (place / "report.md").read_bytes() == data
    assert os.listdir(place) == ["report.md"]


@pytest.mark.parametrize("size", [0, 1, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 5 << 20])
def test_sizes_around_a_chunk(root: Root, place: Path, size: int) -> None:
    data = os.urandom(size)
    assert write_verified(root, REL, data).digest.hex == sha256(data).hexdigest()
    assert (place / "report.md").read_bytes() == data


def test_mode_and_missing_folder(root: Root, place: Path) -> None:
    write_verified(root, REL, b"x", mode=0o600)
    assert stat.S_IMODE((place / "report.md").stat().st_mode) == 0o600
    with pytest.raises(NotThere):
        write_verified(root, RelPath.parse("no/report.md"), b"x")
    assert os.listdir(place) == ["report.md"]


def test_replacing_leaves_other_names_of_the_old_file_alone(root: Root, place: Path) -> None:
    (place / "report.md").write_bytes(b"old")
    os.link(place / "report.md", place / "other")
    write_verified(root, REL, b"new", replace=True)
    assert ((place / "report.md").read_bytes(), (place / "other").read_bytes()) == (b"new", b"old")


def test_content_that_breaks_off_leaves_nothing(root: Root, place: Path) -> None:
    def broken() -> Iterator[bytes]:
        yield b"half"
        raise ValueError("the source broke off")

    (place / "report.md").write_bytes(b"old")
    for replace in (False, True):
        with pytest.raises(ValueError, match="broke off"):
            write_verified(root, REL, broken(), replace=replace)
    assert os.listdir(place) == ["report.md"] and (place / "report.md").read_bytes() == b"old"


def flip(path: Path) -> None:
    """One bit of a file is another, and its time says nothing of it."""
    found = path.stat()
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))


@pytest.mark.parametrize("older", [None, b"old"])
def test_a_failed_read_back_takes_everything_back(
    root: Root, place: Path, monkeypatch: pytest.MonkeyPatch, older: bytes | None
) -> None:
    path = place / "report.md"
    if older is not None:
        path.write_bytes(older)
    sync = platform.sync_folder

    def rot(fd: int) -> None:
        sync(fd)
        monkeypatch.setattr(platform, "sync_folder", sync)
        flip(path)

    monkeypatch.setattr(platform, "sync_folder", rot)
    with pytest.raises(ReadbackFailed) as caught:
        write_verified(root, REL, b"new content", replace=older is not None)
    assert "11 bytes" in str(caught.value.why)
    assert os.listdir(place) == ([] if older is None else ["report.md"])
    assert older is None or path.read_bytes() == older


def test_a_name_that_is_taken_meanwhile(root: Root, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rename = platform.rename_exclusive

    def late(*args: int | str) -> None:
        (place / "report.md").write_bytes(b"theirs")
        rename(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(platform, "rename_exclusive", late)
    with pytest.raises(AlreadyThere):
        write_verified(root, REL, b"ours")
    assert os.listdir(place) == ["report.md"] and (place / "report.md").read_bytes() == b"theirs"


@pytest.mark.parametrize("older", [None, b"old"])
def test_a_writer_that_comes_just_after_is_never_undone(
    root: Root, place: Path, monkeypatch: pytest.MonkeyPatch, older: bytes | None
) -> None:
    if older is not None:
        (place / "report.md").write_bytes(older)
    read_back = write.read_back

    def late(*args: object) -> object:
        (place / "theirs").write_bytes(b"theirs")
        (place / "theirs").rename(place / "report.md")
        return read_back(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(write, "read_back", late)
    with pytest.raises(Overtaken):
        write_verified(root, REL, b"ours", replace=True)
    assert os.listdir(place) == ["report.md"] and (place / "report.md").read_bytes() == b"theirs"


def test_a_name_that_comes_and_goes_under_a_replacing_write(
    root: Root, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    swap, exclusive = platform.rename_swap, platform.rename_exclusive
    path = place / "report.md"
    path.write_bytes(b"old")

    def gone(*args: object) -> bool:
        path.unlink()
        monkeypatch.setattr(platform, "rename_swap", swap)
        return swap(*args)  # type: ignore[arg-type]

    def come(*args: object) -> None:
        path.write_bytes(b"again")
        monkeypatch.setattr(platform, "rename_exclusive", exclusive)
        exclusive(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(platform, "rename_swap", gone)
    monkeypatch.setattr(platform, "rename_exclusive", come)
    write_verified(root, REL, b"new", replace=True)
    assert os.listdir(place) == ["report.md"] and path.read_bytes() == b"new"


def test_only_content_of_the_digest_given_is_replaced(root: Root, place: Path) -> None:
    path = place / "report.md"
    with pytest.raises(NotThere):
        write_verified(root, REL, b"new", replace=True, over=digest_of(b"old"))
    path.write_bytes(b"theirs")
    with pytest.raises(Overtaken):
        write_verified(root, REL, b"new", replace=True, over=digest_of(b"old"))
    assert (os.listdir(place), path.read_bytes()) == (["report.md"], b"theirs")
    path.write_bytes(b"old")
    write_verified(root, REL, b"new", replace=True, over=digest_of(b"old"))
    assert (os.listdir(place), path.read_bytes()) == (["report.md"], b"new")


def test_what_comes_right_before_the_exchange_is_given_its_name_again(
    root: Root, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = place / "report.md"
    path.write_bytes(b"old")
    swap = platform.rename_swap

    def late(*args: object) -> bool:
        monkeypatch.setattr(platform, "rename_swap", swap)
        path.write_bytes(b"theirs")
        return swap(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(platform, "rename_swap", late)
    with pytest.raises(Overtaken):
        write_verified(root, REL, b"new", replace=True, over=digest_of(b"old"))
    assert (os.listdir(place), path.read_bytes()) == (["report.md"], b"theirs")


def test_a_file_system_that_can_not_exchange_names(
    root: Root, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "rename_swap", lambda *args: False)
    (place / "report.md").write_bytes(b"old")
    write_verified(root, REL, b"new", replace=True)
    assert os.listdir(place) == ["report.md"] and (place / "report.md").read_bytes() == b"new"


def test_eight_processes_that_write_the_same_name(place: Path) -> None:
    contents = [bytes([65 + number]) * 200_000 for number in range(8)]
    for turn in range(5):
        rel = RelPath.parse(f"report-{turn}.md")

        def one(number: int, rel: RelPath = rel) -> int:
            with Root.open(place) as root:
                write_verified(root, rel, contents[number])
                return number

        answers = gather([start(partial(one, number)) for number in range(8)])
        winners = [answer for answer in answers if isinstance(answer, int)]
        assert len(winners) == 1 and answers.count("ALREADY_THERE") == 7, answers
        assert (place / rel.name).read_bytes() == contents[winners[0]]
    assert len(os.listdir(place)) == 5


def test_eight_processes_that_replace_the_same_name(root: Root, place: Path) -> None:
    size = 50_000
    write_verified(root, REL, b"0" * size)

    def one(number: int) -> list[str]:
        ends = []
        with Root.open(place) as own:
            for _ in range(15):
                try:
                    write_verified(own, REL, bytes([65 + number]) * size, replace=True)
                    ends.append("done")
                except Overtaken as error:
                    ends.append(error.code)
        return ends

    children = [start(partial(one, number)) for number in range(8)]
    for _ in range(300):
        data = (place / "report.md").read_bytes()
        assert len(data) == size and len(set(data)) == 1
    ends = [end for answer in gather(children) for end in answer]
    assert len(ends) == 120 and "done" in ends
    data = (place / "report.md").read_bytes()
    assert len(data) == size and len(set(data)) == 1
    assert os.listdir(place) == ["report.md"]


def test_a_limit_on_the_size_of_files(place: Path) -> None:
    def limited() -> object:
        resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
        with Root.open(place) as root:
            write_verified(root, RelPath.parse("fits"), b"x" * 5000)
            return write_verified(root, REL, b"x" * 5001)

    assert in_child(limited) == NoSpace.code
    assert os.listdir(place) == ["fits"]


def test_a_limit_on_open_files(place: Path) -> None:
    def limited() -> object:
        with Root.open(place) as root:
            resource.setrlimit(resource.RLIMIT_NOFILE, (root.fd + 1, root.fd + 1))
            return write_verified(root, REL, b"x")

    assert in_child(limited) == "TOO_MANY_OPEN"
    assert os.listdir(place) == []


def test_a_folder_that_may_not_be_written_to(tmp_path: Path, place: Path) -> None:
    (place / "report.md").write_bytes(b"old")
    place.chmod(0o555)
    open_the_way(tmp_path, 0o001)

    def plain(replace: bool) -> object:
        with Root.open(place) as root:
            return write_verified(root, REL, b"x", replace=replace)

    for replace in (False, True):
        assert in_child(partial(plain, replace), user=PLAIN_USER) == "NO_PERMISSION"
    assert (place / "report.md").read_bytes() == b"old"


def test_scratch_names_are_known_again() -> None:
    names = {scratch_name() for _ in range(100)} | {scratch_name("01-new")}
    assert len(names) == 101 and all(is_scratch(name) for name in names)
    assert not any(is_scratch(name) for name in ("report.md", ".muniment", ".muniment-x", "a.tmp", ".tmp"))
