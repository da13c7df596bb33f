"""Room `job`: the container runtimes that a service has, and what a person has set about them."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from muniment.job import settings as known
from muniment.job.container_argv import Caller
from muniment.job.container_proc import Kernel
from muniment.job.container_runtime import ContainerRuntime
from muniment.job.docker import DOCKER
from muniment.job.errors import BadTool, ImageWithoutRegistry
from muniment.job.image_name import image_tag_of, names_registry
from muniment.job.launching import Launcher, SystemLauncher
from muniment.job.podman import PODMAN
from muniment.job.tool_run import Engine, Limits
from muniment.message import say
from muniment.path import printable

LOCAL = "localhost/"
"""What stands before the name of an image that was made on this machine, and is in no registry."""


_MOST_PROCESSES = 32768


def this_caller() -> Caller:
    """Who runs this process, and the limits that the system sets them."""
    soft_files, hard_files = resource.getrlimit(resource.RLIMIT_NOFILE)
    soft_processes, hard_processes = resource.getrlimit(resource.RLIMIT_NPROC)
    return Caller(
        user=os.getuid(),
        group=os.getgid(),
        open_files=(_limit(soft_files), _limit(hard_files)),
        processes=(_processes(soft_processes), _processes(hard_processes)),
        file_size=_limit(resource.getrlimit(resource.RLIMIT_FSIZE)[1]),
    )


def _processes(value: int) -> int:
    """The least of the caller's limit and of what podman leaves itself; `pids` bounds a run anyhow."""
    return _MOST_PROCESSES if value == resource.RLIM_INFINITY else min(value, _MOST_PROCESSES)


def _limit(value: int) -> int:
    return -1 if value == resource.RLIM_INFINITY else value


def runtimes_of(
    programs: Mapping[Engine, tuple[str, ...]], launcher: Launcher
) -> Mapping[Engine, ContainerRuntime]:
    """Both runtimes, each by the program that a person has set for it."""
    dialects = {Engine.PODMAN: PODMAN, Engine.DOCKER: DOCKER}
    return {
        engine: ContainerRuntime(dialect, programs.get(engine) or (engine.value,), launcher, this_caller)
        for engine, dialect in dialects.items()
    }


LIMITS = Limits(
    memory_bytes=known.MEMORY.default,
    cpus=known.CPUS.default,
    pids=known.PROCESSES.default,
    file_size_bytes=known.FILE_SIZE.default,
    deadline_s=known.SECONDS.default,
    output_bytes=known.OUTPUT_BYTES.default,
)
"""What a run may use where nobody has set anything else."""


@dataclass(frozen=True, slots=True)
class Containers:
    """All that running a tool needs beside the job: none of it can be set by a workspace.

    `registry` stands before the names of images that name none; `monotonic` counts seconds and
    never goes back.
    """

    runtimes: Mapping[Engine, ContainerRuntime] = field(
        default_factory=lambda: runtimes_of({}, SystemLauncher())
    )
    chosen: Engine = Engine.PODMAN
    registry: str = ""
    auth_file: str = ""
    limits: Limits = LIMITS
    kernel: Kernel = field(default_factory=Kernel)
    monotonic: Callable[[], float] = time.monotonic

    @property
    def runtime(self) -> ContainerRuntime:
        """The runtime that is used."""
        return self.runtimes[self.chosen]


def image_reference(registry: str, image_tag: str) -> str:
    """Where an image is fetched from: its tag, with the registry before it where it names none.

    >>> image_reference("registry.example.org/tools", "seqtk:1")
    'registry.example.org/tools/seqtk:1'
    >>> image_reference("registry.example.org", "localhost/seqtk:1")
    'localhost/seqtk:1'
    """
    if names_registry(image_tag):
        return image_tag
    if not registry:
        raise ImageWithoutRegistry(image=printable(image_tag))
    name, _, version = f"{registry}/{image_tag}".rpartition(":")
    if image_tag_of(name, int(version)) is None:
        raise BadTool(tool=printable(image_tag), why=say("no registry takes an image of this name"))
    return f"{name}:{version}"
