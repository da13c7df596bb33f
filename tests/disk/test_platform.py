"""The calls of the operating system, and what stands in for those that a file system lacks."""

from __future__ import annotations

import errno
import os
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.disk.processes import PLAIN_USER, in_child, open_the_way

from muniment.disk import platform
from muniment.disk.errors import UnsupportedPlatform, named
from muniment.disk.platform import Writers
from muniment.disk.root import Root
from muniment.errors import MunimentError
from muniment.path import RelPath


@pytest.fixture
def folder(root: Root) -> int:
    return root.fd


def no_flags(*args: object) -> bool:
    """A file system that knows no flags of renameat2."""
    return False


def no_links(*args: object, **named: object) -> None:
    raise OSError(errno.EPERM, "Operation not permitted")


@pytest.fixture(params=["flags", "claim by link", "claim by an empty file"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each way of renaming without replacing; the two claims are what other file systems get."""
    if request.param != "flags":
        monkeypatch.setattr(platform, "_rename_flagged", no_flags)
    if request.param == "claim by an empty file":
        monkeypatch.setattr(os, "link", no_links)
    return str(request.param)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("kind", ["file", "folder"])
@pytest.mark.parametrize("taken", ["", "file", "folder", "full folder", "link"])
def test_a_rename_never_replaces(folder: int, place: Path, kind: str, taken: str) -> None:
    if kind == "file":
        (place / "old").write_bytes(b"ours")
    else:
        (place / "old").mkdir()
        (place / "old" / "ours").write_bytes(b"ours")
    match taken:
        case "file":
            (place / "new").write_bytes(b"theirs")
        case "folder" | "full folder":
            (place / "new").mkdir()
        case "link":
            (place / "new").symlink_to("nowhere")
    if taken == "full folder":
        (place / "new" / "theirs").write_bytes(b"theirs")
    before = sorted(str(path) for path in place.rglob("*"))
    if taken:
        with pytest.raises(FileExistsError):
            platform.rename_exclusive(folder, "old", folder, "new")
        assert sorted(str(path) for path in place.rglob("*")) == before
        assert taken != "file" or (place / "new").read_bytes() == b"theirs"
    else:
        platform.rename_exclusive(folder, "old", folder, "new")
        assert os.listdir(place) == ["new"]
        assert (place / "new" if kind == "file" else place / "new/ours").read_bytes() == b"ours"


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("kind", ["file", "folder"])
def test_a_rename_of_nothing_leaves_nothing(folder: int, place: Path, kind: str) -> None:
    with pytest.raises(FileNotFoundError):
        platform.rename_exclusive(folder, "old", folder, "new")
    assert os.listdir(place) == []


def test_an_empty_claim_goes_when_the_rename_fails(
    folder: int, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*args: object, **named: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(platform, "_rename_flagged", no_flags)
    monkeypatch.setattr(os, "link", no_links)
    monkeypatch.setattr(os, "rename", fails)
    (place / "old").write_bytes(b"ours")
    (place / "folder").mkdir()
    for name in ("old", "folder"):
        with pytest.raises(OSError, match="Input"):
            platform.rename_exclusive(folder, name, folder, "new")
    assert sorted(os.listdir(place)) == ["folder", "old"]


def test_two_names_change_places(folder: int, place: Path) -> None:
    (place / "a").write_bytes(b"a")
    (place / "b").write_bytes(b"b")
    assert platform.rename_swap(folder, "a", folder, "b")
    assert ((place / "a").read_bytes(), (place / "b").read_bytes()) == (b"b", b"a")
    with pytest.raises(FileNotFoundError):
        platform.rename_swap(folder, "a", folder, "c")


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (errno.ENOSPC, "NO_SPACE"),
        (errno.EDQUOT, "NO_SPACE"),
        (errno.EFBIG, "NO_SPACE"),
        (errno.EMFILE, "TOO_MANY_OPEN"),
        (errno.ENFILE, "TOO_MANY_OPEN"),
        (errno.EEXIST, "ALREADY_THERE"),
        (errno.ENOTEMPTY, "ALREADY_THERE"),
        (errno.ENOENT, "NOT_THERE"),
        (errno.ENOTDIR, "WRONG_KIND"),
        (errno.EISDIR, "WRONG_KIND"),
        (errno.ELOOP, "OUTSIDE_ROOT"),
        (errno.EACCES, "NO_PERMISSION"),
        (errno.EPERM, "NO_PERMISSION"),
        (errno.EROFS, "NO_PERMISSION"),
        (errno.ENXIO, "SPECIAL_FILE"),
        (errno.EIO, "DISK"),
        (errno.ESTALE, "DISK"),
        (errno.EBUSY, "DISK"),
    ],
)
def test_an_error_of_the_system_gets_its_name(number: int, code: str) -> None:
    cause = OSError(number, os.strerror(number))
    with pytest.raises(MunimentError) as caught, named("a/\x1b"):
        raise cause
    assert (caught.value.code, caught.value.where) == (code, "a/\\x1b")
    assert caught.value.__cause__ is cause


def test_an_unknown_system_is_refused_once_and_clearly(monkeypatch: pytest.MonkeyPatch) -> None:
    platform.require_supported()
    monkeypatch.setattr(platform, "LINUX", False)
    monkeypatch.setattr(platform, "MACOS", False)
    with pytest.raises(UnsupportedPlatform):
        platform.require_supported()


def test_who_writes(place: Path) -> None:
    (place / "file").write_bytes(b"x")
    reading = os.open(place / "file", os.O_RDONLY)
    assert platform.writers(reading) is Writers.NONE
    os.close(reading)
    writing = os.open(place / "file", os.O_WRONLY)
    reading = os.open(place / "file", os.O_RDONLY)
    assert platform.writers(reading) is Writers.SOME
    os.close(writing)
    os.close(reading)


def test_who_writes_another_user_s_file_is_not_known(place: Path) -> None:
    (place / "file").write_bytes(b"x")
    open_the_way(place, 0o005)
    found = in_child(lambda: platform.writers(os.open(place / "file", os.O_RDONLY)), user=PLAIN_USER)
    assert found is Writers.UNKNOWN


def test_the_mount_and_the_boot_are_known(root: Root) -> None:
    found = platform.mount_of(root.fd)
    assert found is not None and found.fs_type
    assert os.path.ismount(found.mount_point) and Path(root.path).is_relative_to(found.mount_point)
    assert len(platform.boot_id()) == 36


def folding(monkeypatch: pytest.MonkeyPatch, spelled: str, fold: Callable[[str], str]) -> None:
    """A stand-in for a file system that folds names, over the real one: the name there is `spelled`."""
    stat = os.stat

    def folded(name: Any, **named: Any) -> os.stat_result:
        if isinstance(name, str) and fold(name) == fold(spelled):
            name = spelled
        return stat(name, **named)

    monkeypatch.setattr(os, "stat", folded)


def _composes(name: str) -> str:
    return unicodedata.normalize("NFC", name)


def _trims(name: str) -> str:
    return name.rstrip(". ").casefold()


def _ignores(name: str) -> str:
    return name.replace("\u00ad", "").replace("\u200b", "").casefold()


@pytest.mark.parametrize(
    ("spelled", "asked", "fold", "answer"),
    [
        ("Report.md", "Report.md", str.casefold, True),
        ("Report.md", "report.md", str.casefold, False),
        ("Report.md", "REPORT.MD", str.casefold, False),
        ("Straße", "STRASSE", str.casefold, False),
        ("\u03c3", "\u03c2", str.casefold, False),
        ("k", "\u212a", str.casefold, False),
        ("café", "cafe\u0301", _composes, False),
        ("cafe\u0301", "café", _composes, False),
        ("123", "123.", _trims, False),
        ("123", "123 ", _trims, False),
        ("123", "1\u00ad23", _ignores, False),
        ("報告", "報\u200b告", _ignores, False),
        ("報告", "報告", _ignores, True),
    ],
)
def test_a_name_is_spelled_as_the_folder_spells_it(
    root: Root,
    place: Path,
    monkeypatch: pytest.MonkeyPatch,
    spelled: str,
    asked: str,
    fold: Callable[[str], str],
    answer: bool,
) -> None:
    (place / spelled).write_bytes(b"x")
    folding(monkeypatch, spelled, fold)
    assert root.spelled_exactly(RelPath((asked,))) is answer
