"""Documentation: what the code says of itself, found in its syntax: versions, variables, extras, targets."""

from __future__ import annotations

import ast
import re
import tomllib
from functools import cache
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
PACKAGE = PROJECT / "src" / "muniment"

_MARKS = {"MAGIC", "VERSION", "FORMAT", "END", "LAYOUT"}
"""Constants of a module that name a format or its version."""

_FIELDS = {"version", "schema_version", "format_version"}


@cache
def trees() -> tuple[tuple[str, ast.Module], ...]:
    """Every module below `src/muniment/`, parsed, by its path."""
    paths = sorted(PACKAGE.rglob("*.py"))
    return tuple((path.relative_to(PACKAGE).as_posix(), ast.parse(path.read_bytes())) for path in paths)


def versions(tree: ast.Module) -> set[str]:
    """The versions and magic numbers of formats that a module writes.

    >>> sorted(versions(ast.parse('MAGIC = b"AB"\\nN = 2\\nx = {"v": N, "w": 3}\\ny = {"v": 1}')))
    ['1', '2', 'AB']
    >>> sorted(versions(ast.parse('class A:\\n    version: str = "1.3"\\nz = {"format": "a b"}')))
    ['1.3', 'a b']
    """
    named = {
        target.id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    found: list[object] = [value for name, value in named.items() if name in _MARKS]
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and key.value in ("v", "format"):
                    known = named.get(value.id) if isinstance(value, ast.Name) else None
                    literal = value.value if isinstance(value, ast.Constant) else known
                    wanted = (int,) if key.value == "v" else (str,)
                    found += [literal] if isinstance(literal, wanted) else []
        if (
            isinstance(node, ast.AnnAssign)
            and isinstance(node.target, ast.Name)
            and node.target.id in _FIELDS
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            found.append(node.value.value)
    return {value.decode() if isinstance(value, bytes) else str(value) for value in found}


_VARIABLE = re.compile(
    r"LANG|_?(MUNIMENT|OPENCLAW|CLAUDE|CODEX|CURSOR|LC)_[A-Z0-9_]+|CLAUDECODE|CONTAINER_JWT|BACKUP_STORAGE_URL"
)
_ENVIRONMENTS = re.compile(r"(os\.)?environ(ment)?|.*\.environment|.*\._environment|variables")


def variables(tree: ast.Module) -> set[str]:
    """The environment variables that a module names: by their prefix, or by where they are looked up.

    >>> sorted(variables(ast.parse('x = os.environ.get("HOME")\\ny = "MUNIMENT_X"\\nz = {}.get("A")')))
    ['HOME', 'MUNIMENT_X']
    """
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and _VARIABLE.fullmatch(node.value):
            found.add(node.value)
        place: ast.expr | None = None
        key: ast.expr | None = None
        if isinstance(node, ast.Subscript):
            place, key = node.value, node.slice
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
            place, key = (node.func.value, node.args[0]) if node.func.attr == "get" else (None, None)
        elif isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn):
            place, key = node.comparators[0], node.left
        known = key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else ""
        if place is not None and re.fullmatch(r"[A-Z_]+", known):
            found |= {known} if _ENVIRONMENTS.fullmatch(ast.unparse(place)) else set()
    return found


def extras() -> set[str]:
    """The extras of the distribution."""
    table = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))
    return set(table["project"]["optional-dependencies"])


def targets() -> set[str]:
    """The targets of the Makefile that a person calls."""
    phony = re.search(r"^\.PHONY: (.*)$", (PROJECT / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert phony is not None
    return set(phony[1].split())


def first_sentence(tree: ast.Module) -> str:
    """The first sentence of a module's docstring, without the room that it begins with.

    >>> first_sentence(ast.parse("'Floor 1, `disk`: locks of the kernel.  More.'"))
    'locks of the kernel'
    """
    paragraph = " ".join((ast.get_docstring(tree) or "").split("\n\n")[0].split())
    sentence = re.split(r"(?<=[^.])\. ", paragraph + " ")[0].strip().rstrip(".")
    return sentence.partition(": ")[2] or sentence
