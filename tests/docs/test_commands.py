"""Documentation: the page of commands names what the program has, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click
import pytest
from tests.docs.tables import PROJECT, REFERENCE

from muniment.faces.cli.root import ROOT

PAGE = (REFERENCE / "cli.md").read_text("utf-8")
COMMON = "What holds for all of them"


Words = tuple[str, ...]
"""The words after `muniment` that call a command."""


def commands(group: click.Group, path: Words = ()) -> Iterator[tuple[Words, click.Command]]:
    """Every command with the words that call it; a group counts when it takes something itself."""
    context = click.Context(group, info_name="muniment")
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if command.hidden:
            continue
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        if not isinstance(command, click.Group) or command.params:
            yield (*path, name), command


def sections() -> dict[Words, str]:
    """The page's sections by the words of the command; the common options under no words."""
    found: dict[Words, str] = {}
    for title, body in re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL):
        called = re.fullmatch(r"`muniment((?: [a-z]+(?:-[a-z]+)*)+)(?: [^`]*)?`", title)
        if called:
            found[tuple(called.group(1).split())] = title + body
        else:
            assert title == COMMON
            found[()] = body
    return found


COMMANDS = dict(commands(ROOT))


def spellings(parameters: list[click.Parameter]) -> set[str]:
    """Every way to write the options among them."""
    return {
        name
        for parameter in parameters
        if isinstance(parameter, click.Option) and not parameter.hidden
        for name in (*parameter.opts, *parameter.secondary_opts)
    }


def common() -> set[str]:
    """The options of every command, as the root has them."""
    return spellings(ROOT.get_params(click.Context(ROOT, info_name="muniment")))


def named(text: str) -> set[str]:
    """The options that a text speaks of.

    >>> sorted(named("`-n`, `--dry-run` or `--lang LANG`; not a-b"))
    ['--dry-run', '--lang', '-n']
    """
    spans = re.findall(r"`([^`\n]+)`", text)
    return {word for span in spans for word in span.split() if re.fullmatch(r"-[a-z]|--[a-z][a-z-]+", word)}


def test_every_command_has_its_section_and_every_section_its_command() -> None:
    assert set(sections()) - {()} == set(COMMANDS)


def test_the_common_options_are_all_there() -> None:
    assert named(sections()[()]) == common()


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_section_names_the_options_of_its_command(words: Words) -> None:
    own = spellings(COMMANDS[words].params)
    said = named(sections()[words])
    assert own - said == set(), "not on the page"
    assert said - own - common() == set(), "not in the program"


@pytest.mark.parametrize("file", ["README.md", "docs/tutorial.md", "docs/reference/cli.md"])
def test_commands_shown_to_the_reader_exist(file: str) -> None:
    text = (PROJECT / file).read_text("utf-8")
    shown = {
        tuple(call.split())
        for call in re.findall(r"(?:^\$ |`)muniment((?: [a-z]+(?:-[a-z]+)*)*)", text, re.MULTILINE)
    }
    assert shown
    # what follows a command may be its argument; after `archive` a word that is no verb is a path (spec 1)
    callable_ = {*COMMANDS, ("archive",)}
    unknown = [words for words in shown if words and not any(words[:end] in callable_ for end in (1, 2, 3))]
    assert unknown == []
