"""Faces, command line: one line that tells how far a long act has come, on a terminal only."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Protocol

from muniment.faces.cli.layout import screen_width
from muniment.faces.i18n.present import duration, size
from muniment.message import Message, say, say_count
from muniment.path import printable

EVERY_S = 0.1
"""The line is written anew no more often than this."""

SETTLED_S = 2.0
"""Before so long nothing is foretold."""

_PATH_LEAST = 8


class Advance(Protocol):
    """Is told bytes and files done since the last call, and the path at work (any bytes may stand in it)."""

    def __call__(self, size: int, files: int = 0, path: str = "", /) -> None: ...


def unwatched(size: int, files: int = 0, path: str = "", /) -> None:
    """Nobody watches."""


class ProgressLine:
    """Bytes done and to do, files, time left and the path at work, in one line of a terminal.

    `columns` is asked each time, since a window may be resized; `ticks` are seconds of a clock that
    never goes back; `total` are bytes, if they are known.
    """

    def __init__(
        self,
        doing: Message,
        total: int | None,
        *,
        write: Callable[[str], None],
        text: Callable[[Message], str],
        columns: Callable[[], int],
        ticks: Callable[[], float],
    ) -> None:
        self._doing = doing
        self._total = total
        self._write = write
        self._text = text
        self._columns = columns
        self._ticks = ticks
        self._began = ticks()
        self._next = self._began
        self._done = self._files = 0
        self._ended = False
        self._shown = ""

    def advance(self, size: int, files: int = 0, path: str = "", /) -> None:
        """So much more is done."""
        self._done += size
        self._files += files
        now = self._ticks()
        ending = self._total is not None and self._done >= self._total and not self._ended
        if now < self._next and not ending:
            return
        self._ended = self._ended or ending
        self._next = now + EVERY_S
        line = self.line(path, now - self._began)
        if line != self._shown:
            self._shown = line
            self._write(f"\r{line}\x1b[K")

    def clear(self) -> None:
        """Leave the line empty, as it was."""
        if self._shown:
            self._write("\r\x1b[K")

    def line(self, path: str, elapsed: float) -> str:
        """The line after so many seconds; it never fills the last column."""
        facts = [self._text(say("{doing}: {amount}", doing=self._doing, amount=self._amount()))]
        if self._files:
            facts.append(self._text(say_count("{count} file", "{count} files", self._files)))
        left = self._left(elapsed)
        if left is not None:
            facts.append(self._text(say("{time} left", time=duration(left))))
        most = self._columns() - 1
        line = cut(", ".join(facts), most)
        room = most - screen_width(line) - 2
        if path and room >= _PATH_LEAST:
            line += "  " + cut(printable(path), room, keep_end=True)
        return line

    def _amount(self) -> Message:
        if not self._total:
            return size(self._done)
        done = min(self._done, self._total)
        return say(
            "{share} %, {done} / {total}",
            share=done * 100 // self._total,
            done=size(done),
            total=size(self._total),
        )

    def _left(self, elapsed: float) -> timedelta | None:
        if not self._total or not 0 < self._done < self._total or elapsed < SETTLED_S:
            return None
        return timedelta(seconds=elapsed * (self._total - self._done) / self._done)


def cut(text: str, width: int, *, keep_end: bool = False) -> str:
    """A text that takes at most so many columns; dots stand for what had to go.

    >>> cut("workspace/memory/note.md", 12, keep_end=True), cut("归档一个文件", 8), cut("short", 8)
    ('...y/note.md', '归档...', 'short')
    """
    if screen_width(text) <= width:
        return text
    dots = "..."[: max(width, 0)]
    room = width - len(dots)
    kept: list[str] = []
    for sign in reversed(text) if keep_end else text:
        room -= screen_width(sign)
        if room < 0:
            break
        kept.append(sign)
    return dots + "".join(reversed(kept)) if keep_end else "".join(kept) + dots
