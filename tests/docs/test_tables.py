"""Documentation: the tables say what the program does (spec 6, exit codes; design, house rules)."""

from __future__ import annotations

import re
import string

import pytest
from tests.docs.tables import REFERENCE, TABLES, error_classes, families, room, settings, split

from muniment import app
from muniment.errors import ExitCode, MunimentError

SPECIFIED = {
    0: "done",
    1: "unexpected",
    2: "usage",
    3: "blocked",
    4: "not verified",
    5: "conflict",
    6: "not authorised",
    7: "not found",
    8: "unreachable",
    9: "restore half done",
    130: "interrupted",
}
"""Spec 6, command line; the words in the program's spelling."""


@pytest.mark.parametrize("name", TABLES)
def test_a_page_holds_what_the_program_says(name: str) -> None:
    file, make = TABLES[name]
    _, inside, _ = split((REFERENCE / file).read_text("utf-8"), name)
    assert inside == f"\n{make()}\n", "run: python tests/docs/tables.py --write"


def test_exit_codes_are_those_of_the_specification() -> None:
    assert {int(code): code.name.lower().replace("_", " ") for code in ExitCode} == SPECIFIED


def test_every_exit_code_but_success_has_one_family() -> None:
    assert sorted(error.exit_code for error in families() if "exit_code" in vars(error)) == sorted(
        code for code in ExitCode if code not in (ExitCode.DONE, ExitCode.UNEXPECTED)
    )


def test_no_class_outside_the_families_chooses_its_own_exit_code() -> None:
    own = {error for error in error_classes() if "exit_code" in vars(error)}
    assert own - {MunimentError, *families()} == set()
    assert {room(error) for error in families()} == {""}, "a room subclasses a family, not the root"


def test_codes_are_unique_and_spelled_alike() -> None:
    codes = [error.code for error in error_classes() if "code" in vars(error)]
    assert sorted(set(codes)) == sorted(codes)
    assert [code for code in codes if not re.fullmatch(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)*", code)] == []


@pytest.mark.parametrize("error", error_classes(), ids=lambda error: error.__qualname__)
def test_a_class_has_its_own_code_or_says_nothing_new(error: type[MunimentError]) -> None:
    """One code, one meaning: without a code of its own, a class keeps its parent's sentences."""
    spoken = {"what", "guidance", "retryable", "exit_code"} & set(vars(error))
    if "code" in vars(error):
        assert {"what", "guidance"} <= set(vars(error)), "a code of its own needs sentences of its own"
    else:
        assert spoken == set()


PROTOCOL_WORDS = {"INVALID_SESSION": "invalid Session"}
"""What spec 1 fixes letter for letter is no sentence of ours."""


@pytest.mark.parametrize("error", error_classes(), ids=lambda error: error.__qualname__)
def test_sentences_are_whole_and_their_fields_have_names(error: type[MunimentError]) -> None:
    for template in (error.what, error.guidance):
        fields = [name for _, name, _, _ in string.Formatter().parse(template) if name is not None]
        assert [name for name in fields if not name.isidentifier()] == []
        if template != PROTOCOL_WORDS.get(error.code):
            # it begins with a capital, a fact or a command, and ends with a full stop or a command
            assert re.fullmatch(r"[A-Z{`].*([.!?]|: \S.*[^.,;:])", template), template


def test_settings_are_declared_once_and_have_a_sentence() -> None:
    assert [one.name for one in settings() if not re.fullmatch(r"[a-z0-9_]+(\.[a-z0-9_]+)*", one.name)] == []
    assert [one.name for one in settings() if not one.about.endswith(".")] == []
    variables = [variable for one in settings() for variable in one.variables]
    assert sorted(set(variables)) == sorted(variables), "two settings hear on one environment variable"


def test_the_wiring_knows_every_setting() -> None:
    """A setting that a room declares and the wiring leaves out could be set by nobody."""
    assert sorted(one.name for one in app.declared()) == [one.name for one in settings()]


def test_the_page_names_every_personal_setting() -> None:
    page = " ".join((REFERENCE / "settings.md").read_text("utf-8").split())
    (sentence,) = re.findall(r"refused in the workspace's own file, with `BAD_SETTING`: (.*?)\. ", page)
    assert re.findall(r"`([a-z_.]+)`", sentence) == [one.name for one in settings() if one.personal]
