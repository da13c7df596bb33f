"""Job: real container runtimes with stores of their own, started for the tests and ended by their ids."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.job.engines import served, wait_for
from tests.job.registry_server import PASSWORD, Registry, busybox, needed, registry
from tests.job.standin import REQUEST, StandIn, open_service

from muniment.job.backend import EngineState
from muniment.job.service import JobService, View
from muniment.job.tool_run import ToolRun
from muniment.record.consent import WitnessKind

SMALL = {"job.tool_memory_bytes": 64 << 20, "job.tool_processes": 64, "job.tool_seconds": 60}

_CONTAINERS = """[containers]
default_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
"""
"""For machines like CI's, whose root may not raise limits; a person's own needs none of it."""


@dataclass
class Bench:
    """One runtime with a registry beside it."""

    engine: str
    program: tuple[str, ...]
    registry: Registry
    guarded: Registry
    busybox: bytes
    services: list[JobService] = field(default_factory=list)

    def settings(self, **more: object) -> dict[str, object]:
        """What a person would set for this runtime and registry."""
        return {
            f"job.{self.engine}": list(self.program),
            "job.container_runtime": self.engine,
            "job.image_registry": self.registry.host,
            **SMALL,
            **{f"job.{name}": value for name, value in more.items()},
        }

    def job(
        self, place: Path, tool: str, *, job: str = "j", results: dict[str, bytes] | None = None, **more: Any
    ) -> JobService:
        """A job that stands where its tool can be pulled."""
        engine = StandIn(tools={tool: {"tool": tool}}, state=EngineState.SUCCEEDED)
        if results is not None:
            engine.results = results
        service = open_service(place, engine, **self.settings(**more))
        plan = service.init(job) and service.plan(job, REQUEST)
        service.confirm(job, plan.plan, WitnessKind.TERMINAL)
        service.submit(job)
        service.finalize(job, tool=tool)
        return service

    def ready(self, place: Path, name: str = "busybox", **more: Any) -> JobService:
        """A job whose tool is busybox and pulled."""
        service = self.job(place, f"{name}:1", **more)
        service.pull("j")
        return service

    def call(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """The runtime itself, as a person would ask it."""
        return subprocess.run([*self.program, *arguments], capture_output=True, text=True, check=False)

    def containers(self) -> list[str]:
        """The names of all containers that there are."""
        return self.call("ps", "--all", "--format", "{{.Names}}").stdout.split()

    def running(self) -> list[str]:
        """The names of those whose program has begun and not ended."""
        return self.call("ps", "--filter", "status=running", "--format", "{{.Names}}").stdout.split()


def last(view: View) -> ToolRun:
    """The last run of a job's tool."""
    return view.history.runs[-1]


def sh(service: JobService, script: str, job: str = "j", **more: Any) -> tuple[View, ToolRun]:
    """Run a line of shell as the tool."""
    view = service.run(job, ["/bin/sh", "-c", script], **more)
    return view, last(view)


@contextmanager
def podman(place: Path, hosts: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """podman with a store of its own."""
    needed("podman", "runc")
    (place / "containers.conf").write_text(_CONTAINERS)
    lines = ["unqualified-search-registries = []"]
    lines += [f'[[registry]]\nlocation = "{host}"\ninsecure = true' for host in hosts]
    (place / "registries.conf").write_text("\n".join(lines) + "\n")
    told = {
        "CONTAINERS_CONF": str(place / "containers.conf"),
        "CONTAINERS_REGISTRIES_CONF": str(place / "registries.conf"),
    }
    before = {name: os.environ.get(name) for name in told}
    os.environ.update(told)
    program = ("podman", "--root", str(place / "root"), "--runroot", str(place / "run"))
    try:
        yield program
    finally:
        subprocess.run([*program, "rm", "--all", "--force"], capture_output=True, check=False)
        subprocess.run(["umount", str(place / "root" / "overlay")], capture_output=True, check=False)
        shutil.rmtree(place / "root", ignore_errors=True)
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value


@contextmanager
def docker(place: Path) -> Iterator[tuple[str, ...]]:
    """docker with a service of its own, which nothing else on the machine sees."""
    needed("docker", "dockerd", "runc")
    if os.getuid() != 0:
        pytest.skip("a service of docker of its own needs root")
    socket = f"unix://{place}/docker.sock"
    argv = [
        "dockerd",
        "--data-root",
        f"{place}/data",
        "--exec-root",
        f"{place}/exec",
        "--pidfile",
        f"{place}/pid",
    ]
    argv += [
        "--host",
        socket,
        "--bridge",
        "none",
        "--iptables=false",
        "--ip6tables=false",
        "--ip-forward=false",
    ]
    argv += ["--ip-masq=false", "--exec-opt", "native.cgroupdriver=cgroupfs"]
    program = ("docker", "--config", str(place), "--host", socket)
    with served(argv, place):
        ask = [*program, "version", "--format", "{{.Server.Version}}"]
        wait_for(lambda: subprocess.run(ask, capture_output=True, check=False).returncode == 0, "docker")
        try:
            yield program
        finally:
            names = subprocess.run(
                [*program, "ps", "-aq"], capture_output=True, text=True, check=False
            ).stdout
            if names.split():
                subprocess.run([*program, "rm", "-f", *names.split()], capture_output=True, check=False)
    shutil.rmtree(place / "data", ignore_errors=True)


@contextmanager
def benches(place: Path) -> Iterator[dict[str, Bench]]:
    """Both runtimes and the registries, one of them behind a password; a runtime when first asked for."""
    needed("docker-registry", "busybox")
    with ExitStack() as stack:
        open_one = stack.enter_context(registry(place / "open"))
        guarded = stack.enter_context(registry(place / "guarded", password=PASSWORD))
        layer = busybox()
        open_one.push("busybox", "1", layer)

        class Found(dict[str, Bench]):
            def __missing__(self, engine: str) -> Bench:
                home = place / engine
                home.mkdir()
                if engine == "podman":
                    program = stack.enter_context(podman(home, [open_one.host, guarded.host]))
                else:
                    program = stack.enter_context(docker(home))
                self[engine] = Bench(engine, program, open_one, guarded, layer)
                return self[engine]

        yield Found()
