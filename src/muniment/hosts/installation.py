"""Floor 2, `hosts`: files that Muniment puts into a host's workspace, read-only, and takes away again.

What stood in their places is kept as a copy before it is replaced, and put back when they go.  Which
bytes are ours stands in a record that is written first, so that whatever else is there is never lost.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from muniment.canonical import Json, NotJson, canonical, read_json
from muniment.digest import Digest, sha256
from muniment.disk.errors import NotThere
from muniment.disk.locks import locked
from muniment.disk.root import Root
from muniment.disk.write import write_verified
from muniment.errors import MunimentError
from muniment.hosts.spot import LIMIT, Held, held_at, remove_held
from muniment.message import say
from muniment.path import RelPath, printable
from muniment.record.errors import StateDamaged
from muniment.record.event import Draft
from muniment.record.state import FOLDER, Workspace

PLACE = FOLDER / "installed"
INSTALLED = "host.installed"
UNINSTALLED = "host.uninstalled"


class State(StrEnum):
    """What becomes, or became, of one file."""

    NEW = "new"
    REPLACED = "replaced"
    UNCHANGED = "unchanged"
    REMOVED = "removed"
    PUT_BACK = "put_back"
    KEPT = "kept"
    GONE = "gone"
    MERGED = "merged"
    TAKEN_OUT = "taken_out"
    TAKEN = "taken"


@dataclass(frozen=True, slots=True)
class Change:
    """One file of an installation, by its place in the workspace."""

    path: RelPath
    state: State


@dataclass(frozen=True, slots=True)
class _Entry:
    """One file in the record: digests of all that we ever put there, and of what stood there before."""

    ours: tuple[str, ...] = ()
    before: str | None = None


@dataclass(frozen=True, slots=True)
class Installation:
    """The files of one host in one workspace; `record` opens the workspace's record."""

    root: Root
    host: str
    files: Mapping[RelPath, bytes]
    record: Callable[[], Workspace]

    def plan(self) -> list[Change]:
        """What installing would do."""
        entries = self._entries()
        return [
            Change(path, _state(entries.get(path, _Entry()), held_at(self.root, path), data)[0])
            for path, data in self.files.items()
        ]

    def install(self) -> list[Change]:
        """Put every file in its place and read it back; what stood there is kept first.

        What somebody writes there at the same moment stays, and is `AlreadyThere` or `Overtaken`.
        """
        workspace = self.record()
        self.root.make_folders(PLACE, 0o700)
        with locked(self.root, PLACE / "lock"):
            entries = self._entries()
            found: list[tuple[Change, Held | None]] = []
            for path, data in self.files.items():
                held = held_at(self.root, path)
                state, foreign = _state(entries.get(path, _Entry()), held, data)
                entry = entries.get(path, _Entry())
                before = entry.before if foreign is None else self._keep(foreign)
                ours = tuple(dict.fromkeys((*entry.ours, sha256(data).hex)))
                entries[path] = _Entry(ours, before)
                found.append((Change(path, state), held))
            self._write(entries)
            for change, held in found:
                if change.state is not State.UNCHANGED:
                    self.root.make_folders(change.path.parent)
                    self._put(change.path, self.files[change.path], held, 0o444)
            told: dict[str, Json] = {path.posix: sha256(data).hex for path, data in self.files.items()}
            workspace.ledger.append(Draft(INSTALLED, self.host, {"files": told}))
        return [change for change, _ in found]

    def removal(self) -> list[Change]:
        """What taking them away would do."""
        return [
            Change(path, _leaving(entry, held_at(self.root, path))) for path, entry in self._entries().items()
        ]

    def uninstall(self) -> list[Change]:
        """Take away what is still ours, and put back what stood there; what was changed since stays."""
        workspace = self.record()
        self.root.make_folders(PLACE, 0o700)
        with locked(self.root, PLACE / "lock"):
            entries = self._entries()
            for path, entry in entries.items():
                if _leaving(entry, held_at(self.root, path)) is State.PUT_BACK:
                    self._kept(entry.before)  # refuses before anything is changed
            changes = [self._take(path, entry) for path, entry in entries.items()]
            for folder in sorted({change.path.parent for change in changes}, key=lambda one: -len(one.parts)):
                with suppress(MunimentError):  # something else lies in it
                    self.root.remove_folder(folder)
            self.root.unlink(self._place, missing_ok=True)
            told: dict[str, Json] = {change.path.posix: change.state.value for change in changes}
            workspace.ledger.append(Draft(UNINSTALLED, self.host, {"files": told}))
        return changes

    def _take(self, path: RelPath, entry: _Entry) -> Change:
        held = held_at(self.root, path)
        state = _leaving(entry, held)
        if held is not None and state is State.REMOVED and not remove_held(self.root, path, held):
            return Change(path, State.KEPT)  # it was changed just now
        if held is not None and state is State.PUT_BACK:
            kept = self._kept(entry.before)
            self._put(path, kept.data, held, kept.mode)
        return Change(path, state)

    def _put(self, path: RelPath, data: bytes, over: Held | None, mode: int) -> None:
        """Put bytes in the place of exactly what was seen there."""
        if over is None:
            write_verified(self.root, path, data, mode=mode)
        else:
            write_verified(self.root, path, data, replace=True, over=sha256(over.data), mode=mode)

    def _keep(self, held: Held) -> str:
        """Keep a copy with its mode, under its digest."""
        if not self.root.exists(PLACE / held.digest):
            write_verified(self.root, PLACE / held.digest, held.data, replace=True, mode=held.mode)
        return held.digest

    def _kept(self, digest: str | None) -> Held:
        """The copy of what stood there; one that is gone or is something else by now is `StateDamaged`."""
        assert digest is not None
        place = PLACE / digest
        held = held_at(self.root, place)
        if held is None or held.digest != digest:
            why = say("it does not hold what its name says")
            raise StateDamaged(where=printable(place.posix), why=why)
        return held

    # The record

    @property
    def _place(self) -> RelPath:
        return PLACE / f"{self.host}.json"

    def _entries(self) -> dict[RelPath, _Entry]:
        try:
            data = self.root.read(self._place, LIMIT)
        except NotThere:
            return {}
        try:
            value: Any = read_json(data)
            if value["v"] != 1:
                raise ValueError("it is of another version")
            return {
                RelPath.parse(path): _Entry(
                    tuple(Digest(digest).hex for digest in one["ours"]),
                    None if one["before"] is None else Digest(one["before"]).hex,
                )
                for path, one in value["files"].items()
            }
        except (NotJson, KeyError, TypeError, ValueError, AttributeError) as error:
            where = printable(self._place.posix)
            raise StateDamaged(where=where, why=say("{finding}", finding=error)) from error

    def _write(self, entries: Mapping[RelPath, _Entry]) -> None:
        files: dict[str, Json] = {
            path.posix: {"ours": list(entry.ours), "before": entry.before} for path, entry in entries.items()
        }
        data = canonical({"v": 1, "files": files}) + b"\n"
        write_verified(self.root, self._place, data, replace=True, mode=0o600)


def _state(entry: _Entry, held: Held | None, data: bytes) -> tuple[State, Held | None]:
    """What becomes of a file, and what stands there if it is not ours."""
    if held is None:
        return State.NEW, None
    if held.data == data:
        return State.UNCHANGED, None
    return State.REPLACED, None if held.digest in entry.ours else held


def _leaving(entry: _Entry, held: Held | None) -> State:
    if held is None:
        return State.GONE
    if held.digest not in entry.ours:
        return State.KEPT
    return State.REMOVED if entry.before is None else State.PUT_BACK
