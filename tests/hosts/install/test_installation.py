"""Hosts: files of ours in a workspace, with somebody else at work in the same places."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from muniment.clock import system_clock
from muniment.disk.errors import AlreadyThere, Overtaken
from muniment.disk.root import Root
from muniment.hosts.installation import PLACE, Installation, State
from muniment.hosts.spot import Held, held_at
from muniment.path import RelPath
from muniment.record.errors import StateDamaged
from muniment.record.state import open_workspace

PAGE, SCRIPT = RelPath.parse("skills/backup/SKILL.md"), RelPath.parse("skills/backup/pack.py")


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Installation]:
    with Root.open(tmp_path) as root:
        files = {PAGE: b"# ours\n", SCRIPT: b"print('ours')\n"}
        yield Installation(root, "starchild", files, lambda: open_workspace(root, clock=system_clock))


def write(made: Installation, path: RelPath, data: bytes, mode: int = 0o644) -> Path:
    place = Path(made.root.path, *path.parts)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.unlink(missing_ok=True)
    place.write_bytes(data)
    place.chmod(mode)
    return place


def overtake(made: Installation, patch: pytest.MonkeyPatch, path: RelPath, data: bytes, looks: int) -> None:
    """Somebody writes a file right after it was looked at for the n-th time."""
    seen = [0]

    def look(root: Root, rel: RelPath) -> Held | None:
        held = held_at(root, rel)
        if rel == path:
            seen[0] += 1
            if seen[0] == looks:
                write(made, path, data)
        return held

    patch.setattr("muniment.hosts.installation.held_at", look)


def test_what_is_put_back_has_the_mode_that_it_had(made: Installation) -> None:
    place = write(made, SCRIPT, b"mine\n", 0o755)
    made.install()
    assert {change.state for change in made.uninstall()} == {State.PUT_BACK, State.REMOVED}
    assert (place.read_bytes(), place.stat().st_mode & 0o777) == (b"mine\n", 0o755)


@pytest.mark.parametrize("former", [None, b"mine\n"], ids=["nothing stood there", "mine stood there"])
def test_what_is_written_while_we_install_is_not_lost(
    made: Installation, monkeypatch: pytest.MonkeyPatch, former: bytes | None
) -> None:
    if former is not None:
        write(made, PAGE, former)
    overtake(made, monkeypatch, PAGE, b"written meanwhile\n", looks=1)
    with pytest.raises((AlreadyThere, Overtaken)):
        made.install()
    assert made.root.read(PAGE) == b"written meanwhile\n"
    assert {one.state for one in made.install()} == {State.REPLACED, State.NEW}
    made.uninstall()
    assert made.root.read(PAGE) == b"written meanwhile\n"


def test_what_is_written_while_we_take_ours_away_is_not_lost(
    made: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    made.install()
    overtake(made, monkeypatch, PAGE, b"written meanwhile\n", looks=2)  # the first look only judges
    assert {one.path: one.state for one in made.uninstall()} == {PAGE: State.KEPT, SCRIPT: State.REMOVED}
    assert made.root.read(PAGE) == b"written meanwhile\n"


@pytest.mark.parametrize("damage", ["gone", "changed"])
def test_a_kept_copy_is_not_put_back_before_it_is_read(made: Installation, damage: str) -> None:
    write(made, PAGE, b"mine\n")
    made.install()
    (copy,) = (path for path in Path(made.root.path, *PLACE.parts).iterdir() if len(path.name) == 64)
    copy.unlink() if damage == "gone" else copy.write_bytes(b"something else")
    with pytest.raises(StateDamaged) as caught:
        made.uninstall()
    assert copy.name in caught.value.where
    assert made.root.read(PAGE) == b"# ours\n" and made.root.read(SCRIPT) == b"print('ours')\n"


RECORDS = [
    b"",
    b"{}",
    b'{"v":2,"files":{}}',
    b'{"v":1,"files":{"../out":{"ours":[],"before":null}}}',
    b'{"v":1,"files":{"a":{"ours":["../x"],"before":null}}}',
    b'{"v":1,"files":{"a":{"ours":[],"before":"../../etc/passwd"}}}',
]


@pytest.mark.parametrize("record", RECORDS)
def test_a_record_of_something_else_is_refused(made: Installation, record: bytes) -> None:
    made.install()
    Path(made.root.path, *PLACE.parts, "starchild.json").write_bytes(record)
    for act in (made.plan, made.install, made.removal, made.uninstall):
        with pytest.raises(StateDamaged):
            act()
    assert made.root.read(PAGE) == b"# ours\n"
