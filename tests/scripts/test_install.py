"""`muniment install starchild`: what it puts where, what it keeps, what it takes away (spec 4, surface)."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from tests.scripts.agent import Agent

SCRIPTS = {"pack", "upload", "list", "download", "propose_rules", "ensure_rules", "restore", "delete"}


@pytest.fixture
def star(tmp_path: Path) -> Agent:
    """An agent before anything is installed."""
    return Agent(tmp_path / "star", None)


def files(agent: Agent) -> dict[str, Path]:
    skill = agent.workspace / "skills" / "backup"
    return {path.relative_to(skill).as_posix(): path for path in skill.rglob("*") if path.is_file()}


def states(agent: Agent, *words: str) -> set[str]:
    done = agent.muniment("install", "starchild", "--json", *words)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["done"] is ("--dry-run" not in words)
    return {one["state"] for one in told["files"]}


def test_it_puts_eight_scripts_and_the_skill_read_only(star: Agent) -> None:
    assert states(star, "--dry-run") == {"new"}
    assert files(star) == {} and not (star.workspace / ".muniment").exists(), "nothing was done"
    assert states(star) == {"new"}
    found = files(star)
    assert set(found) == {"SKILL.md", *(f"scripts/{name}.py" for name in SCRIPTS)}
    assert {path.stat().st_mode & 0o777 for path in found.values()} == {0o444}
    assert states(star) == {"unchanged"}
    assert states(star, "--uninstall", "--dry-run") == {"removed"}
    assert set(files(star)) == set(found)
    assert states(star, "--uninstall") == {"removed"}
    assert not (star.workspace / "skills" / "backup").exists()
    assert states(star, "--uninstall") == set(), "there is nothing left to take away"


def test_the_skill_of_the_host_is_a_skill(star: Agent) -> None:
    states(star)
    program = shutil.which("agentskills", path=sysconfig.get_path("scripts"))
    assert program, "skills-ref is missing; requirements/dev.txt has it"
    folder = star.workspace / "skills" / "backup"
    done = subprocess.run([program, "validate", str(folder)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    page = (folder / "SKILL.md").read_text()
    assert all(f"{name}.py" in page for name in SCRIPTS)
    assert page.index("## The scripts of this host") < page.index("## Language")


def test_what_stood_there_is_kept_and_put_back(star: Agent) -> None:
    mine = star.write("workspace/skills/backup/scripts/pack.py", "print('the original')\n")
    page = star.write("workspace/skills/backup/SKILL.md", "# mine\n")
    star.write("workspace/skills/backup/notes.md", "mine too\n")
    assert states(star, "--dry-run") == {"new", "replaced"} and mine.read_text() == "print('the original')\n"
    assert states(star) == {"new", "replaced"} and "muniment" in mine.read_text()
    assert states(star) == {"unchanged"}
    assert states(star, "--uninstall") == {"removed", "put_back"}
    assert (mine.read_text(), page.read_text()) == ("print('the original')\n", "# mine\n")
    assert set(files(star)) == {"SKILL.md", "notes.md", "scripts/pack.py"}


def test_what_was_changed_since_stays(star: Agent) -> None:
    states(star)
    pack = star.workspace / "skills/backup/scripts/pack.py"
    pack.chmod(0o644)
    pack.write_text("changed by hand\n")
    assert states(star, "--uninstall") == {"removed", "kept"}
    assert pack.read_text() == "changed by hand\n"
    assert set(files(star)) == {"scripts/pack.py"}
    assert states(star) == {"new", "replaced"}
    states(star, "--uninstall")
    assert pack.read_text() == "changed by hand\n"


def test_a_link_in_the_way_is_not_followed(star: Agent, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (star.workspace / "skills").symlink_to(elsewhere)
    done = star.muniment("install", "starchild", "--json")
    assert done.returncode == 3 and json.loads(done.stdout)["error"] == "OUTSIDE_ROOT"
    assert list(elsewhere.iterdir()) == []


def test_another_host_and_no_workspace(star: Agent) -> None:
    assert star.muniment("install", "nobody").returncode == 2
    assert star.muniment("install").returncode == 2
    shutil.rmtree(star.data)
    star.workspace = star.place
    assert star.muniment("install", "starchild").returncode == 3


def test_a_script_finds_the_program_from_another_python(star: Agent, tmp_path: Path) -> None:
    """As when the program lies in an environment of its own and the host calls its own python3."""
    states(star)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "other"], check=True)
    other = str(tmp_path / "other" / "bin" / "python3")
    script = "skills/backup/scripts/ensure_rules.py"
    done = star._run([other, "-I", script])
    assert (done.returncode, done.stdout[:7]) == (0, "CREATED"), done.stderr
    lost = star.workspace / "skills/backup/scripts/list.py"
    lost.chmod(0o644)
    lost.write_text(lost.read_text().replace(repr(sys.executable), "'/nowhere/python'"))
    done = star._run([other, "-I", str(lost)])
    assert done.returncode == 1 and done.stderr.startswith("ERROR: "), done.stderr


def test_scripts_and_program_agree_on_names() -> None:
    from muniment.hosts.starchild.scripts import NAMES

    assert set(NAMES) == SCRIPTS
