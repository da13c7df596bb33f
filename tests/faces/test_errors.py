"""Every kind of failure: its exit code, its words for a person, its object for a program."""

from __future__ import annotations

import errno
import importlib
import pkgutil
from collections.abc import Iterator
from typing import Any

import click
import pytest
from tests.faces.calling import Answer, call
from tests.faces.commands import Thrown
from tests.faces.templates import field_names

import muniment
from muniment.errors import (
    Blocked,
    Conflict,
    ExitCode,
    Interrupted,
    MunimentError,
    NotAuthorised,
    NotFound,
    NotVerified,
    RestoreHalfDone,
    Unexpected,
    Unreachable,
    UsageError,
)
from muniment.faces.i18n.errors import for_people
from muniment.faces.i18n.language import Language
from muniment.faces.i18n.translate import Translator
from muniment.message import say
from muniment.settings import BadSetting


def failing(error: BaseException, *arguments: str) -> Answer:
    Thrown.error = error
    return call("fail", *arguments)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (Unexpected(), 1),
        (UsageError(), 2),
        (BadSetting(name="a.b"), 2),
        (Blocked(), 3),
        (NotVerified(), 4),
        (Conflict(), 5),
        (NotAuthorised(), 6),
        (NotFound(), 7),
        (Unreachable(), 8),
        (RestoreHalfDone(), 9),
        (Interrupted(), 130),
        (KeyboardInterrupt(), 130),
        (click.Abort(), 130),
        (OSError(errno.EIO, "x"), 1),
        (ValueError("x"), 1),
        (MemoryError(), 1),
        (RecursionError("deep"), 1),
        (AssertionError(), 1),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else None,
)
def test_the_exit_code_of_each_kind_of_failure(error: BaseException, code: int) -> None:
    assert failing(error).code == code
    answer = failing(error, "--json")
    assert (answer.code, answer.object["exit_code"]) == (code, code)


def every_class(base: type[MunimentError] = MunimentError) -> Iterator[type[MunimentError]]:
    for one in base.__subclasses__():
        if one.__module__.startswith("muniment"):
            yield one
            yield from every_class(one)


def test_every_error_class_can_be_shown_in_every_language() -> None:
    for module in pkgutil.walk_packages(muniment.__path__, "muniment."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    classes = list(every_class())
    assert len(classes) >= 11
    for one in classes:
        names = field_names(one.what) + field_names(one.guidance)
        error = one(where="there", why=say("because"), **{name: f"<{name}>" for name in names})
        for language in Language:
            shown = "\n".join(for_people(error, Translator(language)))
            assert one.code in shown and "there" in shown
            assert all(f"<{name}>" in shown for name in names)
        assert isinstance(one.exit_code, ExitCode)


def test_a_person_reads_what_where_why_and_next() -> None:
    answer = failing(NotFound(where="arc_1", why=say("the ledger has no {kind}", kind="archive")))
    assert answer.out == ""
    assert answer.err.splitlines() == [
        "muniment: There is no such thing. (NOT_FOUND)",
        "  where: arc_1",
        "  why: the ledger has no archive",
        "  next: Check the name; `muniment status` shows what there is.",
    ]


def test_a_program_reads_the_same_in_english_whatever_the_language() -> None:
    error = BadSetting(where="config.toml", why=say("no setting has this name"), name="a.b")
    answer = failing(error, "--json", "--lang", "zh")
    assert answer.object == {
        "error": "BAD_SETTING",
        "message": "The setting a.b can not be used.",
        "where": "config.toml",
        "why": "no setting has this name",
        "next": "Correct it where it stands; `muniment settings --explain` lists every setting.",
        "exit_code": 2,
        "retryable": False,
        "facts": {"name": "a.b"},
    }
    assert "设置项 a.b 无法使用。" in answer.err


def test_facts_keep_their_shape_for_a_program() -> None:
    facts: dict[str, Any] = {
        "n": 3,
        "yes": True,
        "none": None,
        "list": ("a", 1),
        "deep": {"x": say("m")},
        "float": 1.5,
    }
    assert failing(Conflict(**facts), "--json").object["facts"] == {
        "n": 3,
        "yes": True,
        "none": None,
        "list": ["a", 1],
        "deep": {"x": "m"},
        "float": "1.5",
    }


def test_whether_trying_again_can_help() -> None:
    assert failing(Conflict(), "--json").object["retryable"] is True
    assert failing(Blocked(), "--json").object["retryable"] is False


def test_a_refusal_of_the_system_names_the_place_and_the_reason() -> None:
    answer = failing(OSError(errno.ENOSPC, "No space left on device", "/a/b"))
    assert answer.err.splitlines()[:2] == [
        "muniment: The file system reported a fault: no space is left on the device (ENOSPC). (DISK)",
        "  where: /a/b",
    ]
    assert "设备上已没有剩余空间 (ENOSPC)" in failing(OSError(errno.ENOSPC, "x", "/a"), "--lang", "zh").err


def test_a_refusal_that_we_have_no_words_for_keeps_the_system_s() -> None:
    assert "fault: Owner died (EOWNERDEAD)." in failing(OSError(errno.EOWNERDEAD, "Owner died")).err
    assert "fault: odd." in failing(OSError("odd")).err


def test_a_refusal_about_two_places_names_both() -> None:
    error = OSError(errno.EXDEV, "x", "/a", None, b"/b\xff")
    assert "where: /a -> /b\\xff" in failing(error).err


def test_what_nobody_foresaw_is_one_clear_error() -> None:
    answer = failing(ZeroDivisionError("division by zero"))
    assert answer.err.splitlines() == [
        "muniment: Something went wrong that Muniment did not foresee. (UNEXPECTED)",
        "  why: ZeroDivisionError: division by zero",
        "  next: Run it again with -v and report what it prints.",
    ]


def test_only_verbose_shows_where_an_error_arose() -> None:
    assert "Traceback" not in failing(ValueError("x")).err
    assert "Traceback" in failing(ValueError("x"), "-v").err
    assert "Traceback" in failing(ValueError("x"), "-v", "--json").err


def test_quiet_does_not_silence_an_error() -> None:
    assert "NOT_FOUND" in failing(NotFound(), "-q").err


class Stubborn:
    """An object that can not be shown."""

    def __str__(self) -> str:
        raise RuntimeError("no")

    __repr__ = __str__


def test_an_error_whose_facts_break_its_template_is_still_shown() -> None:
    assert "The setting {name} can not be used. (BAD_SETTING)" in failing(BadSetting()).err
    shown = failing(BadSetting(name=Stubborn()), "--json")
    assert "The setting <Stubborn: RuntimeError> can not be used." in shown.err
    assert shown.object["facts"] == {"name": "<Stubborn: RuntimeError>"}


def test_an_exception_that_can_not_be_shown_is_still_one_error() -> None:
    class Odd(Exception):
        __str__ = Stubborn.__str__

    answer = failing(Odd(), "--json", "-v")
    assert (answer.code, answer.object["error"]) == (1, "UNEXPECTED")


def test_a_result_before_a_failure_is_not_lost() -> None:
    answer = call("found", "--json")
    assert (answer.code, answer.object["error"]) == (4, "NOT_VERIFIED")
    assert answer.object["result"] == {"bad": 1}


def test_a_result_that_json_does_not_have_is_a_fault_of_ours() -> None:
    answer = call("odd", "--json")
    assert (answer.code, answer.object["error"]) == (1, "UNEXPECTED")


def test_a_second_result_is_a_fault_of_ours() -> None:
    answer = call("twice", "--json")
    assert (answer.code, answer.object["error"], answer.object["result"]) == (1, "UNEXPECTED", {"n": 1})
