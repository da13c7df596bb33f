"""Handoff room: the central board: children propose, the one writer applies (spec 3, adapters).

A lock is held from the comparison to the rename.  `.muniment/board/` holds one state a board: its version
and the digest of its bytes; what is about to be is written there before the board changes, so a kill
between the two loses no count.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from muniment.canonical import Json
from muniment.disk.errors import NotThere, ReadbackFailed
from muniment.disk.locks import locked
from muniment.disk.write import write_verified
from muniment.handoff import patch
from muniment.handoff.anchors import holds
from muniment.handoff.board import proposal_digest, stands
from muniment.handoff.documents import fit, kept, parse
from muniment.handoff.errors import BoardConflict, ProposalRefused
from muniment.handoff.shape import Text, Whole, closed
from muniment.handoff.shapes import PROPOSAL, SHA256
from muniment.message import say
from muniment.path import RelPath
from muniment.record.event import Draft
from muniment.record.state import FOLDER, Workspace

BOARD_MAX = 16 << 20
"""Bytes of a board at the most."""
BOARDS = FOLDER / "board"
_STATE = closed("next", v=Whole(1, 1), path=Text(4_096), version=Whole(), sha256=SHA256,
                next=closed(version=Whole(1), sha256=SHA256))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Shown:
    """A board as it is now: its version, the SHA-256 of its bytes, and the part asked for."""

    path: str
    version: int
    sha256: str
    part: Json


@dataclass(frozen=True, slots=True)
class Applied:
    """What came of applying a proposal; `already` says that it stood there before."""

    version: int
    sha256: str
    proposal_sha256: str
    already: bool


class CentralBoard:
    """One board: a JSON or Markdown file below the workspace."""

    def __init__(self, workspace: Workspace, rel: RelPath) -> None:
        self._workspace = workspace
        self._rel = rel
        self.form = patch.form_of(rel.name)
        name = hashlib.sha256(rel.posix.encode("utf-8", "surrogateescape")).hexdigest()
        self._state_rel, self._lock = BOARDS / f"{name}.json", BOARDS / f"{name}.lock"

    def show(self, place: str = "") -> Shown:
        """The board, or what stands under a heading or at a JSON pointer."""
        board = self._read()
        try:
            if self.form == "markdown" and not place:
                part: Json = board.decode("utf-8", "replace")
            else:
                part = patch.part_of(board, self.form, place)
        except patch.NotApplicable as error:
            raise ProposalRefused(where=self._rel.posix, why=error.why) from error
        return Shown(self._rel.posix, self._version(board), hashlib.sha256(board).hexdigest(), part)

    def propose(
        self, *, operations: list[Any] | None = None, heading: str = "", text: str = ""
    ) -> dict[str, Any]:
        """A proposal over the board as it is now, tried out on it; nothing is changed."""
        found: dict[str, Any] = {"form": self.form, "base": "0" * 64}
        if self.form == "markdown":
            found |= {"heading": heading, "text": text}
        else:
            found |= {"patch": operations or []}
        proposal = fit(say("proposal"), PROPOSAL, found)
        board = self._read()
        self._tried(board, proposal)
        return {**proposal, "base": patch.base_of(board, proposal)}

    def _tried(self, board: bytes, proposal: Mapping[str, Any]) -> bytes:
        if proposal["form"] != self.form:
            why = say("it is one for a board of the form {form}", form=proposal["form"])
            raise ProposalRefused(where=self._rel.posix, why=why)
        try:
            after = patch.applied(board, proposal)
        except patch.NotApplicable as error:
            raise ProposalRefused(where=self._rel.posix, why=error.why) from error
        if len(after) > BOARD_MAX:
            why = say("{size} bytes; {most} is the most", size=len(after), most=BOARD_MAX)
            raise ProposalRefused(where=self._rel.posix, why=why)
        return after

    def apply(self, value: Mapping[str, Any], *, anchor: str | None = None) -> Applied:
        """Apply a proposal once, by the board's one writer; the board is opened again and compared.

        One whose anchor stands in the board is applied already.  `BoardConflict` when the part it
        touches has changed since it was made; then the board is as it was.
        """
        proposal = fit(say("proposal"), PROPOSAL, dict(value))
        root, digest = self._workspace.root, proposal_digest(proposal)
        root.make_folders(BOARDS, 0o700)
        with locked(root, self._lock):
            board = self._read()
            if self._stands(board, proposal, anchor, digest):
                return Applied(self._version(board), hashlib.sha256(board).hexdigest(), digest, True)
            try:
                base = patch.base_of(board, proposal)
            except patch.NotApplicable as error:
                raise ProposalRefused(where=self._rel.posix, why=error.why) from error
            if base != proposal["base"]:
                self._note("board.conflict", digest, {"base": proposal["base"], "found": base})
                raise BoardConflict(where=self._rel.posix)
            after = self._tried(board, proposal)
            version = self._version(board) + 1
            done = self._replace(board, after, version)
            self._note("board.applied", digest, {"version": version, "board_sha256": done})
        return Applied(version, done, digest, False)

    def _stands(self, board: bytes, proposal: Mapping[str, Any], anchor: str | None, digest: str) -> bool:
        if anchor is not None:
            return holds(board, anchor)
        if not stands(board, proposal):
            return False
        events = self._workspace.ledger.events(containing=digest.encode())
        return any(each.kind == "board.applied" and each.subject == self._rel.posix for each in events)

    def _replace(self, before: bytes, after: bytes, version: int) -> str:
        """State, board, state again: whatever is killed between them, the version is known."""
        root, digest = self._workspace.root, hashlib.sha256(after).hexdigest()
        old = {"version": version - 1, "sha256": hashlib.sha256(before).hexdigest()}
        new = {"version": version, "sha256": digest}
        self._keep({**old, "next": new})
        root.make_folders(self._rel.parent)
        mode = 0o644
        with suppress(NotThere):
            mode = root.stat(self._rel).st_mode & 0o777
        written = write_verified(root, self._rel, after, replace=True, mode=mode)
        if self._read() != after or written.digest.hex != digest:
            raise ReadbackFailed(where=self._rel.posix, why=say("the board is not as it was written"))
        self._keep(new)
        return digest

    def _keep(self, state: dict[str, Any]) -> None:
        document = kept({"v": 1, "path": self._rel.posix, **state})
        write_verified(self._workspace.root, self._state_rel, document, replace=True, mode=0o600)

    def _version(self, board: bytes) -> int:
        """How many proposals were applied; changes by other hands are not counted."""
        try:
            data = self._workspace.root.read(self._state_rel, limit=1 << 16)
        except NotThere:
            return 0
        state = parse(say("state of the board"), _STATE, data, self._state_rel.posix)
        coming = state.get("next")
        if coming is not None and coming["sha256"] == hashlib.sha256(board).hexdigest():
            return int(coming["version"])
        return int(state["version"])

    def _note(self, kind: str, digest: str, more: dict[str, Json]) -> None:
        self._workspace.ledger.append(Draft(kind, self._rel.posix, {"proposal_sha256": digest, **more}))

    def _read(self) -> bytes:
        try:
            return self._workspace.root.read(self._rel, limit=BOARD_MAX)
        except NotThere:
            return b""
