"""One English term has one Chinese word: the table in `CONTRIBUTING.md` against catalogues and pages.

A word that is no term's own is refused everywhere. One that is (目录 is a directory, and not a folder)
is refused where the English has the term that may not be called so, and none that is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.faces.test_catalogue import CHINESE_SIGN, ROOMS, entries, read

from muniment.faces.i18n.language import Language

PROJECT = Path(__file__).parents[2]
PAGES = sorted([PROJECT / "README.zh-CN.md", *(PROJECT / "docs").rglob("*.zh-CN.md")])
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`|\{[^{}]*\}|\]\([^)]*\)", re.MULTILINE | re.DOTALL)
"""What programs read, and where links lead: no words for people."""


@dataclass(frozen=True, slots=True)
class Term:
    """A line of the table: the English words, the Chinese ones, and those that are not to be used."""

    english: re.Pattern[str]
    chinese: tuple[str, ...]
    refused: tuple[str, ...]


def terms(page: str) -> list[Term]:
    """The table below the heading, as it stands.

    >>> [term.refused for term in terms("## The words of the Chinese catalogue\\n| a, b | 甲 | 乙, 丙 |\\n")]
    [('乙', '丙')]
    """
    section = page.split("## The words of the Chinese catalogue\n", 1)[1].split("\n## ", 1)[0]
    rows = [
        [cell.strip() for cell in line[1:-1].split("|")] for line in section.splitlines() if line[:1] == "|"
    ]
    return [
        Term(_words(english), tuple(chinese.split("; ")), tuple(refused.split(", ")) if refused else ())
        for english, chinese, refused in rows
        if CHINESE_SIGN.search(chinese)
    ]


def _words(cell: str) -> re.Pattern[str]:
    words = re.split(", |; ", re.sub(r" \(.*?\)", "", cell))
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, words))})s?\b", re.IGNORECASE)


TERMS = terms((PROJECT / "CONTRIBUTING.md").read_text("utf-8"))


def wrong(chinese: str, english: str | None = None) -> list[str]:
    """The refused words in a text, or, without its English, those that are refused anywhere."""
    text = CODE.sub(" ", chinese)
    found = []
    for word in sorted({word for term in TERMS for word in term.refused}):
        longer = [own for term in TERMS for own in term.chinese if word in own and word != own]
        if not re.search(
            rf"(?<![A-Za-z]){re.escape(word)}(?![A-Za-z])", re.sub("|".join(longer) or "(?!)", "", text)
        ):
            continue
        owners = [term for term in TERMS if word in term.chinese]
        refusing = [term for term in TERMS if word in term.refused]
        if not owners or (
            english is not None
            and any(term.english.search(english) for term in refusing)
            and not any(term.english.search(english) for term in owners)
        ):
            found.append(word)
    return found


def texts() -> Iterator[tuple[str, str]]:
    """English and Chinese of each entry of each catalogue."""
    for room in ROOMS:
        catalogue = read(Language.CHINESE, room)
        for ids, strings in entries(catalogue) if catalogue is not None else ():
            yield ids[-1], strings[0]


def test_the_table_is_read() -> None:
    assert len(TERMS) > 40
    assert wrong("代理打开了目录", "The agent opened the folder.") == ["代理", "目录"]
    assert wrong("代理打开了目录", "The proxy opened the directory.") == []
    assert wrong("根目录下的文件夹", "the folder below the root") == []
    assert wrong("收据的 ID 和 `ID`") == ["ID", "收据"]
    assert wrong("编号和 ULID") == []


def test_each_catalogue_calls_a_term_by_its_word() -> None:
    found = {english: (chinese, wrong(chinese, english)) for english, chinese in texts()}
    assert not {english: told for english, told in found.items() if told[1]}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_each_page_calls_a_term_by_its_word(page: Path) -> None:
    lines = CODE.sub(lambda code: re.sub("[^\n]", " ", code[0]), page.read_text("utf-8")).splitlines()
    assert not {number: wrong(line) for number, line in enumerate(lines, 1) if wrong(line)}


def test_each_word_of_the_table_is_in_use() -> None:
    """A table of words that nobody uses would say nothing of what is written."""
    every = "".join(chinese for _, chinese in texts()) + "".join(page.read_text("utf-8") for page in PAGES)
    assert [word for term in TERMS for word in term.chinese if word not in every] == []


PUNCTUATION = re.compile(
    r"[\u4e00-\u9fff] ?[,;:!?](?=\s|$|[\u4e00-\u9fff])|[\u4e00-\u9fff]\(|\.$(?<=[\u4e00-\u9fff]\.)"
)
TOUCHING = re.compile(r"[\u4e00-\u9fff][A-Za-z0-9{`]|[A-Za-z0-9`][\u4e00-\u9fff]")


def lines() -> Iterator[tuple[str, str]]:
    """Each Chinese sentence and line, as it stands and with what is put in and what is code made plain:
    a fact may begin or end with Han itself, a span of code is a Latin word."""
    for _, chinese in texts():
        yield chinese, re.sub(r"\{[^{}]*\}", "字", re.sub("`[^`]*`", "`x`", chinese))
    for page in PAGES:
        text = re.sub(
            r"^```.*?^```$|\]\([^)]*\)", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL
        )
        for line in text.splitlines():
            yield f"{page.name}: {line}", re.sub("`[^`]*`", "`x`", line)


def test_punctuation_is_full_width() -> None:
    assert all(PUNCTUATION.search(text) for text in ("文件, 目录", "文件(一)", "文件."))
    assert not PUNCTUATION.search("文件，目录。")
    assert [shown for shown, plain in lines() if PUNCTUATION.search(plain)] == []


def test_a_blank_stands_between_han_and_latin() -> None:
    assert TOUCHING.search("用JSON写") and not TOUCHING.search("用 JSON 写")
    assert [shown for shown, plain in lines() if TOUCHING.search(plain)] == []
