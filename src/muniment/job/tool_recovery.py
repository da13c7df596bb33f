"""Room `job`: a run of a tool whose announcer is gone: ended for good, and put on record as `killed`.

Two locks in the folder of a run tell who is still there.  `runner` is held by the process that
announced it, and ends with that process; `alive` is inherited by all that it started, so that no
straggler of it can start the container after we looked (spec 2, containers).
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from muniment.clock import instant
from muniment.disk import platform
from muniment.disk.errors import Locked, NotThere
from muniment.disk.locks import locked
from muniment.disk.root import Root
from muniment.job import rules
from muniment.job.backend import Piece
from muniment.job.containers import Containers
from muniment.job.errors import ContainerStuck, ToolRunning
from muniment.job.model import Artifact, Phase, Status
from muniment.job.outputs import measure_pieces
from muniment.job.tool_inputs import is_result
from muniment.job.tool_run import RUN, Intent, RunOutcome, ToolRun
from muniment.job.tool_watch import STDERR, STDOUT
from muniment.message import say
from muniment.path import RelPath

if TYPE_CHECKING:
    from muniment.job.service import JobService
    from muniment.job.store import Opened

RUNNER, ALIVE = RelPath(("runner",)), RelPath(("alive",))
_PATIENCE = 30
_PAUSE = 0.05


def run_folder(run: str) -> RelPath:
    """Where a run lies in the folder of its job."""
    return RelPath(("tool", run))


def settle(service: JobService, opened: Opened) -> None:
    """End a run whose announcer is gone, and finish what a crash left undone of one that ended.

    `ToolRunning` while the process that announced it lives; nothing is started here.
    """
    intent = opened.history.run_intent
    if intent is not None:
        folder = run_folder(intent.run)
        opened.folder.make_folders(folder, 0o700)
        with opened.folder.below(folder) as run:
            try:
                with locked(run, RUNNER, wait=False):
                    began = _end(service.containers, run, intent)
            except Locked as error:
                raise ToolRunning(where=opened.job, job=opened.job, container=intent.container) from error
        _record_lost(service, opened, intent, began)
    _catch_up(service, opened)


def _end(containers: Containers, run: Root, intent: Intent) -> bool:
    """Remove the container and outlast every process that knew of it; whether its program may
    have begun."""
    runtime = containers.runtimes[intent.engine]
    runtime.version()
    began = bool(intent.started_at)
    until = containers.monotonic() + _PATIENCE
    while True:
        try:
            with locked(run, ALIVE, wait=False):
                # Nobody is left who could start it between this look and its removal.
                seen = runtime.look(intent.container)
                if seen is not None:
                    began = began and seen.started
                    runtime.remove(intent.container)
                return began
        except Locked:
            runtime.remove(intent.container)
            if containers.monotonic() > until:
                why = say("a process that was to start it is still there")
                raise ContainerStuck(where=runtime.name, why=why, container=intent.container) from None
            time.sleep(_PAUSE)


def _record_lost(service: JobService, opened: Opened, intent: Intent, began: bool) -> None:
    told = tool_run_of(intent, RunOutcome.KILLED if began else RunOutcome.START_FAILED)
    if began:
        told = replace(
            told,
            network=intent.network,
            started_at=intent.started_at,
            ended_at=instant(service.workspace.clock()),
            logs=logs_of(opened.folder, intent.run),
            why=str(say("the process that watched it was gone")),
        )
    else:
        told = replace(told, why=str(say("the process that was to start it was gone")))
    record(service, opened, told)


def tool_run_of(intent: Intent, outcome: RunOutcome) -> ToolRun:
    """What is known of a run before it ran."""
    return ToolRun(
        run=intent.run,
        container=intent.container,
        engine=intent.engine,
        engine_version=intent.engine_version,
        image=intent.image,
        argv=intent.argv,
        limits=intent.limits,
        network=None,
        outcome=outcome,
        inputs=intent.inputs,
        scripts=intent.scripts,
    )


def logs_of(job: Root, run: str) -> tuple[Artifact, ...]:
    """The two streams of a run, as far as they were begun."""
    found: list[Artifact] = []
    for name, role in ((STDOUT, "stdout"), (STDERR, "stderr")):
        try:
            found += measure_pieces(job, [Piece(run_folder(run) / name, role)])
        except NotThere:
            continue
    return tuple(found)


def record(service: JobService, opened: Opened, told: ToolRun) -> None:
    """Write the end of a run: into the journal first, then the registry, then the ledger."""
    service.store.note(opened, RUN, told.to_json())
    _catch_up(service, opened)
    evidence = {"run": told.run, "outcome": told.outcome.value, "exit_code": told.exit_code}
    service.tell(opened.job, "tool_run", opened.registry, evidence)


def _catch_up(service: JobService, opened: Opened) -> None:
    """Bring the registry to where the last run has brought the job, should it not be there yet."""
    registry, runs = opened.registry, opened.history.runs
    if (
        not opened.history.behind
        or not runs
        or registry.workflow.phase is not Phase.FINALIZE
        or registry.workflow.status in rules.ENDED
    ):
        return
    last, downstream = runs[-1], registry.execution.downstream
    known = {one.path for one in downstream.logs}
    logs = (*downstream.logs, *(one for one in last.logs if one.path not in known))
    if last.succeeded:
        results = tuple(one for one in downstream.outputs if is_result(opened.folder, one))
        downstream = replace(
            downstream, generated_scripts=last.scripts, outputs=(*results, *last.outputs), logs=logs
        )
        status = Status.COMPLETE
    else:
        downstream = replace(downstream, logs=logs)
        status = Status.BLOCKED
    registry = replace(registry, execution=replace(registry.execution, downstream=downstream))
    after = rules.moved(registry, Phase.FINALIZE, status)
    service.store.move(opened, after, "tool_run", {"run": last.run})


@contextmanager
def announced(run: Root) -> Iterator[int]:
    """Hold both locks of a run's folder; the descriptor is what its processes inherit."""
    with locked(run, RUNNER, wait=False):
        fd = run.open_file(ALIVE, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            yield fd
        finally:
            # Not unlocked: that would also take it from those who inherited it.
            platform.close(fd)
