"""Room `job`: the folder of jobs, and the one door through which a registry changes.

A transition is two files: the journal says `begin`, the registry is replaced, the journal says
`end`.  Killed in between, the next to come finds the registry at its old or its new digest and
ends or calls off the transition; any other digest is `FOREIGN_WRITE` (spec 2, phases).
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace

from muniment.canonical import Json
from muniment.clock import Clock
from muniment.digest import sha256
from muniment.disk import platform
from muniment.disk.errors import NotThere, named
from muniment.disk.locks import locked
from muniment.disk.root import Root, open_regular
from muniment.disk.write import write_verified
from muniment.ids import Entropy
from muniment.job import rules
from muniment.job.errors import (
    BadJobId,
    ForeignWrite,
    JobEnded,
    JobExists,
    JobNotFound,
    JournalDamaged,
    PhaseRefused,
    RegistryRefused,
)
from muniment.job.history import ABORT, BEGIN, END, History, fold, standing_of
from muniment.job.journal import JobJournal
from muniment.job.model import AUTHORING, Phase, Registry, Workflow
from muniment.job.places import below_authoring
from muniment.job.reader import LARGEST_FILE, read
from muniment.job.rules import Confirmation, Facts, Standing
from muniment.job.shape import reader_of
from muniment.job.writer import write
from muniment.message import Message, say
from muniment.path import RelPath, printable
from muniment.record.consent import WitnessKind, suffices
from muniment.record.event import Draft, Event

REGISTRY = RelPath(("registry.yaml",))
LOCK = RelPath((".lock",))
_GLANCE = 1 << 18
_TOP = {one.name for one in fields(Registry)}
_workflow = reader_of(Workflow)
_JOB_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def check_job_id(job: str) -> str:
    """Refuse what can not be a job's id, which also names its folder; give it back.

    >>> check_job_id("rna-7")
    'rna-7'
    """
    if not _JOB_ID.fullmatch(job):
        raise BadJobId(job=printable(job))
    return job


@dataclass(slots=True)
class Opened:
    """A job under its lock: its folder, what its journal says, and its registry."""

    job: str
    folder: Root
    journal: JobJournal
    history: History
    registry: Registry


class JobStore:
    """All jobs below one folder."""

    def __init__(
        self,
        root: Root,
        *,
        clock: Clock,
        entropy: Entropy,
        actor: str = "library",
        relayed: tuple[str, ...] = (),
        authoring: str = AUTHORING,
    ) -> None:
        self.root = root
        self._clock = clock
        self._entropy = entropy
        self._actor = actor
        self._relayed = relayed
        self._authoring = authoring

    def ids(self) -> list[str]:
        """The ids of all folders that can be jobs, sorted."""
        return [name for name in self.root.names(RelPath()) if _JOB_ID.fullmatch(name)]

    def exists(self, job: str) -> bool:
        """Whether there is such a job; one whose making was cut short counts as not made."""
        return self.root.exists(RelPath((check_job_id(job), *REGISTRY.parts)))

    def glance(self, job: str) -> Workflow:
        """The `workflow` of a job's registry, read without a lock and without the rest being
        checked: for lists of thousands.  Whatever is odd in it is read again, strictly."""
        folder = self.root.open_folder(RelPath((job,)))
        try:
            with named(job):
                fd = open_regular(folder, REGISTRY.name, job)
            try:
                data = os.read(fd, _GLANCE)
            finally:
                platform.close(fd)
        finally:
            platform.close(folder)
        found = _glance_at(data) if len(data) < _GLANCE else None
        if found is None:
            found = read(self.root.read(RelPath((job, *REGISTRY.parts)), LARGEST_FILE + 1)).workflow
        return found

    def looks_made(self, job: str) -> bool:
        """Whether a name that can not be read as a job is one all the same: a link, a folder with
        something odd for a registry, or one whose journal knows a registry."""
        rel = RelPath((job,))
        mode = self.root.stat(rel).st_mode
        if not stat.S_ISDIR(mode):
            return stat.S_ISLNK(mode)
        with self.root.below(rel) as folder:
            if folder.exists(REGISTRY):
                return True
            try:
                return bool(fold(self._journal(folder, job).events()).registry)
            except JournalDamaged:
                return True

    @contextmanager
    def folder(self, job: str) -> Iterator[tuple[Root, JobJournal]]:
        """The folder of a job under its lock, whatever stands in it."""
        rel = RelPath((check_job_id(job),))
        if not self.root.exists(rel):
            raise JobNotFound(where=self.root.path, job=job)
        with self.root.below(rel) as folder, locked(folder, LOCK):
            yield folder, self._journal(folder, job)

    @contextmanager
    def open(self, job: str) -> Iterator[Opened]:
        """A job under its lock, a half-done transition ended or called off first.

        Raises `JobNotFound`, `ForeignWrite`, `JournalDamaged`, `RegistryRefused`.
        """
        with self.folder(job) as (folder, journal):
            history = self.settle(folder, journal, job)
            if not history.registry:
                raise JobNotFound(where=self.root.path, job=job)
            yield Opened(job, folder, journal, history, self.load(folder, job, history))

    def settle(self, folder: Root, journal: JobJournal, job: str) -> History:
        """Compare the registry with the journal, and end what was cut short."""
        history = fold(journal.events())
        found = registry_digest(folder)
        if history.pending is not None:
            if found == history.pending.after:
                journal.append([Draft(END, f"job:{job}", {"begin": history.pending.event_id, "late": True})])
            elif found == history.pending.before:
                journal.append([Draft(ABORT, f"job:{job}", {"begin": history.pending.event_id})])
            else:
                raise self._foreign(job, found, history)
            return fold(journal.events())
        if found != history.registry:
            raise self._foreign(job, found, history)
        return history

    def load(self, folder: Root, job: str, history: History) -> Registry:
        """The registry, held to every rule; `RegistryRefused` names all that is wrong."""
        where = f"{job}/{REGISTRY}"
        registry = read(folder.read(REGISTRY, LARGEST_FILE + 1), where=where)
        self.require_sound(registry, self.facts(job, registry, history), where)
        return registry

    def facts(self, job: str, registry: Registry, history: History) -> Facts:
        """What journal and disk know, for the rules."""
        confirmation = None
        if history.confirmed is not None:
            yes = history.confirmed
            enough = suffices("submit", WitnessKind(yes.witness), self._relayed)
            confirmation = Confirmation(yes.plan, yes.witness, enough)
        lies_at = below_authoring((path for _, path in rules.paths(registry)), authoring=self._authoring)
        running = history.run_intent.container if history.run_intent else ""
        return Facts(
            job, history.engine, confirmation, history.back, lies_at, history.intent is not None, running
        )

    @staticmethod
    def require_sound(registry: Registry, facts: Facts, where: str) -> None:
        """`RegistryRefused` unless the registry keeps every rule."""
        found = rules.findings(registry, facts)
        if found:
            raise RegistryRefused.of(found, where=where)

    def create(self, job: str, registry: Registry, act: str, facts: Mapping[str, Json]) -> History:
        """Make the folder of a job and its first registry; `JobExists` when there is one."""
        rel = RelPath((check_job_id(job),))
        self.root.make_folders(rel)
        with self.root.below(rel) as folder, locked(folder, LOCK):
            journal = self._journal(folder, job)
            if fold(journal.events()).pending is not None:
                self.settle(folder, journal, job)
            history = fold(journal.events())
            if history.registry or folder.exists(REGISTRY):
                raise JobExists(where=self.root.path, job=job)
            self.require_sound(registry, self.facts(job, registry, history), f"{job}/{REGISTRY}")
            opened = Opened(job, folder, journal, history, registry)
            self._two_files(opened, "", registry, act, facts)
            return opened.history

    def move(self, opened: Opened, after: Registry, act: str, facts: Mapping[str, Json]) -> bool:
        """Replace the registry, if the rules let `after` follow; False when it is the same already."""
        before = opened.registry
        if after == before:
            return False
        known = self.facts(opened.job, after, opened.history)
        if facts.get("back") is not None:
            known = replace(known, back=standing_of(facts["back"]))
        rules.judge(before, after, known)
        self.require_sound(after, known, f"{opened.job}/{REGISTRY}")
        self._two_files(opened, opened.history.registry, after, act, facts)
        return True

    def note(self, opened: Opened, kind: str, evidence: Mapping[str, Json]) -> Event:
        """Write one event into the job's journal."""
        (event,) = opened.journal.append([Draft(kind, f"job:{opened.job}", evidence)])
        opened.history = fold(opened.journal.events())
        return event

    def _two_files(
        self, opened: Opened, before: str, after: Registry, act: str, facts: Mapping[str, Json]
    ) -> None:
        data = write(after)
        standing = Standing.of(after)
        evidence: dict[str, Json] = {
            "act": act,
            "before": before,
            "after": sha256(data).hex,
            "phase": standing.phase.value,
            "status": standing.status.value,
            "facts": dict(facts),
        }
        (begun,) = opened.journal.append([Draft(BEGIN, f"job:{opened.job}", evidence)])
        write_verified(opened.folder, REGISTRY, data, replace=bool(before))
        opened.journal.append([Draft(END, f"job:{opened.job}", {"begin": begun.event_id})])
        opened.history = fold(opened.journal.events())
        opened.registry = after

    def _journal(self, folder: Root, job: str) -> JobJournal:
        return JobJournal(folder, job, clock=self._clock, entropy=self._entropy, actor=self._actor)

    @staticmethod
    def _foreign(job: str, found: str, history: History) -> ForeignWrite:
        known = history.pending.before if history.pending else history.registry
        why = say(
            "its sha256 is {found}, the journal knows {known}",
            found=found or say("missing"),
            known=known or say("none"),
        )
        return ForeignWrite(where=f"{job}/{REGISTRY}", why=why, job=job)


def _glance_at(data: bytes) -> Workflow | None:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if type(value) is not dict or value.keys() != _TOP:
        return None
    return _workflow(value["workflow"], [])


def registry_digest(folder: Root) -> str:
    """The sha256 of the registry as it lies there; empty when there is none."""
    try:
        return sha256(folder.read(REGISTRY, LARGEST_FILE + 1)).hex
    except NotThere:
        return ""


def require_phase(opened: Opened, target: str, *phases: Phase) -> None:
    """`JobEnded` or `PhaseRefused` unless the job is alive in one of these phases."""
    standing = Standing.of(opened.registry)
    if standing.status in rules.ENDED:
        raise JobEnded(where=opened.job, status=standing.status.value)
    if standing.phase not in phases:
        raise refusal(opened, target)


def refusal(opened: Opened, target: str, why: Message | None = None) -> PhaseRefused:
    """What says that the job does not stand where this can be done."""
    return rules.refusal(opened.job, Standing.of(opened.registry), target, why)
