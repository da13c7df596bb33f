"""Documentation: what the pages show is what the program prints, on every page with commands."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from tests.docs.blocks import Block, blocks, typed
from tests.docs.examples import PROJECT, Played, differences, examples, play, runs, twin
from tests.docs.shells import Stopped
from tests.docs.stages import NOT_RUN, STAGES, Stage

PAGES = sorted(
    path.relative_to(PROJECT).as_posix()
    for path in (*PROJECT.glob("*.md"), *(PROJECT / "docs").rglob("*.md"))
    if path.name != "CHANGELOG.md"
)
HOW = "see `How to add a page with commands` in CONTRIBUTING.md"

COMMANDS = re.compile(
    r"^(\$ |sudo |apt-get |muniment |python3? |pip |uvx? |make |cd |export |curl |[A-Z_]+=\S* muniment )",
    re.MULTILINE,
)
"""How lines begin that somebody would type."""


def text(page: str) -> str:
    """A page's text."""
    return (PROJECT / page).read_text("utf-8")


def of_pages() -> list[tuple[str, Block]]:
    """Every block of every page."""
    return [(page, block) for page in PAGES for block in blocks(text(page))]


def english(page: str) -> str:
    """The page under which it is staged: the English one."""
    return page.replace(".zh-CN.md", ".md")


@pytest.fixture(scope="module")
def tutorial(tmp_path_factory: pytest.TempPathFactory) -> list[Played]:
    """The tutorial, played once."""
    page = "docs/tutorial.md"
    return play(text(page), STAGES[page], tmp_path_factory.mktemp("tutorial"))


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.long] if stage.long else []) for name, stage in STAGES.items()],
)
def test_the_commands_of_a_page_run_and_print_what_it_shows(name: str, tmp_path: Path) -> None:
    stage = STAGES[name]
    if missing := stage.missing():
        if os.environ.get("CI"):
            pytest.fail(f"{', '.join(missing)} is missing; .ci/run installs it")
        pytest.skip(f"{', '.join(missing)} is missing; .ci/run or the system's packages bring it")
    told = differences(play(text(name), stage, tmp_path))
    assert told == [], "\n".join([*told, f"written by: python tests/docs/examples.py --write {name}"])


def test_every_page_with_commands_is_staged_and_every_stage_has_its_page() -> None:
    having = {english(page) for page, block in of_pages() if runs(block)}
    assert having - set(STAGES) == set(), f"a page with commands has no stage: {HOW}"
    assert set(STAGES) - having == set(), "a stage has no page with commands any more"


def test_a_page_in_two_languages_has_the_same_blocks() -> None:
    both = [name for name in STAGES if (PROJECT / twin(name)).exists()]
    assert "README.md" in both
    for name in both:
        own = [block.body for block in blocks(text(name)) if runs(block)]
        assert own == [block.body for block in blocks(text(twin(name))) if runs(block)], name


def test_what_is_not_run_is_on_a_page_and_has_a_reason() -> None:
    found = {
        block.first for _, block in of_pages() if block.language in ("console", "sh") and not runs(block)
    }
    assert found == set(NOT_RUN)
    assert [first for first, reason in NOT_RUN.items() if len(reason.split()) < 4] == []


def test_console_blocks_have_a_prompt_before_each_command() -> None:
    wrong = [
        f"{page}:{block.line}"
        for page, block in of_pages()
        if block.language == "console"
        and runs(block)
        and (not block.body.startswith("$ ") or not typed(block.body))
    ]
    assert wrong == []


def test_sh_blocks_have_none() -> None:
    assert [
        f"{page}:{one.line}" for page, one in of_pages() if one.language == "sh" and "$ " in one.first
    ] == []


PROSE = ("text",)
PARSED: dict[str, Callable[[str], object]] = {
    "json": json.loads,
    "toml": tomllib.loads,
    "yaml": yaml.safe_load,
    "python": lambda body: compile(body, "page", "exec"),
}
"""Languages of blocks that nobody types: what they hold can be read."""


def test_every_block_says_what_it_is() -> None:
    """Whoever wants a block that is neither run nor parsed calls it `text`, and `text` holds no command."""
    known = {"console", "sh", *PROSE, *PARSED, *OTHERS}
    assert [f"{page}:{one.line}" for page, one in of_pages() if one.language not in known] == [], HOW
    hidden = [
        f"{page}:{one.line}"
        for page, one in of_pages()
        if one.language in PROSE and COMMANDS.search(one.body)
    ]
    assert hidden == [], "commands in a block that is not run"


OTHERS = {
    "ini": "unit files of systemd, which the machine of the tests may not have",
    "javascript": "what a host's plugin is configured with",
    "typescript": "what a host's plugin is configured with",
    "dockerfile": "one line that a reader adds to their own file",
}
"""Languages that stand on a page to be copied, each with the reason why it is not parsed here."""


@pytest.mark.parametrize("language", PARSED)
def test_blocks_of_a_language_can_be_read(language: str) -> None:
    for page, block in of_pages():
        if block.language == language:
            try:
                PARSED[language](block.body)
            except (ValueError, SyntaxError, yaml.YAMLError) as error:
                pytest.fail(f"{page}:{block.line}: {error}")


CHANGES = {
    "a word of the output": ("ARCHIVE_STATUS: OK", "ARCHIVE_STATUS: DONE"),
    "an exit code": ("$ echo $?\n4\n", "$ echo $?\n0\n"),
    "a number": ("2 events", "3 events"),
    "a line left out": ("session       none yet\n", ""),
    "the width of a column": ("host          generic", "host         generic"),
    "another id in one place": ("muniment archive undo arc_0", "muniment archive undo arc_1"),
    "output below a command that prints nothing": ("> report.md\n", "> report.md\nwritten\n"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_page_that_says_something_else_is_found(change: str, tutorial: list[Played]) -> None:
    """The comparison is no decoration: each kind of change is a difference."""
    page, (old, new) = text("docs/tutorial.md"), CHANGES[change]
    assert old in page, "the page has changed; change this table too"
    shown = [one.shown for one in examples(page.replace(old, new, 1))]
    assert differences([replace(one, shown=other) for one, other in zip(tutorial, shown, strict=True)]) != []


# The harness itself.


def test_an_id_of_the_page_is_typed_as_it_is_in_this_run(tmp_path: Path) -> None:
    ulid, digest = "01KDVDNA000000000000000000", "0" * 64
    page = (
        f'```console\n$ python3 -c \'print("id", "01M8Q4XR72C9DRKZHME110H0B2")\'\nid {ulid}\n'
        f"$ echo {ulid}\n{ulid}\n$ echo {digest}\n{digest}\n```\n"
    )
    played = play(page, Stage(), tmp_path)
    assert [one.printed for one in played[1:]] == ["01M8Q4XR72C9DRKZHME110H0B2\n", digest + "\n"]
    assert differences(played) == []


def test_a_failing_line_of_a_script_stops_it_and_is_named(tmp_path: Path) -> None:
    with pytest.raises(Stopped, match=r"line 1: (?s:.*)no-such-folder"):
        play("```sh\ncd /no-such-folder\ncd /\n```\n", Stage(), tmp_path)
    with pytest.raises(Stopped):
        play("```sh\nmuniment no-such-command | cat; false\n```\n", Stage(), tmp_path)


def test_machines_have_homes_and_shells_of_their_own(tmp_path: Path) -> None:
    page = (
        '```console title="one"\n$ here=1; touch mine; pwd\n/home/one\n```\n'
        '```console title="two"\n$ echo "[$here]" $(ls) ~\n[] /home/two\n```\n'
        '```console title="one"\n$ echo "[$here]" $(ls)\n[1] mine\n```\n'
    )
    stage = Stage(machines={"one": "/home/one", "two": "/home/two"})
    assert differences(play(page, stage, tmp_path)) == []


def test_a_title_without_a_machine_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(KeyError, match="elsewhere"):
        play('```sh title="elsewhere"\ntrue\n```\n', Stage(), tmp_path)


def test_a_command_may_go_on_in_further_lines(tmp_path: Path) -> None:
    page = "```console\n$ cat <<END\n> one\n> END\none\n$ echo a \\\n> b\na b\n```\n"
    assert differences(play(page, Stage(), tmp_path)) == []


def test_the_exit_code_is_that_of_the_command_before(tmp_path: Path) -> None:
    page = "```console\n$ false\n$ echo $?\n1\n$ echo $?\n0\n```\n"
    assert differences(play(page, Stage(), tmp_path)) == []
