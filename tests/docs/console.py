"""Documentation: console blocks as a reader would type them, and what must be the same each time."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.docs.tables import PROJECT

READER_HOME = "/home/ada"
"""The home folder that pages show."""

PREPARES_A_MACHINE = {"make demo", "make test", "make check", ". .venv/bin/activate"}
"""What installs from a copy of the source: `.ci/run` runs these, in a fresh clone."""

_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_END = "\x1e"


@dataclass(frozen=True, slots=True)
class Typed:
    """A command, and the lines that the page shows below it."""

    command: str
    shown: str


def typed(page: str) -> Iterator[Typed]:
    """The commands of a page in order; a block without a prompt holds commands alone.

    >>> list(typed("```console\\n$ a\\nb\\n$ c\\n```\\n"))
    [Typed(command='a', shown='b\\n'), Typed(command='c', shown='')]
    """
    for block in _BLOCK.findall(page):
        if not re.search(r"^\$ ", block, re.MULTILINE):
            yield from (Typed(line, "") for line in block.splitlines())
            continue
        before, *commands = re.split(r"^\$ ", block, flags=re.MULTILINE)
        assert before == "", "output before the first prompt"
        for each in commands:
            command, _, shown = each.partition("\n")
            yield Typed(command, shown)


def to_run(page: str) -> list[Typed]:
    """The commands of a page without those that prepare a machine."""
    return [one for one in typed(page) if one.command not in PREPARES_A_MACHINE]


def run(page: str, place: Path) -> list[str]:
    """What each command of a page prints, both streams as they come, all in one shell in a scratch home."""
    commands = [one.command for one in to_run(page)]
    home, programs = place / "home", place / "programs"
    home.mkdir()
    programs.mkdir()
    program = programs / "muniment"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m muniment "$@"\n', "utf-8")
    program.chmod(0o755)
    # `$?` must be the command's own when the next one asks for it
    script = "".join(f"{each}\n__code=$?; printf '{_END}'; (exit $__code)\n" for each in commands)
    done = subprocess.run(
        ["bash", "--norc", "--noprofile"],
        input=script,
        cwd=home,
        env={
            "PATH": f"{programs}:{os.environ['PATH']}",
            "HOME": str(home),
            "PYTHONPATH": str(PROJECT / "src"),
            "PYTHONUTF8": "1",
            "LC_ALL": "C",
            "GIT_CEILING_DIRECTORIES": str(place),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )
    *outputs, rest = done.stdout.split(_END)
    assert len(outputs) == len(commands) and rest == "", done.stdout
    return [output.replace(str(home), READER_HOME) for output in outputs]


_DIFFERS = re.compile(
    r"(?P<ulid>(?<![0-9A-Za-z])[0-7][0-9A-HJKMNP-TV-Z]{25}\b)"
    r"|(?P<instant>\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z)"
    r"|(?P<minute>\b\d{4}-\d\d-\d\d \d\d:\d\d UTC)"
    r"|(?P<stamp>\b\d{4}(?:-\d\d){5}\b)"
    r"|(?P<session>\blocal-\d{4}-\d{4}\b)"
    r"|(?P<digest>\b[0-9a-f]{12}\b)"
)


def normaliser() -> Callable[[str], str]:
    """Gives a function that numbers ids, times and digests by their first appearance.

    So one that appears twice on a page has to be the same twice in the output too, and the width
    of columns stays.  Minutes are not numbered: two events may or may not fall into the same one.

    >>> normalise = normaliser()
    >>> normalise("arc_01KB9Q5T7M8WJ2Z4C6E0RNXHVD")
    'arc_<ulid 1>'
    >>> normalise("head 5f1c0a9be27d"), normalise("head 000000000000 5f1c0a9be27d")
    ('head <digest 1>', 'head <digest 2> <digest 1>')
    """
    seen: dict[str, dict[str, int]] = {}

    def name(match: re.Match[str]) -> str:
        kind = match.lastgroup or ""
        if kind == "minute":
            return "<minute>"
        known = seen.setdefault(kind, {})
        return f"<{kind} {known.setdefault(match.group(), len(known) + 1)}>"

    return lambda text: _DIFFERS.sub(name, text)


def differences(page: str, outputs: list[str]) -> list[str]:
    """Each command that printed something else than the page shows, with both texts."""
    wanted, found = normaliser(), normaliser()
    told = []
    for one, output in zip(to_run(page), outputs, strict=True):
        page_says, program_says = wanted(one.shown), found(output)
        if page_says != program_says:
            told.append(f"$ {one.command}\nthe page:\n{page_says}the program:\n{program_says}")
    return told
