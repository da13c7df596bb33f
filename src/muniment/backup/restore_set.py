"""Floor 3, `backup`: the set of one restore: its journal, and what was replaced, by number.

`.restore/undo/<ulid>/journal.jsonl` is written whole before the first change: how each place stood
before, and how it shall stand after.  So whoever comes next can tell from the bytes alone which steps
are done, go on with them, or take them back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from muniment.backup.errors import UndoBroken
from muniment.backup.restore_model import Step
from muniment.canonical import Json, NotJson, canonical, read_json
from muniment.disk.errors import NotThere
from muniment.disk.root import Root
from muniment.disk.write import write_verified
from muniment.evidence import spell, unspell
from muniment.ids import is_ulid
from muniment.message import say
from muniment.path import RelPath, printable

JOURNAL = "journal.jsonl"
_LIMIT = 1 << 30


@dataclass(frozen=True, slots=True)
class RestoreSet:
    """One restore: what it restores, in which workspace, and its steps in order.

    `places` are the folders of the sections as they were then; `shown` is the sha256 of what was
    confirmed, `witness` how.
    """

    restore: str
    backup_id: str
    root: str
    root_id: str
    begun: str
    shown: str
    witness: str
    skipped: int
    places: dict[str, str]
    sections: tuple[str, ...]
    steps: tuple[Step, ...]
    part: bool = False

    def to_bytes(self) -> bytes:
        """The journal."""
        head: dict[str, Json] = {
            "v": 1,
            "restore": self.restore,
            "backup_id": self.backup_id,
            "root": self.root,
            "root_id": self.root_id,
            "begun": self.begun,
            "shown": self.shown,
            "witness": self.witness,
            "skipped": self.skipped,
            "places": {name: spell(path) for name, path in self.places.items()},
            "sections": list(self.sections),
            "part": self.part,
            "steps": len(self.steps),
        }
        lines = [canonical(head), *(canonical(step.to_json()) for step in self.steps)]
        return b"\n".join(lines) + b"\n"

    @classmethod
    def read(cls, data: bytes, where: str) -> RestoreSet:
        """Read a journal; `UndoBroken` says what is wrong with it."""
        try:
            head, *lines = (read_json(line) for line in data.splitlines())
            steps = tuple(Step.from_json(line) for line in lines)
            if head["v"] != 1 or head["steps"] != len(steps) or not is_ulid(head["restore"]):
                raise ValueError("it is of another version, or not whole")
            places = {str(name): unspell(path) for name, path in head["places"].items()}
            for step in steps:
                if step.section not in places:
                    raise ValueError("a step is of a section that it does not name")
                RelPath.parse(step.rel)
            return cls(
                head["restore"],
                str(head["backup_id"]),
                str(head["root"]),
                str(head["root_id"]),
                str(head["begun"]),
                str(head["shown"]),
                str(head["witness"]),
                int(head["skipped"]),
                places,
                tuple(str(name) for name in head["sections"]),
                steps,
                bool(head["part"]),
            )
        except (NotJson, KeyError, TypeError, ValueError, AttributeError) as error:
            raise UndoBroken(where=where, why=say("{finding}", finding=error)) from error


class RestoreSets:
    """The sets of one workspace, in its folder `undo`."""

    def __init__(self, root: Root, folder: RelPath) -> None:
        self.root = root
        self.folder = folder

    def place(self, restore: str) -> RelPath:
        """The folder of a set."""
        return self.folder / restore

    def keep(self, one: RestoreSet) -> None:
        """Write a set's journal, durably, before anything is changed."""
        self.root.make_folders(self.place(one.restore), 0o700)
        write_verified(self.root, self.place(one.restore) / JOURNAL, one.to_bytes(), mode=0o600)

    def find(self, restore: str) -> RestoreSet:
        """A set by its id: `NotThere`, `UndoBroken`."""
        if not is_ulid(restore):
            raise NotThere(where=printable(restore[:64]))
        rel = self.place(restore) / JOURNAL
        found = RestoreSet.read(self.root.read(rel, _LIMIT), printable(rel.posix))
        if found.restore != restore:
            raise UndoBroken(where=printable(rel.posix), why=say("it is the journal of another restore"))
        return found

    def all(self) -> Sequence[str]:
        """The ids of the sets there are, oldest first."""
        if not self.root.exists(self.folder):
            return []
        return [name for name in self.root.names(self.folder) if is_ulid(name)]
