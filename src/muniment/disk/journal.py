"""Floor 1, `disk`: the journal of two-step acts.

A file exists in the journal exactly while an act is half done.  It tells how things stood
before and how they shall stand after, so that whoever opens the workspace next can finish the
act, call it off, or say that neither fits (spec 0, disk).
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from muniment.canonical import Json, NotJson, canonical, read_json
from muniment.clock import instant
from muniment.disk.errors import HalfDone, NotThere
from muniment.disk.root import Root
from muniment.disk.write import is_scratch, write_verified
from muniment.ids import Entropy, is_ulid, new_ulid
from muniment.message import say
from muniment.path import RelPath, printable


@dataclass(frozen=True, slots=True)
class Act:
    """An act that was begun: which, where, and its two ends."""

    act_id: str
    kind: str
    root_id: str
    device: str
    begun: str
    before: Mapping[str, Any]
    after: Mapping[str, Any]


class Journal:
    """The acts that are half done in one workspace."""

    def __init__(self, root: Root, folder: RelPath, root_id: str) -> None:
        self._root = root
        self._folder = folder
        self._root_id = root_id

    def begin(
        self,
        kind: str,
        before: Mapping[str, Json],
        after: Mapping[str, Json],
        now: datetime,
        entropy: Entropy,
    ) -> Act:
        """Write down, durably, what is about to happen."""
        act = Act(new_ulid(now, entropy), kind, self._root_id, self._device(), instant(now), before, after)
        self._root.make_folders(self._folder, 0o700)
        record: dict[str, Json] = {
            "v": 1,
            "act_id": act.act_id,
            "kind": kind,
            "root_id": act.root_id,
            "device": act.device,
            "begun": act.begun,
            "before": before,
            "after": after,
        }
        write_verified(self._root, self._path(act), canonical(record) + b"\n", mode=0o600)
        return act

    def end(self, act: Act) -> None:
        """The act is whole, or was called off: nothing is half done any more."""
        self._root.unlink(self._path(act), missing_ok=True)

    def pending(self) -> list[Act]:
        """Acts that were begun and neither ended nor called off, oldest first."""
        found: list[Act] = []
        for name in self.names():
            # An act that another process ended since the listing is over.
            with contextlib.suppress(NotThere):
                found.append(self.read(name))
        return found

    def names(self) -> list[str]:
        """The names of the journals there are, readable or not, oldest first."""
        if not self._root.exists(self._folder):
            return []
        return [name for name in self._root.names(self._folder) if not is_scratch(name)]

    def read(self, name: str) -> Act:
        """The act of one journal; `HalfDone` when it is none that this room wrote."""
        rel = self._folder / name
        try:
            value = read_json(self._root.read(rel, limit=1 << 20))
            if value["v"] != 1 or not is_ulid(value["act_id"]) or name != f"{value['act_id']}.json":
                raise ValueError("another version or another name")
            texts: list[str] = [value[each] for each in ("act_id", "kind", "root_id", "device", "begun")]
            if not all(isinstance(text, str) for text in texts):
                raise ValueError("a member has another type")
            if not isinstance(value["before"], dict) or not isinstance(value["after"], dict):
                raise ValueError("before or after is no object")
            act_id, kind, root_id, device, begun = texts
            return Act(act_id, kind, root_id, device, begun, value["before"], value["after"])
        except (NotJson, KeyError, TypeError, ValueError) as error:
            raise HalfDone(
                where=printable(rel.posix), why=say("the journal can not be read: {finding}", finding=error)
            ) from error

    def fits(self, act: Act) -> bool:
        """Whether an act was begun in this very workspace on this very file system: a copied or
        restored journal must never move anything."""
        return act.root_id == self._root_id and act.device == self._device()

    def _path(self, act: Act) -> RelPath:
        return self._folder / f"{act.act_id}.json"

    def _device(self) -> str:
        return str(self._root.stat(RelPath()).st_dev)
