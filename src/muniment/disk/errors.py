"""Errors of `disk`: what the file system refused, named by what it means for the user."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager

from muniment.errors import Blocked, Conflict, NotAuthorised, NotFound, NotVerified, Unexpected
from muniment.message import Message, say
from muniment.path import RelPath, printable


class OutsideRoot(Blocked):
    """A path leads, or could lead, out of the root: through a link, `..` or an absolute path."""

    code = "OUTSIDE_ROOT"
    what = "The path does not stay inside its root."
    guidance = "Give a path below the root that passes through no link."


class SpecialFile(Blocked):
    """A socket, pipe or device stands where a file or folder was expected."""

    code = "SPECIAL_FILE"
    what = "This is neither a file nor a folder."
    guidance = "Leave sockets, pipes and devices out."


class TooDeep(Blocked):
    """Folders are nested deeper than any honest tree."""

    code = "TOO_DEEP"
    what = "Folders are nested more than {limit} levels deep."
    guidance = "Flatten the tree."


class SourceBusy(Blocked):
    """Some process still has the file open for writing."""

    code = "SOURCE_BUSY"
    retryable = True
    what = "The file is still open for writing."
    guidance = "Wait until its writer has closed it, then try again."


class SourceChanged(Conflict):
    """The source is not what it was when it was first read."""

    code = "SOURCE_CHANGED"
    what = "The source changed while it was being kept."
    guidance = "Let whoever writes it finish, then try again."


class ReadbackFailed(NotVerified):
    """What was read back from the final place differs from what was written."""

    code = "READBACK_FAILED"
    what = "What was read back differs from what was written."
    guidance = "Check the disk; the original was not given up."


class SourceNotRemoved(NotVerified):
    """A move by copying ended with the old copy, or a part of it, still there."""

    code = "SOURCE_NOT_REMOVED"
    what = "The content was copied and verified, but what it was copied from is not gone for certain."
    guidance = "The copy at {target} is whole. Remove what is left at the place named once that can be done."


class Overtaken(Conflict):
    """Another writer put its own content at the name after ours."""

    code = "OVERTAKEN"
    what = "Another writer replaced the file at the same moment."
    guidance = "Look at what is there now; write again if it should be yours."


class IntoItself(Blocked):
    """A folder can not be moved or copied to a place inside itself."""

    code = "INTO_ITSELF"
    what = "The target lies inside the folder that should go there."
    guidance = "Choose a target outside of it."


class PutBackFailed(NotVerified):
    """A move failed after the rename, and the old name could not be given back."""

    code = "PUT_BACK_FAILED"
    what = "The move failed, and the content could not be put back to {source}."
    guidance = (
        "Nothing is lost: the content lies at the place named. Move it by hand once the old name is free."
    )


class NoSpace(Blocked):
    """The disk, a quota or a size limit is full."""

    code = "NO_SPACE"
    retryable = True
    what = "There is no room left to write."
    guidance = "Free some room or raise the limit, then try again; nothing was changed."


class TooManyOpen(Blocked):
    """The process, or the whole machine, may open no more files."""

    code = "TOO_MANY_OPEN"
    retryable = True
    what = "No more files may be open at once."
    guidance = "Raise the limit (`ulimit -n`) or end what holds so many, then try again."


class AlreadyThere(Conflict):
    """The name is taken, and nothing is ever overwritten unasked."""

    code = "ALREADY_THERE"
    what = "Something of this name is already there."
    guidance = "Choose another name, or look at what is there first."


class NotThere(NotFound):
    """The file or folder does not exist."""

    code = "NOT_THERE"
    what = "There is no such file or folder."
    guidance = "Check the path and the workspace it is meant to lie in."


class WrongKind(Blocked):
    """A file stands where a folder was expected, or the reverse."""

    code = "WRONG_KIND"
    what = "A file stands where a folder was expected, or the other way round."
    guidance = "Check the path."


class NoPermission(NotAuthorised):
    """The operating system does not let this user do it."""

    code = "NO_PERMISSION"
    what = "The operating system does not permit this."
    guidance = "Check owner and mode of the path named."


class DiskFault(Unexpected):
    """The file system failed in a way that has no better name."""

    code = "DISK"
    what = "The file system reported a fault: {fault}."
    guidance = "Mend what is named, then run it again; `muniment status` shows whether anything is half done."


class Locked(Conflict):
    """Another process holds the lock."""

    code = "LOCKED"
    what = "Another process is at work here."
    guidance = "Wait until it has ended, then try again."


class HalfDone(Conflict):
    """A two-step act stopped in between, in a state that is neither before nor after."""

    code = "HALF_DONE"
    retryable = False
    what = "An act stopped half-way, and what is there now is neither its beginning nor its end."
    guidance = "Nothing was touched. Look at both places named and decide; then run `muniment doctor`."


class UnsupportedPlatform(Unexpected):
    """The operating system lacks what the promises rest on."""

    code = "UNSUPPORTED_PLATFORM"
    what = "Muniment can not keep its promises on {system}."
    guidance = "On Windows, run it inside WSL."


_BY_ERRNO: dict[int, type[Blocked] | type[Conflict] | type[NotFound] | type[NotAuthorised]] = {
    errno.ENOSPC: NoSpace,
    errno.EDQUOT: NoSpace,
    errno.EFBIG: NoSpace,
    errno.EMFILE: TooManyOpen,
    errno.ENFILE: TooManyOpen,
    errno.EEXIST: AlreadyThere,
    errno.ENOTEMPTY: AlreadyThere,
    errno.ENOENT: NotThere,
    errno.ENOTDIR: WrongKind,
    errno.EISDIR: WrongKind,
    errno.ELOOP: OutsideRoot,
    errno.EACCES: NoPermission,
    errno.EPERM: NoPermission,
    errno.EROFS: NoPermission,
    errno.ENXIO: SpecialFile,
}


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


@contextmanager
def named(where: str | RelPath) -> Iterator[None]:
    """Turn an `OSError` inside the block into the error that says what it means, at `where`.

    >>> try:
    ...     with named("a"):
    ...         raise OSError(errno.ENOSPC, "No space left on device")
    ... except NoSpace as error:
    ...     print(error.where, error.why)
    a no space is left on the device (ENOSPC)
    """
    try:
        yield
    except OSError as error:
        place = printable(str(where)) or "."
        kind = _BY_ERRNO.get(error.errno or 0)
        if kind is None:
            raise DiskFault(where=place, fault=system_reason(error)) from error
        raise kind(where=place, why=system_reason(error)) from error
