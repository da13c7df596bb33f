"""Faces, command line: what a command says, and to whom.

For people the result goes to standard output and everything beside it to standard error.  With
`--json` one object goes to standard output, at the end, and everything human to standard error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import TextIO

from muniment.canonical import Json
from muniment.errors import Interrupted, MunimentError
from muniment.faces.cli.machine import json_line
from muniment.faces.cli.options import Options
from muniment.faces.cli.progress import Advance, ProgressLine, unwatched
from muniment.faces.cli.streams import Streams, is_terminal
from muniment.faces.errors import NobodyToAsk
from muniment.faces.i18n.errors import for_people, for_programs
from muniment.faces.i18n.language import Language
from muniment.faces.i18n.translate import Translator
from muniment.message import Message, say

_YES = frozenset({"y", "yes", "是", "好"})
_UNFITTED = 10_000
"""Columns of a table that nobody looks at on a terminal: one row stays one line."""


class Terminal:
    """The person's and the program's end of one call.

    `json`, `quiet`, `verbose` are the common options of these names; `translator` speaks the
    reader's language.
    """

    def __init__(
        self,
        streams: Streams,
        options: Options,
        translator: Translator,
        environment: Mapping[str, str],
        ticks: Callable[[], float] = monotonic,
    ) -> None:
        self.streams = streams
        self._environment, self._ticks = environment, ticks
        self.translator = translator
        self.json, self.quiet, self.verbose = options.json, options.quiet, options.verbose
        self.width = streams.width(environment)
        self.can_ask = is_terminal(streams.stdin) and is_terminal(streams.stderr)
        colours = not environment.get("NO_COLOR") and environment.get("TERM") != "dumb"
        self._colour_out = colours and is_terminal(streams.stdout) and not options.json
        self._colour_err = colours and is_terminal(streams.stderr)
        self._result: Json = None
        self._has_result = False

    @property
    def language(self) -> Language:
        """The reader's language."""
        return self.translator.language

    def text(self, message: Message) -> str:
        """A message in the reader's language."""
        return self.translator.text(message)

    def say(self, message: Message) -> None:
        """Tell the person something that belongs to the result."""
        self.print(self.text(message))

    def print(self, text: str = "") -> None:
        """Show lines that are already in the reader's language, and safe to show."""
        (self.streams.err if self.json else self.streams.out)(f"{text}\n")

    def note(self, message: Message) -> None:
        """Tell the person something beside the result; `-q` keeps it back."""
        if not self.quiet:
            self.streams.err(f"{self.text(message)}\n")

    def detail(self, message: Message) -> None:
        """Tell the person what only `-v` asks for."""
        if self.verbose:
            self.streams.err(f"{self.text(message)}\n")

    def next_step(self, command: str) -> None:
        """Suggest the command that comes next."""
        self.note(say("next: {step}", step=command))

    def result(self, value: Json, human: Callable[[], None] | None = None) -> None:
        """The outcome: the value for a program, or what `human` prints for a person.

        A call has one result; it is written when the command ends.
        """
        if self._has_result:
            raise RuntimeError("a command has one result")
        self._result, self._has_result = value, True
        if not self.json and human is not None:
            human()

    def ask(self, question: Message) -> bool:
        """Ask at the terminal; anything but a yes is a no, and so is the end of input.

        Without a terminal it is refused as `NobodyToAsk`.
        """
        if not self.can_ask:
            raise NobodyToAsk()
        self.streams.err(self.text(say("{question} [y/N] ", question=question)))
        return self.streams.stdin.readline().strip().lower() in _YES

    def ask_text(self, question: Message) -> str:
        """Ask for a line of text at the terminal, for what has to be typed out to be meant."""
        if not self.can_ask:
            raise NobodyToAsk()
        self.streams.err(self.text(say("{question}: ", question=question)))
        line = self.streams.stdin.readline()
        if not line:  # the input has ended: nobody will ever answer
            raise Interrupted()
        return line.strip()

    def table(
        self, columns: Sequence[Message], rows: Sequence[Sequence[object]], styles: Sequence[str] = ()
    ) -> None:
        """Show rows under headings, fitted to the screen; cells are texts or facts of any kind.

        `styles` are colours of whole rows (red, green, yellow), where colours are shown.
        """
        from muniment.faces.cli.tables import render_table

        fitted = self.width if is_terminal(self._person()) else _UNFITTED
        headings = [self.text(column) for column in columns]
        cells = [[str(self.translator.fact(cell)) for cell in row] for row in rows]
        for line in render_table(headings, cells, fitted, colour=self._colour_out, styles=styles):
            self.print(line)

    def lines(self, rows: Sequence[tuple[Message, object]]) -> None:
        """Show facts, each behind its label, one a line."""
        from muniment.faces.cli.layout import pad, screen_width

        shown = [(self.text(label), str(self.translator.fact(fact))) for label, fact in rows]
        widest = max(screen_width(label) for label, _ in shown)
        for label, fact in shown:
            self.print(f"{pad(label, widest)}  {fact}")

    @contextmanager
    def progress(self, doing: Message, total: int | None = None) -> Iterator[Advance]:
        """Show how far a long act has come, on a terminal only; `-q` keeps it back.

        Gives a function that takes bytes, files and the path at work since the last call; `total` are
        bytes.
        """
        if self.quiet or not is_terminal(self.streams.stderr):
            yield unwatched
            return
        line = ProgressLine(
            doing,
            total,
            write=self.streams.err,
            text=self.text,
            columns=lambda: self.streams.width(self._environment, self.streams.stderr),
            ticks=self._ticks,
        )
        try:
            yield line.advance
        finally:
            line.clear()

    def error(self, error: MunimentError, trace: str = "") -> None:
        """Show an error; with `--json` the program gets it too, with the result if there was one."""
        first, *rest = for_people(error, self.translator)
        first = f"\x1b[31m{first}\x1b[0m" if self._colour_err else first
        lines = [f"muniment: {first}", *rest, *([trace] if trace and self.verbose else [])]
        self.streams.err("".join(f"{line}\n" for line in lines))
        if self.json:
            told = for_programs(error, Translator(Language.ENGLISH))
            if self._has_result:
                told["result"] = self._result
            self._result, self._has_result = told, True

    def finish(self) -> None:
        """Write what a program waits for, and hand on everything."""
        if self.json:
            value = self._result if self._has_result else {}
            self._has_result = False  # should it have no form in JSON, the error must not meet it again
            self.streams.out(json_line(value, unicode=self.streams.speaks_unicode))
        self.streams.flush()

    def _person(self) -> TextIO:
        return self.streams.stderr if self.json else self.streams.stdout
