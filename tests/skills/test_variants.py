"""Skills: what the agents of a host read is the one source, with a section of the host's own."""

from __future__ import annotations

import re
import shutil
import subprocess
import sysconfig
from pathlib import Path

import click
import pytest
from tests.skills.shared import SKILLS
from tests.skills.test_skills import ALLOWED, LANGUAGE, MUST_SAY, commands, plain, split

from muniment.faces.cli.root import ROOT
from muniment.hosts import offered
from muniment.hosts.skills import host_page, skill_page

HOSTS = ("claude", "codex", "cursor", "openclaw", "plugin")
TITLES = {
    "claude": "## On Claude Code",
    "codex": "## On Codex",
    "cursor": "## On Cursor",
    "openclaw": "## On OpenClaw",
    "plugin": "## As a plugin",
}
WORDS = {"archive": "归档", "backup": "备份", "handoff": "交接", "job": "执行登记"}
EVERY = pytest.mark.parametrize(("host", "name"), [(host, name) for host in HOSTS for name in offered.SKILLS])


def test_every_part_of_a_host_belongs_to_one() -> None:
    parts = {path.stem for path in (SKILLS / "_hosts").iterdir()}
    known = set(HOSTS) | {f"{host}-{name}" for host in HOSTS for name in offered.SKILLS}
    assert set(HOSTS) <= parts <= known
    assert set(offered.SKILLS) == set(MUST_SAY)


@EVERY
def test_the_public_validator_accepts_it(host: str, name: str, tmp_path: Path) -> None:
    program = shutil.which("agentskills", path=sysconfig.get_path("scripts"))
    assert program, "skills-ref is missing; requirements/dev.txt has it"
    folder = tmp_path / name
    folder.mkdir()
    (folder / "SKILL.md").write_text(host_page(host, name), "utf-8")
    done = subprocess.run([program, "validate", str(folder)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@EVERY
def test_it_is_the_source_with_one_section_more(host: str, name: str) -> None:
    page, source = host_page(host, name), skill_page(name)
    assert page.count("## ") == source.count("## ") + 1 and TITLES[host] in page
    lines = iter(page.splitlines())
    assert all(line in lines for line in source.splitlines()), "the source stands in it, in its order"
    assert page.index(TITLES[host]) < page.index("## Language")


@EVERY
def test_its_head_is_closed_and_speaks_both_languages(host: str, name: str) -> None:
    head, _ = split(host_page(host, name))
    assert set(head) <= ALLOWED and head["name"] == name
    assert head["metadata"] == {"project": "muniment", "installed": host}
    description = head["description"]
    assert isinstance(description, str) and len(description) <= 1024
    assert WORDS[name] in description and re.search("[a-z]{4}", description)
    if name == "backup":
        assert "恢复" in description


@EVERY
def test_its_text_is_english_prose_and_never_turns_the_reply(host: str, name: str) -> None:
    _, text = split(host_page(host, name))
    assert not re.search("[\u3040-\u30ff\u4e00-\u9fff]", text)
    assert not re.search(r"^\s*(?:[-*] )?\**(?:User|Assistant|Agent|Human)\**\s*:", text, re.MULTILINE)
    assert len(text.splitlines()) < 200
    for block in re.findall(r"^```.*?^```$", text, re.MULTILINE | re.DOTALL):
        assert block.startswith("```console\n") and len(block.splitlines()) <= 5
    said = plain(host_page(host, name))
    assert [words for words in (*MUST_SAY[name], *LANGUAGE) if words not in said] == []


@pytest.mark.parametrize("host", HOSTS)
def test_the_words_for_backups_are_those_that_the_host_forms(host: str) -> None:
    page = host_page(host, "backup")
    formed = {
        "claude": ("/backup", "/restore", "/delete-backup", "/muniment:backup"),
        "codex": ("$backup", "$backup restore", "$backup delete"),
        "cursor": ("/backup", "/restore", "/delete-backup"),
        "openclaw": ("/backup", "/backup restore", "/backup delete"),
        "plugin": ("/muniment:backup", "/muniment:restore", "/muniment:delete-backup", "$backup"),
    }
    assert [word for word in formed[host] if f"`{word}`" not in page] == []


@pytest.mark.parametrize("word", offered.SLASH_WORDS)
def test_a_slash_word_points_at_a_part_that_exists(word: str) -> None:
    page = next(data for place, data in offered.word_files(Path()).items() if place.stem == word).decode()
    (part,) = re.findall(r'the part "([^"]+)"', page)
    assert f"\n## {part}\n" in skill_page("backup") and "$ARGUMENTS" in page


@EVERY
def test_the_commands_it_shows_exist(host: str, name: str) -> None:
    context = click.Context(ROOT, info_name="muniment")
    for words in commands(host_page(host, name)):
        assert ROOT.get_command(context, words[0]) is not None, words
