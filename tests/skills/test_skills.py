"""Skills: each has the public form, says what it has to, and names nothing that does not exist (spec 6)."""

from __future__ import annotations

import re
import shutil
import subprocess
import sysconfig
from pathlib import Path

import click
import pytest
import yaml
from tests.skills.shared import filled, parts, skills

from muniment.faces.cli.root import ROOT
from muniment.faces.tools.archive_shapes import ARCHIVE
from muniment.faces.tools.table import TOOLS

ALLOWED = {"name", "description", "license", "compatibility", "metadata", "allowed-tools"}
"""What the public form knows at the top of a skill."""

MUST_SAY = {
    "archive": (
        "归档",
        "Every task that wrote or changed a file ends with archiving all of it",
        "make one folder inside the workspace",
        "call `session_status` without arguments",
        "call it once more at once",
        "never made up",
        "only by the `archive_root` and the `subpath`",
        "alone in its `json` fence, stands once more at the end of your final answer",
        "`Archive blocked:`",
        "`ARCHIVE_STATUS: BLOCKED`",
        "do not write a receipt or a card yourself",
        "wait for the user",
        "`SOUL.md` and `IDENTITY.md` and from nothing else",
        "only with proof",
    ),
    "handoff": (
        "交接",
        "A lone small job needs no packet",
        "No receipt, no dispatch",
        "Never say that you asked again, reminded or followed up without the record of that call",
        "Accepted means delivered, never done",
        "three of four is a failure",
        "It grants no permission, chooses no model and changes no rule",
        "`Handoff blocked:`",
        "Write no receipt, anchor, trace or return by hand",
    ),
    "job": (
        "执行登记",
        "Plan before submit",
        "The person confirms",
        "Your own judgement, an earlier yes or silence is no yes",
        "poll every 10 to 20 minutes",
        "a document gap stops the job",
        "There is no fallback to what you happen to know of the tool",
        "`Job blocked:`",
        "`FOREIGN_WRITE`",
    ),
    "backup": (
        "备份",
        "恢复",
        "/backup, /restore and /delete-backup",
        "Write literal paths and ids into every command",
        "Shell variables do not outlive a call",
        "never this skill's files",
        "`Extra excludes` and `Extra paths`",
        "do not write the stock file by yourself",
        "as a suggestion",
        "in plain text",
        "Wait for a clear yes",
        "recorded as `relayed`",
        "Never pick yourself",
        "Never fill it in",
        "say that it failed and that you stopped, and wait",
        "say again that the backup failed",
    ),
}
"""What spec 6 wants each skill to make the agent do, by the words that say it."""

SHARED = {"archive": ["language"], "handoff": ["language"], "job": ["language"], "backup": ["language"]}

LANGUAGE = ("--lang", "latest messages", "user_settings.language", "ask once", "--json", "✓ ✗ ⚠")


def page_of(skill: Path) -> str:
    return (skill / "SKILL.md").read_text("utf-8")


def split(page: str) -> tuple[dict[str, object], str]:
    """The head of a skill and its text."""
    _, head, text = page.split("---\n", 2)
    found = yaml.safe_load(head)
    assert isinstance(found, dict)
    return found, text


def plain(text: str) -> str:
    """A text with every run of white space as one space."""
    return " ".join(text.split())


EVERY = pytest.mark.parametrize("skill", skills(), ids=lambda path: path.name)


def test_the_skills_there_are() -> None:
    assert {skill.name for skill in skills()} == set(MUST_SAY)


@EVERY
def test_the_public_validator_accepts_it(skill: Path) -> None:
    program = shutil.which("agentskills", path=sysconfig.get_path("scripts"))
    assert program, "skills-ref is missing; requirements/dev.txt has it"
    done = subprocess.run([program, "validate", str(skill)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@EVERY
def test_its_head_is_closed(skill: Path) -> None:
    head, _ = split(page_of(skill))
    assert set(head) <= ALLOWED and head["name"] == skill.name
    description = head["description"]
    assert isinstance(description, str) and len(description) <= 1024
    assert re.search(r"[a-z]", description) and re.search("[\u4e00-\u9fff]", description)


@EVERY
def test_it_says_what_it_must(skill: Path) -> None:
    page = plain(page_of(skill))
    assert [words for words in (*MUST_SAY[skill.name], *LANGUAGE) if words not in page] == []


@EVERY
def test_its_shared_parts_are_copies_of_the_one_source(skill: Path) -> None:
    page = page_of(skill)
    assert parts(page) == SHARED[skill.name]
    assert filled(page) == page, "run: python tests/skills/shared.py --write"


@EVERY
def test_its_text_is_english_prose_and_never_turns_the_reply(skill: Path) -> None:
    _, text = split(page_of(skill))
    assert not re.search("[\u3040-\u30ff\u4e00-\u9fff]", text), (
        "words of other languages belong into the description"
    )
    assert not re.search(r"^\s*(?:[-*] )?\**(?:User|Assistant|Agent|Human)\**\s*:", text, re.MULTILINE)
    assert len(text.splitlines()) < 200
    for block in re.findall(r"^```.*?^```$", text, re.MULTILINE | re.DOTALL):
        assert block.startswith("```console\n") and len(block.splitlines()) <= 5


def commands(text: str) -> list[list[str]]:
    """Every command line of the program that a text shows."""
    return [line.split() for line in re.findall(r"(?:^|`)muniment ([^`\n]+)", text, re.MULTILINE)]


@EVERY
def test_the_commands_it_shows_exist(skill: Path) -> None:
    shown = commands(page_of(skill))
    assert shown
    for words in shown:
        context = click.Context(ROOT, info_name="muniment")
        group: click.Command = ROOT
        rest = list(words)
        while isinstance(group, click.Group) and rest and group.get_command(context, rest[0]):
            found = group.get_command(context, rest.pop(0))
            assert found is not None
            group = found
        assert group is not ROOT, words
        if isinstance(group, click.Group):  # `archive PATH` is `archive keep PATH`
            keep = group.get_command(context, "keep")
            assert keep is not None
            group = keep
        rest = rest[: rest.index("--")] if "--" in rest else rest  # what follows is another program's
        known = {spelling for parameter in group.get_params(context) for spelling in parameter.opts}
        assert [word for word in rest if word.startswith("-") and word not in known] == [], words


@EVERY
def test_it_names_the_tools_of_its_room_and_no_others(skill: Path) -> None:
    words = set(re.findall(rf"`({skill.name}(?:_[a-z_]+)?)`", page_of(skill))) - {
        "archive_root",
        "job",
        "handoff",
    }
    assert words == {tool.shape.name for tool in TOOLS.values() if tool.shape.room == skill.name}


def test_the_arguments_of_archiving_are_named() -> None:
    (skill,) = (one for one in skills() if one.name == "archive")
    for argument in ARCHIVE.takes["properties"]:
        assert f"`{argument}`" in page_of(skill)
