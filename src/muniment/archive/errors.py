"""Errors of `archive`: after each of them the source is as it was."""

from __future__ import annotations

from muniment.errors import Blocked, Conflict, NotFound, NotVerified, Unreachable


class InvalidInput(Blocked):
    """The call contradicts itself or the two tracks."""

    code = "INVALID_INPUT"
    what = "The call does not fit the archive's rules."
    guidance = "Archive a plan as PLAN.md with the kind plan, and everything else with the kind file."


class InvalidSource(Blocked):
    """The path can not be archived: where it lies, what it is, or how it is named forbids it."""

    code = "INVALID_SOURCE"
    what = "This can not be archived."
    guidance = "Give a file or folder inside the workspace that nothing else owns."


class MissingSource(Blocked):
    """There is nothing at the path."""

    code = "MISSING_SOURCE"
    what = "There is nothing to archive at this path."
    guidance = "Write the file first, inside the workspace, and give its path."


class EmptySource(Blocked):
    """There is not one byte in the whole source."""

    code = "EMPTY_SOURCE"
    what = "The source is empty."
    guidance = "Write its content first; an empty file proves nothing."


class EmptyTarget(Blocked):
    """What was read back at the address is empty."""

    code = "EMPTY_TARGET"
    what = "What was read back at the archive address is empty."
    guidance = "Check the disk; the source was put back."


class TargetExists(Conflict):
    """The address is taken."""

    code = "TARGET_EXISTS"
    retryable = False
    what = "Something is already archived at this address."
    guidance = "Edit the archived PLAN.md in place: one plan belongs to one session."


class UnknownReference(NotFound):
    """No deliverable has this reference."""

    code = "UNKNOWN_REFERENCE"
    what = "Nothing was archived under this reference."
    guidance = "`muniment archive list` shows the references there are."


class AlreadyUndone(Blocked):
    """The deliverable was taken back before."""

    code = "ALREADY_UNDONE"
    what = "This was taken out of the archive before."
    guidance = "Archive it again if it is to be kept."


class NotRecorded(NotVerified):
    """It was moved, but whether the ledger says so could not be read."""

    code = "NOT_RECORDED"
    what = "It was moved, but the ledger could not be read back."
    guidance = "Nothing is lost: both places are named. Run `muniment doctor` once the disk is well again."


class GitSilent(Unreachable):
    """Git is in charge of the workspace and did not answer."""

    code = "GIT_SILENT"
    what = "Git did not say what in the workspace it does not track."
    guidance = "Run `git status` in the workspace and mend what it names."
