"""Room `job`: all that the desk knows of it: the jobs that a workspace's ledger names, and how they stand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from muniment.disk.errors import NotThere
from muniment.disk.root import Root
from muniment.errors import MunimentError
from muniment.job.errors import JobNotFound
from muniment.job.model import Artifact, Phase, Registry, Status
from muniment.job.outputs import changed
from muniment.job.reader import LARGEST_FILE, read
from muniment.job.rules import ENDED
from muniment.job.store import REGISTRY, JobStore, check_job_id
from muniment.message import Message, say
from muniment.path import RelPath, printable
from muniment.record.event import Event
from muniment.record.ledger import Ledger
from muniment.record.reference import Kind
from muniment.record.subject import (
    Hit,
    Newest,
    Shown,
    Sought,
    Standing,
    Unfinished,
    Verdict,
    Watch,
    Weighed,
    Weight,
    newest_of,
    unread,
    unsearched,
    unwatched,
)

if TYPE_CHECKING:
    from muniment.job.service import JobService
    from muniment.job.verify import Report

PREFIX = Kind.JOB.value

_ROLES: tuple[tuple[str, Message], ...] = (
    ("outputs", say("output of the job")),
    ("generated_scripts", say("script of the job")),
    ("logs", say("log of the job")),
)
_WEIGHTS = {
    "job.submit": Weight.CLAIMED,
    "job.finalize": Weight.PROVED,
}


class JobSubject:
    """The desk's view of the jobs that the ledger of one workspace names (`references`); the folder
    of jobs may hold those of others too; `store` is None when that folder is gone.  `service` is opened
    when a job is to be read again."""

    prefix = PREFIX

    def __init__(
        self,
        store: JobStore | None,
        ledger: Ledger,
        references: Iterable[str],
        service: Callable[[], JobService],
    ) -> None:
        self._store = store
        self._ledger = ledger
        self._service = service
        self._jobs = sorted(one.removeprefix(PREFIX) for one in references)

    def references(self) -> list[str]:
        """Every job that the ledger names."""
        return [f"{PREFIX}{job}" for job in self._jobs]

    def show(self, reference: str) -> Shown:
        """One job as it stands, and what comes next."""
        job = reference.removeprefix(PREFIX)
        if self._store is None:
            raise JobNotFound(where=reference, job=job)
        view = self._service().show(job)
        workflow, flow = view.registry.workflow, view.registry.execution.bioline.flow
        outputs = view.registry.execution.downstream.outputs
        lines: list[tuple[Message, object]] = [
            (say("objective"), printable(workflow.objective) or "–"),
            (say("phase"), f"{workflow.phase.value} ({workflow.status.value})"),
            (say("engine"), view.history.engine),
            (say("flow"), printable(f"{flow.id} {flow.version_id}".strip()) or "–"),
            *((say("output"), printable(f"{one.path}  sha256:{one.sha256}")) for one in outputs),
        ]
        return Shown(reference, lines, view.to_json(), f"muniment verify {reference}")

    def find(self, sought: Sought) -> Iterator[Hit]:
        """Jobs by id or objective, and their files by path or digest; those are hashed again."""
        store = self._store
        if store is None:
            if sought.digest and self._jobs:
                yield unsearched(PREFIX.rstrip(":"), say("the folder of jobs is gone"))
            return
        for job in self._jobs:
            reference = f"{PREFIX}{job}"
            try:
                rel = RelPath((check_job_id(job), *REGISTRY.parts))
                registry = read(store.root.read(rel, LARGEST_FILE + 1), where=reference)
            except MunimentError as error:
                if sought.is_in(reference) or sought.digest:
                    yield unsearched(reference, error.message)
                continue
            if not sought.digest and sought.is_in(reference, registry.workflow.objective):
                yield Hit(reference, say("job"), printable(registry.workflow.objective))
            with store.root.below(RelPath((job,))) as folder:
                yield from _files(folder, reference, registry, sought)

    def verify(self, references: Iterable[str], watch: Watch = unwatched) -> Iterator[Verdict]:
        """Read journal, registry and every recorded file of each job again."""
        for reference in references:
            watch(0, 0, reference)
            step = f"muniment job verify {reference.removeprefix(PREFIX)}"
            if self._store is None:  # nor is it made by looking
                finding = say("the ledger names it, and the folder of jobs is gone")
                yield Verdict(reference, Standing.BAD, finding, step="muniment settings --explain")
                continue
            try:
                report = self._service().verify(check_job_id(reference.removeprefix(PREFIX)))
            except JobNotFound:
                finding = say("the ledger names it, and its folder is not there")
                yield Verdict(reference, Standing.BAD, finding, step=step)
            except MunimentError as error:
                yield unread(reference, error, step)
            else:
                yield _verdict(reference, report, step)

    def weigh(self, event: Event) -> Weighed | None:
        """A submission is somebody's word until the results were taken in and hashed."""
        weight = _WEIGHTS.get(event.kind)
        return Weighed(weight, event.subject) if weight is not None else None

    def unfinished(self) -> list[Unfinished]:
        """Jobs that have neither ended nor failed, by what their own files say now.

        One whose folder is gone is none: nothing of it can go on.
        """
        found: list[Unfinished] = []
        store = self._store
        if store is None:
            return found
        for job in self._jobs:
            try:
                at = store.glance(check_job_id(job))
            except NotThere:
                continue
            except MunimentError as error:
                step = f"muniment job verify {job}"
                found.append(Unfinished(f"{PREFIX}{job}", error.code, step, fault=error.message))
                continue
            if at.status not in (*ENDED, Status.COMPLETE):
                act = "poll" if at.phase is Phase.SUBMITTED else "show"
                found.append(Unfinished(f"{PREFIX}{job}", at.phase.value, f"muniment job {act} {job}"))
        return found

    def newest(self) -> Newest | None:
        """The job about which the ledger was told last."""
        return newest_of(self._ledger.newest(b',"subject":"job:'))


def _files(folder: Root, reference: str, registry: Registry, sought: Sought) -> Iterator[Hit]:
    downstream = registry.execution.downstream
    for name, role in _ROLES:
        for one in getattr(downstream, name):
            if sought.is_digest(one.sha256) or (not sought.digest and sought.is_in(one.path)):
                yield Hit(reference, role, printable(one.path), _stands(folder, one), one.sha256)
    for bound in registry.execution.bindings:
        digest = bound.fileId.removeprefix("sha256:")
        if bound.fileId.startswith("sha256:") and sought.is_digest(digest):
            yield Hit(reference, say("input of the job"), printable(bound.filename), None, digest)


def _stands(folder: Root, artifact: Artifact) -> Standing:
    try:
        return Standing.BAD if changed(folder, [artifact]) else Standing.GOOD
    except MunimentError:
        return Standing.UNKNOWN


def _verdict(reference: str, report: Report, step: str) -> Verdict:
    wrong = [check for check in report.checks if not check.good]
    if not wrong:
        # The last check is the one of the files, if there are any yet.
        return Verdict(reference, Standing.GOOD, report.checks[-1].finding, step=step)
    details = [
        say("{check}: {finding}", check=check.name, finding=finding)
        for check in wrong
        for finding in (check.finding, *check.details)
    ]
    return Verdict(reference, Standing.BAD, wrong[0].finding, tuple(details), step)
