"""Floor 3, `backup`: taking one snapshot: what is read goes to the vault, then into the ledger."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from muniment.backup.cache import Cache
from muniment.backup.content import PURPOSE, Content, sentence
from muniment.backup.errors import PartialReplacesNothing
from muniment.backup.model import Plan, Receipt, Request
from muniment.backup.rules_file import RulesFile
from muniment.backup.subject import CREATED, CREATING, GIVEN_UP
from muniment.backup.survey import excludes_of, sections_of
from muniment.backup.upload import Upload
from muniment.backup.walk_ahead import FORK_FROM
from muniment.bundle.manifest import Heading
from muniment.bundle.model import MANIFEST
from muniment.bundle.pack import Packing
from muniment.canonical import Json
from muniment.digest import sha256
from muniment.disk.scratch import remove_leftovers
from muniment.errors import MunimentError
from muniment.hosts.places import Places
from muniment.message import Message, say
from muniment.path import printable
from muniment.record.consent import Confirmation, Consents, suffices
from muniment.record.errors import NotConfirmed
from muniment.record.event import Draft
from muniment.record.state import Workspace
from muniment.record.witness import Witness, bear_witness

Progress = Callable[[int, int, str], object]
"""Is told bytes and files since the last call, and the path that is at work."""


def no_progress(size: int, files: int, path: str) -> None:
    """Nobody watches."""


class Advance:
    """Tells somebody how far a packing has come."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._files = 0

    def to(self, packing: Packing, path: bytes, size: int) -> None:
        """So many raw bytes more, up to a path; the manifest is not what anybody waits for."""
        if path != MANIFEST.encode():
            more, self._files = packing.files - self._files, packing.files
            self._progress(size, more, os.fsdecode(path).removeprefix("files/"))


class Room(Protocol):
    """What taking needs of the room."""

    @property
    def workspace(self) -> Workspace: ...
    @property
    def places(self) -> Places: ...
    @property
    def options(self) -> Settled: ...


class Settled(Protocol):
    """What taking needs of the room's options."""

    @property
    def cache(self) -> Path: ...
    @property
    def workers(self) -> int: ...
    @property
    def scratch(self) -> Path | None: ...


def require_given(consents: Consents, act: str, shown: bytes, relayed: tuple[str, ...]) -> None:
    """`NotConfirmed` unless a confirmation lies there whose witness suffices; it is not spent."""
    found = consents.find(act, sha256(shown))
    if found is None or not suffices(act, found.witness, relayed):
        why = (
            say("nobody confirmed {digest}", digest=sha256(shown).short)
            if found is None
            else say("an agent passed the confirmation on; for this the person must confirm")
        )
        raise NotConfirmed(where=act, why=why)


def content_of(
    room: Room,
    plan: Plan,
    request: Request,
    rules: RulesFile,
    api: Mapping[str, bytes],
    told: list[str],
) -> Content:
    """What a plan saves, every file of it read."""
    keep = [path for path in request.include if not os.path.isabs(path)]
    return Content(
        room.places,
        excludes_of(room.places, rules, plan.mode, request.exclude, keep),
        api,
        plan.extra_paths,
        room.workspace.clock,
        full=plan.mode == "full",
        keep_outside_links=request.keep_outside_links,
        scratch=room.options.scratch,
        ahead=room.options.workers > 0 and plan.total_files >= FORK_FROM,
        told=told,
    )


def heading_of(room: Room, plan: Plan, content: Content) -> Heading:
    """What the manifest says beside its contents."""
    return Heading(
        room.places.name,
        plan.mode,
        room.workspace.clock(),
        plan.label,
        sections_of(plan.items, plan.extra_paths, plan.api),
        content.exclusions,
        content.told,
    )


@dataclass(slots=True)
class Taking:
    """One snapshot of a plan that holds, into an upload that was begun."""

    room: Room
    plan: Plan
    request: Request
    rules: RulesFile
    warnings: Sequence[Message]
    api: Mapping[str, bytes]
    upload: Upload
    allow_partial: bool = False
    scheduled: bool = False

    def take(
        self, confirmation: Confirmation, *, reread: bool = False, progress: Progress = no_progress
    ) -> Receipt:
        """Pack, hand over, end the upload, enter it in the ledger."""
        self.warnings = (*self.warnings, *remove_leftovers(PURPOSE, self.room.options.scratch))
        with self._opened(reread) as (cache, content):
            packing = self._pack(content, cache, progress)
            if not cache.lied:
                return self._end(packing, content, cache, confirmation)
        # Something that looked unchanged was not: what was taken for unchanged is read after all.
        with self._opened(True) as (cache, content):
            content.warnings.append(
                say("a file that looked unchanged had changed; everything was read again")
            )
            content.told.append(str(content.warnings[-1]))
            packing = self._pack(content, cache, progress)
            return self._end(packing, content, cache, confirmation)

    @contextmanager
    def _opened(self, reread: bool) -> Iterator[tuple[Cache, Content]]:
        room = self.room
        identity = self.upload.vault.identity
        with (
            Cache.open(room.options.cache, identity, room.workspace.root, fresh=reread) as cache,
            self._content(cache) as content,
        ):
            self.upload.name(cache.extents())
            cache.trust(self.upload.has)
            yield cache, content

    def _end(self, packing: Packing, content: Content, cache: Cache, confirmation: Confirmation) -> Receipt:
        room, plan = self.room, self.plan
        faults = (*content.faults, *packing.faults)
        partial = any(fault.kind != "changed" for fault in faults)
        if partial and self.upload.replaces is not None and not self.allow_partial:
            lost = [fault for fault in faults if fault.kind != "changed"]
            raise PartialReplacesNothing(where=printable(lost[0].path), why=lost[0].finding, count=len(lost))
        evidence = self._evidence(packing, confirmation, partial, len(faults))
        room.workspace.ledger.append(Draft(CREATING, plan.plan_id, evidence))
        witness = bear_witness(room.workspace.ledger, room.workspace.identity.root_id)
        try:
            stored = self.upload.finish(
                packing.index,
                label=plan.label,
                sections=sections_of(plan.items, plan.extra_paths, plan.api),
                facts=self._facts(packing, witness, partial),
            )
        except MunimentError:
            self._give_up(packing.index.root.hex)
            raise
        cache.keep(content.copied)
        evidence["stored_bytes"] = stored.snapshot.size
        event = room.workspace.ledger.append(Draft(CREATED, stored.snapshot.id, evidence))
        named = set(map(sentence, faults))
        return Receipt(
            stored.snapshot,
            stored.remaining,
            packing.files,
            packing.size,
            self.upload.sent,
            partial,
            faults,
            tuple(one for one in (*self.warnings, *content.warnings) if str(one) not in named),
            confirmation.witness.value,
            event.event_id,
        )

    def _give_up(self, root: str) -> None:
        """Take the announcement back, if the vault says that it does not keep what was announced; where
        it says nothing the announcement stands, and the next act asks again."""
        vault, ledger = self.upload.vault, self.room.workspace.ledger
        with suppress(MunimentError):
            self.upload.abort()
            if all(one.root.hex != root for one in vault.list().snapshots):
                ledger.append(Draft(GIVEN_UP, self.plan.plan_id, {"root": root, "vault": vault.identity}))

    def _content(self, cache: Cache) -> Content:
        told = [str(warning) for warning in self.warnings]
        content = content_of(self.room, self.plan, self.request, self.rules, self.api, told)
        content.settled_ns, content.device = cache.settled_ns, cache.device
        content.known_size = cache.copy_size
        return content

    def _pack(self, content: Content, cache: Cache, progress: Progress) -> Packing:
        advance = Advance(progress)
        packing = Packing(
            content,
            content,
            heading_of(self.room, self.plan, content),
            workers=self.room.options.workers,
            memory=cache,
            have=self.upload.has,
            shared=content.shared,
            passed=lambda path, size: advance.to(packing, path, size),
            prove=self.room.workspace.entropy if self.upload.vault.in_process else None,
        )
        with closing(iter(packing)) as extents:
            for extent in extents:
                self.upload.take(extent)
                advance.to(packing, extent.path, extent.length)
        self.upload.flush()
        return packing

    def _facts(self, packing: Packing, witness: Witness, partial: bool) -> dict[str, Json]:
        """What the vault keeps beside label and sections."""
        return {
            "v": 1,
            "witness": witness.to_json(),
            "plan_id": self.plan.plan_id,
            "source": self.room.places.name,
            "mode": self.plan.mode,
            "files": packing.files,
            "bytes": packing.size,
            "partial": partial,
            **({"scheduled": True} if self.scheduled else {}),
        }

    def _evidence(
        self, packing: Packing, confirmation: Confirmation, partial: bool, faults: int
    ) -> dict[str, Json]:
        """What the ledger keeps; no label, since labels may say more than they should."""
        return {
            "root": packing.index.root.hex,
            "vault": self.upload.vault.identity,
            "plan_id": self.plan.plan_id,
            "confirmation": confirmation.to_json(),
            "files": packing.files,
            "bytes": packing.size,
            "sent_bytes": self.upload.sent,
            "partial": partial,
            "faults": faults,
            **({"scheduled": True} if self.scheduled else {}),
            **({} if self.upload.replaces is None else {"replaces": self.upload.replaces}),
        }
