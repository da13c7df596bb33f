"""Floor 3, `backup`: reading the rules file: Markdown whose five headings hold values in fences.

Prose around the fences is for people and never read as a value.  What is broken is refused with
its line; nothing goes on by guessing (spec 4, rules file).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from muniment.backup.errors import RulesBroken
from muniment.message import Message, say

HEADINGS = ("Mode", "Extra excludes", "Extra paths", "Label template", "Notes")
MODES = ("default", "full")
LABEL_MOST = 64
"""Characters of a label at most."""

DEFAULT_LABEL = "auto-backup {date}"

_HEADING = re.compile(r"##[ \t]+(.+?)[ \t]*#*")
_FENCE = re.compile(r"(`{3,}|~{3,})[^`]*")


@dataclass(frozen=True, slots=True)
class Unfenced:
    """A line outside any fence that a person may have meant as a value."""

    heading: str
    text: str
    line: int


@dataclass(frozen=True, slots=True)
class RulesFile:
    """What a rules file says.

    `unfenced` are lines under the two lists that stand outside fences: whoever can look at the
    disk warns of those that name something.
    """

    mode: str = "default"
    excludes: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    label: str = DEFAULT_LABEL
    notes: str = ""
    unfenced: tuple[Unfenced, ...] = ()
    warnings: tuple[Message, ...] = ()


@dataclass(slots=True)
class _Section:
    """The lines under one heading, apart by whether a fence holds them."""

    line: int
    fenced: list[tuple[int, str]] = field(default_factory=list)
    plain: list[tuple[int, str]] = field(default_factory=list)
    raw: list[str] = field(default_factory=list)


def read_rules(text: str) -> RulesFile:
    """Read a rules file; `RulesBroken` names the line that can not be understood.

    >>> read_rules("## Mode\\n```\\nfull\\n```\\n").mode
    'full'
    """
    sections = _sections(text)
    if not sections:
        raise RulesBroken(where="1", why=say("none of its five headings is there"))
    missing = [name for name in HEADINGS if name not in sections]
    warnings = tuple(say("the heading {heading} is missing", heading=f"## {name}") for name in missing)
    return RulesFile(
        mode=_mode(sections.get("Mode")),
        excludes=tuple(_values(sections.get("Extra excludes"))),
        paths=tuple(_values(sections.get("Extra paths"))),
        label=_label(sections.get("Label template")),
        notes="\n".join(sections["Notes"].raw).strip() if "Notes" in sections else "",
        unfenced=(*_unfenced(sections, "Extra excludes"), *_unfenced(sections, "Extra paths")),
        warnings=warnings,
    )


def _sections(text: str) -> dict[str, _Section]:
    found: dict[str, _Section] = {}
    current: _Section | None = None
    fence, opened = "", 0
    for number, line in enumerate(text.splitlines(), 1):
        bare = line.strip()
        if fence:
            if re.fullmatch(rf"{re.escape(fence[0])}{{{len(fence)},}}", bare):
                fence = ""
            elif current is not None:
                current.fenced.append((number, bare))
            if current is not None:
                current.raw.append(line)
            continue
        mark = _FENCE.fullmatch(bare)
        if mark:
            fence, opened = mark.group(1), number
        heading = _HEADING.fullmatch(bare) if not mark else None
        if heading is not None:
            name = heading.group(1)
            current = None
            if name in HEADINGS:
                if name in found:
                    raise RulesBroken(
                        where=str(number), why=say("the heading {heading} stands twice", heading=name)
                    )
                current = found[name] = _Section(number)
            continue
        if current is not None:
            current.raw.append(line)
            if bare and not mark:
                current.plain.append((number, bare))
    if fence:
        raise RulesBroken(where=str(opened), why=say("the fence that opens here is never closed"))
    return found


def _mode(section: _Section | None) -> str:
    if section is None:
        return MODES[0]
    fenced = [(number, line) for number, line in section.fenced if line and not line.startswith("#")]
    alone = [(number, line) for number, line in section.plain if re.fullmatch(r"[\w-]+", line)]
    for number, word in (fenced or alone)[:1]:
        if word not in MODES:
            raise RulesBroken(
                where=str(number),
                why=say("the mode is {modes}, not {word}", modes=" / ".join(MODES), word=word),
            )
        return word
    return MODES[0]


def _values(section: _Section | None) -> Iterator[str]:
    for _, line in section.fenced if section else ():
        if line and not line.startswith("#"):
            yield line


def _label(section: _Section | None) -> str:
    if section is None:
        return DEFAULT_LABEL
    fenced = [line for _, line in section.fenced if line and not line.startswith("#")]
    plain = [line for _, line in section.plain]
    return (fenced or plain or [DEFAULT_LABEL])[0]


def _unfenced(sections: dict[str, _Section], heading: str) -> Iterator[Unfenced]:
    section = sections.get(heading)
    for number, line in section.plain if section else ():
        text = line.lstrip("-*+").strip().strip("`")
        if text:
            yield Unfenced(heading, text, number)


def label_of(template: str, date: str) -> str:
    """The label that a template gives on a day (`YYYY-MM-DD`, UTC), as it is.

    >>> label_of("auto-backup {date}", "2026-11-30")
    'auto-backup 2026-11-30'
    """
    return template.replace("{date}", date)
