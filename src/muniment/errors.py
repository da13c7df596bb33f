"""Floor 0: the base of every error, and the families that own the exit codes.

An error answers four questions: what happened, where, why, and what to do next.  A class owns
its `code` (for programs), its exit code (by its family), whether trying again can help, and
the sentences for people.  Rooms subclass the families in their own `errors.py`; a test walks
the subclasses and holds them to unique codes, documentation and translations.
"""

from __future__ import annotations

from enum import IntEnum
from typing import ClassVar

from muniment.message import Message


class ExitCode(IntEnum):
    """What the process says to the shell (spec 6, command line)."""

    DONE = 0
    UNEXPECTED = 1
    USAGE = 2
    BLOCKED = 3
    NOT_VERIFIED = 4
    CONFLICT = 5
    NOT_AUTHORISED = 6
    NOT_FOUND = 7
    UNREACHABLE = 8
    RESTORE_HALF_DONE = 9
    INTERRUPTED = 130


class MunimentError(Exception):
    """The root of all errors that Muniment raises on purpose.

    `what` is a template over the facts given; `guidance` says what to do next.  `where` names
    the place (a path, a reference, a line) and `why` the finding that led here.

    >>> try:
    ...     raise NotFound(where="arc_1")
    ... except MunimentError as error:
    ...     print(error.code, int(error.exit_code), error.where)
    NOT_FOUND 7 arc_1
    """

    code: ClassVar[str] = "UNEXPECTED"
    exit_code: ClassVar[ExitCode] = ExitCode.UNEXPECTED
    retryable: ClassVar[bool] = False
    what: ClassVar[str] = "Something went wrong that Muniment did not foresee."
    guidance: ClassVar[str] = "Run it again with -v and report what it prints."

    def __init__(self, *, where: str = "", why: Message | None = None, **facts: object) -> None:
        self.where = where
        self.why = why
        self.facts = facts
        super().__init__(where, why, facts)

    @property
    def message(self) -> Message:
        """What happened, without a language."""
        return Message(self.what, self.facts)

    @property
    def next_step(self) -> Message:
        """What to do next, without a language."""
        return Message(self.guidance, self.facts)

    @property
    def reason(self) -> str:
        """One English line that holds what, where and why: for logs and for programs."""
        parts = [str(self.message).rstrip(".")]
        if self.where:
            parts.append(self.where)
        if self.why is not None:
            parts.append(str(self.why).rstrip("."))
        return ": ".join(parts)

    def __str__(self) -> str:
        return f"{self.reason} ({self.code})"


class Unexpected(MunimentError):
    """Something outside all rules: a fault of the machine or of Muniment."""


class UsageError(MunimentError):
    """The call itself is wrong."""

    code = "USAGE"
    exit_code = ExitCode.USAGE
    what = "The command was not understood."
    guidance = "Run the command with --help to see what it takes."


class Blocked(MunimentError):
    """A rule refused; nothing was changed."""

    code = "BLOCKED"
    exit_code = ExitCode.BLOCKED
    what = "A rule refused this."
    guidance = "Nothing was changed. Mend what is named and run it again."


class NotVerified(MunimentError):
    """Something was read back and is not what it should be, or only a part succeeded."""

    code = "NOT_VERIFIED"
    exit_code = ExitCode.NOT_VERIFIED
    what = "What was read back is not what it should be."
    guidance = "Do not rely on it before the difference is explained."


class Conflict(MunimentError):
    """Another act, another version or a quota stands in the way."""

    code = "CONFLICT"
    exit_code = ExitCode.CONFLICT
    retryable = True
    what = "Something else stands in the way."
    guidance = "Look at what is there now and decide; then run it again."


class NotAuthorised(MunimentError):
    """The caller may not do this."""

    code = "NOT_AUTHORISED"
    exit_code = ExitCode.NOT_AUTHORISED
    what = "You may not do this."
    guidance = "Use an account or a key that may."


class NotFound(MunimentError):
    """The thing named does not exist."""

    code = "NOT_FOUND"
    exit_code = ExitCode.NOT_FOUND
    what = "There is no such thing."
    guidance = "Check the name; `muniment status` shows what there is."


class Unreachable(MunimentError):
    """A service or device did not answer."""

    code = "UNREACHABLE"
    exit_code = ExitCode.UNREACHABLE
    retryable = True
    what = "It could not be reached."
    guidance = "Check that it runs and can be reached, then try again."


class RestoreHalfDone(MunimentError):
    """A restore was begun and has not ended."""

    code = "RESTORE_HALF_DONE"
    exit_code = ExitCode.RESTORE_HALF_DONE
    what = "A restore was begun and is not finished."
    guidance = "Continue it, start it over or cancel it before anything else."


class Interrupted(MunimentError):
    """The person stopped it."""

    code = "INTERRUPTED"
    exit_code = ExitCode.INTERRUPTED
    what = "Stopped."
    guidance = "`muniment status` shows whether anything is half done."
