"""Documentation: the tables that are made from the program: `python tests/docs/tables.py --write`.

Without `--write` it says which pages differ and ends with 1.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import muniment
from muniment.errors import ExitCode, MunimentError
from muniment.settings import Setting

PROJECT = Path(__file__).resolve().parents[2]
REFERENCE = PROJECT / "docs" / "reference"
sys.path.insert(0, str(PROJECT))


def modules() -> Iterator[ModuleType]:
    """Every module of the package, imported; one that can not be imported is an error here."""

    def fail(name: str) -> None:
        raise ImportError(f"{name} can not be imported")

    for found in pkgutil.walk_packages(muniment.__path__, "muniment.", onerror=fail):
        yield importlib.import_module(found.name)


def error_classes() -> list[type[MunimentError]]:
    """Every class of error that the package defines, families first, then by room and code."""
    list(modules())
    found: set[type[MunimentError]] = set()
    todo: list[type[MunimentError]] = [MunimentError]
    while todo:
        error = todo.pop()
        if error.__module__.split(".")[0] == "muniment":
            found.add(error)
        todo.extend(error.__subclasses__())
    return sorted(found, key=lambda error: (room(error), error.exit_code, error.code, error.__qualname__))


def families() -> list[type[MunimentError]]:
    """The classes of floor 0 that own an exit code."""
    return [error for error in error_classes() if MunimentError in error.__bases__]


def settings() -> list[Setting[Any]]:
    """Every declared setting by name: what the wiring lists, and whatever lies in any module."""
    found: dict[str, Setting[Any]] = {}
    for module in modules():
        values = list(vars(module).values())
        values += [item for value in values if isinstance(value, tuple) for item in value]
        found |= {value.name: value for value in values if isinstance(value, Setting)}
    return [found[name] for name in sorted(found)]


def room(error: type[MunimentError]) -> str:
    """The room in which a class is defined; empty for floor 0."""
    parts = error.__module__.split(".")
    return parts[1] if len(parts) > 2 else ""


def exit_code_table() -> str:
    """One row an exit code: number, name, meaning (the first sentence of the family's docstring)."""
    rows = [("0", "`DONE`", "Done, and read back.")]
    meaning = {error.exit_code: sentence(error) for error in reversed(families())}
    rows += [
        (str(int(code)), f"`{code.name}`", meaning[code]) for code in ExitCode if code is not ExitCode.DONE
    ]
    return table(("exit code", "name", "it says"), rows)


def error_code_table() -> str:
    """One table a room: code, exit code, whether again helps, what happened, what next."""
    parts = []
    for name in sorted({room(error) for error in error_classes()}):
        rows = [
            (
                f"`{error.code}`",
                str(int(error.exit_code)),
                "yes" if error.retryable else "no",
                error.what,
                error.guidance,
            )
            for error in error_classes()
            if room(error) == name and "code" in vars(error)
        ]
        title = f"## From `{name}`" if name else "## The families, and what every room shares"
        parts.append(f"{title}\n\n" + table(("code", "exit", "again", "what happened", "what next"), rows))
    return "\n".join(parts)


def setting_table() -> str:
    """One row a setting: name, environment variables, default, what it is about."""
    rows = [
        (
            f"`{one.name}`",
            ", ".join(f"`{variable}`" for variable in one.variables),
            spelled(one.default),
            one.about,
        )
        for one in settings()
    ]
    return table(("setting", "environment", "default", "what it is about"), rows)


def sentence(error: type[MunimentError]) -> str:
    """The first line of a class's docstring."""
    return (error.__doc__ or "").strip().splitlines()[0]


def spelled(default: object) -> str:
    """A default as a person would write it in TOML.

    >>> spelled(("plan", "create")), spelled(False), spelled({}), spelled(""), spelled(None)
    ('`["plan", "create"]`', '`false`', '`{}`', '`""`', 'none')
    """
    if default is None:
        return "none"
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    if isinstance(default, Mapping):
        return (
            "`{" + ", ".join(f"{name} = {spelled(item).strip('`')}" for name, item in default.items()) + "}`"
        )
    if isinstance(default, tuple | list):
        return "`[" + ", ".join(f'"{item}"' for item in default) + "]`"
    return f"`{default}`" if isinstance(default, int) else f'`"{default}"`'


def table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """A Markdown table.

    >>> print(table(("a", "b"), [("1", "x|y")]), end="")
    | a | b |
    |---|---|
    | 1 | x\\|y |
    """
    lines = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def tool_table() -> str:
    """One row a tool: its name, what it does, its arguments, and what a host may know beforehand."""
    from muniment.faces.tools.table import TOOLS

    rows = []
    for tool in TOOLS.values():
        shape = tool.shape
        arguments = [
            f"`{name}`" + ("" if name in shape.required else "?") for name in shape.takes["properties"]
        ]
        hints = {
            "reads only": shape.reads_only,
            "takes something away": shape.destructive,
            "reaches out": shape.reaches_out,
        }
        rows.append(
            (
                f"`{shape.name}`",
                shape.title,
                ", ".join(arguments) or "nothing",
                ", ".join(word for word, so in hints.items() if so) or "adds",
            )
        )
    return table(("tool", "what it does", "arguments", "hints"), rows)


def resource_table() -> str:
    """One row a template of resources, and whether recent ones are listed."""
    from muniment.faces.tools.resources import TEMPLATES

    rows = [(f"`{one.form}`", one.about, "yes" if one.listed else "no") for one in TEMPLATES]
    return table(("address", "holds", "listed"), rows)


def room_tables() -> str:
    """One table a room: each of its files, and what its first line says."""
    from tests.docs.sources import first_sentence, trees

    rooms: dict[str, list[tuple[str, ...]]] = {}
    for path, tree in trees():
        parts = path.split("/")
        name = "/".join(parts[: min(len(parts) - 1, 2)])
        said = first_sentence(tree)
        if parts[-1] != "__init__.py" or len(tree.body) > 1:
            rooms.setdefault(name, []).append(
                (f"`{'/'.join(parts[len(name.split('/')) if name else 0 :])}`", said)
            )
    return "\n".join(
        f"## {f'`{name}`' if name else 'Floor 0, and the two ends'}\n\n" + table(("file", "holds"), rows)
        for name, rows in sorted(rooms.items())
    )


TABLES: dict[str, tuple[str, Callable[[], str]]] = {
    "exit-codes": ("exit-codes.md", exit_code_table),
    "error-codes": ("error-codes.md", error_code_table),
    "settings": ("settings.md", setting_table),
    "rooms": ("rooms.md", room_tables),
    "tools": ("../how-to/mcp.md", tool_table),
    "resources": ("../how-to/mcp.md", resource_table),
}
"""Name of the marker, page, and what makes the table."""


def split(page: str, name: str) -> tuple[str, str, str]:
    """A page as the text before a table, the table, and the text after it."""
    before, begin, rest = page.partition(f"<!-- table: {name} -->\n")
    inside, end, after = rest.partition("<!-- end -->")
    if not begin or not end:
        raise ValueError(f"the page has no place for the table {name}")
    return before + begin, inside, end + after


def main(arguments: list[str]) -> int:
    """Compare the pages, or write them."""
    stale = []
    for name, (file, make) in TABLES.items():
        path = REFERENCE / file
        before, inside, after = split(path.read_text("utf-8"), name)
        fresh = f"\n{make()}\n"
        if inside != fresh:
            stale.append(file)
            if "--write" in arguments:
                path.write_text(before + fresh + after, "utf-8")
    print("written:" if "--write" in arguments else "stale:", ", ".join(stale) or "nothing")
    return 1 if stale and "--write" not in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
