"""Floor 3, `backup`: restoring: fetch, plan, apply, go on, leave, undo (spec 4, restore).

Nothing is changed before the whole of what was fetched was verified, the plan was shown, and exactly
that was confirmed.  What is replaced lies in an undo set before its place is another's.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

from muniment.backup import restore_log
from muniment.backup import restore_log_writing as log
from muniment.backup.applying import Applying
from muniment.backup.errors import (
    ExactOfPartial,
    FetchedDiffers,
    NamesCollide,
    NoRestore,
    NoUndo,
    OtherRestore,
    RestoreLogBroken,
    RestoreStale,
    TargetNotEmpty,
    UndoBroken,
)
from muniment.backup.excludes import DATA, WORKSPACE
from muniment.backup.fetching import Advance as Fetched_
from muniment.backup.fetching import Fetched, Fetching, from_folder
from muniment.backup.placing import Advance, Numbered
from muniment.backup.reading import Reading
from muniment.backup.restore_log import HalfRestore
from muniment.backup.restore_model import Applied, Order, RestorePlan, Trouble, Undone
from muniment.backup.restore_rules import SECTION_LOG, open_sections
from muniment.backup.restore_set import RestoreSet, RestoreSets
from muniment.backup.restore_survey import Looking, colliding, ground_of
from muniment.backup.state_aside import lay_aside
from muniment.backup.subject import CREATED
from muniment.bundle.extract import extract_kept
from muniment.bundle.verify import Verified
from muniment.bundle.whole import WholeVault
from muniment.canonical import Json
from muniment.clock import instant, read_instant
from muniment.digest import sha256
from muniment.disk import platform
from muniment.disk.errors import NotThere, named
from muniment.disk.root import Root
from muniment.disk.tree import remove_tree
from muniment.disk.write import is_scratch
from muniment.errors import MunimentError
from muniment.hosts.places import Places
from muniment.ids import new_ulid
from muniment.message import say
from muniment.path import RelPath, printable
from muniment.record.consent import Confirmation
from muniment.record.event import Draft
from muniment.record.state import Workspace

RESTORING = "backup.restoring"
RESTORED = "backup.restored"
CANCELLED = "backup.restore_cancelled"
UNDONE = "backup.undone"
ACT = "restore"

SETS_KEPT = 3
KEPT_FOR = timedelta(days=7)
"""An undo set goes when it is neither among the newest three nor younger than a week."""


def nothing(size: int, files: int = 0, path: str = "") -> None:
    """Progress that nobody looks at."""


@dataclass(frozen=True, slots=True)
class UndoSet:
    """A restore that can be undone, as it is listed."""

    restore: str
    backup_id: str
    begun: str
    steps: int


class Restores:
    """The restores of one workspace; `reading` looks a snapshot up in the vault."""

    def __init__(
        self,
        workspace: Workspace,
        places: Places,
        reading: Callable[[str], Reading],
        relayed: tuple[str, ...],
    ) -> None:
        self.workspace = workspace
        self.places = places
        self._reading = reading
        self._relayed = relayed
        self._extraction = workspace.root.relative(str(places.extraction))
        self.fetching = Fetching(workspace, self._extraction)
        self.sets = RestoreSets(workspace.root, self._extraction / "undo")

    # Fetching

    def fetch(
        self, backup_id: str, only: Sequence[str] = (), advance: Fetched_ = lambda size: None
    ) -> Fetched:
        """A snapshot, verified, in the extraction folder."""
        with self.workspace.working(alone=True, wait=False):
            return self.fetching.fetch(self._reading(backup_id), only, advance)

    def receive(self, backup_id: str, vault: WholeVault, advance: Fetched_ = lambda size: None) -> Fetched:
        """A snapshot of a vault that gives whole bundles, verified, in the extraction folder."""
        with self.workspace.working(alone=True, wait=False):
            return self._received(backup_id, vault, advance)

    def _received(self, backup_id: str, vault: WholeVault, advance: Fetched_) -> Fetched:
        one = vault.show(backup_id)  # it will name a folder
        return self.fetching.receive(one.id, lambda: vault.download(one.id), advance)

    def into(
        self, backup_id: str, target: Path, advance: Fetched_ = lambda size: None
    ) -> tuple[Verified, Path]:
        """Restore a snapshot into a folder that does not exist or is empty, in one pass.

        It gets what `tar xzf` would lay there (`files/workspace`, `files/data`, `api`), verified; machine
        state too, since this is a copy to look at and no workspace that anything runs in.
        """
        reading = self._reading(backup_id)
        target = target.absolute()
        with Root.open(target.parent) as root:
            rel = RelPath((target.name,))
            if root.exists(rel):
                if root.names(rel):
                    raise TargetNotEmpty(where=printable(str(target)))
                root.remove_folder(rel)
            verified = extract_kept(
                reading.index, reading.vault.fetch, root, rel, manifest=True, advance=advance
            )
            return verified, target

    # The plan

    def half(self) -> HalfRestore | None:
        """The restore that is half done, if there is one."""
        return restore_log.look(self.places.restore_log, self.places.former_restore_logs)

    def require_none(self) -> None:
        """`RestoreHalfDone` while one is (spec 4, step 0)."""
        restore_log.require_none(self.places.restore_log, self.places.former_restore_logs)

    def plan(
        self,
        backup_id: str,
        *,
        only: Sequence[str] = (),
        exact: bool = False,
        advance: Fetched_ = lambda size: None,
    ) -> tuple[RestorePlan, Fetched]:
        """Fetch, verify, and compare with what stands here; nothing in place is touched."""
        self.require_none()
        with self.workspace.working(alone=True, wait=False):
            fetched = self.fetching.fetch(self._reading(backup_id), only, advance)
            return self._look(fetched, exact=exact), fetched

    def plan_received(
        self, backup_id: str, vault: WholeVault, advance: Fetched_ = lambda size: None
    ) -> tuple[RestorePlan, Fetched]:
        """The plan of a snapshot of a vault that gives whole bundles; see `plan`."""
        self.require_none()
        with self.workspace.working(alone=True, wait=False):
            fetched = self._received(backup_id, vault, advance)
            return self._look(fetched, exact=False), fetched

    def plan_of_folder(self, folder: Path) -> tuple[RestorePlan, Fetched]:
        """The plan of a snapshot that somebody extracted; its manifest is what it is held to."""
        self.require_none()
        with self.workspace.working(alone=True, wait=False):
            fetched = replace(from_folder(folder), backup_id=folder.name)
            return self._look(fetched, exact=False), fetched

    def _look(self, fetched: Fetched, *, exact: bool) -> RestorePlan:
        partial = self._is_partial(fetched.backup_id)
        if exact and not fetched.whole:
            raise ExactOfPartial(where=fetched.backup_id, why=say("--only fetched a part of it"))
        if exact and partial:
            raise ExactOfPartial(where=fetched.backup_id)
        with self._roots() as roots:
            pairs = colliding(fetched.rows, roots)
            if pairs:
                one, other = pairs[0]
                raise NamesCollide(
                    where=printable(one), why=say("{other} is the same name here", other=printable(other))
                )
            looking = Looking(
                fetched, self.places, ground_of(self.places), roots, self.workspace.claims.all()
            )
            return looking.plan(exact=exact, partial=partial)

    def _is_partial(self, backup_id: str) -> bool:
        needle = f'"subject":"{backup_id}"'.encode()
        return any(
            event.kind == CREATED and event.evidence.get("partial") is True
            for event in self.workspace.ledger.events(containing=needle)
        )

    @contextmanager
    def _roots(self, *, make: bool = False) -> Iterator[Mapping[str, Root]]:
        """The folders of the sections, open; one that is missing is made when it is to be filled."""
        with ExitStack() as held:
            roots = {WORKSPACE: self.workspace.root}
            if self.places.data is not None:
                if make:
                    with named(str(self.places.data)):
                        self.places.data.mkdir(mode=0o700, parents=True, exist_ok=True)
                with suppress(NotThere):
                    roots[DATA] = held.enter_context(Root.open(self.places.data))
            yield roots

    # Applying

    def apply(self, order: Order, fetched: Fetched, *, progress: Advance = nothing) -> Applied:
        """Do what was chosen of a plan and confirmed.

        `NotConfirmed` when exactly this was not; the confirmation of an agent is enough where nothing
        is replaced.  Steps that can not be done are in the result, and the restore stays half done.
        """
        with self.workspace.working(alone=True, wait=False):
            self.require_none()
            confirmation = self._confirmed(order)
            one = self._begin(order, fetched, confirmation)
            return self._go(one, fetched, progress=progress)

    def _confirmed(self, order: Order) -> Confirmation:
        harmless = not order.replaces and not order.runs
        allowed = (*self._relayed, ACT) if harmless else self._relayed
        return self.workspace.consents.spend(ACT, order.shown, allowed)

    def _begin(self, order: Order, fetched: Fetched, confirmation: Confirmation) -> RestoreSet:
        self.prune()
        now = self.workspace.clock()
        plan = order.plan
        one = RestoreSet(
            new_ulid(now, self.workspace.entropy),
            plan.backup_id,
            plan.root,
            self.workspace.identity.root_id,
            instant(now),
            confirmation.shown.hex,
            confirmation.witness.value,
            order.skipped,
            self._places_now(),
            plan.sections,
            order.steps,
            not fetched.whole,
        )
        self.sets.keep(one)
        with named(str(self.places.restore_log.parent)):
            self.places.restore_log.parent.mkdir(parents=True, exist_ok=True)
        log.begin(self.places.restore_log, plan.backup_id, one.restore, plan.sections, now)
        evidence: dict[str, Json] = {
            "restore": one.restore,
            "root": one.root,
            "steps": len(one.steps),
            "journal": sha256(one.to_bytes()).hex,
            "confirmation": confirmation.to_json(),
        }
        self.workspace.ledger.append(Draft(RESTORING, plan.backup_id, evidence))
        return one

    def _go(
        self, one: RestoreSet, fetched: Fetched, *, again: bool = False, progress: Advance = nothing
    ) -> Applied:
        half = self._half_of(one.backup_id)
        wrote = 0
        troubles: list[Trouble] = []
        numbered = [Numbered(number, step) for number, step in enumerate(one.steps)]
        with self._roots(make=any(step.section == DATA for step in one.steps)) as roots:
            for section, name in SECTION_LOG.items():
                mine = [each for each in numbered if each.step.section == section]
                root = roots.get(section)
                if name not in one.sections or name in half.done:
                    continue
                if root is None:  # there is nothing to do in it, else it would have been made
                    log.note_done(half, name, self.workspace.clock())
                    half = self._half_of(one.backup_id)
                    continue
                applying = Applying(root, self.workspace.root, self.sets.place(one.restore), one, fetched)
                with contextlib.closing(applying):
                    done, bad = applying.run(mine, again=again, progress=progress)
                wrote += done
                troubles += bad
                if not bad:
                    log.note_done(half, name, self.workspace.clock())
                    half = self._half_of(one.backup_id)
        if troubles:
            return Applied(
                one.restore, one.backup_id, wrote, one.skipped, tuple(troubles), self._open(half), None, None
            )
        aside = lay_aside(self.workspace, fetched, self.places, ground_of(self.places))
        return self._finish(one, fetched, half, wrote, aside)

    @staticmethod
    def _open(half: HalfRestore) -> tuple[str, ...]:
        return tuple(name for name in half.sections if name not in half.done)

    def _finish(
        self, one: RestoreSet, fetched: Fetched, half: HalfRestore, wrote: int, aside: Mapping[str, Json]
    ) -> Applied:
        event_id = self._tell(one, wrote, aside)
        still = self._open(half)
        if not still:
            self._close(half, fetched.place if fetched.folder is self.workspace.root else None, one)
        folder = aside.get("folder")
        return Applied(
            one.restore,
            one.backup_id,
            wrote,
            one.skipped,
            (),
            still,
            str(folder) if folder else None,
            event_id,
        )

    def _tell(self, one: RestoreSet, wrote: int, aside: Mapping[str, Json]) -> str:
        """One event a restore, whose evidence names both ledgers' heads."""
        needle = f'"restore":"{one.restore}"'.encode()
        for event in self.workspace.ledger.events(containing=needle):
            if event.kind == RESTORED:
                return event.event_id
        evidence: dict[str, Json] = {
            "restore": one.restore,
            "root": one.root,
            "wrote": wrote,
            "skipped_modified": one.skipped,
            **aside,
        }
        return self.workspace.ledger.append(Draft(RESTORED, one.backup_id, evidence)).event_id

    def _close(self, half: HalfRestore, place: RelPath | None, one: RestoreSet) -> None:
        """The end of a restore: what was fetched goes, unless modified files still wait in it; then
        the log."""
        if place is not None and not one.skipped:
            self.fetching.drop(place)
        log.end(half)
        if not one.steps:
            remove_tree(self.workspace.root, self.sets.place(one.restore))
        self.prune()

    # A restore that is half done

    def go_on(self, backup_id: str | None = None, *, progress: Advance = nothing) -> Applied:
        """Continue the restore that is half done; what was confirmed then holds still."""
        with self.workspace.working(alone=True, wait=False):
            half = self._half_of(backup_id)
            one = self.sets.find(half.restore)
            self._require_same_places(one)
            fetched = self._fetched_again(one)
            return self._go(one, fetched, again=True, progress=progress)

    def _half_of(self, backup_id: str | None) -> HalfRestore:
        half = self.half()
        if half is None:
            raise NoRestore(where=backup_id or "")
        if backup_id is not None and backup_id != half.backup_id:
            raise OtherRestore(where=printable(half.backup_id))
        return half

    def _places_now(self) -> dict[str, str]:
        places = {WORKSPACE: self.workspace.root.path}
        if self.places.data is not None:
            places[DATA] = str(self.places.data)
        return places

    def _require_same_places(self, one: RestoreSet) -> None:
        """The steps of a set hold for the folders they were planned for, and for no others."""
        if one.root_id != self.workspace.identity.root_id or one.places != self._places_now():
            raise RestoreStale(where=one.restore, why=say("it was begun for other folders"))

    def _fetched_again(self, one: RestoreSet) -> Fetched:
        """What was fetched for it; fetched anew where it is gone or was changed."""
        try:
            fetched = self.fetching.find(one.backup_id, part=one.part)
        except (NotThere, FetchedDiffers):
            only = sorted({step.source for step in one.steps if step.source}) if one.part else ()
            fetched = self.fetching.fetch(self._reading(one.backup_id), only)
        if fetched.root != one.root:
            raise RestoreStale(where=one.backup_id, why=say("the vault has another snapshot under this id"))
        return fetched

    def leave(self) -> HalfRestore:
        """Give the restore up that is half done: everything stays as it is now, and can be undone."""
        with self.workspace.working(alone=True, wait=False):
            half = self._half_of(None)
            self._clear_unfinished(half.restore)
            done, of = half.progress
            evidence: dict[str, Json] = {"restore": half.restore, "done": done, "of": of}
            self.workspace.ledger.append(Draft(CANCELLED, half.backup_id, evidence))
            self.fetching.forget(half.backup_id)
            log.end(half)
            return half

    def lay_log_aside(self) -> Path:
        """Give a restore up whose log can not be read: the log gets another name beside its own.

        What it began can be undone, where a set tells of it.
        """
        with self.workspace.working(alone=True, wait=False):
            try:
                half = self.half()
            except RestoreLogBroken:
                logs = (self.places.restore_log, *self.places.former_restore_logs)
                place = next(path for path in logs if os.path.lexists(path))
            else:
                raise NoRestore(where="" if half is None else printable(half.backup_id))
            aside = f"{place.name}.{new_ulid(self.workspace.clock(), self.workspace.entropy)}"
            evidence: dict[str, Json] = {"restore": None, "log": aside}
            self.workspace.ledger.append(Draft(CANCELLED, self.workspace.identity.root_id, evidence))
            with Root.open(place.parent) as root, named(str(place)):
                platform.rename_exclusive(root.fd, place.name, root.fd, aside)
                root.sync_folder(RelPath())
            return place.with_name(aside)

    def _clear_unfinished(self, restore: str) -> None:
        """Bring every step to before or after, so that nothing unfinished lies about."""
        try:
            one = self.sets.find(restore)
        except MunimentError:
            return  # without a journal nobody knows where unfinished files would lie; `doctor` does
        with self._roots() as roots:
            for section, root in roots.items():
                mine = [
                    Numbered(number, step) for number, step in enumerate(one.steps) if step.section == section
                ]
                applying = Applying(root, self.workspace.root, self.sets.place(restore), one, None)
                with contextlib.closing(applying):
                    applying.settle_all(mine)

    def section_done(self, name: str) -> HalfRestore | None:
        """Note that the host's own tools have restored a section; None when that was the last."""
        with self.workspace.working(alone=True, wait=False):
            half = self._half_of(None)
            if name not in self._open(half) or name in SECTION_LOG.values():
                raise NoRestore(
                    where=printable(name),
                    why=say("open sections: {names}", names=", ".join(self._open(half)) or "-"),
                )
            log.note_done(half, name, self.workspace.clock())
            half = self._half_of(None)
            if self._open(half):
                return half
            try:
                one = self.sets.find(half.restore)
            except MunimentError:
                log.end(half)
                return None
            fetched = self._lying(one)
            self._close(half, None if fetched is None else fetched.place, one)
            return None

    def _lying(self, one: RestoreSet) -> Fetched | None:
        """What was fetched for a restore and still lies there; a part of what another packed lies with
        the rest of it, and what somebody extracted lies elsewhere."""
        for part in dict.fromkeys((one.part, False)):
            with suppress(NotThere, FetchedDiffers):
                return self.fetching.find(one.backup_id, part=part)
        return None

    def kept_section(self, name: str, fetched: Fetched | None = None) -> bytes | None:
        """What was kept of a section that the host's own tools restore; None where it is not at hand."""
        if fetched is None:
            try:
                fetched = self._lying(self.sets.find(self._half_of(None).restore))
            except (NoRestore, NotThere, UndoBroken):
                return None
        return None if fetched is None else dict(self.api_of(fetched)).get(name)

    def api_of(self, fetched: Fetched) -> Iterator[tuple[str, bytes]]:
        """The sections of the host's settings, one by one, with the bytes that were kept."""
        paths = {row.path for row in fetched.rows if row.path.startswith("api/")}
        names = open_sections(paths)
        by_name = {name: path for path in paths for name in open_sections([path])}
        for name in names:
            yield name, fetched.folder.read(fetched.rel(by_name[name]))

    # Undoing

    def undo_sets(self) -> list[UndoSet]:
        """The restores that can be undone, newest first; one whose journal is broken is passed over."""
        found: list[UndoSet] = []
        for name in reversed(self.sets.all()):
            with suppress(NotThere, UndoBroken):
                one = self.sets.find(name)
                found.append(UndoSet(one.restore, one.backup_id, one.begun, len(one.steps)))
        return found

    def undo(self, restore: str, *, progress: Advance = nothing) -> Undone:
        """Put back what a restore replaced, and remove what it made; what changed since stays."""
        with self.workspace.working(alone=True, wait=False):
            try:
                one = self.sets.find(restore)
            except NotThere as error:
                raise NoUndo(where=printable(restore[:64])) from error
            if one.root_id != self.workspace.identity.root_id:
                raise NoUndo(where=restore, why=say("it was made in another workspace"))
            self._require_same_places(one)
            half = self.half()
            if half is not None and half.restore != restore:
                self.require_none()
            put_back = removed = 0
            kept: list[Trouble] = []
            numbered = [Numbered(number, step) for number, step in enumerate(one.steps)]
            with self._roots() as roots:
                for section, root in roots.items():
                    mine = [each for each in numbered if each.step.section == section]
                    applying = Applying(root, self.workspace.root, self.sets.place(restore), one, None)
                    with contextlib.closing(applying):
                        back, gone, bad = applying.undo(mine, progress=progress)
                    put_back, removed = put_back + back, removed + gone
                    kept += bad
            evidence: dict[str, Json] = {
                "restore": restore,
                "put_back": put_back,
                "removed": removed,
                "kept": len(kept),
            }
            event = self.workspace.ledger.append(Draft(UNDONE, one.backup_id, evidence))
            if half is not None:
                log.end(half)
            if not kept:
                remove_tree(self.workspace.root, self.sets.place(restore))
            return Undone(restore, put_back, removed, tuple(kept), event.event_id)

    def prune(self) -> None:
        """Remove undo sets that are neither among the newest nor young, and those in which nothing was
        finished, not even the journal, so that nothing was changed yet."""
        now = self.workspace.clock()
        for name in self.sets.all():
            if all(map(is_scratch, self.workspace.root.names(self.sets.place(name)))):
                remove_tree(self.workspace.root, self.sets.place(name))
        for name in self.sets.all()[:-SETS_KEPT]:
            with suppress(MunimentError, ValueError):
                if read_instant(self.sets.find(name).begun) < now - KEPT_FOR:
                    remove_tree(self.workspace.root, self.sets.place(name))
