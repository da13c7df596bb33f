"""What is not archived yet: with git and without, swept as wholes, and only when confirmed."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.archive.command import muniment
from tests.archive.scene import Scene, content, look, open_scene

from muniment.archive.errors import GitSilent
from muniment.archive.identity import prove_identity
from muniment.archive.outstanding import outstanding
from muniment.archive.sweep import gather
from muniment.hosts.git import ask_git


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    with open_scene(tmp_path / "w") as opened:
        yield opened


def git(place: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(
        ["git", *identity, "-C", place, *arguments], check=True, capture_output=True, env=environment
    )


def loose(scene: Scene, since_ns: int | None = None) -> list[str]:
    return [path.posix for path in outstanding(scene.root, ask_git, since_ns)]


# With git


def test_what_git_does_not_track_and_the_names_that_always_count(scene: Scene) -> None:
    git(scene.path, "init", "-q")
    scene.write(".gitignore", b"report.md\n*.log\nnode_modules/\n")
    for name in ("code.py", "notes.md", "sub/summary.md", "result.json", "archives/x/PLAN.md"):
        scene.write(name, b"1")
    git(scene.path, "add", ".")
    git(scene.path, "add", "-f", "archives")
    git(scene.path, "commit", "-qm", "one")
    assert loose(scene) == []
    scene.write("code.py", b"2")  # tracked, and no deliverable by its name
    scene.write("notes.md", b"22")  # committed, and changed since
    scene.write("sub/report.md")  # ignored, and a deliverable all the same
    scene.write("build.log")  # ignored
    scene.write("node_modules/lib/summary.md")  # a tool's
    scene.write("data.csv")
    scene.write("with\nnewline.txt")
    scene.write("sub/nicht-ASCII-ü.txt")
    scene.write("odd\udcff.txt")
    (scene.path / "result.json").unlink()
    scene.write(".restore/x.txt")
    assert loose(scene) == sorted(
        [
            "notes.md",
            "sub/report.md",
            "data.csv",
            "with\nnewline.txt",
            "sub/nicht-ASCII-ü.txt",
            "odd\udcff.txt",
        ]
    )


def test_renamed_staged_and_deleted_names(scene: Scene) -> None:
    git(scene.path, "init", "-q")
    scene.write("draft.txt", b"x" * 500)
    scene.write("summary.md", b"1")
    scene.write("notes.md", b"1")
    git(scene.path, "add", ".")
    git(scene.path, "commit", "-qm", "one")
    git(scene.path, "mv", "draft.txt", "report.md")
    git(scene.path, "mv", "summary.md", "other.txt")
    git(scene.path, "rm", "-q", "notes.md")
    assert loose(scene) == ["report.md"]
    git(scene.path, "commit", "-qm", "two")
    assert loose(scene) == []


def test_before_the_first_commit(scene: Scene) -> None:
    git(scene.path, "init", "-q")
    scene.write("report.md")
    scene.write("staged.txt")
    scene.write("PLAN.md")
    git(scene.path, "add", "report.md", "staged.txt")
    assert loose(scene) == ["PLAN.md", "report.md"]


def test_a_repository_inside_counts_as_one_folder(scene: Scene) -> None:
    git(scene.path, "init", "-q")
    inner = scene.path / "vendor"
    scene.write("vendor/report.md")
    git(inner, "init", "-q")
    git(inner, "add", ".")
    git(inner, "commit", "-qm", "one")
    assert loose(scene) == ["vendor"]
    assert gather(scene.root, outstanding(scene.root, ask_git, None)).sources[0].posix == "vendor"


def test_a_workspace_inside_a_repository(scene: Scene) -> None:
    above = scene.path.parent
    git(above, "init", "-q")
    (above / "elsewhere.txt").write_text("x")
    scene.write("data.csv")
    assert loose(scene) == ["data.csv"]
    # An outer repository that ignores all of it says nothing of what was made in it.
    (above / ".gitignore").write_text("w/\n")
    scene.write("report.md")
    assert loose(scene) == ["report.md"]
    assert loose(scene, since_ns=0) == ["data.csv", "report.md"]


def test_git_that_fails_is_not_taken_for_nothing_left(scene: Scene) -> None:
    git(scene.path, "init", "-q")
    scene.write("data.csv")
    (scene.path / ".git/index").write_bytes(b"no index")
    with pytest.raises(GitSilent):
        loose(scene)
    answer = muniment(scene.path, "archive", "status", "--check")
    assert answer.code == 8 and "Everything is archived" not in answer.out


# Without git


def test_without_git_the_names_and_what_is_newer_than_the_session(scene: Scene) -> None:
    scene.write("old.txt")
    scene.write("deep/summary.md")
    scene.write(".venv/lib/notes.md")
    scene.write("archives/x/2026-01-01-00-00-00/report.md")
    since = 2 * 10**18
    os.utime(scene.write("new.txt"), ns=(since, since))
    (scene.path / "link.txt").symlink_to("old.txt")
    assert loose(scene) == ["deep/summary.md"]
    assert loose(scene, since) == ["deep/summary.md", "new.txt"]


def test_what_goes_away_while_we_look_is_passed_over(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    scene.write("report.md")
    scene.write("gone.md")
    true = os.listdir
    monkeypatch.setattr(os, "listdir", lambda fd: [*true(fd), "vanished", "vanished too"])
    assert loose(scene) == ["report.md"]


def test_check_ends_with_three_while_anything_is_left(scene: Scene) -> None:
    scene.write("report.md")
    assert muniment(scene.path, "archive", "status").code == 0
    answer = muniment(scene.path, "archive", "status", "--check", "--json")
    assert (answer.code, answer.object["not_archived"]) == (3, ["report.md"])
    assert muniment(scene.path, "archive", "report.md").code == 0
    assert muniment(scene.path, "archive", "status", "--check").code == 0


# Sweep


def gathered(scene: Scene) -> tuple[list[str], list[str], list[str]]:
    found = gather(scene.root, outstanding(scene.root, ask_git, 0))
    names = [[path.posix for path in paths] for paths in (found.sources, found.empty, found.links)]
    return names[0], names[1], names[2]


def test_folders_go_as_wholes_where_all_in_them_is_loose(scene: Scene) -> None:
    git(scene.path, "init", "-q")
    scene.write("src/code.py")
    git(scene.path, "add", ".")
    git(scene.path, "commit", "-qm", "one")
    scene.write("src/data.csv")
    scene.write("src/plots/a.png")
    scene.write("run/1/log.txt")
    scene.write("run/1/PLAN.md")
    scene.write("run/2/empty.txt", b"")
    scene.write("hollow/empty.txt", b"")
    scene.write("PLAN.md")
    (scene.path / "link").symlink_to("src")
    scene.write("linked/a.txt")
    (scene.path / "linked/out").symlink_to("/etc")
    assert gathered(scene) == (
        ["PLAN.md", "linked/a.txt", "run", "src/data.csv", "src/plots"],
        ["hollow/empty.txt"],
        ["link", "linked/out"],
    )


def test_a_plan_and_its_folder_are_never_both_taken(scene: Scene) -> None:
    """What is gathered can be archived by one call."""
    git(scene.path, "init", "-q")
    scene.write("results/PLAN.md")
    scene.write("results/report.md")
    assert gathered(scene) == (["results"], [], [])
    assert muniment(scene.path, "archive", "sweep", "--yes", environment=ALLOWED).code == 0
    assert loose(scene) == []


def test_each_folder_is_looked_at_once(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    from muniment.archive import sweep as archive_sweep

    git(scene.path, "init", "-q")
    scene.write("a/b/tracked.txt")
    git(scene.path, "add", ".")
    for number in range(40):
        scene.write(f"a/b/{number}.txt")
    walked: list[str] = []
    true = archive_sweep.walk_stats  # type: ignore[attr-defined]

    def counting(root: Any, path: Any) -> Any:
        walked.append(str(path))
        return true(root, path)

    monkeypatch.setattr(archive_sweep, "walk_stats", counting)
    assert len(gathered(scene)[0]) == 40
    assert walked.count("a/b") == 1 and walked.count("a") <= 1


ALLOWED = {"MUNIMENT_CONFIRM_RELAYED": "plan,create,sweep"}


def test_what_an_agent_passes_on_is_not_enough(scene: Scene) -> None:
    scene.write("report.md")
    before = look(scene.path / "report.md")
    for arguments in ((), ("--yes",)):
        answer = muniment(scene.path, "archive", "sweep", *arguments)
        assert answer.code == 3, answer
        assert look(scene.path / "report.md") == before and scene.events() == []
    answer = muniment(scene.path, "archive", "sweep", "--yes", environment=ALLOWED)
    assert answer.code == 0 and answer.out.startswith("ARCHIVE_STATUS: OK | ARCHIVE_ROOT: archives/")
    assert len(scene.events()) == 1
    (spent,) = (scene.path / ".muniment/consent/spent").iterdir()
    assert b'"witness":"relayed"' in spent.read_bytes()


def test_a_rehearsal_moves_nothing(scene: Scene) -> None:
    scene.write("report.md")
    scene.write("empty/summary.md", b"")
    answer = muniment(scene.path, "archive", "sweep", "-n")
    assert answer.code == 0 and "report.md" in answer.err
    assert "empty/summary.md (empty: nothing to archive)" in answer.err
    assert (scene.path / "report.md").exists() and scene.events() == []


def test_a_sweep_is_told_as_any_archiving_is(scene: Scene) -> None:
    """In the dialect that is set, with the cards that a host's session brings, and with every warning."""
    scene.write("results/result.json", b"{")
    scene.write("results/report.md")
    host = {**ALLOWED, "MUNIMENT_SESSION_KEY": "agent:main:abc123"}
    answer = muniment(scene.path, "archive", "sweep", "--yes", environment=host)
    assert answer.code == 0 and answer.out.count("```json") == 1
    assert answer.out.startswith("ARCHIVE_STATUS: OK | ARCHIVE_ROOT: archives/abc123/\n```json\n")
    assert "warning: result.json: it is no JSON" in answer.err
    scene.write("report.md")
    cards = {**host, "MUNIMENT_ARCHIVE_FORMAT": "card"}
    answer = muniment(scene.path, "archive", "sweep", "--yes", environment=cards)
    assert (
        answer.out.startswith("```json\n") and f'"archive_root": "{scene.path}/archives/abc123"' in answer.out
    )


def test_one_that_can_not_go_keeps_all_where_they_are(scene: Scene) -> None:
    scene.write("report.md")
    scene.write("result.json", b"{")
    wanted = content(scene.path / "report.md")
    answer = muniment(scene.path, "archive", "sweep", "--yes", environment=ALLOWED)
    assert answer.code == 4 and "result.json" in answer.err
    assert answer.out.startswith("ARCHIVE_STATUS: BLOCKED | ARCHIVE_REASON: ")
    assert content(scene.path / "report.md") == wanted and scene.events() == []


@pytest.mark.parametrize(("typed", "code"), [(b"y\n", 0), (b"n\n", 130), (b"\n", 130)])
def test_the_person_confirms_at_a_terminal(scene: Scene, typed: bytes, code: int) -> None:
    scene.write("report.md")
    leader, follower = pty.openpty()
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(__file__).parents[2] / "src"),
        "MUNIMENT_WORKSPACE": str(scene.path),
        "MUNIMENT_LANG": "en",
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "muniment", "archive", "sweep"],
        stdin=follower,
        stdout=follower,
        stderr=follower,
        env=environment,
        start_new_session=True,
    )
    os.close(follower)
    told = read_until(leader, b"[y/N]")
    assert b"report.md" in told and b"Archive all of this?" in told
    os.write(leader, typed)
    read_until(leader, None)
    os.close(leader)
    assert process.wait(60) == code
    assert len(scene.events()) == (1 if code == 0 else 0)
    spent = list((scene.path / ".muniment/consent").glob("spent/*"))
    assert [b'"witness":"terminal"' in each.read_bytes() for each in spent] == ([True] if code == 0 else [])


def read_until(terminal: int, word: bytes | None) -> bytes:
    """What the program shows until a word, or until it closes the terminal."""
    told = b""
    while word is None or word not in told:
        ready, _, _ = select.select([terminal], [], [], 60)
        assert ready, told
        try:
            more = os.read(terminal, 4096)
        except OSError:
            break
        if not more:
            break
        told += more
    return told


# Identity, and the working session


def test_only_the_two_files_are_read_and_proved(scene: Scene) -> None:
    scene.write("SOUL.md", b"abc")
    (scene.path / "IDENTITY.md").symlink_to("/etc/hostname")
    scene.write("USER.md", b"secret")
    soul, identity = prove_identity(scene.root)
    digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert (soul.size, soul.digest and soul.digest.hex) == (3, digest)
    assert identity.digest is None and identity.why is not None
    answer = muniment(scene.path, "archive", "identity")
    assert answer.code == 0 and digest in answer.out and "NOT read" in answer.out
    assert "secret" not in answer.out and "USER" not in answer.out
    (scene.path / "SOUL.md").unlink()
    assert muniment(scene.path, "archive", "identity").code == 7


def test_a_plan_and_its_results_share_the_working_session(scene: Scene) -> None:
    scene.write("PLAN.md")
    scene.write("report.md")
    assert muniment(scene.path, "archive", "session", "--json").object["archive_id"] is None
    muniment(scene.path, "archive", "PLAN.md")
    muniment(scene.path, "archive", "report.md")
    (one,) = {event.evidence["archive_id"] for event in scene.events()}
    assert muniment(scene.path, "archive", "session", "--json").object["archive_id"] == one
    assert muniment(scene.path, "archive", "session", "end", "--json").object["ended"] is True
    assert muniment(scene.path, "archive", "session", "--json").object["archive_id"] is None
    assert {event.evidence["archive_id_source"] for event in scene.events()} == {"fallback"}
