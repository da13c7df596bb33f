"""Job: one run of a container under watch, over a stand-in for the runtime and a clock of the test."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

from muniment.disk.root import Root
from muniment.job.container_argv import Caller, Mount, Order
from muniment.job.container_proc import Kernel
from muniment.job.container_runtime import ContainerRuntime
from muniment.job.containers import LIMITS
from muniment.job.docker import DOCKER
from muniment.job.launching import Done
from muniment.job.tool_run import Proof, RunOutcome
from muniment.job.tool_watch import Watch

IMAGE = "sha256:" + "a" * 64
SECONDS = 100
"""How long the program runs, on the clock of the test."""


class Elsewhere:
    """A stand-in for a runtime in a virtual machine: its processes are none of this machine's."""

    def __init__(self) -> None:
        self.now = 0.0
        self.looks = 0
        self.status = "created"

    def run(
        self, argv: Sequence[str], *, deadline: float, keep: Sequence[int] = (), cwd: str | None = None
    ) -> Done:
        if argv[1:3] != ["container", "inspect"]:
            return Done(0, b"", b"")
        self.looks += 1
        state = {
            "Status": self.status,
            "StartedAt": "0001-01-01T00:00:00Z" if self.status == "created" else "2026-11-30T12:00:00Z",
            "Pid": 7 if self.status == "running" else 0,
            "ExitCode": 0,
        }
        value = {
            "Id": "c",
            "Image": IMAGE,
            "State": state,
            "HostConfig": {"NetworkMode": "none", "ReadonlyRootfs": True},
            "Mounts": [{"Type": "bind", "Source": "/o", "Destination": "/outputs", "RW": True}],
        }
        return Done(0, json.dumps([value]).encode(), b"")

    def start(self, argv: Sequence[str], *, out: int, err: int, keep: Sequence[int] = ()) -> Elsewhere:
        self.status = "running"
        return self

    def wait(self, seconds: float) -> int | None:
        self.now += seconds
        if self.now < SECONDS:
            return None
        self.status = "exited"
        return 0

    def kill(self) -> None:
        """It has ended."""


def test_what_the_kernel_can_not_tell_is_not_asked_for_without_end(tmp_path: Path) -> None:
    """Each look is a process of its own: fifty a second for hours would be a load by itself."""
    (tmp_path / "run" / "outputs").mkdir(parents=True)
    machine = Elsewhere()
    caller = Caller(1000, 1000, (1024, 1024), (64, 64))
    runtime = ContainerRuntime(DOCKER, ("docker",), machine, lambda: caller)
    order = Order("muniment-x", IMAGE, ("tool",), LIMITS, (Mount("/o", "/outputs", True),))
    with Root.open(tmp_path / "run") as folder, open(os.devnull, "wb") as nothing:
        watch = Watch(
            runtime=runtime,
            kernel=Kernel(proc=str(tmp_path / "proc"), groups=str(tmp_path / "groups")),
            order=order,
            folder=folder,
            monotonic=lambda: machine.now,
            out=nothing.fileno(),
            err=nothing.fileno(),
            keep=(),
        )
        ended = watch.supervise(lambda network: None)
    assert ended.outcome is RunOutcome.EXITED
    assert ended.network is not None and ended.network.proof is Proof.INSPECTED
    assert machine.looks < 2 * SECONDS
