"""Documentation: what exists is described, and what is described exists (issue 14, must show 3).

Commands and options are held to their page in `test_commands.py`, settings and codes in `test_tables.py`.
"""

from __future__ import annotations

import ast
import importlib.util
import json
import re
import tomllib
from functools import cache

import click
import pytest
from tests.docs.blocks import FENCE
from tests.docs.sources import PACKAGE, PROJECT, extras, targets, trees, variables, versions
from tests.docs.tables import REFERENCE, settings
from tests.docs.test_commands import COMMANDS, Words, common

from muniment.faces.cli.root import ROOT
from muniment.faces.hooks import EVENTS

DOCS = PROJECT / "docs"
PAGES = sorted([PROJECT / "README.md", PROJECT / "CONTRIBUTING.md", *DOCS.rglob("*.md")])
CURRENT = [page for page in PAGES if "adr" not in page.parts]
"""Decisions speak of their day; the other pages speak of today."""


def cells(page: str) -> list[list[str]]:
    """The rows of all tables of a page."""
    rows = [
        [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]
        for line in FENCE.sub("", page).splitlines()
        if line.startswith("|")
    ]
    return [row for row in rows if not set("".join(row)) <= {"-"}]


def spans(text: str) -> set[str]:
    """What stands in a text as code."""
    return set(re.findall(r"`([^`\n]+)`", text))


# Formats and versions.

OF_OTHERS = {
    ("disk/sqlite.py", "SQLite format 3\x00"),
    ("faces/web/openapi.py", "date-time"),
    ("faces/web/openapi.py", "binary"),
}
"""What is no format of ours: how databases begin, and two words of OpenAPI."""


def test_every_format_has_its_row_and_every_row_its_format() -> None:
    shown = {
        (module.strip("`"), version)
        for row in cells((REFERENCE / "formats.md").read_text("utf-8"))
        if len(row) == 5 and (module := row[3]).startswith("`")
        for version in spans(row[2])
    }
    written = {(module, version) for module, tree in trees() for version in versions(tree)} - OF_OTHERS
    assert written - shown == set(), "not on docs/reference/formats.md"
    assert shown - written == set(), "not in the code"


def test_every_format_names_a_page_or_is_described_on_the_spot() -> None:
    rows = [row for row in cells((REFERENCE / "formats.md").read_text("utf-8")) if row[0] != "what"]
    assert len(rows) > 25
    assert [row for row in rows if not re.search(r"\]\(.+\)|^here: |^a cache: ", row[4])] == []


def test_every_published_schema_can_be_read_and_is_named_on_a_page() -> None:
    for folder in (DOCS / "schemas").iterdir():
        assert any(f"docs/schemas/{folder.name}" in page.read_text("utf-8") for page in CURRENT)
        for path in folder.iterdir():
            json.loads(path.read_text("utf-8"))


# Variables of the environment, settings.


def test_every_variable_that_is_read_is_on_the_settings_page() -> None:
    rows = cells((REFERENCE / "settings.md").read_text("utf-8"))
    shown = {name for row in rows if row[0].startswith("`") for name in spans(" ".join(row[:2]))}
    read = {name for _, tree in trees() for name in variables(tree)}
    of_settings = {name for one in settings() for name in one.variables}
    assert read - shown == set(), "not on docs/reference/settings.md"
    dotted = {name for name in shown if "." in name or name == name.lower()}
    assert shown - dotted - read - of_settings == set(), "not in the code"


def test_the_pages_name_no_setting_that_does_not_exist() -> None:
    known = {one.name for one in settings()}
    rooms = {name.partition(".")[0] for name in known}
    loose = {
        (page.name, name)
        for page in CURRENT
        for span in spans(FENCE.sub("", page.read_text("utf-8")))
        for name in [span.partition(" = ")[0]]
        if re.fullmatch(r"[a-z]+\.[a-z_]+", name) and name.partition(".")[0] in rooms
    }
    files = {".json", ".md", ".lock", ".py", ".log", ".jsonl", ".toml", ".sqlite", ".yaml"}
    wrong = {
        (page, name)
        for page, name in loose
        if name not in known and not any(name.endswith(end) for end in files) and not _is_event(name)
    }
    assert wrong == set()


@cache
def _literals() -> frozenset[str]:
    return frozenset(
        node.value
        for _, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def _is_event(name: str) -> bool:
    """Whether it is a kind of event, or a key, which are spelled alike."""
    return name in _literals()


# Commands, wherever a page speaks of one.


def called(span: str) -> tuple[Words, list[str]] | None:
    """The command and the options that a piece of code on a page calls; None if it calls none.

    >>> called("muniment archive verify --all")
    (('archive', 'verify'), ['--all'])
    """
    line = re.sub(r"^([A-Z_]+=\S+ )+", "", span).partition(" -- ")[0]
    if not re.match(r"muniment( |$)", line):
        return None
    words = [word for word in line.split()[1:] if word != "…"]
    path: list[str] = []
    group: click.Command = ROOT
    for word in words:
        context = click.Context(group, info_name="muniment")
        found = group.get_command(context, word) if isinstance(group, click.Group) else None
        if found is None:
            break
        path.append(word)
        group = found
    return tuple(path), [word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)]


def spoken() -> list[tuple[str, str]]:
    """Every command on every page of today: in the text as code, and in blocks."""
    found = []
    for page in CURRENT:
        text = page.read_text("utf-8")
        lines = [
            line.removeprefix("$ ") for block in FENCE.finditer(text) for line in block["body"].splitlines()
        ]
        pieces = [*spans(FENCE.sub("", text)), *lines]
        found += [(page.relative_to(PROJECT).as_posix(), piece) for piece in pieces if called(piece)]
    return found


LATER = {"hook"}
"""Words that are answered before the table of commands is read."""


def test_every_command_on_any_page_exists_with_its_options() -> None:
    options_of_all = common()
    wrong = []
    for page, piece in spoken():
        found = called(piece)
        assert found is not None
        words, options = found
        rest = piece.split("muniment", 1)[1].partition(" -- ")[0].split()[len(words) :]
        if rest[:1] and rest[0] in LATER and not words:
            continue
        command: click.Command = ROOT
        known = set(options_of_all)
        for word in words:
            assert isinstance(command, click.Group)
            command = command.get_command(click.Context(command), word) or command
            known |= {name for one in command.params for name in (*one.opts, *one.secondary_opts)}
        verb = rest[0] if rest else ""
        # what follows `archive` and is no verb is a path (spec 1, surface)
        if isinstance(command, click.Group) and words != ("archive",) and re.fullmatch(r"[a-z-]+", verb):
            wrong += [f"{page}: {piece}"] if verb[0] != "-" else []
        wrong += [f"{page}: {piece}: {option}" for option in options if option not in known]
    assert wrong == []
    assert len(spoken()) > 100 and len(COMMANDS) > 60


def test_every_command_is_in_the_table_of_the_readme() -> None:
    rows = [row[1] for row in cells((PROJECT / "README.md").read_text("utf-8")) if len(row) == 2]
    named = {span for row in rows if "muniment" in row for span in spans(row)}
    first = {span.removeprefix("muniment ").split()[0] for span in named}
    assert set(ROOT.table) - first == set()


# Tools, hooks, metrics, calls of the wire.


def test_every_tool_is_on_its_page_and_on_that_of_its_protocol() -> None:
    from muniment.faces.tools.table import TOOLS

    page = (DOCS / "how-to" / "mcp.md").read_text("utf-8")
    assert [name for name in TOOLS if f"| `{name}` |" not in page] == []


def test_every_hook_is_on_its_page() -> None:
    page = (DOCS / "how-to" / "hooks.md").read_text("utf-8")
    shown = set(re.findall(r"muniment hook ([a-z-]+)", page))
    assert shown == set(EVENTS)


def need_serve() -> None:
    """The figures and the wire need the extra `serve`, which the tests install."""
    if importlib.util.find_spec("prometheus_client") is None:
        pytest.fail("the extra serve is missing; requirements/dev.txt has it")


def test_every_figure_is_on_the_page_of_operations() -> None:
    need_serve()
    from muniment.faces.web.metrics import Metrics

    made = {
        name
        for family in Metrics().registry.collect()
        for name in [family.name + ("_total" if family.type == "counter" else "")]
    }
    page = (DOCS / "operations.md").read_text("utf-8")
    assert {name for name in spans(page) if name.startswith("muniment_")} == made


def test_every_call_of_the_wire_is_on_the_page_of_operations() -> None:
    need_serve()
    from muniment.faces.web.openapi import document

    page = (DOCS / "operations.md").read_text("utf-8")
    table = page[page.index("| call | answer |") : page.index("A file is best sent")]
    lacking = []
    for path, methods in document()["paths"].items():
        for method in methods:
            short = re.sub(r"\{[a-z_]+\}", lambda one: "EXTENT" if "extent" in one[0] else "ID", path)
            last = "/" + short.rpartition("/")[2]
            if f"`{method.upper()} {short}" not in table and last not in table:
                lacking.append(f"{method.upper()} {short}")
    assert lacking == []


# Extras, make, dependencies.


def test_every_extra_is_described_and_every_extra_on_a_page_exists() -> None:
    page = (DOCS / "dependencies.md").read_text("utf-8")
    assert set(re.findall(r"`muniment\[([a-z0-9]+)\]`", page)) >= extras()
    named = {
        name for page in CURRENT for name in re.findall(r"muniment\[([a-z0-9,]+)\]", page.read_text("utf-8"))
    }
    assert {name for names in named for name in names.split(",")} == extras()


def test_every_target_of_make_is_in_its_help_and_in_the_contributors_page() -> None:
    contributing = (PROJECT / "CONTRIBUTING.md").read_text("utf-8")
    makefile = (PROJECT / "Makefile").read_text("utf-8")
    helped = set(re.findall(r"^#   make ([a-z-]+)", makefile, re.MULTILINE))
    assert helped == targets() - {"help"}
    assert set(re.findall(r"`make ([a-z-]+)[` ]", contributing)) == targets() - {"help"}


# The house as it is drawn.


def test_the_drawing_has_every_room_on_the_floor_that_the_contract_gives_it() -> None:
    page = (DOCS / "architecture.md").read_text("utf-8")
    drawn = page.split("```text\n")[1].split("```")[0].splitlines()
    lines: list[set[str]] = []
    for line in drawn:
        if re.match(r" \d½?  ", line) and "─ " in line:
            lines.append(set(re.findall(r"─ ([a-z]+) ", line)))
    lines.append(set(drawn[-1].split()))
    table = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))
    (contract,) = table["tool"]["importlinter"]["contracts"]
    floors = [set(re.findall(r"muniment\.([a-z]+)", layer)) for layer in contract["layers"]]
    assert lines == [floor for floor in floors if floor]
    rooms = {path.name for path in PACKAGE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert rooms <= set().union(*lines)
    inside = {path.name for path in (PACKAGE / "faces").iterdir() if path.is_dir()} - {"__pycache__"}
    assert inside <= set(re.findall(r"[a-z0-9]+", " ".join(drawn)))


# Every page can be found.


def test_every_page_stands_once_in_the_navigation() -> None:
    nav = (PROJECT / "mkdocs.yml").read_text("utf-8").split("\nnav:\n")[1]
    named = re.findall(r"(?:: |- )([\w./-]+\.md)$", nav, re.MULTILINE)
    assert sorted(named) == sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))
    sections = re.findall(r"^  - (.+):$", nav, re.MULTILINE)
    assert sorted(set(sections)) == sorted(sections)
