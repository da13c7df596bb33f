"""Floor 2, `bundle`: what can be wrong with bytes that say they are a snapshot."""

from __future__ import annotations

from collections.abc import Sequence

from muniment.errors import NotVerified
from muniment.path import printable

SHOWN = 1000
"""So many paths are named one by one; the numbers always count all."""


class BadBundle(NotVerified):
    """The tar.gz itself is damaged, cut short, or holds what a snapshot never holds."""

    code = "BUNDLE_REFUSED"
    what = "The snapshot's archive was refused."
    guidance = "Nothing was written. Fetch it again; if it is refused again, use another snapshot."


class BadManifest(NotVerified):
    """`manifest.json` is missing, not readable, or not a manifest."""

    code = "MANIFEST_REFUSED"
    what = "The snapshot's manifest was refused."
    guidance = (
        "Nothing was written. A snapshot without a sound manifest can not be verified; use another one."
    )


class ContentsDiffer(NotVerified):
    """The files of a snapshot are not those that its manifest lists.

    `bad`, `missing` and `extra` name the first of them, as a person may read them.
    """

    code = "CONTENTS_DIFFER"
    what = "The snapshot's files are not those of its manifest: {bad} bad, {missing} missing, {extra} extra."
    guidance = "Nothing was written. Fetch it again; if it differs again, use another snapshot."

    bad: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()

    @classmethod
    def of(cls, bad: Sequence[str], missing: Sequence[str], extra: Sequence[str]) -> ContentsDiffer:
        """The error of these paths; one of the lists has something in it."""
        where = printable((*bad, *missing, *extra)[0])
        error = cls(where=where, bad=len(bad), missing=len(missing), extra=len(extra))
        error.bad, error.missing, error.extra = (
            tuple(printable(path) for path in paths[:SHOWN]) for paths in (bad, missing, extra)
        )
        return error


class BadIndex(NotVerified):
    """The list of a snapshot's extents is damaged or impossible."""

    code = "INDEX_REFUSED"
    what = "The snapshot's index was refused."
    guidance = "Fetch it again; if it is refused again, run `muniment vault fsck`."


class BadExtent(NotVerified):
    """A stored piece is not what its id, length and checksum say, or can not stand between others."""

    code = "EXTENT_REFUSED"
    what = "A stored piece of a snapshot was refused."
    guidance = "It was not kept. Run the backup again; `muniment vault fsck` finds damage in the vault."


class OutsideLink(NotVerified):
    """A link of a snapshot points out of its own section."""

    code = "OUTSIDE_LINK"
    what = "The target of a link in the snapshot, {target}, lies outside its section."
    guidance = "Nothing was written. If it was kept on purpose, fetch it with the outside links allowed."
