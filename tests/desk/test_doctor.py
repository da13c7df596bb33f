"""`doctor` as a whole: what it looks at, what it mends, what it leaves, and how it ends."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import cast

import pytest
from tests.archive.command import muniment
from tests.archive.scene import NOON, Scene, look, open_scene

from muniment.desk.doctor import Level, examine
from muniment.disk.platform import Mount
from muniment.record.subject import Subject, Unfinished


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    with open_scene(tmp_path / "w") as opened:
        opened.write("report.md")
        opened.keep("report.md")
        yield opened


def levels(scene: Scene, mend: bool = True) -> dict[str, Level]:
    return {one.subject: one.level for one in examine(scene.workspace, mend=mend)}


def test_a_workspace_in_which_all_is_well(scene: Scene) -> None:
    before = look(scene.path)
    assert levels(scene) == {
        "half-done acts": Level.GOOD,
        "unfinished files": Level.GOOD,
        "empty addresses": Level.GOOD,
        "permissions": Level.GOOD,
        "file system": Level.GOOD,
        "ledger": Level.GOOD,
        "clock": Level.GOOD,
    }
    assert look(scene.path) == before
    assert muniment(scene.path, "doctor").code == 0


def test_unfinished_files_of_the_state_go_and_those_of_others_stay(scene: Scene) -> None:
    ours = scene.write(".muniment/evidence/.muniment-01-new.tmp", b"x")
    theirs = scene.write(".muniment-notes.tmp", b"an agent's own file of that name")
    named = scene.write(".muniment/evidence/kept.tmp", b"x")
    assert levels(scene, mend=False)["unfinished files"] is Level.WARNING and ours.exists()
    assert levels(scene)["unfinished files"] is Level.MENDED
    assert not ours.exists() and theirs.exists() and named.exists()


@dataclass
class _Room:
    """A room that tells of one thing which it began."""

    one: Unfinished
    prefix: str = "bk_"

    def unfinished(self) -> list[Unfinished]:
        return [self.one]


def test_what_a_half_done_restore_laid_aside_stays(scene: Scene) -> None:
    aside = scene.write(".muniment/.muniment-01-new.tmp", b"the rules that the restore replaces")
    half = cast(
        Subject, _Room(Unfinished("bk_1", "half_restored", "muniment backup restore bk_1", half=True))
    )
    found = {one.subject: one for one in examine(scene.workspace, mend=True, subjects=[half])}
    assert found["unfinished files"].level is Level.WARNING and aside.exists()
    announced = cast(Subject, _Room(Unfinished("bk_1", "announced", "muniment backup list")))
    found = {one.subject: one for one in examine(scene.workspace, mend=True, subjects=[announced])}
    assert found["unfinished files"].level is Level.MENDED and not aside.exists()


def test_claimed_addresses_that_nothing_came_to_go(scene: Scene) -> None:
    stamp = scene.path / "archives/x/2026-11-30-12-00-09"
    other = scene.path / "archives/x/drafts"
    for folder in (stamp, other):
        folder.mkdir(parents=True)
    filled = scene.archived()
    assert levels(scene)["empty addresses"] is Level.MENDED
    assert not stamp.exists() and other.exists(), "only what bears the name of a timestamp"
    assert {inner for inner in filled if not inner.startswith("x/2026")} <= set(scene.archived())


def test_a_state_that_others_could_look_into_is_closed(scene: Scene) -> None:
    state = scene.path / ".muniment"
    state.chmod(0o755)
    assert levels(scene, mend=False)["permissions"] is Level.WARNING
    assert levels(scene)["permissions"] is Level.MENDED
    assert stat.S_IMODE(state.stat().st_mode) == 0o700


def test_a_ledger_that_was_altered_is_wrong_and_not_mended(scene: Scene) -> None:
    scene.write("second.md")
    scene.keep("second.md")
    path = scene.path / ".muniment/ledger/000001.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"bytes":', b'"bytez":', 1))
    before = path.read_bytes()
    assert levels(scene)["ledger"] is Level.WRONG
    assert path.read_bytes() == before
    answer = muniment(scene.path, "doctor")
    assert answer.code == 4 and "NOT whole" in answer.out


@pytest.mark.parametrize("kind", ["nfs4", "virtiofs", "fuse.grpcfuse"])
def test_a_file_system_that_other_machines_share_is_told(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """A stand-in for the kernel's table of mounts, which only the administrator can change."""
    mount = Mount(7, kind, "/", "/srv/shared")
    monkeypatch.setattr("muniment.disk.platform.mount_of", lambda fd: mount)
    (found,) = [one for one in examine(scene.workspace, mend=True) if one.subject == "file system"]
    assert found.level is Level.WARNING and kind in str(found.message)


def test_findings_for_programs(scene: Scene, tmp_path: Path) -> None:
    """The command line looks at the session, the vault and what runs containers as well."""
    vault = {"MUNIMENT_VAULT": (tmp_path / "vault").as_uri()}
    answer = muniment(scene.path, "doctor", "--json", environment=vault)
    told = answer.object["findings"]
    assert {one["subject"] for one in told} == {
        *levels(scene),
        "session",
        "vault",
        "containers",
    } and answer.code == 0
    assert all(set(one) == {"subject", "level", "message"} for one in told)


def test_a_clock_that_went_back_is_told(scene: Scene) -> None:
    (newest,) = scene.workspace.ledger.last(1)
    earlier = replace(scene.workspace, clock=lambda: NOON - timedelta(days=1))
    (found,) = (one for one in examine(earlier, mend=True) if one.subject == "clock")
    assert found.level is Level.WARNING and newest.at in str(found.message)


@pytest.mark.parametrize(
    ("told", "code", "level", "said"),
    [
        ({}, 0, "good", "none is told"),
        ({"MUNIMENT_SESSION_KEY": "agent:main:abc123"}, 0, "good", "abc123, from: host"),
        ({"MUNIMENT_SESSION_KEY": "agent:main:unknown"}, 4, "wrong", "invalid Session"),
        ({"MUNIMENT_SESSION_KEY": "agent:main:cron:j:run:r"}, 4, "wrong", "knows no job j"),
    ],
)
def test_who_tells_the_session(scene: Scene, told: dict[str, str], code: int, level: str, said: str) -> None:
    answer = muniment(scene.path, "doctor", "--json", environment=told)
    (found,) = (one for one in answer.object["findings"] if one["subject"] == "session")
    assert (answer.code, found["level"]) == (code, level) and said in found["message"]
