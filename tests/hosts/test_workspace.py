"""Which folder is the workspace, and by which rule (spec 0, workspace)."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from muniment.hosts.errors import InvalidWorkspace, WorkspaceMissing
from muniment.hosts.workspace import Found, Rule, find_workspace, git_top_level


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A real path, outside of every repository and workspace."""
    real = tmp_path.resolve()
    assert not any((above / name).exists() for above in real.parents for name in (".git", ".muniment"))
    return real


def folder(*parts: str | Path) -> Path:
    made = Path(*parts)
    made.mkdir(parents=True, exist_ok=True)
    return made


def git(where: Path, *arguments: str) -> None:
    subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always", *arguments],
        cwd=where,
        env={"PATH": os.environ["PATH"], "HOME": str(where), "GIT_CONFIG_NOSYSTEM": "1"},
        check=True,
        capture_output=True,
    )


def repository(where: Path) -> Path:
    folder(where)
    git(where, "init", "-q")
    git(where, "commit", "-q", "--allow-empty", "-m", "first")
    return where


LADDER = ["flag", "MUNIMENT_WORKSPACE", "OPENCLAW_WORKSPACE_DIR", "WORKSPACE_DIR", "marker", "git"]
RULES = [Rule.FLAG, Rule.ENVIRONMENT, Rule.HOST, Rule.HOST, Rule.MARKER, Rule.GIT]


@pytest.mark.parametrize("step", range(len(LADDER)))
def test_the_first_rule_that_answers_decides(place: Path, step: int) -> None:
    """Everything from this step down is there; only the step itself may count."""
    top = repository(place / "git")
    marked = folder(top / "marker")
    folder(marked / ".muniment")
    here = folder(marked / "deep" / "er")
    present = LADDER[step:]
    if "marker" not in present:
        (marked / ".muniment").rmdir()
    environment = {name: str(folder(place / name)) for name in present if name.isupper()}
    flag = str(folder(place / "flag")) if "flag" in present else None
    expected = {"marker": marked, "git": top}.get(LADDER[step], place / LADDER[step])
    found = find_workspace(flag, environment, here)
    assert (found.path, found.rule) == (expected, RULES[step])


def test_what_was_looked_at_is_told(place: Path) -> None:
    for variable in ("MUNIMENT_WORKSPACE", "OPENCLAW_WORKSPACE_DIR", "WORKSPACE_DIR"):
        assert find_workspace(None, {variable: str(place)}, place).by == variable
    assert find_workspace(".", {}, place) == Found(place, Rule.FLAG, "--workspace")


def test_the_last_resort_is_the_current_folder(place: Path) -> None:
    assert find_workspace(None, {}, place) == Found(place, Rule.CURRENT, ".")


def test_an_empty_variable_says_nothing(place: Path) -> None:
    environment = {"MUNIMENT_WORKSPACE": "", "OPENCLAW_WORKSPACE_DIR": "", "WORKSPACE_DIR": ""}
    assert find_workspace(None, environment, place).rule is Rule.CURRENT


def test_relative_names_are_taken_from_here(place: Path) -> None:
    folder(place / "a")
    here = folder(place / "b")
    assert find_workspace("../a", {}, here).path == place / "a"
    assert find_workspace(None, {"MUNIMENT_WORKSPACE": "../a"}, here).path == place / "a"


def test_the_nearest_marker_counts_and_a_repository_between_does_not(place: Path) -> None:
    folder(place / "outer" / ".muniment")
    inner = folder(place / "outer" / "inner")
    folder(inner / ".muniment")
    assert find_workspace(None, {}, folder(inner / "x")).path == inner
    top = repository(place / "outer" / "other")
    assert find_workspace(None, {}, folder(top / "x")) == Found(place / "outer", Rule.MARKER, ".muniment")


def test_a_marker_that_is_a_link_or_a_file_is_none(place: Path) -> None:
    folder(place / "elsewhere")
    linked, filed = folder(place / "linked"), folder(place / "filed")
    (linked / ".muniment").symlink_to(place / "elsewhere")
    (filed / ".muniment").touch()
    assert find_workspace(None, {}, linked).rule is Rule.CURRENT
    assert find_workspace(None, {}, filed).rule is Rule.CURRENT


def test_a_workspace_behind_a_link_is_named_by_its_real_path(place: Path) -> None:
    real = folder(place / "real")
    (place / "link").symlink_to(real)
    assert find_workspace(str(place / "link"), {}, place).path == real


@pytest.mark.parametrize("name", ["arch", "archive", "archives"])
def test_names_in_which_archives_would_nest_are_refused(place: Path, name: str) -> None:
    refused = folder(place / name)
    (place / "link").symlink_to(refused)
    other = folder(place / "other")
    (place / "x").mkdir()
    (place / "x" / name).symlink_to(other)
    for flag in (refused, place / "link", place / "x" / name):
        with pytest.raises(InvalidWorkspace):
            find_workspace(str(flag), {}, place)
    with pytest.raises(InvalidWorkspace):
        find_workspace(None, {}, refused)
    for allowed in (f"{name}-2", name.upper(), f"{name}/below"):
        assert find_workspace(str(folder(place / allowed)), {}, place).rule is Rule.FLAG


def test_what_is_not_there_or_no_folder_is_missing(place: Path) -> None:
    (place / "file").touch()
    (place / "dangling").symlink_to("nowhere")
    (place / "loop").symlink_to("loop")
    for name in ("nosuch", "file", "file/below", "dangling", "loop", "x" * 300):
        with pytest.raises(WorkspaceMissing) as raised:
            find_workspace(name, {}, place)
        assert "--workspace" in str(raised.value.why)
        with pytest.raises(WorkspaceMissing):
            find_workspace(None, {"MUNIMENT_WORKSPACE": name}, place)


def test_a_missing_workspace_falls_back_to_nothing(place: Path) -> None:
    """A name that leads nowhere is an error, never a reason to take the next rule."""
    folder(place / ".muniment")
    with pytest.raises(WorkspaceMissing):
        find_workspace("nosuch", {"MUNIMENT_WORKSPACE": str(place)}, place)


def test_a_hostile_name_is_shown_safely(place: Path) -> None:
    with pytest.raises(WorkspaceMissing) as raised:
        find_workspace("\x1b[2J", {}, place)
    assert "\x1b" not in raised.value.where


def test_a_linked_worktree_leads_to_the_main_tree(place: Path) -> None:
    main = repository(place / "main")
    git(main, "worktree", "add", "-q", str(place / "linked"))
    assert git_top_level(folder(place / "linked" / "deep")) == main
    assert find_workspace(None, {}, place / "linked") == Found(main, Rule.GIT, ".git")


def test_a_submodule_stays_itself(place: Path) -> None:
    repository(place / "library")
    main = repository(place / "main")
    git(main, "submodule", "add", "-q", str(place / "library"), "sub")
    assert (main / "sub" / ".git").is_file()
    assert find_workspace(None, {}, main / "sub").path == main / "sub"


def test_a_worktree_of_a_submodule_stays_itself(place: Path) -> None:
    repository(place / "library")
    main = repository(place / "main")
    git(main, "submodule", "add", "-q", str(place / "library"), "sub")
    git(main / "sub", "worktree", "add", "-q", str(place / "linked"))
    assert git_top_level(place / "linked") == place / "linked"


POINTERS = {
    "empty": b"",
    "no pointer": b"hello\n",
    "to nowhere": b"gitdir: /nosuch/place\n",
    "to itself": b"gitdir: .\n",
    "to the root": b"gitdir: /\n",
    "nothing after it": b"gitdir:\n",
    "NUL in it": b"gitdir: a\0b\n",
    "not UTF-8": b"gitdir: \xff\xfe\n",
    "binary": bytes(range(256)) * 16,
    "a name that no system takes": b"gitdir: " + b"x" * 10_000 + b"\n",
}


@pytest.mark.parametrize("name", POINTERS)
def test_a_pointer_that_leads_nowhere_leaves_the_folder_itself(place: Path, name: str) -> None:
    here = folder(place / "here")
    (here / ".git").write_bytes(POINTERS[name])
    assert git_top_level(here) == here


def forged(place: Path, victim: Path) -> Path:
    """A folder whose `.git` says that it is a worktree of somebody else's repository."""
    here = folder(place / "handed" / "over")
    private = folder(place / "handed" / "private")
    (here / ".git").write_text(f"gitdir: {private}\n")
    (private / "commondir").write_text(f"{victim / '.git'}\n")
    (private / "gitdir").write_text(f"{here / '.git'}\n")
    return here


def test_a_forged_pointer_does_not_make_somebody_else_s_repository_the_workspace(place: Path) -> None:
    victim = repository(place / "victim")
    here = forged(place, victim)
    assert git_top_level(here) == here


def test_a_pointer_to_another_worktree_s_place_does_not_count(place: Path) -> None:
    main = repository(place / "main")
    git(main, "worktree", "add", "-q", str(place / "linked"))
    here = folder(place / "handed")
    (here / ".git").write_bytes((place / "linked" / ".git").read_bytes())
    assert git_top_level(here) == here


@pytest.mark.parametrize("name", ["commondir", "gitdir"])
def test_a_pipe_in_git_s_place_is_not_waited_for(place: Path, name: str) -> None:
    here = forged(place, repository(place / "victim"))
    private = place / "handed" / "private"
    (private / name).unlink()
    os.mkfifo(private / name)
    assert git_top_level(here) == here


def test_a_pipe_or_a_dangling_link_instead_of_git_is_no_repository(place: Path) -> None:
    os.mkfifo(place / ".git")
    assert git_top_level(place) is None
    (place / ".git").unlink()
    (place / ".git").symlink_to("nowhere")
    assert git_top_level(place) is None
