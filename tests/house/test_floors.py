"""House: a room imports only from the floors below (design, the house)."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

import pytest
from tests.house.tree import PROJECT, modules


def lint_imports(project: Path) -> subprocess.CompletedProcess[str]:
    """Run the contracts of a project's pyproject.toml over its own `src`."""
    program = shutil.which("lint-imports", path=sysconfig.get_path("scripts"))
    assert program, "import-linter is missing; requirements/dev.txt has it"
    return subprocess.run(
        [sys.executable, program, "--no-cache"],
        cwd=project,
        env=os.environ | {"PYTHONPATH": str(project / "src")},
        capture_output=True,
        text=True,
        check=False,
    )


def copy_of_the_house(to: Path) -> Path:
    """The package and its contracts, to break them without harm."""
    shutil.copytree(
        PROJECT / "src" / "muniment",
        to / "src" / "muniment",
        ignore=shutil.ignore_patterns("__pycache__", "*.mo"),
    )
    shutil.copy(PROJECT / "pyproject.toml", to)
    return to


def test_no_floor_is_broken() -> None:
    done = lint_imports(PROJECT)
    assert done.returncode == 0, done.stdout + done.stderr


BREACHES = {
    "floor 0 imports disk": ("clock.py", "import muniment.disk"),
    "disk imports record": ("disk/locks.py", "import muniment.record"),
    "record imports a protocol": ("record/__init__.py", "import muniment.archive"),
    "a protocol imports a face": ("archive/__init__.py", "import muniment.faces"),
    "a face imports the wiring": ("faces/__init__.py", "import muniment.app"),
}


@pytest.mark.parametrize("breach", BREACHES)
def test_a_breach_is_found(tmp_path: Path, breach: str) -> None:
    """The contract is no decoration: each kind of upward import fails it."""
    file, line = BREACHES[breach]
    house = copy_of_the_house(tmp_path)
    module = house / "src" / "muniment" / file
    module.write_text(module.read_text("utf-8") + f"\n\n{line}  # noqa\n", "utf-8")
    done = lint_imports(house)
    assert done.returncode == 1 and "BROKEN" in done.stdout, done.stdout + done.stderr


IMPURE = {"os", "io", "pathlib", "time", "random", "secrets", "shutil", "socket", "subprocess", "tempfile"}


def impurities(source: str) -> list[str]:
    """What in a module could read a file, a clock or chance.

    >>> impurities("import os.path\\nfrom muniment.disk import root\\nx = open('a'), datetime.now()")
    ['muniment.disk', 'now()', 'open()', 'os']
    """
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = (
                [node.module or ""] if isinstance(node, ast.ImportFrom) else [one.name for one in node.names]
            )
            for name in names:
                parts = name.split(".")
                found |= {parts[0]} & IMPURE
                found |= {".".join(parts[:2])} & {"muniment.disk", "muniment.record"}
        elif isinstance(node, ast.Call):
            called = getattr(node.func, "id", getattr(node.func, "attr", ""))
            found |= {f"{called}()"} & {"open()", "now()", "today()", "utcnow()"}
    return sorted(found)


def test_rules_touch_nothing() -> None:
    """A `rules.py` gets facts and gives a verdict (design, the house)."""
    rules = [name for name in modules() if name.name == "rules.py"]
    found = {name.as_posix(): impurities((PROJECT / name).read_text("utf-8")) for name in rules}
    assert {name: what for name, what in found.items() if what} == {}


def test_everything_has_a_floor() -> None:
    """A room or module that the contract does not list would be free to import anything."""
    contracts = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
    (layers,) = (one["layers"] for one in contracts["contracts"] if one["type"] == "layers")
    listed = set(re.findall(r"muniment\.(\w+)", " ".join(layers)))
    there = {name.parts[2].removesuffix(".py") for name in modules()} - {"__init__"}
    assert there - listed == set()
