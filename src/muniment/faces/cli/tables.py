"""Faces, command line: tables on a screen; loads rich, so only a command that shows one imports it."""

from __future__ import annotations

import io
from collections.abc import Sequence
from itertools import zip_longest

from rich.console import Console
from rich.table import Table
from rich.text import Text


def render_table(
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    width: int,
    *,
    colour: bool,
    styles: Sequence[str] = (),
) -> list[str]:
    """Lines of a table at most `width` columns wide; cells that do not fit are folded.

    `styles` are colours of the rows, for as many as there are.

    >>> render_table(["name", "size"], [["a", "1"]], 40, colour=False)
    ['name  size', 'a     1']
    """
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold" if colour else "")
    for heading in headings:
        table.add_column(Text(heading), overflow="fold")
    for row, style in zip_longest(rows, styles, fillvalue=""):
        table.add_row(*(Text(cell) for cell in row), style=style if colour else "")
    buffer = io.StringIO()
    console = Console(
        file=buffer,
        width=width,
        height=25,
        force_terminal=colour,
        color_system="standard" if colour else None,
        no_color=not colour,
        legacy_windows=False,
        _environ={},
    )
    console.print(table)
    return [line.rstrip() for line in buffer.getvalue().splitlines()]
