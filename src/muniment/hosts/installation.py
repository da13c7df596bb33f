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
from muniment.digest import sha256
from muniment.disk.errors import NotThere
from muniment.disk.locks import locked
from muniment.disk.root import Root
from muniment.disk.write import write_verified
from muniment.errors import MunimentError
from muniment.message import say
from muniment.path import RelPath, printable
from muniment.record.errors import StateDamaged
from muniment.record.event import Draft
from muniment.record.state import FOLDER, Workspace

PLACE = FOLDER / "installed"
INSTALLED = "host.installed"
UNINSTALLED = "host.uninstalled"
_LIMIT = 16 << 20


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
        return [Change(path, self._state(entries, path, data)[0]) for path, data in self.files.items()]

    def install(self) -> list[Change]:
        """Put every file in its place and read it back; what stood there is kept first."""
        workspace = self.record()
        self.root.make_folders(PLACE, 0o700)
        with locked(self.root, PLACE / "lock"):
            entries = self._entries()
            changes: list[Change] = []
            for path, data in self.files.items():
                state, foreign = self._state(entries, path, data)
                entry = entries.get(path.posix, _Entry())
                before = entry.before if foreign is None else self._keep(foreign)
                ours = tuple(dict.fromkeys((*entry.ours, sha256(data).hex)))
                entries[path.posix] = _Entry(ours, before)
                changes.append(Change(path, state))
            self._write(entries)
            for change in changes:
                if change.state is not State.UNCHANGED:
                    self.root.make_folders(change.path.parent)
                    write_verified(self.root, change.path, self.files[change.path], replace=True, mode=0o444)
            told: dict[str, Json] = {path.posix: sha256(data).hex for path, data in self.files.items()}
            workspace.ledger.append(Draft(INSTALLED, self.host, {"files": told}))
        return changes

    def removal(self) -> list[Change]:
        """What taking them away would do."""
        return [self._leaving(path, entry) for path, entry in self._entries().items()]

    def uninstall(self) -> list[Change]:
        """Take away what is still ours, and put back what stood there; what was changed since stays."""
        workspace = self.record()
        self.root.make_folders(PLACE, 0o700)
        with locked(self.root, PLACE / "lock"):
            entries = self._entries()
            changes = [self._leaving(path, entry) for path, entry in entries.items()]
            for change in changes:
                before = entries[change.path.posix].before
                if change.state is State.PUT_BACK and before is not None:
                    kept = self.root.read(PLACE / before, _LIMIT)
                    write_verified(self.root, change.path, kept, replace=True)
                elif change.state is State.REMOVED:
                    self.root.unlink(change.path)
                    self.root.sync_folder(change.path.parent)
            for folder in sorted({change.path.parent for change in changes}, key=lambda one: -len(one.parts)):
                with suppress(MunimentError):  # something else lies in it
                    self.root.remove_folder(folder)
            self.root.unlink(self._place, missing_ok=True)
            told: dict[str, Json] = {change.path.posix: change.state.value for change in changes}
            workspace.ledger.append(Draft(UNINSTALLED, self.host, {"files": told}))
        return changes

    # What there is

    def _state(self, entries: Mapping[str, _Entry], path: RelPath, data: bytes) -> tuple[State, bytes | None]:
        """What becomes of a file, and the bytes that stand there and are not ours."""
        now = self._now(path)
        if now is None:
            return State.NEW, None
        if now == data:
            return State.UNCHANGED, None
        return State.REPLACED, None if sha256(now).hex in entries.get(path.posix, _Entry()).ours else now

    def _leaving(self, path: str, entry: _Entry) -> Change:
        rel = RelPath.parse(path)
        now = self._now(rel)
        if now is None:
            return Change(rel, State.GONE)
        if sha256(now).hex not in entry.ours:
            return Change(rel, State.KEPT)
        return Change(rel, State.REMOVED if entry.before is None else State.PUT_BACK)

    def _now(self, path: RelPath) -> bytes | None:
        try:
            return self.root.read(path, _LIMIT)
        except NotThere:
            return None

    def _keep(self, data: bytes) -> str:
        digest = sha256(data).hex
        if not self.root.exists(PLACE / digest):
            write_verified(self.root, PLACE / digest, data, replace=True, mode=0o600)
        return digest

    # The record

    @property
    def _place(self) -> RelPath:
        return PLACE / f"{self.host}.json"

    def _entries(self) -> dict[str, _Entry]:
        try:
            data = self.root.read(self._place, _LIMIT)
        except NotThere:
            return {}
        try:
            value: Any = read_json(data)
            if value["v"] != 1:
                raise ValueError("it is of another version")
            return {
                str(path): _Entry(tuple(map(str, one["ours"])), one["before"] and str(one["before"]))
                for path, one in value["files"].items()
            }
        except (NotJson, KeyError, TypeError, ValueError, AttributeError) as error:
            where = printable(self._place.posix)
            raise StateDamaged(where=where, why=say("{finding}", finding=error)) from error

    def _write(self, entries: Mapping[str, _Entry]) -> None:
        files: dict[str, Json] = {
            path: {"ours": list(entry.ours), "before": entry.before} for path, entry in entries.items()
        }
        data = canonical({"v": 1, "files": files}) + b"\n"
        write_verified(self.root, self._place, data, replace=True, mode=0o600)
