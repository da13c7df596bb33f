"""Floor 3, `backup`: the acts: plan, create, list, delete.

Nothing is packed without a plan that was shown, confirmed and still holds; nothing is reported
before the vault has read it back and the ledger says so (spec 4).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from muniment.backup import plans, restore_log
from muniment.backup.api import planned, read_api
from muniment.backup.bundle_file import Filed, Filing
from muniment.backup.errors import (
    DeleteNotConfirmed,
    LabelRefused,
    NotGone,
    RulesBroken,
    RulesMissing,
)
from muniment.backup.model import MISSING, OK, Plan, Receipt, Request, snapshot_json
from muniment.backup.plans import KeptPlan
from muniment.backup.reading import Reading
from muniment.backup.rules import basis, plan_id, refuse_stale
from muniment.backup.rules_file import LABEL_MOST, MODES, RulesFile, label_of, read_rules
from muniment.backup.subject import CREATED, CREATING, DELETED, DELETING, GIVEN_UP, require_root
from muniment.backup.survey import Surveyed, excludes_of, survey
from muniment.backup.taking import Progress, Taking, no_progress, require_given
from muniment.backup.upload import Upload
from muniment.bundle.vault import Listing, Snapshot, Vault
from muniment.canonical import Json, canonical
from muniment.digest import sha256
from muniment.disk.errors import Locked, NotThere, OutsideRoot
from muniment.disk.root import Root
from muniment.errors import Conflict, MunimentError
from muniment.hosts.places import Places
from muniment.message import say
from muniment.path import RelPath, printable
from muniment.record.consent import Confirmation
from muniment.record.event import Draft, Event
from muniment.record.state import Workspace

_RULES_LIMIT = 4 << 20

NO_SLOT = "QUOTA_EXCEEDED"
"""With this code every vault refuses when all slots are taken."""


@dataclass(frozen=True, slots=True)
class Options:
    """What the wiring knows: where caches lie, which acts an agent may confirm, workers.

    `refuse_inside` refuses a vault among folders that are saved; `most` is what the vault takes of
    one snapshot, in deflated bytes; `scratch` is where databases are copied, by default the
    temporary directory.
    """

    cache: Path
    relayed: tuple[str, ...]
    refuse_inside: Callable[[Iterable[Path]], None]
    workers: int = 2
    most: int | None = None
    scratch: Path | None = None


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan, the bytes that were kept of it, and what the rules file said."""

    plan: Plan
    shown: bytes
    rules: RulesFile


class Backups:
    """The room of one workspace; `open_vault` is asked when the vault is first needed."""

    def __init__(
        self, workspace: Workspace, places: Places, open_vault: Callable[[], Vault], options: Options
    ) -> None:
        self.workspace = workspace
        self.places = places
        self.options = options
        self._open_vault = open_vault

    def require_no_half_restore(self) -> None:
        """`RestoreHalfDone` while one is (spec 4, step 0)."""
        restore_log.require_none(self.places.restore_log, self.places.former_restore_logs)

    def half_restore(self) -> restore_log.HalfRestore | None:
        """A restore that is half done."""
        return restore_log.look(self.places.restore_log, self.places.former_restore_logs)

    # The rules

    def rules(self) -> tuple[RulesFile, str]:
        """The rules file and the sha256 of its bytes; `RulesMissing`, `RulesBroken`."""
        place = self.places.rules
        where = printable(str(place))
        try:
            with Root.open(place.parent) as root:
                data = root.read(RelPath((place.name,)), _RULES_LIMIT)
        except NotThere as error:
            raise RulesMissing(where=where) from error
        except OutsideRoot as error:
            raise RulesBroken(where=where, why=error.why) from error
        try:
            rules = read_rules(data.decode("utf-8-sig"))
        except UnicodeDecodeError as error:
            line = data[: error.start].count(b"\n") + 1
            raise RulesBroken(where=f"{where}:{line}", why=say("it is no UTF-8 text")) from error
        except RulesBroken as error:
            raise RulesBroken(where=f"{where}:{error.where}", why=error.why) from error
        return rules, sha256(data).hex

    # The plan

    def plan(self, request: Request) -> Planned:
        """Look at everything and keep the plan; no byte is copied and nobody is asked (spec 4, plan)."""
        self.require_no_half_restore()
        rules, digest = self.rules()
        plan, facts = self._plan(request, rules, digest, self._label(request, rules))[:2]
        shown = plans.keep(self.workspace.root, plan.to_json(), facts, request)
        return Planned(plan, shown, rules)

    def _plan(
        self, request: Request, rules: RulesFile, digest: str, label: str
    ) -> tuple[Plan, dict[str, Json], Surveyed, dict[str, bytes]]:
        mode = request.mode or rules.mode
        if mode not in MODES:
            raise RulesBroken(where=printable(mode), why=say("the mode is {modes}", modes=" / ".join(MODES)))
        api_dir = None if request.api_dir is None else Path(request.api_dir)
        api = read_api(api_dir, required=self.places.api_required)
        further = [path for path in request.include if os.path.isabs(path)]
        places = [path for path in request.include if not os.path.isabs(path)]
        excludes = excludes_of(self.places, rules, mode, request.exclude, places)
        seen = survey(
            self.places,
            rules,
            excludes,
            full=mode == "full",
            more_paths=further,
            keep_outside_links=request.keep_outside_links,
        )
        saved = [self.places.workspace, *([self.places.data] if self.places.data else [])]
        self.options.refuse_inside([*saved, *(Path(one.src) for one in seen.extra if one.status == OK)])
        files = planned(api)
        if api_dir is not None:
            seen.warnings += [
                say("{file} is missing in {folder}", file=one.file, folder=printable(str(api_dir)))
                for one in files
                if one.status == MISSING
            ]
        facts = basis(
            rules_sha256=digest,
            mode=mode,
            label=label,
            api=[one.file for one in files if one.status == OK],
            items=seen.items,
            extra=seen.extra,
        )
        plan = Plan(
            plan_id=plan_id(facts),
            label=label,
            mode=mode,
            workspace_dir=str(self.places.workspace),
            data_dir=str(self.places.data or self.places.workspace),
            created_at_unix=int(self.workspace.clock().timestamp()),
            items=tuple(seen.items),
            api=files,
            extra_paths=tuple(seen.extra),
        )
        self._warn_of_size(seen, plan.total_size_bytes)
        return replace(plan, warnings=tuple(seen.warnings)), facts, seen, api

    def _warn_of_size(self, seen: Surveyed, size: int) -> None:
        """Say it now, not after packing, when the vault may refuse the snapshot for its size."""
        most = self.options.most
        if most is not None and size > most:
            seen.warnings.append(
                say(
                    "there are {size} bytes to save, and the vault takes {most} at most; deflated it may fit",
                    size=size,
                    most=most,
                )
            )

    def _label(self, request: Request, rules: RulesFile) -> str:
        label = request.label or label_of(rules.label, self.workspace.clock().strftime("%Y-%m-%d"))
        if len(label) > LABEL_MOST or not label.isprintable():
            raise LabelRefused(where=printable(label[: 2 * LABEL_MOST]))
        return label

    def find_plan(self, plan_id: str) -> KeptPlan:
        """A plan that was kept."""
        return plans.find(self.workspace.root, plan_id)

    # The snapshot

    def create(
        self,
        plan_id: str,
        *,
        replace: str | None = None,
        reread: bool = False,
        allow_partial: bool = False,
        progress: Progress = no_progress,
    ) -> Receipt:
        """Take the snapshot of a plan that was confirmed: `PlanMissing`, `PlanStale`, `NotConfirmed`.

        The confirmation is spent when packing begins.  One that turns out partial replaces nothing
        (`PartialReplacesNothing`) unless that is allowed.
        """
        self.require_no_half_restore()
        kept = self.find_plan(plan_id)
        with self.workspace.working():
            rules, digest = self.rules()
            plan, facts, seen, api = self._plan(kept.request, rules, digest, kept.label)
            refuse_stale(kept.then, facts, plan)
            self._go_on()
            # Looked for before anything is asked of the vault, and spent when packing begins.
            require_given(self.workspace.consents, "create", kept.shown, self.options.relayed)
            with self._uploading(replace) as upload:
                confirmation = self.workspace.consents.spend("create", kept.shown, self.options.relayed)
                taking = Taking(self, plan, kept.request, rules, seen.warnings, api, upload, allow_partial)
                return taking.take(confirmation, reread=reread, progress=progress)

    def create_unasked(
        self,
        request: Request,
        consent: Callable[[Plan, str], Confirmation],
        *,
        make_room: Callable[[], bool] = lambda: False,
        progress: Progress = no_progress,
    ) -> Receipt:
        """Take a scheduled snapshot of what there is now, without a plan that was shown.

        `consent` is given the plan and the sha256 of the rules; it gives the standing confirmation that
        covers them, or raises.  `make_room` is asked once when all slots are taken.
        """
        self.require_no_half_restore()
        with self.workspace.working(wait=False):
            rules, digest = self.rules()
            plan, _, seen, api = self._plan(request, rules, digest, self._label(request, rules))
            confirmation = consent(plan, digest)
            self._go_on()
            with self._uploading(None, make_room) as upload:
                taking = Taking(self, plan, request, rules, seen.warnings, api, upload, scheduled=True)
                return taking.take(confirmation, progress=progress)

    @contextmanager
    def _uploading(
        self, replace: str | None, make_room: Callable[[], bool] = lambda: False
    ) -> Iterator[Upload]:
        """An upload that is given up, should anything fail."""
        try:
            upload = Upload.begin(self.open_vault(), replace)
        except Conflict as error:
            if error.code != NO_SLOT or not make_room():
                raise
            upload = Upload.begin(self.open_vault(), replace)
        try:
            yield upload
        except BaseException:
            with suppress(MunimentError):
                upload.abort()
            raise

    def plan_unasked(self, request: Request) -> tuple[Plan, str]:
        """What a scheduled run would save now, and the sha256 of the rules; nothing is kept."""
        self.require_no_half_restore()
        rules, digest = self.rules()
        return self._plan(request, rules, digest, self._label(request, rules))[0], digest

    def pack(self, request: Request, out: Path, *, progress: Progress = no_progress) -> Filed:
        """Write what a plan of this moment saves as a bundle file, without any vault.

        `out` must not exist yet, nor lie in what is saved; whether it is wanted was asked before
        (spec 4, the original scripts).
        """
        self.require_no_half_restore()
        with self.workspace.working():
            rules, digest = self.rules()
            label = self._label(request, rules)
            plan, _, seen, api = self._plan(request, rules, digest, label)
            return Filing(self, plan, request, rules, seen.warnings, api).write(out, progress)

    # Looking and deleting

    def open_vault(self) -> Vault:
        """The vault, opened when it is first needed."""
        return self._open_vault()

    def reading(self, snapshot_id: str) -> Reading:
        """One snapshot, to be looked into; `RootDiffers` when it is not the one stored from here."""
        vault = self.open_vault()
        snapshot = vault.show(snapshot_id)
        index = vault.index(snapshot.id)
        require_root(self.workspace.ledger, snapshot.id, index.root)
        return Reading(vault, snapshot, index)

    def list(self) -> Listing:
        """Everything that the vault keeps, newest first."""
        self._go_on()
        # Held alone: nobody is at work on what was announced.
        with suppress(Locked), self.workspace.working(alone=True, wait=False):
            self._give_up()
        return self.open_vault().list()

    def _give_up(self) -> None:
        """Take back what a run that is no more announced, and the vault does not keep.  Should it come
        there all the same, the next act enters it."""
        last: Event | None = None
        for event in self.workspace.ledger.events(containing=b'"kind":"backup.'):
            if event.kind in (CREATING, GIVEN_UP, CREATED):
                last = event
        if last is None or last.kind != CREATING:
            return
        told = {name: last.evidence.get(name) for name in ("root", "vault")}
        vault = self.open_vault()
        there = vault.list().snapshots
        if told["vault"] == vault.identity and all(one.root.hex != told["root"] for one in there):
            self.workspace.ledger.append(Draft(GIVEN_UP, last.subject, told))

    def _go_on(self) -> None:
        """Enter what was stored or deleted by a run that was ended before it could say so.

        Only a root that this ledger announced is taken for ours, whatever the vault says.
        """
        announced: dict[str, Event] = {}
        leaving: dict[str, Event] = {}
        known: set[str] = set()
        for event in self.workspace.ledger.events(containing=b'"kind":"backup.'):
            root = event.evidence.get("root")
            if event.kind == CREATING:
                announced[str(root)] = event
            elif event.kind == DELETING:
                leaving[event.subject] = event
            elif event.kind in (CREATED, DELETED):
                known.add(event.subject)
                announced.pop(str(root), None)
                leaving.pop(event.subject, None)
        if not announced and not leaving:
            return
        vault = self.open_vault()
        there = vault.list().snapshots
        for snapshot in there:
            begun = announced.pop(snapshot.root.hex, None)
            if begun is not None and snapshot.id not in known:
                evidence = {**begun.evidence, "stored_bytes": snapshot.size, "recovered": True}
                self.workspace.ledger.append(Draft(CREATED, snapshot.id, evidence))
        kept = {snapshot.id for snapshot in there}
        for snapshot_id, begun in leaving.items():
            if snapshot_id not in kept and begun.evidence.get("vault") == vault.identity:
                evidence = {**begun.evidence, "recovered": True}
                self.workspace.ledger.append(Draft(DELETED, snapshot_id, evidence))

    def delete(self, snapshot_id: str, typed: str, picked: bytes) -> tuple[Snapshot, int | None]:
        """Delete one snapshot: its id was typed, and `picked`, what was shown of it, confirmed.

        `DeleteNotConfirmed` unless the text typed is the id, byte for byte but for outer space.
        """
        vault = self.open_vault()
        snapshot = vault.show(snapshot_id)
        require_typed(snapshot.id, typed)
        confirmation = self.workspace.consents.spend("delete", picked, self.options.relayed)
        evidence: dict[str, Json] = {
            "root": snapshot.root.hex,
            "vault": vault.identity,
            "confirmation": confirmation.to_json(),
        }
        self.workspace.ledger.append(Draft(DELETING, snapshot.id, evidence))
        gone = vault.delete(snapshot.id)
        left = vault.list()
        if any(one.id == gone.id for one in left.snapshots):
            raise NotGone(where=gone.id)
        self.workspace.ledger.append(Draft(DELETED, gone.id, evidence))
        return gone, left.remaining


def require_typed(snapshot_id: str, typed: str) -> None:
    """`DeleteNotConfirmed` unless the text typed is the id, byte for byte but for outer space."""
    if typed.strip() != snapshot_id:
        raise DeleteNotConfirmed(where=printable(typed.strip()[:64]))


def picked_bytes(snapshot: Snapshot) -> bytes:
    """What a person is shown of a snapshot before it is deleted."""
    return canonical({"act": "delete", "snapshot": snapshot_json(snapshot)})
