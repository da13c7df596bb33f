"""Room `job`: running a job's tool on its results: announced, watched, taken in, put on record.

The job is locked while a run is announced and while its end is written, not in between.  Should
this process die in between, `tool_recovery` ends the container and says so; a second one is never
started while a first is unaccounted for (spec 2, containers).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from muniment.clock import instant
from muniment.disk import platform
from muniment.disk.root import Root
from muniment.disk.tree import remove_tree
from muniment.errors import MunimentError
from muniment.ids import new_ulid
from muniment.job import tool_recovery
from muniment.job.container_argv import OUTPUTS as WRITABLE
from muniment.job.container_argv import Mount, Order
from muniment.job.errors import BadCommand, NotPulled
from muniment.job.pulling import require_tool
from muniment.job.tool_inputs import give
from muniment.job.tool_outputs import take_outputs
from muniment.job.tool_recovery import logs_of, run_folder, tool_run_of
from muniment.job.tool_run import (
    RUN_INTENT,
    RUN_START,
    Image,
    Intent,
    NoNetwork,
    RunOutcome,
    Start,
    ToolRun,
    container_of,
)
from muniment.job.tool_watch import OUTPUTS, STDERR, STDOUT, Ended, Watch
from muniment.message import say

if TYPE_CHECKING:
    from muniment.job.containers import Containers
    from muniment.job.service import JobService, View
    from muniment.job.store import Opened

_LONGEST = 128 << 10
"""Bytes of all arguments together."""


@dataclass(frozen=True, slots=True)
class _Announced:
    """A run that is on record and was not started yet."""

    intent: Intent
    mounts: tuple[Mount, ...]


def run_tool(
    service: JobService,
    job: str,
    argv: Sequence[str],
    *,
    inputs: Sequence[str] = (),
    scripts: Sequence[str] = (),
) -> View:
    """Run the tool once and put on record what came of it, whatever that is.

    The answer's last run tells how it ended; only `succeeded` completes the job.  Errors are raised
    for what kept a run from being announced at all.
    """
    require_command(argv)
    containers = service.containers
    with service.opened(job) as opened:
        require_tool(service, opened)
        failed = _pull_failed(service, opened, argv)
        if failed is not None:
            return failed
        run = new_ulid(service.workspace.clock(), service.workspace.entropy)
        folder = run_folder(run)
        opened.folder.make_folders(folder, 0o700)
        home = opened.folder.below(folder)
    try:
        with tool_recovery.announced(home) as alive:
            with service.opened(job) as opened:
                require_tool(service, opened)
                told = _announce(service, opened, run, home, argv, inputs, scripts)
            ended, started_at = _watch(service, job, told, home, alive)
            with service.opened(job) as opened:
                done = _told(service, opened, told.intent, ended, started_at)
                tool_recovery.record(service, opened, done)
                view = service.view(opened, True)
            containers.runtime.remove(told.intent.container)
            return view
    except BaseException:
        # Outside of both locks by now, as the next call would be: what was announced is ended here.
        home.close()
        with service.opened(job) as opened:
            tool_recovery.settle(service, opened)
            if not any(one.run == run for one in opened.history.runs):
                remove_tree(opened.folder, folder)
        raise
    finally:
        home.close()


def require_command(argv: Sequence[str]) -> None:
    """`BadCommand` for what no program can be given."""
    if not argv or not argv[0]:
        raise BadCommand(why=say("it names no program"))
    try:
        size = sum(len(word.encode("utf-8")) + 1 for word in argv)
    except UnicodeEncodeError as error:
        raise BadCommand(why=say("it is not UTF-8")) from error
    if any("\0" in word for word in argv):
        raise BadCommand(why=say("it holds a zero byte"))
    if argv[0].startswith("-"):
        raise BadCommand(why=say("its program would be taken for an option"))
    if size > _LONGEST:
        raise BadCommand(why=say("it has {count} bytes, more than {most}", count=size, most=_LONGEST))


def _image_of(opened: Opened) -> Image | None:
    """The image that was fetched, as both the registry and the journal say; else None."""
    pull, post = opened.history.fetched, opened.registry.execution.downstream.pull_ledger.post_image_id
    if pull is None or post is None:
        return None
    if pull.post_image_id == post:
        return Image(pull.reference, post, pull.manifest_digest, pull.media_type, pull.platform)
    return None


def _pull_failed(service: JobService, opened: Opened, argv: Sequence[str]) -> View | None:
    """Without an image there is no run: where fetching it failed, that is what is on record of it."""
    if _image_of(opened) is not None:
        return None
    pull, containers = opened.history.pull, service.containers
    if pull is None or not pull.failed:
        raise NotPulled(where=opened.job, job=opened.job)
    run = new_ulid(service.workspace.clock(), service.workspace.entropy)
    intent = Intent(
        run=run,
        container=container_of(run),
        engine=containers.chosen,
        engine_version="",
        image=Image(pull.reference),
        argv=tuple(argv),
        limits=containers.limits,
    )
    told = replace(tool_run_of(intent, RunOutcome.PULL_FAILED), why=pull.why)
    tool_recovery.record(service, opened, told)
    return service.view(opened, True)


def _announce(
    service: JobService,
    opened: Opened,
    run: str,
    home: Root,
    argv: Sequence[str],
    inputs: Sequence[str],
    scripts: Sequence[str],
) -> _Announced:
    containers = service.containers
    image = _image_of(opened)
    if image is None:
        raise NotPulled(where=opened.job, job=opened.job)
    version = containers.runtime.version()
    home.make_folders(OUTPUTS, 0o700)
    given = give(opened.folder, opened.job, opened.registry, home, inputs, scripts)
    intent = Intent(
        run=run,
        container=container_of(run),
        engine=containers.chosen,
        engine_version=version,
        image=image,
        argv=tuple(argv),
        limits=containers.limits,
        inputs=given.inputs,
        scripts=given.scripts,
    )
    service.store.note(opened, RUN_INTENT, intent.to_json())
    writable = Mount(os.path.join(home.path, *OUTPUTS.parts), WRITABLE, writable=True)
    return _Announced(intent, (*given.mounts, writable))


def _watch(service: JobService, job: str, told: _Announced, home: Root, alive: int) -> tuple[Ended, str]:
    """Have it run, its streams in two new files; the answer holds when its program began."""
    containers, intent = service.containers, told.intent
    assert intent.image.id is not None
    order = Order(intent.container, intent.image.id, intent.argv, intent.limits, told.mounts)
    started_at = ""

    def begins(network: NoNetwork) -> None:
        nonlocal started_at
        started_at = instant(service.workspace.clock())
        with service.opened(job) as opened:
            service.store.note(opened, RUN_START, Start(intent.run, network, started_at).to_json())

    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND
    out = home.open_file(STDOUT, flags, 0o600)
    try:
        err = home.open_file(STDERR, flags, 0o600)
        try:
            watch = _watch_of(containers, order, home, out, err, alive)
            ended = watch.supervise(begins)
            platform.sync_data(out)
            platform.sync_data(err)
        finally:
            platform.close(err)
    finally:
        platform.close(out)
    return ended, started_at


def _watch_of(containers: Containers, order: Order, home: Root, out: int, err: int, alive: int) -> Watch:
    return Watch(
        runtime=containers.runtime,
        kernel=containers.kernel,
        order=order,
        folder=home,
        monotonic=containers.monotonic,
        out=out,
        err=err,
        keep=(alive,),
    )


def _told(service: JobService, opened: Opened, intent: Intent, ended: Ended, started_at: str) -> ToolRun:
    """The end of a run as it goes on record, with all it left."""
    told = replace(tool_run_of(intent, ended.outcome), why=str(ended.why))
    if not told.started:
        return told
    told = replace(
        told,
        network=ended.network,
        exit_code=ended.exit_code,
        started_at=started_at,
        ended_at=instant(service.workspace.clock()),
        logs=logs_of(opened.folder, intent.run),
    )
    try:
        folder = run_folder(intent.run) / OUTPUTS
        outputs = take_outputs(opened.folder, folder, intent.limits.output_bytes)
    except MunimentError as error:
        why = f"{told.why}; {error}" if told.why else str(error)
        return replace(told, why=why)
    return replace(told, outputs=outputs, collected=True)
