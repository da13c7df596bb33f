"""Floor 1, `record`: claims: who needs a path to stay where it is.

A job owns its output folder, a handoff its targets.  Other rooms ask before they move or
restore a path, anything above it, or anything below it (spec 0, claims).
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from muniment.canonical import Json, NotJson, canonical, read_json
from muniment.clock import Clock, instant, read_instant
from muniment.disk.errors import NotThere
from muniment.disk.root import Root
from muniment.disk.write import is_scratch, write_verified
from muniment.evidence import spell, unspell
from muniment.ids import Entropy, is_ulid, new_ulid
from muniment.message import say
from muniment.path import BadPath, RelPath, printable
from muniment.record.errors import Claimed, StateDamaged


@dataclass(frozen=True, slots=True)
class Claim:
    """A path, its owner (`job:…`, `ho_…`), and until when it holds; None: until it is ended."""

    claim_id: str
    path: RelPath
    owner: str
    until: datetime | None

    def touches(self, path: RelPath) -> bool:
        """Whether the path is the claimed one, lies below it, or contains it."""
        return path.within(self.path) or self.path.within(path)


class Claims:
    """The claims of one workspace: a file each."""

    def __init__(self, root: Root, folder: RelPath, clock: Clock, entropy: Entropy) -> None:
        self._root = root
        self._folder = folder
        self._clock = clock
        self._entropy = entropy

    def make(self, path: RelPath, owner: str, until: datetime | None = None) -> Claim:
        """Claim a path.  Several owners may claim the same one; each keeps others away."""
        now = self._clock()
        claim = Claim(new_ulid(now, self._entropy), path, owner, until)
        record: dict[str, Json] = {
            "v": 1,
            "claim_id": claim.claim_id,
            "path": spell(path.posix),
            "owner": owner,
            "until": instant(until) if until else None,
        }
        self._root.make_folders(self._folder, 0o700)
        write_verified(
            self._root, self._folder / f"{claim.claim_id}.json", canonical(record) + b"\n", mode=0o600
        )
        return claim

    def end(self, claim: Claim) -> None:
        """The owner needs the path no more."""
        self._root.unlink(self._folder / f"{claim.claim_id}.json", missing_ok=True)

    def end_all(self, owner: str) -> None:
        """End every claim of an owner."""
        for claim in self.all():
            if claim.owner == owner:
                self.end(claim)

    def all(self) -> list[Claim]:
        """The claims that hold now, oldest first."""
        if not self._root.exists(self._folder):
            return []
        now = self._clock()
        claims: list[Claim] = []
        for name in self._root.names(self._folder):
            # A claim may be ended by its owner while we look.
            with contextlib.suppress(NotThere):
                if not is_scratch(name):
                    claims.append(self._read(self._folder / name))
        return [claim for claim in claims if claim.until is None or claim.until > now]

    def against(self, path: RelPath, owner: str = "") -> Claim | None:
        """The first claim of somebody else that touches a path."""
        return next((claim for claim in self.all() if claim.owner != owner and claim.touches(path)), None)

    def require_free(self, path: RelPath, owner: str = "") -> None:
        """`Claimed` when somebody else's claim touches the path."""
        claim = self.against(path, owner)
        if claim is not None:
            raise Claimed(
                where=printable(path.posix),
                owner=printable(claim.owner),
                why=say("it claims {path}", path=printable(str(claim.path))),
            )

    def _read(self, rel: RelPath) -> Claim:
        try:
            value = read_json(self._root.read(rel, limit=1 << 16))
            if not isinstance(value, Mapping) or value["v"] != 1 or not is_ulid(value["claim_id"]):
                raise ValueError("it is of another version, or its id is none")
            if rel.name != f"{value['claim_id']}.json":
                raise ValueError("its id is not the one in its name")
            until = read_instant(value["until"]) if value["until"] is not None else None
            if not isinstance(value["owner"], str) or not isinstance(value["path"], str):
                raise ValueError("its owner or path is no text")
            return Claim(value["claim_id"], RelPath.parse(unspell(value["path"])), value["owner"], until)
        except (NotJson, BadPath, KeyError, TypeError, ValueError) as error:
            raise StateDamaged(where=printable(rel.posix), why=say("{finding}", finding=error)) from error
