"""Room `job`: the service put together from the settings."""

from __future__ import annotations

import os
from collections.abc import Mapping

from muniment.clock import Clock
from muniment.disk.errors import named
from muniment.disk.root import Root
from muniment.ids import Entropy
from muniment.job import settings as known
from muniment.job.backend import WorkflowBackend
from muniment.job.containers import Containers, runtimes_of
from muniment.job.cwl import CwlBackend
from muniment.job.export.facts import Names, Party
from muniment.job.fkit import FkitBackend
from muniment.job.launching import SystemLauncher
from muniment.job.service import JobService
from muniment.job.settings import (
    AUTHOR,
    ENGINE,
    FKIT,
    LICENCE,
    PUBLISHER,
    ROOT,
    WES_SHARED,
    WES_TOKEN,
    WES_URL,
    name_and_address,
)
from muniment.job.store import JobStore
from muniment.job.tool_run import Engine, Limits
from muniment.job.wes import WesBackend
from muniment.record.consent import RELAYED
from muniment.record.state import Workspace
from muniment.settings import Settings


def engines_of(settings: Settings, clock: Clock, entropy: Entropy) -> Mapping[str, WorkflowBackend]:
    """Every engine that the settings make usable."""
    engines: dict[str, WorkflowBackend] = {
        "cwl": CwlBackend(clock, entropy),
        "fkit": FkitBackend(settings.get(FKIT)),
    }
    if settings.get(WES_URL):
        engines["wes"] = WesBackend(settings.get(WES_URL), settings.get(WES_TOKEN), settings.get(WES_SHARED))
    return engines


def containers_of(settings: Settings) -> Containers:
    """The container runtimes, and the limits of what they run, as the settings say."""
    programs = {Engine.PODMAN: settings.get(known.PODMAN), Engine.DOCKER: settings.get(known.DOCKER)}
    limits = Limits(
        memory_bytes=settings.get(known.MEMORY),
        # A runtime refuses more than there are.
        cpus=min(settings.get(known.CPUS), os.cpu_count() or 1),
        pids=settings.get(known.PROCESSES),
        file_size_bytes=settings.get(known.FILE_SIZE),
        deadline_s=settings.get(known.SECONDS),
        output_bytes=settings.get(known.OUTPUT_BYTES),
    )
    return Containers(
        runtimes=runtimes_of(programs, SystemLauncher()),
        chosen=Engine(settings.get(known.CONTAINER_RUNTIME)),
        registry=settings.get(known.IMAGE_REGISTRY),
        auth_file=settings.get(known.AUTH_FILE),
        limits=limits,
    )


def jobs_folder(settings: Settings) -> Root:
    """The folder of all jobs, made when it is missing; whoever opens it closes it."""
    place = settings.get(ROOT)
    with named(place):
        os.makedirs(place, exist_ok=True)
    return Root.open(place)


def service_of(
    workspace: Workspace,
    root: Root,
    settings: Settings,
    *,
    actor: str = "library",
    engines: Mapping[str, WorkflowBackend] | None = None,
) -> JobService:
    """The service over an open folder of jobs, with the engines of the settings or those given."""
    relayed = settings.get(RELAYED)
    store = JobStore(root, clock=workspace.clock, entropy=workspace.entropy, actor=actor, relayed=relayed)
    chosen = engines if engines is not None else engines_of(settings, workspace.clock, workspace.entropy)
    return JobService(
        store,
        workspace,
        chosen,
        default_engine=settings.get(ENGINE),
        relayed=relayed,
        named_in_exports=_names(settings),
        containers=containers_of(settings),
    )


def _names(settings: Settings) -> Names:
    author, publisher = (name_and_address(settings.get(one)) for one in (AUTHOR, PUBLISHER))
    return Names(
        settings.get(LICENCE), Party(*author) if author else None, Party(*publisher) if publisher else None
    )
