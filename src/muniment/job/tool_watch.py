"""Room `job`: one run of a container, from its making to its end, under our own watch.

The runtime's own exit code is no witness: it means something else when nothing was started.  So
whether the program began, how it ended and why is read from the container's state, the clock and
the kernel (spec 2, containers).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from muniment.disk.root import Root
from muniment.disk.tree import walk_stats
from muniment.errors import MunimentError
from muniment.job.container_answers import Seen
from muniment.job.container_argv import Order
from muniment.job.container_proc import Kernel
from muniment.job.container_runtime import ContainerRuntime
from muniment.job.errors import ContainerDiffers, NetworkFound, OutputTooLarge
from muniment.job.launching import Attached
from muniment.job.tool_run import NoNetwork, Proof, RunOutcome
from muniment.message import Message, say
from muniment.path import RelPath, printable

OUTPUTS, STDOUT, STDERR = RelPath(("outputs",)), RelPath(("stdout.log",)), RelPath(("stderr.log",))
"""What lies in the folder of a run."""

_POLL = 0.02
"""Seconds between two looks: the kernel's count of memory faults is gone 0.1 s after the end."""

_SIZES = 1.0
_GRACE = 30.0
_BY_SIGKILL = 137
_LOOPBACK = ("lo",)


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run ended; `network` is None when its program never began."""

    outcome: RunOutcome
    exit_code: int | None = None
    network: NoNetwork | None = None
    why: Message | str = ""


@dataclass(slots=True)
class Watch:
    """One run: the container that is wanted, the folder of the run, its open streams, and what its
    processes inherit."""

    runtime: ContainerRuntime
    kernel: Kernel
    order: Order
    folder: Root
    monotonic: Callable[[], float]
    out: int
    err: int
    keep: Sequence[int]
    network: NoNetwork | None = None
    memory: str | None = None
    oom: bool = False

    def supervise(self, begins: Callable[[NoNetwork], None]) -> Ended:
        """Make it, prove that it has no network, start it, and stay until it has ended.

        `begins` is called once everything is ready and before the program may begin.  The
        container is left where it is: it goes when its end is on record.
        """
        try:
            seen = self._make()
        except MunimentError as error:
            return Ended(RunOutcome.START_FAILED, why=str(error))
        assert self.network is not None
        begins(self.network)
        attached = self.runtime.start(self.order.container, out=self.out, err=self.err, keep=self.keep)
        try:
            cause = self._stay(attached, seen)
            if cause is not None:
                self.runtime.kill(self.order.container)
                attached.wait(_GRACE)
        finally:
            # It may outlive neither its container nor us.
            attached.kill()
        return self._end(cause)

    def _make(self) -> Seen:
        """The container, made, held against its order, and known to be without a network."""
        self.runtime.create(self.order, self.keep)
        seen = self._looked()
        differs = _difference(self.order, seen)
        if differs is not None:
            raise ContainerDiffers(why=differs, runtime=self.runtime.name)
        self.network = NoNetwork(Proof.INSPECTED, _LOOPBACK)
        if self.runtime.dialect.init:
            self.runtime.init(self.order.container, self.keep, self.folder.path)
            seen = self._looked()
            self._prove(seen, Proof.READ)
        return seen

    def _looked(self) -> Seen:
        seen = self.runtime.look(self.order.container)
        if seen is None:
            raise ContainerDiffers(why=say("it is not there"), runtime=self.runtime.name)
        return seen

    def _prove(self, seen: Seen, proof: Proof) -> None:
        """Read the kernel's own table of the container's interfaces, where it can be read."""
        if self.memory is None:
            self.memory = self.kernel.memory_file(seen.pid, seen.id)
        found = self.kernel.interfaces(seen.pid, seen.id)
        if not found:
            return
        if found != _LOOPBACK:
            raise NetworkFound(interfaces=printable(", ".join(found)))
        self.network = NoNetwork(proof, found)

    def _stay(self, attached: Attached, seen: Seen) -> tuple[RunOutcome, Message] | None:
        """Wait for the end; what has to be ended from here is answered with the reason."""
        limits = self.order.limits
        begun = self.monotonic()
        next_sizes, outputs = begun + _SIZES, 0
        while attached.wait(_POLL) is None:
            now = self.monotonic()
            if seen.pid == 0 or self.network is None or self.network.proof is Proof.INSPECTED:
                try:
                    seen = self._observe(seen)
                except NetworkFound as error:
                    return RunOutcome.KILLED, error.message
            self._look_at_memory()
            if now - begun >= limits.deadline_s:
                return RunOutcome.TIMED_OUT, say("no end within {count} s", count=limits.deadline_s)
            if now >= next_sizes:
                outputs = self._size_of_outputs()
                next_sizes = now + max(_SIZES, 10 * (self.monotonic() - now))
            size = outputs + os.fstat(self.out).st_size + os.fstat(self.err).st_size
            if size > limits.output_bytes:
                return RunOutcome.KILLED, _too_large(size, limits.output_bytes).message
        self._look_at_memory()
        return None

    def _observe(self, seen: Seen) -> Seen:
        """Where nothing could be prepared: the same facts, as soon as there is a process."""
        found = self.runtime.look(self.order.container)
        if found is None:
            return seen
        if found.pid:
            self._prove(found, Proof.OBSERVED)
        return found

    def _look_at_memory(self) -> None:
        if self.memory is not None and not self.oom:
            self.oom = bool(self.kernel.ended_for_memory(self.memory))

    def _size_of_outputs(self) -> int:
        total = 0
        try:
            for _, found in walk_stats(self.folder, OUTPUTS):
                total += found.st_size
        except MunimentError:
            return total  # It changes while we look, or is closed to us; the last look is at its end.
        return total

    def _end(self, cause: tuple[RunOutcome, Message] | None) -> Ended:
        seen = self.runtime.look(self.order.container)
        if seen is not None and seen.runs:
            # Whoever held its streams is gone, so what it says from now on would be lost.
            self.runtime.kill(self.order.container)
            seen = self.runtime.look(self.order.container)
            cause = cause or (RunOutcome.KILLED, say("the runtime let go of its streams"))
        if seen is None:
            return Ended(RunOutcome.KILLED, None, self.network, say("the container was removed from outside"))
        if not seen.started:
            return Ended(RunOutcome.START_FAILED, why=say("{words}", words=self._words_of(seen)))
        code = seen.exit_code if seen.exit_code >= 0 else None
        if cause is not None:
            return Ended(cause[0], code, self.network, cause[1])
        if self.oom or seen.oom:
            most = say("it wanted more than {count} bytes of memory", count=self.order.limits.memory_bytes)
            return Ended(RunOutcome.OOM, code, self.network, most)
        if code is None or code == _BY_SIGKILL:
            return Ended(RunOutcome.KILLED, code, self.network, say("it was ended from outside"))
        why = say("it ended with exit code {code}", code=code) if code else ""
        return Ended(RunOutcome.EXITED, code, self.network, why)

    def _words_of(self, seen: Seen) -> str:
        """What is said of a program that could not begin: by the state, else on the stream."""
        if seen.error:
            return printable(seen.error)[:500]
        lines = self.folder.read(STDERR).decode("utf-8", "replace").strip().splitlines()
        return printable(lines[-1])[:500] if lines else "-"


def _difference(order: Order, seen: Seen) -> Message | None:
    """What of a container is not as it was ordered; None when all is."""
    if seen.image_id != order.image_id:
        return say("its image is {found}, not {wanted}", found=seen.image_id, wanted=order.image_id)
    if seen.network != "none" or not set(seen.networks) <= {"none"}:
        return say("its network is {found}, not none", found=printable(seen.network))
    if not seen.read_only or seen.privileged:
        return say("its image could be written to, or it has privileges")
    if sorted(seen.mounts, key=repr) != sorted(order.mounts, key=repr):
        return say("it sees other files and folders than it was to be given")
    if not seen.ready:
        return say("its program has begun already")
    return None


def _too_large(found: int, most: int) -> OutputTooLarge:
    return OutputTooLarge(found=say("{count} bytes", count=found), most=say("{count} bytes", count=most))
