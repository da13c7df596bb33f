"""Floor 0: sentences and errors: facts fill templates and are never templates themselves."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment import errors
from muniment.errors import ExitCode, MunimentError
from muniment.message import Message, say, say_count


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (say("Done."), "Done."),
        (say("moved {name}", name="a"), "moved a"),
        (say("{a} and {b}", a=1, b=None), "1 and None"),
        (say("moved {name}", name="{other}"), "moved {other}"),
        (say("{what} failed", what=say("moving {name}", name="a")), "moving a failed"),
        (say("{{{name}}}", name="a"), "{a}"),
        (say_count("{count} file", "{count} files", 1), "1 file"),
        (say_count("{count} file", "{count} files", 0), "0 files"),
        (say_count("{count} file", "{count} files", 2), "2 files"),
        (say_count("{count} file in {where}", "{count} files in {where}", 5, where="x"), "5 files in x"),
    ],
)
def test_sentences(message: Message, text: str) -> None:
    assert str(message) == text


@given(st.text(max_size=20))
def test_a_fact_is_shown_as_it_is(fact: str) -> None:
    assert str(say("<{fact}>", fact=fact)) == f"<{fact}>"


FAMILIES: list[tuple[type[MunimentError], int]] = [
    (errors.Unexpected, 1),
    (errors.UsageError, 2),
    (errors.Blocked, 3),
    (errors.NotVerified, 4),
    (errors.Conflict, 5),
    (errors.NotAuthorised, 6),
    (errors.NotFound, 7),
    (errors.Unreachable, 8),
    (errors.RestoreHalfDone, 9),
    (errors.Interrupted, 130),
]
"""The families and what the process says to the shell."""


@pytest.mark.parametrize(("family", "code"), FAMILIES)
def test_each_family_owns_its_exit_code(family: type[MunimentError], code: int) -> None:
    assert family.exit_code == code
    assert issubclass(family, MunimentError)


def test_each_exit_code_but_success_has_one_family() -> None:
    assert {code for _, code in FAMILIES} == {int(code) for code in ExitCode} - {0}
    assert {family for family, _ in FAMILIES} == {
        each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, MunimentError)
    } - {MunimentError}


class Refused(errors.Blocked):
    """An error as a room would have it; only this test knows it."""

    code = "TEST_REFUSED"
    what = "The test {name} was refused."
    guidance = "Mend {name}."


def test_an_error_says_what_where_why_and_what_next() -> None:
    error = Refused(where="a/b", why=say("it is {state}.", state="odd"), name="one")
    assert str(error.message) == "The test one was refused."
    assert str(error.next_step) == "Mend one."
    assert error.reason == "The test one was refused: a/b: it is odd"
    assert str(error) == "The test one was refused: a/b: it is odd (TEST_REFUSED)"
    assert error.exit_code is ExitCode.BLOCKED and not error.retryable


def test_where_and_why_may_be_missing() -> None:
    assert errors.NotFound().reason == "There is no such thing"
    assert errors.NotFound(where="arc_1").reason == "There is no such thing: arc_1"
    assert errors.NotFound(why=say("it is gone")).reason == "There is no such thing: it is gone"


def test_the_cause_is_kept() -> None:
    with pytest.raises(Refused) as caught:
        try:
            raise OSError("the cause")
        except OSError as error:
            raise Refused(name="one") from error
    assert isinstance(caught.value.__cause__, OSError)


def test_only_what_may_pass_is_retryable() -> None:
    assert {family for family, _ in FAMILIES if family.retryable} == {errors.Conflict, errors.Unreachable}
