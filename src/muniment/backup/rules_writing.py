"""Floor 3, `backup`: writing the rules file: headings that programs read, prose for the person."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from muniment.backup.errors import RulesBroken
from muniment.backup.excludes import DATA, WORKSPACE
from muniment.backup.proposal import Proposal
from muniment.backup.rules import Category
from muniment.backup.rules_file import DEFAULT_LABEL, read_rules
from muniment.disk.errors import AlreadyThere, NotThere, named
from muniment.disk.root import Root
from muniment.disk.write import write_verified
from muniment.message import Message, say
from muniment.path import RelPath, printable

STOCK = """\
# Backup rules

Muniment reads the five headings below and nothing else. Only lines inside the fences are values; a line
that begins with # is a comment.

## Mode

`default` leaves out what can be made again; `full` leaves out nothing but Muniment's own scratch folders.

```
default
```

## Extra excludes

One path a line, from the top of the data folder; `workspace/…` names a path of the workspace. A line with
* or ? or [ is a pattern as in .gitignore.

```
# workspace/output/large
```

## Extra paths

Absolute paths from elsewhere that are saved too.

```
# /etc/agent
```

## Label template

```
auto-backup {date}
```

## Notes

Anything you want to remember; programs keep it and never read it.
"""
"""What `rules default` writes."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What the person decided: lines to leave out, the label, reasons in their own words."""

    excludes: tuple[str, ...]
    label: str = DEFAULT_LABEL
    notes: str = ""


Render = Callable[[Message], str]
"""Puts a sentence into the person's language."""

Size = Callable[[int], str]
"""Puts a number of bytes into it."""


def write_stock(place: Path) -> bool:
    """Write the stock file unless there is one; whether it was written."""
    _make_folder_of(place)  # another thing in its way is no rules file that is there already
    try:
        _write(place, STOCK, replace=False)
    except AlreadyThere:
        return False
    return True


FORMER = "backup_rules.former.md"
"""Beside the rules, what they were before a decision replaced them."""


def write_decision(
    place: Path, decision: Decision, proposal: Proposal, date: str, render: Render, size: Size
) -> Path | None:
    """Write the rules file of a decision, with its inventory; the place of the one it replaced, which may
    have had lines that somebody wrote by hand.

    The text is read back as rules before it is written: `RulesBroken` when a line of it would not
    come out as it was meant.
    """
    text = rules_text(decision, proposal, date, render, size)
    read = read_rules(text)
    if read.excludes != decision.excludes or read.label != decision.label.strip():
        raise RulesBroken(
            where=printable(str(place)),
            why=say("a line of it would not be read as it was given"),
        )
    _make_folder_of(place)
    former = _keep_former(place)
    _write(place, text, replace=True)
    return former


def _keep_former(place: Path) -> Path | None:
    beside = place.with_name(FORMER)
    try:
        with Root.open(place.parent) as root:
            data = root.read(RelPath((place.name,)))
            write_verified(root, RelPath((FORMER,)), data, replace=True, mode=0o600)
    except NotThere:
        return None
    return beside


def _make_folder_of(place: Path) -> None:
    with named(str(place.parent)):
        place.parent.mkdir(parents=True, exist_ok=True)


def _write(place: Path, text: str, *, replace: bool) -> None:
    with Root.open(place.parent) as root:
        write_verified(root, RelPath((place.name,)), text.encode("utf-8"), replace=replace, mode=0o600)


def rules_text(decision: Decision, proposal: Proposal, date: str, render: Render, size: Size) -> str:
    """The text of a rules file."""
    lines = [
        f"# {render(say('Backup rules'))}",
        "",
        render(say("Programs read the five English headings; only lines inside fences are values.")),
        *_section("Mode", ["default"]),
        *_section("Extra excludes", decision.excludes),
        *_section("Extra paths", []),
        *_section("Label template", [decision.label]),
        "",
        "## Notes",
        "",
        render(say("Written on {date}.", date=date)),
        render(say("Kept is everything but what is marked ✗ below; only that is left out.")),
    ]
    notes = [line for line in decision.notes.splitlines() if line.strip()]
    # A reason must not open a fence or a heading.
    lines += ["", *(f"> {line}" for line in notes)] if notes else []
    lines += ["", "## File inventory"]
    out = set(decision.excludes)
    for title, section in (("workspace/", WORKSPACE), ("data/ (non-workspace)", DATA)):
        lines += ["", f"### {title}", ""]
        heads = (say("kept"), say("path"), say("size"), say("remark"))
        lines += ["| " + " | ".join(map(render, heads)) + " |", "|---|---|---|---|"]
        for one in proposal.of(section):
            gone = one.category is Category.SKIP or one.pattern in out
            remark = render(one.reason if one.category is Category.SKIP or not gone else say("your choice"))
            if one.advice is not None and not gone:
                remark = render(one.advice)
            shown = size(one.size)
            lines.append(f"| {'✗' if gone else '✓'} | {_cell(one.name)} | {shown} | {remark} |")
    return "\n".join(lines) + "\n"


def _section(heading: str, values: Sequence[str]) -> list[str]:
    return ["", f"## {heading}", "", "```", *values, "```"]


def _cell(name: str) -> str:
    return printable(name).replace("|", "\\|").replace("`", "'")
