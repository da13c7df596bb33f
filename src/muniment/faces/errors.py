"""Faces: errors that arise between a person and the rooms, and those nobody else named."""

from __future__ import annotations

import errno
import os

from muniment.errors import Blocked, MunimentError, Unexpected, UsageError
from muniment.message import Message, say
from muniment.path import printable


class SystemRefused(Unexpected):
    """The operating system refused a call, and no room had a better name for it."""

    code = "DISK"
    what = "The system refused to read or write."
    guidance = "Mend what is named, then run it again; `muniment status` shows whether anything is half done."


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
    guidance = "Install them with: pip install 'muniment[{extra}]'"


_REASONS = {
    errno.ENOSPC: say("no space is left on the device"),
    errno.EDQUOT: say("the disk quota is used up"),
    errno.EACCES: say("permission is denied"),
    errno.EPERM: say("the operation is not permitted"),
    errno.EROFS: say("the file system is read-only"),
    errno.ENOENT: say("there is no such file or directory"),
    errno.ENOTDIR: say("a part of the path is not a directory"),
    errno.EISDIR: say("it is a directory"),
    errno.EEXIST: say("it exists already"),
    errno.EIO: say("the device failed to read or write"),
    errno.EMFILE: say("too many files are open"),
    errno.ENFILE: say("too many files are open"),
    errno.ENAMETOOLONG: say("a name is too long"),
    errno.ELOOP: say("too many links lead to one another"),
    errno.EBUSY: say("it is in use"),
    errno.ENOTEMPTY: say("a directory is not empty"),
    errno.EXDEV: say("it would cross from one file system to another"),
    errno.EFBIG: say("a file would become too large"),
    errno.ESTALE: say("the network file system lost the file"),
}


def system_reason(error: OSError) -> Message:
    """Why the system refused, in words that have a translation where we know them.

    >>> str(system_reason(OSError(errno.ENOSPC, "No space left on device")))
    'no space is left on the device (ENOSPC)'
    """
    number = error.errno
    if number is None:
        return say("{finding}", finding=str(error) or type(error).__name__)
    known = _REASONS.get(number)
    reason: object = known if known is not None else error.strerror or os.strerror(number)
    return say("{reason} ({name})", reason=reason, name=errno.errorcode.get(number, str(number)))


def named(error: BaseException) -> MunimentError:
    """The error of ours that stands for one that no room foresaw."""
    if isinstance(error, MunimentError):
        return error
    if isinstance(error, OSError):
        places = [_place(name) for name in (error.filename, error.filename2) if name is not None]
        return SystemRefused(where=" -> ".join(places), why=system_reason(error))
    return Unexpected(why=say("{kind}: {finding}", kind=type(error).__name__, finding=error))


def _place(name: object) -> str:
    if isinstance(name, str | bytes | os.PathLike):
        return printable(os.fsdecode(name))
    return str(name)
