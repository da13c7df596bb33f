"""Documentation: the two READMEs are one page in two languages (spec 6, languages)."""

from __future__ import annotations

import re

from tests.docs.tables import PROJECT

from muniment.faces.cli.demo import CHAPTERS

ENGLISH = (PROJECT / "README.md").read_text("utf-8")
CHINESE = (PROJECT / "README.zh-CN.md").read_text("utf-8")
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def headings(text: str) -> list[int]:
    """The levels of the headings, in order.

    >>> headings("# a\\n\\n## b\\n")
    [1, 2]
    """
    return [len(marks) for marks in re.findall(r"^(#+) ", FENCE.sub("", text), re.MULTILINE)]


def tables(text: str) -> list[list[list[str]]]:
    """Every table as rows of what in each row is code or a number: the same in both languages.

    >>> tables("| a | b |\\n|---|---|\\n| `x` | y |\\n")
    [[['2'], ['2', '---', '---'], ['2', '`x`']]]
    """
    found: list[list[list[str]]] = []
    inside = False
    for line in FENCE.sub("", text).splitlines():
        if line.startswith("|"):
            if not inside:
                found.append([])
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            kept = [token for cell in cells for token in re.findall(r"`[^`]*`|-{3,}|(?<!\S)\d+(?!\S)", cell)]
            found[-1].append([str(len(cells)), *kept])
        inside = line.startswith("|")
    return found


def links(text: str) -> list[str]:
    """Where the links lead, in order; of a page in two languages, either.

    >>> links("[a](README.md) [b](docs/a.zh-CN.md) [c](docs/a.md)")
    ['(the other language)', 'docs/a.md', 'docs/a.md']
    """
    leads = re.findall(r"\]\(([^)]+)\)", FENCE.sub("", text))
    return [
        "(the other language)" if lead.startswith("README") else lead.replace(".zh-CN.md", ".md")
        for lead in leads
    ]


def test_headings_agree() -> None:
    assert headings(ENGLISH) == headings(CHINESE)
    assert headings(ENGLISH)[0] == 1 and len(headings(ENGLISH)) > 4


def test_tables_agree() -> None:
    assert tables(ENGLISH) == tables(CHINESE)
    assert len(tables(ENGLISH)) >= 2


def test_code_blocks_are_the_same_bytes() -> None:
    assert FENCE.findall(ENGLISH) == FENCE.findall(CHINESE)


def steps(text: str) -> list[int]:
    """How many points each numbered list has.

    >>> steps("1. a;\\n2. b.\\n\\ntext\\n\\n1. c\\n")
    [2, 1]
    """
    numbers = [int(number) for number in re.findall(r"^(\d+)\. ", FENCE.sub("", text), re.MULTILINE)]
    return [number for number, after in zip(numbers, [*numbers[1:], 1], strict=True) if after == 1]


def test_links_agree() -> None:
    assert links(ENGLISH) == links(CHINESE)


def test_a_page_in_chinese_is_the_one_that_the_chinese_page_leads_to() -> None:
    missed = [
        lead
        for lead in re.findall(r"\]\((docs/[^)]+)\.md\)", CHINESE)
        if not lead.endswith(".zh-CN") and (PROJECT / f"{lead}.zh-CN.md").exists()
    ]
    assert missed == []


def test_numbered_lists_agree_and_the_demo_has_as_many_chapters_as_are_told() -> None:
    assert steps(ENGLISH) == steps(CHINESE) == [6, len(CHAPTERS)]


def test_the_two_commands_of_a_fresh_machine_stand_in_the_readme_and_in_the_makefile() -> None:
    makefile = (PROJECT / "Makefile").read_text("utf-8")
    for command in ("demo", "test"):
        assert f"```console\nmake {command}\n```" in ENGLISH
        assert re.search(rf"^{command}:", makefile, re.MULTILINE)


def test_continuous_integration_runs_what_the_readme_says() -> None:
    assert re.findall(r"^make .*", (PROJECT / ".ci" / "run").read_text("utf-8"), re.MULTILINE) == [
        "make check",
        "make envs",
        "make test",
    ]


def test_every_exit_code_of_the_readme_is_in_the_reference() -> None:
    pages = (PROJECT / "docs" / "reference" / "exit-codes.md").read_text("utf-8")
    named = re.findall(r"^\| (\d+) \|", ENGLISH, re.MULTILINE)
    assert named and [code for code in named if f"| {code} | `" not in pages] == []
