"""Faces: errors that arise between a person and the rooms, and those nobody else named."""

from __future__ import annotations

import os

from muniment.disk.errors import DiskFault, system_reason
from muniment.errors import Blocked, MunimentError, Unexpected, UsageError
from muniment.message import say
from muniment.path import printable


class NobodyToAsk(Blocked):
    """A confirmation is needed and there is no terminal to ask at."""

    code = "NOBODY_TO_ASK"
    what = "This has to be confirmed, and there is no terminal to ask at."
    guidance = "Look at what it would do with -n, then run it again with --yes."


class NoRehearsal(UsageError):
    """`-n` was given to a command that can not show beforehand what it would do."""

    code = "NO_REHEARSAL"
    what = "{command} can not be tried without acting."
    guidance = "Nothing was done. Run it without -n if you mean it."


class ExtraMissing(UsageError):
    """A part that is installed on request is not there."""

    code = "EXTRA_MISSING"
    what = "{feature} needs parts that are not installed."
    guidance = "`pip install 'muniment[{extra}]'` installs them."


class InvalidArgument(UsageError):
    """A tool was called with what it does not take."""

    code = "INVALID_ARGUMENT"
    what = "The call does not fit the tool."
    guidance = "Nothing was done. Send what the tool's input schema names, and nothing else."


class PersonNotAsked(Blocked):
    """A client that says it can ask the person did not."""

    code = "PERSON_NOT_ASKED"
    what = "The client did not put the question to the person."
    guidance = "Nothing was done. The person can confirm at a terminal instead."


def named(error: BaseException) -> MunimentError:
    """The error of ours that stands for one that no room foresaw."""
    if isinstance(error, MunimentError):
        return error
    if isinstance(error, OSError):
        places = [_place(name) for name in (error.filename, error.filename2) if name is not None]
        return DiskFault(where=" -> ".join(places), fault=system_reason(error))
    return Unexpected(why=say("{kind}: {finding}", kind=type(error).__name__, finding=error))


def _place(name: object) -> str:
    if isinstance(name, str | bytes | os.PathLike):
        return printable(os.fsdecode(name))
    return str(name)
