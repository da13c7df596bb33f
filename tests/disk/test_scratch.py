"""Scratch folders: a living run keeps its own, what dead ones left goes, and nothing else does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.children import ENVIRONMENT
from tests.disk.processes import PLAIN_USER
from tests.faults.stage import refuse_or_skip

from muniment.disk.scratch import remove_leftovers, scratch_folder

HOLDS = """
import sys
from muniment.disk.scratch import scratch_folder
with scratch_folder("test") as folder:
    (folder / "copy").write_bytes(b"rows")
    (folder / "deep").mkdir()
    (folder / "deep" / "more").write_bytes(b"rows")
    print(folder, flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tmp_path


@pytest.fixture
def holder(place: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that lives in its scratch folder."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDS],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**ENVIRONMENT, "TMPDIR": str(place)},
    ) as process:
        yield process
        process.kill()


def test_the_folder_is_gone_after_the_block(place: Path) -> None:
    with scratch_folder("test") as folder:
        assert folder.parent == place and folder.stat().st_mode & 0o777 == 0o700
        (folder / "copy").write_bytes(b"x")
    assert list(place.iterdir()) == []


def test_a_living_process_keeps_its_folder_and_a_killed_one_does_not(
    place: Path, holder: subprocess.Popen[str]
) -> None:
    assert holder.stdout is not None
    folder = Path(holder.stdout.readline().strip())
    assert remove_leftovers("test") == []
    assert (folder / "deep" / "more").read_bytes() == b"rows"
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    assert folder.exists()
    assert remove_leftovers("other") == [] and folder.exists()
    assert remove_leftovers("test") == []
    assert list(place.iterdir()) == []


def test_links_strangers_and_open_folders_are_not_touched(place: Path) -> None:
    outside = place / "outside"
    outside.mkdir()
    (outside / "precious").write_text("x")
    (place / "muniment-test-link").symlink_to(outside)
    (place / "muniment-test-file").write_text("x")
    (place / "muniment-test-shared").mkdir()
    (place / "muniment-test-shared").chmod(0o770)
    left = place / "muniment-test-left"
    left.mkdir(mode=0o700)
    (left / "into").symlink_to(outside)
    assert remove_leftovers("test") == []
    assert (outside / "precious").read_text() == "x"
    assert not left.exists()
    kept = {"outside", "muniment-test-link", "muniment-test-file", "muniment-test-shared"}
    assert {path.name for path in place.iterdir()} == kept


def test_the_folder_of_another_user_is_not_touched(place: Path) -> None:
    if os.geteuid() != 0:
        refuse_or_skip("the right to give a folder away")
    theirs = place / "muniment-test-theirs"
    theirs.mkdir(mode=0o700)
    os.chown(theirs, PLAIN_USER, PLAIN_USER)
    assert remove_leftovers("test") == []
    assert theirs.exists()


def test_what_can_not_be_looked_at_is_told(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(place / "gone"))
    (finding,) = remove_leftovers("test")
    assert str(place / "gone") in str(finding)


def test_a_folder_that_is_taken_for_a_leftover_at_once_is_made_anew(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another run may lock and remove it between its making and its locking."""
    honest = tempfile.mkdtemp
    taken: list[str] = []

    def overtaken(**named: str) -> str:
        made = honest(**named)
        if not taken:
            taken.append(made)
            assert remove_leftovers("test") == []
        return made

    monkeypatch.setattr(tempfile, "mkdtemp", overtaken)
    with scratch_folder("test") as folder:
        assert str(folder) not in taken and folder.exists()
    assert list(place.iterdir()) == []
