"""The gate does no I/O: not by what it imports, and not by what it does."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

from tests.children import ENVIRONMENT, PROJECT
from tests.handoff.test_lies import LIES

import muniment

SOURCE = Path(muniment.__file__).parent
_WORDS = """os io pathlib shutil socket subprocess tempfile sqlite3 ssl select asyncio threading signal fcntl
multiprocessing mmap ctypes time datetime random secrets urllib http logging glob fileinput importlib"""
OUTSIDE = frozenset(_WORDS.split())
FLOOR_0 = {"path": {"os"}, "ids": {"os", "datetime"}}
"""What floor 0 names of these: `os.fsencode` for names, `os.urandom` as a default, instants as values."""


def imports(module: str) -> set[str]:
    """The modules that a module names in its import statements, wherever they stand."""
    file = SOURCE.joinpath(*module.split(".")[1:])
    tree = ast.parse((file / "__init__.py" if file.is_dir() else file.with_suffix(".py")).read_text())
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0 and node.module
            inner = SOURCE.joinpath(*node.module.split(".")[1:])
            package = node.module.startswith("muniment") and inner.is_dir()
            found |= {f"{node.module}.{alias.name}" for alias in node.names} if package else {node.module}
    return found


def reached(module: str) -> dict[str, set[str]]:
    """Everything of Muniment that a module reaches, and what each of it imports."""
    found: dict[str, set[str]] = {}
    todo = [module]
    while todo:
        name = todo.pop()
        if name not in found:
            found[name] = imports(name)
            todo += [each for each in found[name] if each.startswith("muniment.")]
    return found


def test_the_gate_imports_nothing_that_does_io() -> None:
    modules = reached("muniment.handoff.rules")
    assert len(modules) > 15
    for name, named in modules.items():
        assert not name.startswith(("muniment.disk", "muniment.handoff.service", "muniment.handoff.store")), (
            name
        )
        outside = {each.split(".")[0] for each in named} & OUTSIDE
        assert outside <= FLOOR_0.get(name.removeprefix("muniment."), set()), (name, outside)


def test_the_test_itself_would_notice() -> None:
    assert "muniment.disk.root" in reached("muniment.record.ledger")
    assert "fcntl" in reached("muniment.record.ledger")["muniment.disk.locks"]


AUDIT = """
import sys
from tests.handoff.test_lies import LIES, load, world_of
from tests.handoff.world import judge
from muniment.errors import MunimentError
worlds = [world_of(load(name), side) for name in LIES for side in ("lie", "twin")]
judge(worlds[1])
heard = []
watching = True
sys.addaudithook(lambda event, args: heard.append(event) if watching else None)
for world in worlds:
    try:
        judge(world)
    except MunimentError:
        pass
watching = False
print(len(worlds), sorted(set(heard) - {"object.__getattr__", "sys._getframe", "compile", "exec"}))
"""


def test_the_gate_does_no_io_whatever_it_judges() -> None:
    done = subprocess.run(
        [sys.executable, "-B", "-c", AUDIT],
        cwd=PROJECT,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == f"{2 * len(LIES)} []\n"
