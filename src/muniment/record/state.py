"""Floor 1, `record`: the folder `.muniment/` of a workspace, and the identity kept in it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass

from muniment.canonical import NotJson, canonical, read_json
from muniment.clock import Clock, instant, read_instant
from muniment.disk.errors import AlreadyThere, NotThere
from muniment.disk.journal import Journal
from muniment.disk.locks import locked
from muniment.disk.root import Root
from muniment.disk.write import write_verified
from muniment.ids import Entropy, is_ulid, new_ulid
from muniment.message import say
from muniment.path import RelPath
from muniment.record.claims import Claims
from muniment.record.consent import Consents
from muniment.record.errors import StateDamaged
from muniment.record.event import Context
from muniment.record.ledger import Ledger
from muniment.record.tables import EvidenceTables

FOLDER = RelPath.parse(".muniment")
"""Where Muniment keeps what it knows of a workspace; only its owner may look inside."""

_IDENTITY = FOLDER / "root.json"
_IGNORE = FOLDER / ".gitignore"
_LOCK = FOLDER / "workspace.lock"


@dataclass(frozen=True, slots=True)
class Identity:
    """Which workspace this is: a copy elsewhere has another one, once it is adopted."""

    root_id: str
    created: str


@dataclass(frozen=True, slots=True)
class Workspace:
    """A workspace with its record: what every act of every room works on."""

    root: Root
    identity: Identity
    ledger: Ledger
    tables: EvidenceTables
    journal: Journal
    claims: Claims
    consents: Consents
    clock: Clock
    entropy: Entropy

    @contextlib.contextmanager
    def working(self, *, alone: bool = False, wait: bool = True) -> Iterator[None]:
        """Hold the workspace for the length of an act: together with other acts, or `alone`.

        Whoever mends half-done acts holds it alone, so that no act that still goes on is taken for
        one that was killed.
        """
        with locked(self.root, _LOCK, shared=not alone, wait=wait):
            yield


def open_workspace(
    root: Root,
    *,
    clock: Clock,
    entropy: Entropy = os.urandom,
    actor: str = "library",
    context: Context | None = None,
) -> Workspace:
    """Open the record of a workspace; what is missing of `.muniment/` is made.

    >>> import tempfile
    >>> from muniment.clock import system_clock
    >>> with tempfile.TemporaryDirectory() as place, Root.open(place) as root:
    ...     first = open_workspace(root, clock=system_clock).identity
    ...     open_workspace(root, clock=system_clock).identity == first
    True
    """
    identity = _identity(root, clock, entropy)
    return Workspace(
        root=root,
        identity=identity,
        ledger=Ledger(root, FOLDER / "ledger", clock=clock, entropy=entropy, actor=actor, context=context),
        tables=EvidenceTables(root, FOLDER / "evidence"),
        journal=Journal(root, FOLDER / "journal", identity.root_id),
        claims=Claims(root, FOLDER / "claims", clock, entropy),
        consents=Consents(root, FOLDER / "consent", clock),
        clock=clock,
        entropy=entropy,
    )


def is_initialised(root: Root) -> bool:
    """Whether the workspace has an identity already."""
    return root.exists(FOLDER) and root.exists(_IDENTITY)


def _identity(root: Root, clock: Clock, entropy: Entropy) -> Identity:
    try:
        return _read_identity(root)
    except NotThere:
        pass
    root.make_folders(FOLDER, 0o700)
    with contextlib.suppress(AlreadyThere):
        write_verified(root, _IGNORE, b"*\n", mode=0o600)
    now = clock()
    record = canonical({"v": 1, "root_id": new_ulid(now, entropy), "created": instant(now)}) + b"\n"
    # Should another process have been first, its identity is the workspace's.
    with contextlib.suppress(AlreadyThere):
        write_verified(root, _IDENTITY, record, mode=0o600)
    return _read_identity(root)


def _read_identity(root: Root) -> Identity:
    data = root.read(_IDENTITY, limit=1 << 16)
    try:
        value = read_json(data)
        root_id, created = value["root_id"], value["created"]
        if value["v"] != 1 or not is_ulid(root_id):
            raise ValueError("it is of another version, or its root_id is no ULID")
        read_instant(created)
    except (NotJson, KeyError, TypeError, ValueError) as error:
        raise StateDamaged(where=_IDENTITY.posix, why=say("{finding}", finding=error)) from error
    return Identity(root_id, created)
