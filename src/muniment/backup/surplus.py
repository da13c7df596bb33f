"""Floor 3, `backup`: what stands in a section and not in the snapshot: `restore --exact` takes it away.

A folder goes with it, after what lies in it, where nothing is left in it (ADR 0641).
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from muniment.backup.fetching import Fetched
from muniment.backup.restore_model import Item, Status, Step
from muniment.backup.restore_rules import OWN, Ground, destiny, is_left_out
from muniment.backup.standing import InTheWay, Standing
from muniment.disk.root import Root
from muniment.disk.write import is_scratch
from muniment.evidence import Kind
from muniment.message import Message
from muniment.path import BadPath, RelPath


def exclusions_of(fetched: Fetched) -> dict[str, frozenset[str]]:
    """By section, what the snapshot left out by its rules."""
    out: dict[str, set[str]] = {}
    for exclusion in fetched.facts.get("exclusions", []):
        out.setdefault(str(exclusion.get("section")), set()).add(str(exclusion.get("rel")))
    return {name: frozenset(paths) for name, paths in out.items()}


@dataclass(slots=True)
class Surplus:
    """One look through a section.

    `known` are the paths of the bundle that the snapshot has, or that go for another reason; `out` is
    what it left out, whose absence says nothing; `claimed` tells why somebody keeps a path where it is.
    """

    section: str
    root: Root
    standing: Standing
    ground: Ground
    known: AbstractSet[str]
    out: Mapping[str, frozenset[str]]
    claimed: Callable[[str, str], Message | None]
    items: list[Item] = field(default_factory=list)

    def look(self, above: str = "") -> bool:
        """Add what goes of a folder to the items; whether that is all there is in it."""
        try:
            with self.root.folder(RelPath.parse(above.rstrip("/"))) as fd, os.scandir(fd) as listing:
                found = {item.name: item.stat(follow_symlinks=False) for item in listing}
        except (OSError, BadPath):
            return False
        whole = True
        for name in sorted(found):
            rel, fact = above + name, found[name]
            if (
                is_left_out(self.section, rel, self.out)
                or destiny(self.section, rel, self.ground) is not None
                or (not above and name in (OWN, ".backup", ".muniment"))
                or is_scratch(name)
            ):
                whole = False
            elif stat.S_ISDIR(fact.st_mode):
                # Looked through in any case, and only then asked whether it goes itself.
                whole = self.look(f"{rel}/") and self._goes(rel, Kind.DIRECTORY, fact) and whole
            elif stat.S_ISREG(fact.st_mode) or stat.S_ISLNK(fact.st_mode):
                kind = Kind.LINK if stat.S_ISLNK(fact.st_mode) else Kind.FILE
                whole = self._goes(rel, kind, fact) and whole
            else:
                whole = False
        return whole

    def _goes(self, rel: str, kind: Kind, fact: os.stat_result) -> bool:
        if f"files/{self.section}/{rel}" in self.known:
            return False
        try:
            face = self.standing.face(rel)
        except (InTheWay, OSError):
            return False
        if face is None or face.kind is not kind:
            return False
        blocked = self.claimed(self.section, rel)
        if blocked and kind is Kind.DIRECTORY:
            return False  # what is claimed in it is told by itself
        # Of a folder its mode and time are kept, for whoever takes this back has to make it.
        step = Step(self.section, rel, face, None, mode=fact.st_mode & 0o777, mtime_ns=fact.st_mtime_ns)
        self.items.append(Item(Status.BLOCKED if blocked else Status.SURPLUS, step, why=blocked))
        return blocked is None
