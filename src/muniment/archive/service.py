"""Floor 3, `archive`: keeping deliverables.

All paths of a call are accepted or refused before anything moves.  Each is then moved and read
back at its address; only when all are there does the ledger say so, and only what the ledger
holds is reported.  When anything fails on the way, everything goes back to where it was.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from muniment.archive import rules
from muniment.archive.accept import Accepted, accept
from muniment.archive.addresses import Claims
from muniment.archive.entries import KEPT, PREFIX, is_recorded
from muniment.archive.errors import EmptyTarget, InvalidSource, MissingSource, NotRecorded, TargetExists
from muniment.archive.halfmove import KEEP_ACT, let_go, mirror_token, stands_as_before
from muniment.archive.model import ARCHIVES, Address, Card, ReadBack, Receipt, Request, Track
from muniment.canonical import Json
from muniment.clock import instant
from muniment.disk.copy import copy_verified
from muniment.disk.errors import (
    AlreadyThere,
    NotThere,
    OutsideRoot,
    PutBackFailed,
    ReadbackFailed,
    SourceNotRemoved,
    SpecialFile,
    WrongKind,
)
from muniment.disk.journal import Act
from muniment.disk.move import Moved, aside_of, move_verified
from muniment.disk.root import Root
from muniment.disk.tree import Progress, measure, remove_tree
from muniment.errors import MunimentError
from muniment.hosts.session import Session
from muniment.ids import new_reference
from muniment.message import say
from muniment.path import RelPath, printable
from muniment.record.event import Draft, Event
from muniment.record.locate import path_text
from muniment.record.state import Workspace


@dataclass(frozen=True, slots=True)
class Options:
    """How a workspace wants its deliverables: naming, what may be edited, what is required."""

    names: str = "kept"
    mutable: tuple[str, ...] = ()
    require: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Moving:
    """One deliverable on its way."""

    accepted: Accepted
    address: Address
    mirror: Address | None
    reference: str
    act: Act
    moved: Moved


class Archive:
    """Keeps the deliverables of one workspace."""

    def __init__(
        self,
        workspace: Workspace,
        session: Callable[[], Session],
        *,
        options: Options | None = None,
        local: Callable[[datetime], datetime],
        workspace_rule: str = "",
    ) -> None:
        self._workspace = workspace
        self._session = session
        self._options = options or Options()
        self._local = local
        self._rule = workspace_rule

    @property
    def _root(self) -> Root:
        return self._workspace.root

    def survey(self, requests: Sequence[Request], progress: Progress | None = None) -> list[Accepted]:
        """Judge all paths as `keep` would, and move nothing."""
        claims = [(claim.path, claim.owner) for claim in self._workspace.claims.all()]
        return accept(
            self._root,
            requests,
            claims=claims,
            names=self._options.names,
            require=self._options.require,
            progress=progress,
        )

    def keep(
        self, requests: Sequence[Request], *, card_root: str = ARCHIVES, progress: Progress | None = None
    ) -> list[Receipt]:
        """Archive all paths of a call, or none.

        `card_root` is what cards show before the archive id.  Each receipt rests on bytes that
        were read at the final address, and on an event that the ledger holds.
        """
        with self._workspace.working():
            accepted = self.survey(requests, progress)
            session = self._session()
            local_now = self._local(self._workspace.clock())
            with Claims(self._root, local_now) as claims:
                moving = self._move_all(accepted, session, claims)
                try:
                    receipts = [self._receipt(one, session, card_root) for one in moving]
                    drafts = [
                        kept_draft(receipt, one.accepted.track)
                        for receipt, one in zip(receipts, moving, strict=True)
                    ]
                except BaseException:
                    self._put_back(moving)
                    raise
                events = self._record(drafts, moving)
                for one in moving:
                    let_go(self._workspace.journal, one.act)
            return [receipt.recorded(event.event_id) for receipt, event in zip(receipts, events, strict=True)]

    def _record(self, drafts: Sequence[Draft], moving: Sequence[_Moving]) -> list[Event]:
        """Write the events; where they can not be written, everything goes back.

        An append that fails may have written all the same, and what the ledger says stays said:
        then, or when nobody can tell, the journals stay for `doctor`.
        """
        try:
            return self._workspace.ledger.append_many(drafts)
        except BaseException as error:
            try:
                written = any(is_recorded(self._workspace.ledger, KEPT, one.reference) for one in moving)
            except MunimentError as silent:
                raise _not_recorded(moving, silent) from error
            if not written:
                self._put_back(moving)
            elif isinstance(error, MunimentError):
                raise _not_recorded(moving, error) from error
            raise

    def _move_all(self, accepted: Sequence[Accepted], session: Session, claims: Claims) -> list[_Moving]:
        """Every address is claimed before the first thing moves."""
        addresses: list[tuple[Address, Address | None]] = []
        for one in accepted:
            own = session.mirror_id if one.track is Track.PLAN and session.mirror_id else session.archive_id
            mirrored = session.mirror_id if one.track is Track.FILE else None
            addresses.append(
                (
                    claims.address(one.track, one.name, own),
                    claims.address(one.track, one.name, mirrored) if mirrored else None,
                )
            )
        moving: list[_Moving] = []
        try:
            for one, (address, mirror) in zip(accepted, addresses, strict=True):
                moving.append(self._move(one, address, mirror))
        except BaseException:
            self._put_back(moving)
            raise
        return moving

    def _move(self, one: Accepted, address: Address, mirror: Address | None) -> _Moving:
        workspace, source, now = self._workspace, one.request.source, self._workspace.clock()
        reference = new_reference(PREFIX, now, workspace.entropy)
        tree = workspace.tables.keep(one.measured.table)
        before: dict[str, Json] = {"path": path_text(source), "tree": tree.hex}
        after: dict[str, Json] = {
            "path": path_text(address.path),
            "tree": tree.hex,
            "reference": reference,
            "mirror": path_text(mirror.path) if mirror else None,
            "track": one.track.value,
            "name": one.request.display_name or source.name,
        }
        act = workspace.journal.begin(KEEP_ACT, before, after, now, workspace.entropy)
        mirrored = False
        try:
            if mirror is not None:
                token = mirror_token(act.act_id)
                copy_verified(self._root, source, self._root, mirror.path, one.measured, token=token)
                mirrored = True
            moved = move_verified(
                self._root, source, self._root, address.path, one.measured, token=act.act_id
            )
        except BaseException as error:
            if isinstance(error, SourceNotRemoved):
                with contextlib.suppress(MunimentError):
                    self._give_back(address.path, source, act)
            if stands_as_before(self._root, source, address.path, act.act_id, one.measured):
                if mirror is not None and mirrored:
                    remove_tree(self._root, mirror.path)
                let_go(workspace.journal, act)
            # Else the content lies elsewhere: the journal stays, so that `doctor` can end it.
            told = _as_archive_error(error, self._root, source, address)
            if told is error:
                raise
            raise told from error
        return _Moving(one, address, mirror, reference, act, moved)

    def _put_back(self, moving: Sequence[_Moving]) -> None:
        """Give everything that was moved by this call its old place again.

        What can not go back keeps its journal; the others go back all the same.
        """
        failed: PutBackFailed | None = None
        for one in reversed(moving):
            here, back = one.address.path, one.accepted.request.source
            try:
                self._give_back(here, back, one.act)
                if one.mirror is not None:
                    remove_tree(self._root, one.mirror.path)
                let_go(self._workspace.journal, one.act)
            except MunimentError as error:
                failed = PutBackFailed(
                    where=printable(here.posix), source=printable(back.posix), why=error.message
                )
                failed.__cause__ = error
        if failed is not None:
            raise failed

    def _give_back(self, here: RelPath, back: RelPath, act: Act) -> None:
        """Move one thing out of the archive again; a rest of what it was copied from goes."""
        move_verified(self._root, here, self._root, back, measure(self._root, here), token=act.act_id)
        rest = aside_of(back, act.act_id)
        if self._root.exists(rest):
            remove_tree(self._root, rest)

    def _receipt(self, one: _Moving, session: Session, card_root: str) -> Receipt:
        request, table = one.accepted.request, one.moved.table
        return Receipt(
            reference=one.reference,
            source=request.source,
            address=one.address,
            card=Card(
                one.accepted.measured.kind,
                f"{card_root}/{one.address.archive_id}",
                one.address.subpath,
                request.display_name or request.source.name,
            ),
            tree=table.digest,
            count=table.count,
            size=table.size,
            read_back=read_back(self._root, one.address, one.accepted, one.moved),
            id_source=session.source,
            workspace_rule=self._rule,
            at=instant(self._workspace.clock()),
            copied=one.moved.copied,
            mirrored=one.mirror,
            warnings=one.accepted.warnings,
        )


def read_back(root: Root, address: Address, accepted: Accepted, moved: Moved) -> ReadBack:
    """The points of the read-back, from what was found at the address; one that does not hold is a
    `ReadbackFailed`."""
    rules.judge_address(address)
    points = ReadBack(
        exists=root.exists(address.path),
        path_right=root.spelled_exactly(address.path),
        not_empty=moved.table.size > 0,
        key_fields=accepted.key_fields,
        identical=moved.table == accepted.measured.table,
        task=accepted.task,
    )
    if not (points.exists and points.path_right and points.not_empty and points.identical):
        raise ReadbackFailed(
            where=printable(address.path.posix), why=say("it is not there under exactly this name")
        )
    return points


def kept_draft(receipt: Receipt, track: Track) -> Draft:
    """The event that says a deliverable was archived."""
    evidence: dict[str, Json] = {
        "from": path_text(receipt.source),
        "to": path_text(receipt.address.path),
        "tree": receipt.tree.hex,
        "count": receipt.count,
        "bytes": receipt.size,
        "kind": receipt.card.kind.value,
        "track": track.value,
        "name": receipt.card.name,
        "archive_id": receipt.address.archive_id,
        "archive_id_source": receipt.id_source.value,
        "workspace_rule": receipt.workspace_rule,
        "copied": receipt.copied,
        "read_back": receipt.read_back.to_json(),
    }
    if receipt.mirrored is not None:
        evidence["mirrored"] = path_text(receipt.mirrored.path)
    return Draft(KEPT, receipt.reference, evidence)


def _not_recorded(moving: Sequence[_Moving], error: MunimentError) -> NotRecorded:
    places = ", ".join(
        printable(f"{one.accepted.request.source.posix} → {one.address.path.posix}") for one in moving
    )
    return NotRecorded(where=places, why=error.message)


def _as_archive_error(error: BaseException, root: Root, source: RelPath, address: Address) -> BaseException:
    """What the disk refused, in the words of the protocol."""
    if isinstance(error, AlreadyThere):
        return TargetExists(where=printable(address.path.posix))
    if isinstance(error, ReadbackFailed) and error.facts.get("found_size") == 0:
        return EmptyTarget(where=printable(address.path.posix), why=error.why)
    if isinstance(error, NotThere) and not root.exists(source):
        return MissingSource(where=printable(source.posix), why=say("it went away meanwhile"))
    if isinstance(error, OutsideRoot | SpecialFile | WrongKind):
        return InvalidSource(where=error.where, why=error.why or error.message)
    return error
