"""The frame: which command runs, with which options, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.faces.calling import SettledHouse, call
from tests.faces.commands import TESTED

from muniment.faces.cli.frame import Command, Entry, Group, argument, command, load, option
from muniment.faces.cli.root import ROOT
from muniment.message import say


def test_a_command_gets_its_arguments_and_options() -> None:
    answer = call("echo", "a", "b", "--times", "2", "--as", "loud")
    assert (answer.code, answer.out, answer.err) == (0, "a, b\na, b\n", "")


@pytest.mark.parametrize("at", range(4))
@pytest.mark.parametrize(
    ("words", "name", "value"),
    [
        (["-n"], "dry_run", True),
        (["--dry-run"], "dry_run", True),
        (["--yes"], "yes", True),
        (["-w", "/somewhere"], "workspace", "/somewhere"),
        (["--workspace=/somewhere"], "workspace", "/somewhere"),
    ],
)
def test_common_options_stand_anywhere(at: int, words: list[str], name: str, value: object) -> None:
    call_words = ["nest", "echo", "x"]
    arguments = [*call_words[:at], *words, *call_words[at:], "--json"]
    answer = call(*arguments)
    assert answer.code == 0, answer.err
    assert answer.object[name] == value
    assert answer.object["texts"] == ["x"]


def test_options_on_several_levels_add_up() -> None:
    found = call("-n", "nest", "--yes", "echo", "-w", "x", "--json").object
    assert (found["dry_run"], found["yes"], found["workspace"]) == (True, True, "x")


def test_after_two_dashes_nothing_is_an_option() -> None:
    answer = call("echo", "--", "--json", "-n")
    assert (answer.code, answer.out) == (0, "--json, -n\n")


def test_a_wrong_call_is_not_answered_in_json_for_what_stands_after_two_dashes() -> None:
    answer = call("one", "--", "a", "--json")
    assert (answer.code, answer.out) == (2, "")


def test_what_an_option_takes_as_its_value_is_no_option() -> None:
    answer = call("echo", "--note", "--json")
    assert (answer.code, answer.err) == (0, "--json\n")
    assert answer.out == "\n"


def test_without_a_name_the_default_runs_with_the_options_given() -> None:
    answer = call("--json", "-n")
    assert answer.object["dry_run"] is True
    assert ROOT.default == "status"


def test_a_group_without_default_names_its_commands() -> None:
    answer = call("nest")
    assert answer.code == 2
    assert "name one of its commands: echo" in answer.err


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["ecko"], "there is no command ecko; did you mean echo?"),
        (["nest", "zzz"], "there is no command zzz"),
        (["echo", "--tines", "2"], "there is no option --tines; did you mean --times?"),
        (["echo", "-x"], "there is no option -x"),
        (["echo", "--times"], "--times needs a value"),
        (["echo", "--yes=1"], "--yes takes no value"),
        (["echo", "--times", "10"], "--times: 10 is not a whole number from 1 to 9"),
        (["echo", "--times", "two"], "--times: two is not a whole number from 1 to 9"),
        (["echo", "--times", "٣"], "--times: ٣ is not a whole number from 1 to 9"),
        (["echo", "--times", "9" * 5000], "is not a whole number from 1 to 9"),
        (["echo", "--as", "soft"], "--as: soft is none of plain, loud"),
        (["one"], "ONE is missing"),
        (["one", "a", "b"], "one argument too many: b"),
        (["one", "a", "b", "c"], "2 arguments too many: b, c"),
        (["mute", "--lang", "fr"], "--lang: there is no language fr; there are en, zh-CN"),
        (["--help", "--lang", "fr"], "--lang: there is no language fr; there are en, zh-CN"),
    ],
)
def test_a_wrong_call_is_named_in_our_own_words(arguments: list[str], why: str) -> None:
    answer = call(*arguments)
    assert answer.code == 2
    assert answer.out == ""
    assert answer.err.startswith("muniment: The command was not understood. (USAGE)\n")
    assert why in answer.err
    assert answer.err.endswith("  next: Run the command with --help to see what it takes.\n")


def test_the_place_of_a_wrong_call_is_the_command() -> None:
    assert "where: muniment nest echo\n" in call("nest", "echo", "--nosuch").err


def test_a_command_that_can_not_rehearse_refuses_to() -> None:
    answer = call("act", "-n", "--json")
    assert (answer.code, answer.object["error"]) == (2, "NO_REHEARSAL")
    assert call("act", "--json").object == {"acted": True}


def test_a_missing_library_is_answered_with_the_line_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "needs_a_library.py").write_text("import no_such_library.part\n")
    monkeypatch.syspath_prepend(tmp_path)
    root = Group("muniment", table={"far": Entry("needs_a_library:far", say("Far."), extra="vault")})
    answer = call("far", root=root)
    assert answer.code == 2
    assert "muniment: muniment far needs parts that are not installed. (EXTRA_MISSING)" in answer.err
    assert "where: no_such_library" in answer.err
    assert "next: `pip install 'muniment[vault]'` installs them." in answer.err


def test_a_missing_module_of_our_own_is_a_fault_of_ours() -> None:
    root = Group("muniment", table={"x": Entry("muniment.no_such_room:x", say("X."), extra="vault")})
    answer = call("x", root=root)
    assert answer.code == 1
    assert "UNEXPECTED" in answer.err


def test_the_house_is_built_once_and_only_when_asked_for() -> None:
    house = SettledHouse()
    call("mute", house=house)
    assert house.built == []
    answer = call("-w", "/w", "house", house=house, environment={"A": "b"})
    assert [(workspace, dict(environment)) for workspace, environment, _ in house.built] == [
        ("/w", {"A": "b"})
    ]
    assert answer.err == "the house is built\n"


def test_a_command_may_give_a_result_that_is_not_good() -> None:
    assert call("partly").code == 4


def test_every_command_of_the_program_loads() -> None:
    def walk(group: Group) -> list[Command]:
        found = []
        for name, entry in group.table.items():
            inner = load(name, entry)
            found += [inner, *(walk(inner) if isinstance(inner, Group) else [])]
        return found

    assert {one.name for one in walk(ROOT)} >= {"settings", "completion"}
    assert all(one.about is not None for one in walk(ROOT))


def test_an_option_of_every_command_can_not_be_taken_by_one() -> None:
    with pytest.raises(TypeError, match="belong to every command"):

        @command()
        @option("-n", "--number", metavar="N", about=say("A number."))
        def taken(call: object, number: str) -> None: ...


def test_an_option_with_a_value_names_it() -> None:
    with pytest.raises(TypeError, match="metavar"):
        option("--size", about=say("A size."))(lambda: None)


def test_parameters_come_from_the_frame() -> None:
    import click

    with pytest.raises(TypeError, match="not made with"):
        command()(click.option("--plain")(lambda call: None))
    argument("x", about=say("X."))(lambda: None)


def test_what_is_in_the_table_is_a_command() -> None:
    with pytest.raises(TypeError, match="is not a command"):
        load("x", Entry("muniment.message:say", say("X.")))


def test_questions_are_asked_at_a_terminal_only() -> None:
    assert call("ask", "--json", typed="y\n").object["error"] == "NOBODY_TO_ASK"
    assert call("ask").code == 3


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("y\n", True),
        ("YES\n", True),
        ("是\n", True),
        ("n\n", False),
        ("\n", False),
        ("", False),
        ("yep\n", False),
    ],
)
def test_only_a_yes_is_a_yes(typed: str, answer: bool) -> None:
    asked = call("ask", "--json", typed=typed, terminal=True)
    assert asked.object == {"answer": answer}
    assert asked.err == "Really? [y/N] "


def test_quiet_keeps_back_what_is_beside_the_result() -> None:
    assert call("echo", "a", "--note", "b", "-q").err == ""
    assert call("echo", "a", "--note", "b").err == "b\n"


def test_verbose_tells_more() -> None:
    assert call("echo", "a", "-v").err == "1 texts\n"


def test_progress_shows_on_a_terminal_only() -> None:
    shown = call("work", terminal=True)
    assert "Reading: 50 %" in shown.err and "Reading: 100 %" in shown.err
    assert shown.err.endswith("\r\x1b[K")
    assert call("work").err == ""
    assert call("work", "-q", terminal=True).err == ""


def test_a_table_fits_the_terminal_and_shows_cells_as_they_are() -> None:
    shown = call("table", terminal=True, environment={"COLUMNS": "40", "NO_COLOR": "1"})
    assert "[bold]a[/bold]" in shown.out
    assert "\\x1b[2J" in shown.out and "\x1b" not in shown.out
    assert "\\xff" in shown.out
    from muniment.faces.cli.layout import screen_width

    assert max(screen_width(line) for line in shown.out.splitlines()) <= 40
    assert "归档" * 30 in call("table").out  # nobody's screen, nothing folded


def test_completion_knows_the_three_shells() -> None:
    for shell in ("bash", "zsh", "fish"):
        answer = call("completion", shell, root=ROOT)
        assert answer.code == 0
        assert "_MUNIMENT_COMPLETE" in answer.out
    assert call("completion", "bash", "--json", root=ROOT).object["shell"] == "bash"
    assert "none of bash, zsh, fish" in call("completion", "tcsh", root=ROOT).err


@pytest.mark.parametrize(
    ("words", "point", "expected"),
    [
        ("muniment ", "1", {"nest", "echo", "fail"}),
        ("muniment ec", "1", {"echo"}),
        ("muniment nest ", "2", {"echo"}),
        ("muniment echo --ti", "2", {"--times"}),
        ("muniment echo --as ", "3", {"plain", "loud"}),
    ],
)
def test_the_shell_gets_its_answers(
    monkeypatch: pytest.MonkeyPatch, words: str, point: str, expected: set[str]
) -> None:
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", point)
    answer = call(environment={"_MUNIMENT_COMPLETE": "bash_complete"})
    assert answer.code == 0
    assert {line.rpartition(",")[2] for line in answer.out.splitlines()} >= expected
    assert call(environment={"_MUNIMENT_COMPLETE": "tcsh_complete"}).code == 1


def test_the_tested_root_is_complete() -> None:
    assert set(TESTED.list_commands(None)) == set(TESTED.table)  # type: ignore[arg-type]
