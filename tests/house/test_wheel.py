"""House: the wheel is whole, and runs where there is nothing else (issue 1, must show 1)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.house.tree import PROJECT, committed

import muniment

LOCALE = "muniment/faces/i18n/locale"


def run(command: Sequence[object], folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a program without what the test run itself put into the environment."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "MUNIMENT", "VIRTUAL_ENV", "COV", "PYTEST"))
    }
    return subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env=kept | variables,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, made from a copy of what is committed and from nothing else."""
    place = tmp_path_factory.mktemp("wheel")
    for name in committed():
        (place / "source" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(PROJECT / name, place / "source" / name)
    done = run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", place / "dist"],
        place / "source",
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (made,) = (place / "dist").iterdir()
    return made


def test_the_wheel_holds_the_package_its_languages_and_its_licence(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    sources = {
        name.relative_to("src").as_posix()
        for name in committed()
        if name.parts[0] == "src" and name.suffix != ".po"
    }
    assert sources - names == set()
    assert {"muniment/py.typed", "muniment/skills/backup/SKILL.md"} <= names
    languages = {name.parts[-2] for name in committed() if name.suffix == ".po"}
    assert languages == {"zh_CN"}
    assert {f"{LOCALE}/{language}/LC_MESSAGES/muniment.mo" for language in languages} <= names
    assert [name for name in names if name.endswith(".dist-info/licenses/LICENSE")]
    strangers = {name.split("/")[0] for name in names} - {
        "muniment",
        f"muniment-{muniment.__version__}.dist-info",
    }
    assert strangers == set()


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment that has the locked dependencies and the wheel, and not even pip."""
    place = tmp_path_factory.mktemp("installed")
    made = run([sys.executable, "-m", "venv", "--without-pip", place / "venv"], place)
    assert made.returncode == 0, made.stderr
    pip = [sys.executable, "-m", "pip", "--python", place / "venv" / "bin" / "python", "install", "-qq"]
    for what in (
        ["--require-hashes", "-r", PROJECT / "requirements" / "run.txt"],
        ["--no-deps", "--no-index", wheel],
    ):
        done = run([*pip, *what], place)
        assert done.returncode == 0, done.stdout + done.stderr
    checked = run([*pip[:-2], "check"], place)
    assert checked.returncode == 0, checked.stdout
    return place / "venv" / "bin"


def test_the_installed_program_knows_its_version(installed: Path, tmp_path: Path) -> None:
    done = run([installed / "muniment", "--version"], tmp_path, HOME=str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    assert muniment.__version__ in done.stdout.split()


@pytest.mark.parametrize("language", ["en", "zh_CN"])
def test_the_installed_program_gives_the_demonstration(
    installed: Path, tmp_path: Path, language: str
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    done = run([installed / "muniment", "demo"], home, HOME=str(home), MUNIMENT_LANG=language)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "ARCHIVE_STATUS: OK | ARCHIVE_ROOT: archives/" in done.stdout + done.stderr
    assert any("\u4e00" <= sign <= "\u9fff" for sign in done.stdout + done.stderr) == (language == "zh_CN")


def test_the_installed_program_gives_a_host_its_skill(installed: Path, tmp_path: Path) -> None:
    """Away from the source tree the skill comes out of the wheel."""
    (tmp_path / "workspace").mkdir()
    done = run([installed / "muniment", "install", "starchild"], tmp_path, DATA_DIR=str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    script = tmp_path / "workspace" / "skills" / "backup" / "scripts" / "ensure_rules.py"
    done = run([sys.executable, "-I", "-S", script], tmp_path, DATA_DIR=str(tmp_path), HOME=str(tmp_path))
    assert (done.returncode, done.stdout[:8]) == (0, "CREATED "), done.stdout + done.stderr


def test_the_installed_program_gives_openclaw_its_plugin(installed: Path, tmp_path: Path) -> None:
    """The plugin and the skills come out of the wheel, and the entry names the program where it lies."""
    done = run([installed / "muniment", "install", "openclaw"], tmp_path, HOME=str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    state = tmp_path / ".openclaw"
    assert f'"{installed / "muniment"}"' in (state / "openclaw.json").read_text()
    given = {
        path.relative_to(state / "muniment-plugin").as_posix()
        for path in (state / "muniment-plugin").rglob("*")
    }
    assert {"index.ts", "openclaw.plugin.json", "package.json", "skills/archive/SKILL.md"} <= given
