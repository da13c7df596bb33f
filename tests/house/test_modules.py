"""House: files are small, say where they are, and have names that mean something (design, house rules)."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from tests.house.tree import PROJECT, committed, modules

MOST_LINES = 800
NO_NAMES = {"utils", "helpers", "common", "manager", "data"}


def sources() -> list[Path]:
    """Every committed file that a person writes and reads as code."""
    return [name for name in committed() if name.suffix in {".py", ".ts", ".js", ".css", ".html", ".sh"}]


def test_no_file_is_too_long() -> None:
    long = {
        name.as_posix(): lines
        for name in sources()
        if (lines := (PROJECT / name).read_bytes().count(b"\n")) > MOST_LINES
    }
    assert long == {}


def test_names_say_something() -> None:
    nameless = {part for name in sources() for part in (*name.parts[:-1], name.stem)} & NO_NAMES
    assert nameless == set()


@pytest.mark.parametrize("module", modules(), ids=lambda path: path.as_posix())
def test_a_module_says_first_in_which_room_it_is(module: Path) -> None:
    said = ast.get_docstring(ast.parse((PROJECT / module).read_bytes()), clean=True)
    assert said, "a module has a docstring"
    first = said.splitlines()[0].lower()
    inside = module.parts[2:]
    room = inside[0] if len(inside) > 1 else ""
    if room:
        assert room in first, f"the first line names the room {room}"
    elif module.stem not in {"__init__", "__main__"}:
        assert first.startswith("floor "), "a module outside the rooms names its floor"


def test_the_looking_itself_sees_the_package() -> None:
    assert Path("src/muniment/errors.py") in modules()
    assert len(sources()) > len(modules()) > 10
