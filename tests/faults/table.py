"""The table of `docs/reliability.md`: what the long run tried, and how it ended."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable
from pathlib import Path

from tests.faults.harness import FAULTS, FULL, SHORT, Tally

PAGE = Path(__file__).parents[2] / "docs" / "reliability.md"
BEGIN, END = "<!-- points: begin -->", "<!-- points: end -->"
HEAD = (
    "| act | file system | fault | points | killed | refused | done all the same |",
    "|---|---|---|--:|--:|--:|--:|",
)
ORDER = [*FAULTS, SHORT, FULL]

Row = tuple[str, str, str, int, int, int, int]


def rows_of(tally: Tally) -> list[Row]:
    """A tally as rows."""
    return [
        (tally.act, tally.stage, fault, sum(ends.values()), ends["killed"], ends["refused"], ends["done"])
        for fault, ends in tally.ends.items()
    ]


def read(text: str) -> list[Row]:
    """The rows between the marks of the page."""
    found: list[Row] = []
    for line in text[text.index(BEGIN) : text.index(END)].splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 7 and cells[3].isdigit():
            found.append(
                (cells[0], cells[1], cells[2], int(cells[3]), int(cells[4]), int(cells[5]), int(cells[6]))
            )
    return found


def write(tally: Tally) -> None:
    """Put the rows of one sweep into the page, in place of those it had; several may do so at once."""
    with open(PAGE, "r+", encoding="utf-8") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        text = stream.read()
        fresh = rows_of(tally)
        keys = {row[:3] for row in fresh}
        rows = [row for row in read(text) if row[:3] not in keys] + fresh
        stream.seek(0)
        stream.write(text[: text.index(BEGIN)] + table(rows) + text[text.index(END) + len(END) :])
        stream.truncate()
        stream.flush()
        os.fsync(stream.fileno())


def table(rows: Iterable[Row]) -> str:
    """The table with its marks."""
    ordered = sorted(rows, key=lambda row: (row[0], row[1], ORDER.index(row[2])))
    lines = ["| " + " | ".join(str(cell) for cell in row) + " |" for row in ordered]
    return "\n".join([BEGIN, *HEAD, *lines, END])
