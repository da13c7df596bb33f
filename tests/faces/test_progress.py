"""The progress line: what it says after how long, and that it fits."""

from __future__ import annotations

import os

import pytest

from muniment.faces.cli.layout import screen_width
from muniment.faces.cli.progress import EVERY_S, ProgressLine, cut
from muniment.message import say


class Watched:
    """A line on a terminal of so many columns, and a clock that is set by hand."""

    def __init__(self, total: int | None, columns: int = 80) -> None:
        self.now = 100.0
        self.columns = columns
        self.written: list[str] = []
        self.line = ProgressLine(
            say("saving"),
            total,
            write=self.written.append,
            text=str,
            columns=lambda: self.columns,
            ticks=lambda: self.now,
        )

    def after(self, seconds: float, size: int, files: int = 0, path: str = "") -> str:
        self.now += seconds
        before = len(self.written)
        self.line.advance(size, files, path)
        return "".join(self.written[before:]).removeprefix("\r").removesuffix("\x1b[K")


def test_time_is_foretold_from_what_was_done_so_far() -> None:
    watched = Watched(10 << 20)
    assert watched.after(1, 1 << 20, 3, "a") == "saving: 10 %, 1.0 MiB / 10.0 MiB, 3 files  a"
    # A quarter took 10 s, so three quarters take 30.
    assert (
        watched.after(9, (10 << 18) - (1 << 20))
        == "saving: 25 %, 2.5 MiB / 10.0 MiB, 3 files, 30 seconds left"
    )
    assert watched.after(290, 1 << 20).endswith("3 files, 9 minutes left")  # 35 % took 300 s
    assert watched.after(1, 99 << 20, 1) == "saving: 100 %, 10.0 MiB / 10.0 MiB, 4 files"


def test_it_is_written_ten_times_a_second_at_most_but_its_end_is() -> None:
    watched = Watched(100)
    assert watched.after(0, 10)
    assert not watched.after(EVERY_S / 2, 10)
    assert watched.after(EVERY_S / 2, 10)
    assert watched.after(0, 70) == "saving: 100 %, 100 bytes / 100 bytes"
    assert not watched.after(0, 70), "the end comes once"


def test_without_a_total_it_counts() -> None:
    watched = Watched(None)
    assert watched.after(0, 2048, 1) == "saving: 2.0 KiB, 1 file"
    assert watched.after(60, 0) == ""


@pytest.mark.parametrize("columns", [1, 3, 10, 30, 50, 80, 200])
@pytest.mark.parametrize(
    "path", ["workspace/" + "归档/" * 40 + "终", "\x1b[2J" * 9, os.fsdecode(b"\xff" * 99)]
)
def test_it_fits_any_window_and_no_name_leaves_it(columns: int, path: str) -> None:
    watched = Watched(1 << 30, columns)
    shown = watched.after(5, 1 << 20, 2, path)
    assert screen_width(shown) < columns
    assert shown.isprintable()


def test_a_window_that_is_made_smaller_is_seen() -> None:
    watched = Watched(1 << 30)
    watched.after(0, 1, 1, "a" * 100)
    watched.columns = 20
    assert screen_width(watched.after(1, 1, 1, "a" * 100)) < 20


def test_the_line_is_wiped_only_where_one_was_shown() -> None:
    watched = Watched(100)
    watched.line.clear()
    assert watched.written == []
    watched.after(0, 1)
    watched.line.clear()
    assert watched.written[-1] == "\r\x1b[K"


@pytest.mark.parametrize("width", range(12))
def test_a_cut_text_is_never_wider(width: int) -> None:
    for text in ("abcdefghijklmnop", "归档归档归档归档", "e\u0301" * 20):
        for keep_end in (False, True):
            assert screen_width(cut(text, width, keep_end=keep_end)) <= width
