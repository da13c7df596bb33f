"""Faces, tools: what clients can read beside calling tools: one resource a reference, as `show` tells it.

The text of `muniment://show/REF` is what `muniment show REF --json` prints.  Nothing is changed, and
nothing is read again for it: whether a thing still is as it was recorded tells `desk_verify`.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import unquote

from muniment.desk.errors import NoReference, NothingRecorded, ReferenceUnknown
from muniment.faces.cli.machine import json_line
from muniment.faces.house import House
from muniment.message import say
from muniment.path import printable
from muniment.record.event import Event
from muniment.record.reference import Kind, read_reference

BASE = "muniment://show/"
MEDIA = "application/json"

RECENT = 50
"""So many resources are listed; every other one is read by its reference."""

_EVENTS = 1000
"""So many events, the newest, are looked at for what was recent."""

URI_MOST = 512


@dataclass(frozen=True, slots=True)
class Template:
    """A kind of resource, as clients see it: what its references begin with, and what it holds."""

    kind: Kind
    name: str
    title: str
    about: str
    listed: bool

    @property
    def form(self) -> str:
        """The template of its addresses (RFC 6570).

        >>> TEMPLATES[1].form
        'muniment://show/job:{id}'
        """
        return f"{BASE}{self.kind.value}{{id}}"


TEMPLATES = (
    Template(
        Kind.ARCHIVE,
        "card",
        "An archived deliverable",
        "Where a deliverable came from, where it lies, its digest, and within what it was made.",
        listed=True,
    ),
    Template(
        Kind.JOB,
        "registry",
        "The registry of a job",
        "A job as it stands: its plan, its phase, what confirmed and ran it, its outputs and their digests.",
        listed=True,
    ),
    Template(
        Kind.HANDOFF,
        "trace",
        "The trace of a handoff",
        "A handoff as it stands: its packet, its dispatch, what came back, and the trace of the last check.",
        listed=True,
    ),
    Template(
        Kind.SNAPSHOT,
        "snapshot",
        "A snapshot",
        "A snapshot as its vault tells it, with its manifest.",
        listed=False,
    ),
    Template(Kind.EVENT, "event", "An event of the ledger", "One event as it stands in the ledger.", False),
)
"""What is not listed would have to be asked of a vault that may be far away, or is too much."""


@dataclass(frozen=True, slots=True)
class Recent:
    """A resource that was spoken of lately, and the newest event that did."""

    template: Template
    reference: str
    event: Event

    @property
    def uri(self) -> str:
        """Its address."""
        return BASE + self.reference


def recent(house: House) -> list[Recent]:
    """What the newest events speak of and can be shown, the newest first; nothing without a record."""
    try:
        desk = house.desk
    except NothingRecorded:
        return []
    newest: dict[str, Event] = {}
    for event in reversed(desk.workspace.ledger.last(_EVENTS)):
        newest.setdefault(event.subject, event)
    templates = {one.kind.value: one for one in TEMPLATES if one.listed}
    known = {
        reference: templates[room.prefix]
        for room in desk.subjects
        if room.prefix in templates
        for reference in room.references()
    }
    found = [Recent(known[one], one, event) for one, event in newest.items() if one in known]
    return found[:RECENT]


def read(house: House, uri: str) -> str:
    """The text of a resource: `muniment show REF --json`, to the byte.

    Raises `NoReference` for an address that is none, and what the desk and the rooms raise.
    """
    return json_line(dict(house.desk.show(_reference(uri)).value))


def _reference(uri: str) -> str:
    """The reference in an address.

    >>> _reference("muniment://show/job:rna-7"), _reference("muniment://show/job%3Arna-7")
    ('job:rna-7', 'job:rna-7')
    """
    if len(uri) > URI_MOST or not uri.startswith(BASE):
        why = say("the addresses of resources are {base} and a reference", base=BASE)
        raise NoReference(where=printable(uri[:80]), why=why)
    found = read_reference(unquote(uri.removeprefix(BASE)))
    if found is None:
        raise NoReference(where=printable(uri[:80]))
    if found.kind is Kind.DIGEST:
        # To find bytes, everything is read: that is an act, and not the reading of a resource.
        raise ReferenceUnknown(
            reference=found.text, where=found.text, why=say("desk_find looks for a digest")
        )
    return found.text
