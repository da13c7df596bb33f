"""The rules file: what is a value and what is prose (spec 4, rules file), as a table of texts and results."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from muniment.backup.errors import RulesBroken
from muniment.backup.rules_file import RulesFile, label_of, read_rules

WHOLE = """\
# Our rules

## Mode

```
full
```

## Extra excludes

Large things that can be made again:

- workspace/never-a-value
* bullets are prose

```
# a comment
workspace/output/large
   sessions
*.log
```

---

## Extra paths

```
/etc/agent
```

## Label template

```
nightly {date}
```

## Notes

workspace/kept is what we keep.
"""

CHINESE = """\
# 备份规则

下面五个标题由程序读取，请不要翻译。

## Mode

模式写在这里：

full

## Extra excludes

不需要的大文件（这一行只是说明，不是规则）：

~~~text
workspace/输出
~~~

> workspace/记忆 不要排除

~~~
缓存
~~~

## Extra paths

暂无。

## Label template

自动备份 {date}

## Notes

用户说：日志可以再生成。

## 文件清单

| ✓ | workspace/记忆 |
"""


@dataclass(frozen=True)
class Case:
    """A text and what it says."""

    text: str
    mode: str = "default"
    excludes: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    label: str = "auto-backup {date}"


FIVE = "## Mode\n## Extra excludes\n## Extra paths\n## Label template\n## Notes\n"

GOOD = {
    "everything": Case(
        WHOLE, "full", ("workspace/output/large", "sessions", "*.log"), ("/etc/agent",), "nightly {date}"
    ),
    "Chinese prose around English headings": Case(
        CHINESE, "full", ("workspace/输出", "缓存"), (), "自动备份 {date}"
    ),
    "five headings and nothing under them": Case(FIVE),
    "the mode alone on a line": Case("## Mode\n\nThe mode we want.\n\nfull\n", "full"),
    "the first line of the fence is the mode": Case("## Mode\nfull\n```\ndefault\nfull\n```\n", "default"),
    "a mode section of comments only": Case("## Mode\n```\n# full\n```\n"),
    "a fence of comments only": Case("## Extra excludes\n```\n# a\n  # b\n```\n"),
    "bullets are never values": Case("## Extra excludes\n- logs\n* data\n+ more\nplain\n"),
    "two fences in one section": Case(
        "## Extra excludes\n```\na\n```\nand\n```\nb\n```\n", excludes=("a", "b")
    ),
    "a longer fence holds a shorter one": Case(
        "## Extra excludes\n````\n```\na\n````\n", excludes=("```", "a")
    ),
    "a tilde fence holds a heading": Case("## Extra excludes\n~~~\n## Mode\n~~~\n"),
    "spaces around are cut": Case("## Extra excludes\n```\n   a b  \t\n```\n", excludes=("a b",)),
    "other headings are passed over": Case("## Mode\n## Others\n```\nx\n```\n"),
    "deeper headings belong to the section": Case("## Extra paths\n### why\n```\n/a\n```\n", paths=("/a",)),
    "a heading may be closed by signs": Case("## Extra paths ##\n```\n/a\n```\n", paths=("/a",)),
    "CRLF": Case("## Mode\r\n\r\nfull\r\n", "full"),
    "the label as a plain line": Case("## Label template\n\nmine {date}\nother\n", label="mine {date}"),
    "the label's fence goes before the line": Case("## Label template\nno\n```\nyes\n```\n", label="yes"),
    "an empty fence for the label": Case("## Label template\n```\n```\n"),
    "values before any heading": Case("```\na\n```\n## Extra excludes\n```\nb\n```\n", excludes=("b",)),
}


@pytest.mark.parametrize("case", GOOD.values(), ids=GOOD)
def test_what_a_file_says(case: Case) -> None:
    read = read_rules(case.text)
    assert (read.mode, read.excludes, read.paths, read.label) == (
        case.mode,
        case.excludes,
        case.paths,
        case.label,
    )


BROKEN = {
    "nothing": ("", "1"),
    "prose only": ("# Rules\n\nkeep all\n", "1"),
    "translated headings": ("## 模式\n```\nfull\n```\n", "1"),
    "a heading twice": ("## Mode\n\n## Notes\n\n## Mode\n", "5"),
    "a fence left open": ("## Mode\n\n```\nfull\n", "3"),
    "a fence left open before the headings": ("```\n## Mode\n", "1"),
    "another mode in the fence": ("## Mode\n```\neverything\n```\n", "3"),
    "another mode alone on a line": ("## Mode\n\nquick\n", "3"),
}


@pytest.mark.parametrize(("text", "line"), BROKEN.values(), ids=BROKEN)
def test_what_is_broken_is_refused_with_its_line(text: str, line: str) -> None:
    with pytest.raises(RulesBroken) as refused:
        read_rules(text)
    assert refused.value.where == line
    assert "delete the file" in str(refused.value.next_step)


def test_a_missing_heading_is_named() -> None:
    told = [str(one) for one in read_rules("## Mode\n## Notes\n").warnings]
    assert [heading for heading in told if "Extra excludes" in heading]
    assert [heading for heading in told if "Extra paths" in heading]
    assert [heading for heading in told if "Label template" in heading]
    assert len(told) == 3
    assert read_rules(FIVE).warnings == ()


def test_lines_outside_fences_are_remembered_for_the_warning() -> None:
    text = "## Extra excludes\n\n- workspace/output\n\n## Notes\n\nlogs\n"
    (line,) = read_rules(text).unfenced
    assert (line.text, line.line) == ("workspace/output", 3)


def test_notes_are_kept_and_mean_nothing() -> None:
    read = read_rules("## Mode\n## Notes\nfull\n```\na\n```\n")
    assert (read.mode, read.excludes) == ("default", ())
    assert "full" in read.notes


def test_the_label_takes_the_day() -> None:
    assert label_of("自动备份 {date}", "2026-11-30") == "自动备份 2026-11-30"


def test_nothing_said_is_the_default() -> None:
    assert RulesFile() == RulesFile("default", (), (), "auto-backup {date}")
