"""Floor 0: paths inside a root: hostile names are refused, and what is shown can not hide."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.errors import UsageError
from muniment.path import NAME_MAX, BadPath, RelPath, check_name, printable

HOSTILE: list[str] = [
    "/",
    "/etc/passwd",
    "//etc",
    ".",
    "..",
    "../a",
    "a/..",
    "a/../b",
    "a/./b",
    "./a",
    "a/.",
    "a//b",
    "a/",
    "\0",
    "a\0b",
    "a/b\0",
    "a" * (NAME_MAX + 1),
    "é" * 128,
    "\U0001f600" * 64,
    "\ud800",
    "a/\udfff",
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_paths_are_refused(text: str) -> None:
    with pytest.raises(BadPath) as caught:
        RelPath.parse(text)
    str(caught.value).encode("utf-8")
    # No other way leads to such a path either.
    with pytest.raises(BadPath):
        RelPath(tuple(text.split("/")))


@pytest.mark.parametrize("name", ["", ".", "..", "/", "a/b", "\0", "a\0", "a" * 256, "\ud800"])
def test_hostile_names_are_refused(name: str) -> None:
    with pytest.raises(BadPath):
        check_name(name)
    with pytest.raises(BadPath):
        RelPath.parse("a") / name


def test_a_path_that_nobody_caught_is_an_error_that_can_be_read() -> None:
    with pytest.raises(UsageError) as caught:
        RelPath(("..",))
    error = caught.value
    assert (error.code, int(error.exit_code)) == ("BAD_PATH", 2)
    assert error.reason == "This is no path that can be used here: '..' can not stand in a path"


ODD: list[str] = [
    "...",
    "..a",
    " ",
    "-rf",
    "~",
    "a\\b",
    "a\nb",
    "\x1b[2J",
    "\udcff",
    "é" * 127 + "a",
    "CON",
    "*",
    "a" * 255,
]


@pytest.mark.parametrize("name", ODD)
def test_odd_names_are_names(name: str) -> None:
    assert check_name(name) == name
    assert RelPath.parse(f"a/{name}").name == name


names = (
    st.binary(min_size=1, max_size=8)
    .filter(lambda raw: not {0, 47} & set(raw) and raw not in (b".", b".."))
    .map(os.fsdecode)
)
paths = st.lists(names, max_size=4).map(lambda parts: RelPath(tuple(parts)))


@given(paths)
def test_a_path_reads_back(path: RelPath) -> None:
    assert RelPath.parse(path.posix) == path
    assert str(path) == (path.posix or ".")


@given(paths, paths)
def test_what_is_joined_can_be_taken_apart(one: RelPath, other: RelPath) -> None:
    joined = one / other
    assert joined.within(one)
    assert joined.relative_to(one) == other
    assert one.within(joined) == (not other.parts)
    assert list(joined.ancestors())[-1:] == ([RelPath()] if joined.parts else [])
    assert all(joined.within(above) and above != joined for above in joined.ancestors())


@given(paths, paths)
def test_within_is_by_names_and_not_by_letters(one: RelPath, other: RelPath) -> None:
    inside = f"{one.posix}/".startswith(f"{other.posix}/") or not other.parts
    assert one.within(other) == inside
    if not inside:
        with pytest.raises(BadPath):
            one.relative_to(other)


def test_a_name_that_begins_alike_is_elsewhere() -> None:
    assert not RelPath.parse("archive-2/a").within(RelPath.parse("archive"))


def test_the_root() -> None:
    root = RelPath.parse("")
    assert root == RelPath() and root.name == "" and root.parent == root and str(root) == "."
    assert list(root.ancestors()) == []
    assert (root / "a").parent == root


SHOWN: list[tuple[str, str]] = [
    ("plain name.md", "plain name.md"),
    ("世界", "世界"),
    ("a\nb", "a\\x0ab"),
    ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
    ("\x7f\x9b", "\\x7f\\x9b"),
    ("\udcff\udc80", "\\xff\\x80"),
    ("\u202egnp.exe", "\\u202egnp.exe"),
    ("a\u200bb", "a\\u200bb"),
    ("\ud800", "\\ud800"),
    ("\U000e0041", "\\U000e0041"),
]


@pytest.mark.parametrize(("text", "shown"), SHOWN, ids=range(len(SHOWN)))
def test_what_a_person_reads(text: str, shown: str) -> None:
    assert printable(text) == shown


@given(st.text(st.characters(codec=None, categories=None), max_size=12))
def test_what_is_shown_holds_no_control_signs(text: str) -> None:
    shown = printable(text)
    assert shown.isprintable()
    shown.encode("utf-8")
    assert (shown == text) == text.isprintable()
