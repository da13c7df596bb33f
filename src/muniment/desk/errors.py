"""Errors of `desk`."""

from __future__ import annotations

from muniment.errors import NotFound, UsageError


class NothingRecorded(NotFound):
    """The workspace has no record yet."""

    code = "NOTHING_RECORDED"
    what = "Nothing was recorded in this workspace yet."
    guidance = "`muniment init` opens a record; -w names another workspace."


class ReferenceUnknown(NotFound):
    """No room knows anything of this reference."""

    code = "REFERENCE_UNKNOWN"
    what = "Nothing here has the reference {reference}."
    guidance = "`muniment find` looks for a part of a name; `muniment timeline` shows what was recorded."


class ReferenceAmbiguous(UsageError):
    """A shortened reference can mean several things."""

    code = "REFERENCE_AMBIGUOUS"
    what = "The reference {reference} can mean several things."
    guidance = "Give more of it."


class NoReference(NotFound):
    """The text is no reference, and no path where something lies."""

    code = "NO_REFERENCE"
    what = "This is neither a reference nor the path of something that is there."
    guidance = (
        "References begin with arc_, job:, ho_, bk_, ev_ or sha256:. `muniment find` looks for any text."
    )


class NothingToVerify(UsageError):
    """A file or folder that is nothing which carries its own proof."""

    code = "NOTHING_TO_VERIFY"
    what = "This is nothing that carries its own proof."
    guidance = (
        "Verify the folder of an export, an extracted snapshot, the tar.gz of one, a card, or a path in the "
        "archive."
    )
