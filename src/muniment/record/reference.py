"""Floor 1, `record`: the one grammar of references: what each kind begins with, and how to read one.

Every face takes and shows the same six kinds (spec 0).  A reference may be shortened where something
is only looked at; whoever changes something gives it whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

_ULID = r"[0-7][0-9A-HJKMNP-TV-Z]{25}"
_PART_OF_ULID = r"[0-9A-HJKMNP-TV-Z]{1,25}"


class Kind(StrEnum):
    """What a reference names, by how it begins."""

    ARCHIVE = "arc_"
    JOB = "job:"
    HANDOFF = "ho_"
    SNAPSHOT = "bk_"
    EVENT = "ev_"
    DIGEST = "sha256:"


_FORMS: dict[Kind, tuple[re.Pattern[str], re.Pattern[str]]] = {
    Kind.ARCHIVE: (re.compile(_ULID), re.compile(_PART_OF_ULID)),
    Kind.JOB: (re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}"), re.compile(r"(?!)")),
    Kind.HANDOFF: (re.compile(_ULID), re.compile(_PART_OF_ULID)),
    Kind.SNAPSHOT: (re.compile(r"[0-9]{8}_[0-9]{6}_[0-9a-z]{4}"), re.compile(r"[0-9a-z_]{1,19}")),
    Kind.EVENT: (re.compile(_ULID), re.compile(_PART_OF_ULID)),
    Kind.DIGEST: (re.compile(r"[0-9a-f]{64}"), re.compile(r"[0-9a-f]{8,63}")),
}
"""The whole form and the shortened one of what follows the beginning; a job's id is a name, so any
part of one looks whole."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A reference of a kind, whole or shortened."""

    kind: Kind
    rest: str

    @property
    def text(self) -> str:
        """As it is written.

        >>> Reference(Kind.JOB, "rna-7").text
        'job:rna-7'
        """
        return f"{self.kind.value}{self.rest}"

    @property
    def whole(self) -> bool:
        """Whether nothing of it was left out."""
        return _FORMS[self.kind][0].fullmatch(self.rest) is not None

    def fitting(self, known: Iterable[str]) -> list[str]:
        """Those of the known references that it can mean: itself, else all that begin with it.

        >>> Reference(Kind.JOB, "rn").fitting(["job:rna", "job:rnb", "job:x"])
        ['job:rna', 'job:rnb']
        """
        found = sorted({one for one in known if one.startswith(self.text)})
        return [self.text] if self.text in found else found


def read_reference(text: str) -> Reference | None:
    """Read a reference; None when the text is none.

    A whole digest or event id needs no beginning, since nothing else looks like it.

    >>> read_reference("job:rna-7")
    Reference(kind=<Kind.JOB: 'job:'>, rest='rna-7')
    >>> read_reference("01KDVDNA000000000000000000").text
    'ev_01KDVDNA000000000000000000'
    >>> read_reference("ho_") is None, read_reference("report.md") is None
    (True, True)
    """
    for kind in Kind:
        if text.startswith(kind.value):
            found = Reference(kind, text[len(kind.value) :])
            return found if found.whole or _FORMS[kind][1].fullmatch(found.rest) else None
    for kind in (Kind.DIGEST, Kind.EVENT):
        if _FORMS[kind][0].fullmatch(text):
            return Reference(kind, text)
    return None


def job_named(text: str) -> str:
    """The id of a job, which people give as it is or as a reference.

    >>> job_named("rna-7"), job_named("job:rna-7")
    ('rna-7', 'rna-7')
    """
    return text.removeprefix(Kind.JOB.value)
