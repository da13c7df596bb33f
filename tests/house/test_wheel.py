"""House: the wheel is whole, and runs where there is nothing else (issue 1, must show 1)."""

from __future__ import annotations

import json
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
from muniment.faces.cli.root import ROOT

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


def test_the_demonstration_of_a_plain_installation_says_what_it_leaves_out(
    installed: Path, tmp_path: Path
) -> None:
    """Nothing of `muniment[cwl]` is here: two chapters name it, and the end counts them."""
    done = run([installed / "muniment", "demo", "--json"], tmp_path, HOME=str(tmp_path), MUNIMENT_LANG="en")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["left_out"] == ["job", "walk"]
    named = [line for line in done.stderr.splitlines() if "'muniment[cwl]'" in line]
    assert len(named) == 2 and named[0].startswith("The chapter of the job is left out")
    assert "2 parts were left out" in done.stderr.splitlines()[-3]


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


@pytest.mark.long
def test_the_wheel_runs_as_uvx_runs_it(wheel: Path, tmp_path: Path) -> None:
    """`uvx --from WHEEL muniment demo`: an environment that is made for one call, away from the tree."""
    uv = shutil.which("uv")
    if uv is None:
        pytest.skip("uv is not installed here; the tests around this one do the same with venv and pip")
    call = [uv, "tool", "run", "--python", sys.executable, "--from", wheel, "muniment", "demo"]
    done = run(call, tmp_path, HOME=str(tmp_path), UV_CACHE_DIR=str(tmp_path / "cache"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "ARCHIVE_STATUS: OK | ARCHIVE_ROOT: archives/" in done.stdout + done.stderr
    assert not (tmp_path / ".muniment").exists()


def test_every_command_of_the_installed_program_has_its_help(installed: Path, tmp_path: Path) -> None:
    done = run([installed / "muniment", "--help"], tmp_path, HOME=str(tmp_path))
    assert done.returncode == 0 and done.stderr == ""
    names = [name for name in ROOT.table if ROOT.table[name].extra is None]
    assert [name for name in ROOT.table if f" {name} " not in done.stdout] == []
    for name in names:
        done = run([installed / "muniment", name, "--help"], tmp_path, HOME=str(tmp_path))
        assert (done.returncode, done.stderr) == (0, ""), name
        assert f"muniment {name}" in done.stdout


def test_a_command_whose_extra_is_missing_prints_the_line_that_installs_it(
    installed: Path, tmp_path: Path
) -> None:
    for name, entry in ROOT.table.items():
        if entry.extra is not None:
            done = run([installed / "muniment", name], tmp_path, HOME=str(tmp_path))
            assert done.returncode != 0
            assert f"'muniment[{entry.extra}]'" in done.stderr and "EXTRA_MISSING" in done.stderr


# Completion: each shell loads its script and is asked as a person with the tab key asks it.

BASH = """
eval "$(muniment completion bash)"
complete -p muniment >/dev/null || exit 9
while IFS= read -r line; do
  eval "COMP_WORDS=($line)"; [[ $line == *' ' ]] && COMP_WORDS+=("")
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMPREPLY=()
  _muniment_completion muniment 2>/dev/null
  echo "${COMPREPLY[*]}"
done
"""
FISH = """
muniment completion fish | source
while read --line line
    echo (complete --do-complete "$line" | string split --fields 1 \\t)
end
"""
ZSH = """
autoload -U compinit; compinit -u -D
eval "$(muniment completion zsh)"
[[ ${_comps[muniment]} == _muniment_completion ]] || exit 9
# outside of the line editor nothing can be offered: what would be is printed instead
_describe() { local one; for one in "${(P@)3}"; do print -rn -- "${one%%:*} "; done }
_path_files() { print -n "a path " }
compadd() { print -rn -- "${completions[*]} " }
while IFS= read -r line; do
  words=(${(z)line}); [[ $line == *' ' ]] && words+=("")
  CURRENT=$#words
  _muniment_completion
  echo
done
"""

ASKED = {
    "muniment arch": {"archive"},
    "muniment backup re": {"restore"},
    "muniment archive --requ": {"--require"},
    "muniment ledger verify --wit": {"--witness"},
    "muniment archive report.md --kind ": {"plan", "file"},
    "muniment backup plan --mode f": {"full"},
    "muniment completion ": {"bash", "zsh", "fish"},
    "muniment ledger nothing": set(),
}
"""What is typed before the tab key, and what has to be offered: a command, an option, a value."""


@pytest.mark.parametrize(
    ("shell", "script"),
    [(["bash", "--norc"], BASH), (["fish", "--no-config"], FISH), (["zsh", "-f"], ZSH)],
    ids=["bash", "fish", "zsh"],
)
def test_a_shell_completes(shell: list[str], script: str, installed: Path, tmp_path: Path) -> None:
    if shutil.which(shell[0]) is None:
        if os.environ.get("CI"):
            pytest.fail(f"{shell[0]} is missing; .ci/run installs it")
        pytest.skip(f"{shell[0]} is missing; .ci/run installs it")
    (tmp_path / "script").write_text(script, "utf-8")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "MUNIMENT"))}
    done = subprocess.run(
        [*shell, tmp_path / "script"],
        input="".join(f"{line}\n" for line in ASKED),
        cwd=tmp_path,
        env=kept | {"PATH": f"{installed}:{os.environ['PATH']}", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    offered = [set(line.split()) for line in done.stdout.splitlines()]
    assert dict(zip(ASKED, offered, strict=True)) == ASKED
