"""Documentation: the fenced blocks of a page, and the commands in them."""

from __future__ import annotations

import re
from dataclasses import dataclass

FENCE = re.compile(
    r"^(?P<marks>```+)(?P<language>[\w+-]*)(?: title=\"(?P<title>[^\"\n]*)\")?[^\n]*\n"
    r"(?P<body>.*?)^(?P=marks)$",
    re.MULTILINE | re.DOTALL,
)
BLOCK = re.compile(r"^```console(?: title=\"[^\"\n]*\")?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
"""A console block; its one group is what stands in it."""


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block: its language, its title (which tells where it is typed), text and line."""

    language: str
    title: str
    body: str
    line: int

    @property
    def first(self) -> str:
        """Its first command: by this the blocks that are not run are named."""
        return self.body.partition("\n")[0].removeprefix("$ ")


@dataclass(frozen=True, slots=True)
class Example:
    """One command of a page, and the output that stands below it (empty when none is shown)."""

    command: str
    shown: str


def blocks(page: str) -> list[Block]:
    """Every fenced block of a page, in order.

    >>> [(one.language, one.first, one.line) for one in blocks("a\\n```sh\\nmuniment init\\n```\\n")]
    [('sh', 'muniment init', 2)]
    """
    return [
        Block(found["language"], found["title"] or "", found["body"], 1 + page.count("\n", 0, found.start()))
        for found in FENCE.finditer(page)
    ]


def typed(body: str) -> list[Example]:
    """The commands of a console block.  A command goes on in lines that begin with `> `, as at a prompt.

    >>> typed("$ a\\nx\\n$ b\\n")
    [Example(command='a', shown='x\\n'), Example(command='b', shown='')]
    >>> typed("$ cat <<END\\n> text\\n> END\\ntext\\n")
    [Example(command='cat <<END\\ntext\\nEND', shown='text\\n')]
    """
    found = []
    for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
        lines = part.splitlines(keepends=True)
        end = 1
        while end < len(lines) and lines[end].startswith("> ") and _goes_on(lines[:end]):
            end += 1
        command = "".join([lines[0], *(line[2:] for line in lines[1:end])])
        found.append(Example(command.rstrip("\n"), "".join(lines[end:])))
    return found


def prompted(command: str) -> str:
    """A command as it stands in a console block.

    >>> prompted("cat <<END\\ntext\\nEND")
    '$ cat <<END\\n> text\\n> END\\n'
    """
    return "$ " + command.replace("\n", "\n> ") + "\n"


def _goes_on(lines: list[str]) -> bool:
    here = re.search(r"<<-?\s*['\"]?(\w+)", lines[0])
    if here:
        return lines[-1].removeprefix("> ").strip() != here[1]
    return lines[-1].endswith("\\\n")
