"""What goes where: one object for programs, safe words for people, pages in the right language."""

from __future__ import annotations

import json
import os
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.faces.calling import call
from tests.faces.commands import Thrown

from muniment.errors import NotFound
from muniment.faces.cli.frame import Command, Group, load
from muniment.faces.cli.layout import screen_width, wrap
from muniment.faces.cli.machine import json_line
from muniment.faces.cli.root import ROOT
from muniment.message import say

HOSTILE = [
    os.fsdecode(b"\xff\xfe.md"),
    "\x1b[2J\x1b]0;owned\x07",
    "a\nb\r\nmuniment: all is well",
    "\u202egpj.exe",
    "{0.__class__}{name}{",
    "%s%n",
    "\x00",
    "[red]x[/red]",
    "",
    "\ud800",
    "😀",
]


@pytest.mark.parametrize(
    "arguments",
    [
        ["echo", "a"],
        ["echo", "a", "--note", "b", "-v"],
        ["mute"],
        ["partly"],
        ["found"],
        ["fail"],
        ["table"],
        ["work"],
        ["house"],
        ["nosuch"],
        ["echo", "--nosuch"],
        ["echo", "--times"],
        ["nest"],
        ["--help"],
        ["echo", "--help"],
        ["--version"],
        ["act", "-n"],
        [],
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("terminal", [False, True])
def test_with_json_standard_output_is_exactly_one_object(arguments: list[str], terminal: bool) -> None:
    Thrown.error = NotFound()
    assert isinstance(call(*arguments, "--json", terminal=terminal).object, dict)
    assert isinstance(call("--json", *arguments, terminal=terminal).object, dict)


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("language", ["en", "zh-CN"])
def test_hostile_names_are_shown_and_do_nothing(name: str, language: str) -> None:
    Thrown.error = NotFound(
        where=name, why=say("{name} and {inner}", name=name, inner=say("{x}", x=name)), it=name
    )
    calls = [
        call("fail", "--json", "--lang", language),
        call("echo", "--note", "x", "--lang", language, "--json", "--", name),
        call("one", name + "x", "--lang", language, "--json", name),
        call("nosuch" + name, "--lang", language, "--json"),
        call("echo", "--times", name, "--lang", language, "--json"),
        call("echo", "--nosuch" + name, "--lang", language, "--json"),
    ]
    for answer in calls:
        assert isinstance(answer.object, dict)
        answer.out.encode("utf-8")
        assert all(line.isprintable() for line in answer.err.splitlines()), answer.err
        assert "\r" not in answer.err
    assert len(calls[0].err.splitlines()) == (4 if name else 3)
    shown = call("echo", "--", name)
    assert shown.code == 0
    assert shown.out.count("\n") == 1 and shown.out.rstrip("\n").isprintable()


def test_a_traceback_is_shown_safely_too() -> None:
    Thrown.error = ValueError("\x1b[2J")
    answer = call("fail", "-v")
    assert "Traceback" in answer.err and "\x1b" not in answer.err


def test_a_name_that_is_not_utf_8_has_a_place_in_json() -> None:
    answer = call("echo", "--json", "--", os.fsdecode(b"a\xff"))
    assert answer.object["texts"] == ["a\\xff"]


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(st.characters(codec="utf-8")),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner),
    )
)
def test_a_json_line_is_the_value_on_one_line(value: object) -> None:
    for unicode in (True, False):
        line = json_line(value, unicode=unicode)  # type: ignore[arg-type]
        assert line.index("\n") == len(line) - 1
        assert json.loads(line) == value
        assert unicode or line.isascii()


@given(st.text(), st.integers(1, 60))
def test_wrapping_loses_nothing_but_spaces_and_fits(text: str, width: int) -> None:
    lines = wrap(text, width)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    for line in lines:
        if screen_width(line) > width:  # one piece that can not be broken
            assert " " not in line.strip(" ")


def every_page() -> list[tuple[str, ...]]:
    def walk(group: Group, path: tuple[str, ...]) -> list[tuple[str, ...]]:
        found = [path]
        for name, entry in group.table.items():
            inner: Command = load(name, entry)
            found += walk(inner, (*path, name)) if isinstance(inner, Group) else [(*path, name)]
        return found

    return walk(ROOT, ())


ENGLISH = re.compile(
    r"\b(usage|options?|commands?|arguments?|show|print|try|error|missing|default|required|text|integer|"
    r"examples?|help for|the|and|this|of|is)\b",
    re.IGNORECASE,
)


@pytest.mark.parametrize("path", every_page(), ids=" ".join)
def test_help_speaks_the_reader_s_language(path: tuple[str, ...]) -> None:
    english = call(*path, "--help", root=ROOT)
    chinese = call(*path, "--help", "--lang", "zh", root=ROOT)
    assert (english.code, chinese.code, english.err, chinese.err) == (0, 0, "", "")
    assert english.out.startswith("Usage: " + " ".join(["muniment", *path]))
    assert chinese.out.startswith("用法：" + " ".join(["muniment", *path]))
    told = chinese.out.partition("示例：")[0]
    told = re.sub(r"^  [a-z]+(?= )", "", told, flags=re.MULTILINE)  # names of commands in a table
    told = told.replace(" ".join(["muniment", *path]), "")
    told = re.sub(r"--[a-z-]+|\[?[a-z]+(?:\|[a-z]+)+\]?|（[a-z]+）|[A-Z][A-Z_]+", "", told)  # what is typed
    assert not ENGLISH.search(told), ENGLISH.search(told)
    for spelled in re.findall(r"--[a-z-]+", english.out):
        assert spelled in chinese.out
    lines = [*english.out.splitlines(), *chinese.out.splitlines()]
    assert [line for line in lines if screen_width(line) > 80] == []


def test_help_of_a_command_tells_all_of_it() -> None:
    page = call("echo", "--help").out
    assert "Usage: muniment echo [OPTIONS] [TEXTS]..." in page
    for part in (
        "  A command of the tests.",
        "  Below it.",
        "Arguments:",
        "--times N ",
        "--as [plain|loud] ",
        "-w, --workspace PATH ",
        "Examples:\n  muniment echo a --times 2",
    ):
        assert part in page


def test_wrong_calls_speak_the_reader_s_language() -> None:
    environment = {"LC_ALL": "zh_CN.UTF-8"}
    for arguments in (
        ["nosuch"],
        ["echo", "--tines"],
        ["echo", "--times"],
        ["one"],
        ["one", "a", "b"],
        ["nest"],
    ):
        told = call(*arguments, environment=environment).err
        for line in told.splitlines():
            assert re.search("[\u4e00-\u9fff]", line), line


def test_the_version() -> None:
    from muniment import __version__

    assert call("--version").out == f"muniment {__version__}\n"
    assert call("echo", "--version").code == 2  # only where nothing else is named


@pytest.mark.parametrize(
    ("arguments", "environment", "host", "greeting"),
    [
        (["--lang", "zh"], {"MUNIMENT_LANG": "en", "LANG": "en_US.UTF-8"}, "en", "用法"),
        ([], {"MUNIMENT_LANG": "zh-Hans", "LANG": "en_US.UTF-8"}, "en", "用法"),
        ([], {"LANG": "en_US.UTF-8"}, "zh", "用法"),
        ([], {"LANG": "zh_CN.UTF-8"}, None, "用法"),
        ([], {"LC_ALL": "C", "LANG": "zh_CN.UTF-8"}, None, "Usage"),
        ([], {"MUNIMENT_LANG": "fr", "LANG": "zh_CN.UTF-8"}, None, "Usage"),
        ([], {"LANG": "ja_JP.UTF-8"}, None, "Usage"),
        ([], {}, "ja", "Usage"),
        ([], {}, None, "Usage"),
        (["--lang=en"], {"LANG": "zh_CN.UTF-8"}, "zh", "Usage"),
    ],
)
def test_which_language_is_spoken(
    arguments: list[str], environment: dict[str, str], host: str | None, greeting: str
) -> None:
    answer = call("--help", *arguments, environment=environment, host_language=host)
    assert answer.out.startswith(greeting)


def test_colour_only_where_somebody_may_see_it() -> None:
    Thrown.error = NotFound()
    assert "\x1b[31m" in call("fail", terminal=True).err
    assert "\x1b" not in call("fail").err
    assert "\x1b" not in call("fail", terminal=True, environment={"NO_COLOR": "1"}).err
    assert "\x1b" not in call("fail", terminal=True, environment={"TERM": "dumb"}).err
    assert "\x1b[1m" in call("table", terminal=True).out
    assert "\x1b" not in call("table", terminal=True, environment={"NO_COLOR": "1"}).out
