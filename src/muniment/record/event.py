"""Floor 1, `record`: one event of the ledger: its members, its canonical line, its chain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from muniment.canonical import Json, NotJson, canonical, read_json
from muniment.digest import sha256
from muniment.ids import is_ulid

VERSION = 1
FIRST = "0" * 64
"""What stands as `prev` where nothing comes before."""

LINE_LIMIT = 1 << 20
"""Bytes of one line with its newline at the most; what is larger belongs into an evidence table."""

_MEMBERS = frozenset(
    {"v", "event_id", "at", "actor", "kind", "subject", "context", "evidence", "prev", "sha256"}
)


class BadRecord(ValueError):
    """A line that is no record of the ledger; the text says why."""


@dataclass(frozen=True, slots=True)
class Context:
    """Within what an event happened; members that are not known are None.

    >>> Context.read('{"job_id": "a"}').job_id
    'a'
    """

    session: str | None = None
    handoff_id: str | None = None
    job_id: str | None = None

    def to_json(self) -> dict[str, Json]:
        """The member `context` of a record."""
        return {"session": self.session, "handoff_id": self.handoff_id, "job_id": self.job_id}

    @classmethod
    def read(cls, text: str) -> Context:
        """Read `MUNIMENT_CONTEXT`; a `ValueError` says what is wrong with it."""
        value = read_json(text)
        if not isinstance(value, dict) or not set(value) <= {"session", "handoff_id", "job_id"}:
            raise ValueError("an object with session, handoff_id and job_id was expected")
        if not all(item is None or isinstance(item, str) for item in value.values()):
            raise ValueError("session, handoff_id and job_id are texts")
        return cls(**value)


@dataclass(frozen=True, slots=True)
class Draft:
    """An event that is about to be written."""

    kind: str
    subject: str
    evidence: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Event:
    """An event as it stands in the ledger.

    `sha256` is the hash of the canonical record without that member; `prev` is the one of the
    record before (spec 0, ledger).
    """

    event_id: str
    at: str
    actor: str
    kind: str
    subject: str
    context: Mapping[str, Any]
    evidence: Mapping[str, Any]
    prev: str
    sha256: str

    def to_json(self) -> dict[str, Json]:
        """The whole record."""
        return {**self._unsealed(), "sha256": self.sha256}

    def _unsealed(self) -> dict[str, Json]:
        return {
            "v": VERSION,
            "event_id": self.event_id,
            "at": self.at,
            "actor": self.actor,
            "kind": self.kind,
            "subject": self.subject,
            "context": self.context,
            "evidence": self.evidence,
            "prev": self.prev,
        }

    def line(self) -> bytes:
        """The line of the ledger, with its newline."""
        return _with_seal(canonical(self._unsealed()), self.sha256) + b"\n"


def _with_seal(unsealed: bytes, digest: str) -> bytes:
    """The canonical bytes of a record from those without `sha256`, which are written only once.

    By the order of names, `sha256` stands right before `subject`, the last member but `v`; inside
    a text, the quotes sought here would be escaped.
    """
    at = unsealed.rindex(b',"subject":"')
    return b'%b,"sha256":"%b"%b' % (unsealed[:at], digest.encode(), unsealed[at:])


def seal(
    draft: Draft, *, event_id: str, at: str, actor: str, context: Context, prev: str
) -> tuple[Event, bytes]:
    """Give a draft its place in the chain: the event, and its line with newline."""
    members = (event_id, at, actor, draft.kind, draft.subject, context.to_json(), draft.evidence, prev)
    unsealed = canonical(Event(*members, "")._unsealed())
    digest = sha256(unsealed).hex
    return Event(*members, digest), _with_seal(unsealed, digest) + b"\n"


def read_line(line: bytes) -> Event:
    """Read one line, without its newline; `BadRecord` says what is wrong with it.

    The bytes must be the canonical ones: a record has one spelling.
    """
    if len(line) >= LINE_LIMIT:
        raise BadRecord("it is longer than a record may be")
    if b"\0" in line:
        raise BadRecord("it holds NUL bytes")
    try:
        value = read_json(line)
    except NotJson as error:
        raise BadRecord(f"it is no JSON: {error}") from error
    if not isinstance(value, dict) or set(value) != _MEMBERS:
        raise BadRecord("it has not the members of a record")
    if value["v"] != VERSION or isinstance(value["v"], bool):
        raise BadRecord("it is of another version")
    texts = ("event_id", "at", "actor", "kind", "subject", "prev", "sha256")
    if not all(isinstance(value[name], str) for name in texts) or not is_ulid(value["event_id"]):
        raise BadRecord("a member has another type")
    if not isinstance(value["context"], dict) or not isinstance(value["evidence"], dict):
        raise BadRecord("context or evidence is no object")
    event = Event(**{name: value[name] for name in (*texts, "context", "evidence")})
    try:
        unsealed = canonical(event._unsealed())
        if _with_seal(unsealed, event.sha256) != line:
            raise BadRecord("it is not written in the canonical form")
        if sha256(unsealed).hex != event.sha256:
            raise BadRecord("its hash does not fit")
    except NotJson as error:
        raise BadRecord(f"it has no canonical form: {error}") from error
    return event
