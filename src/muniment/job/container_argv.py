"""Room `job`: the command lines by which containers are made and run.  Pure.

One builder serves both runtimes; what differs between them stands in a `Dialect`, one table a
runtime (`podman`, `docker`).  Nothing here can be switched off: no network, a read-only
image, no capabilities, and no more than the one writable folder (spec 2, containers).
"""

from __future__ import annotations

from dataclasses import dataclass

from muniment.job.tool_run import Engine, Limits

INPUTS, SCRIPTS, OUTPUTS = "/inputs", "/scripts", "/outputs"
"""Where a container finds what it is given, and where it leaves what it makes."""


@dataclass(frozen=True, slots=True)
class Mount:
    """A file or folder of this machine as the container sees it."""

    source: str
    target: str
    writable: bool = False


@dataclass(frozen=True, slots=True)
class Caller:
    """Who runs Muniment, and the limits that the system sets them: soft and hard, -1 for none.

    A container gets no more of either; raising them would need a right that callers often lack.
    """

    user: int
    group: int
    open_files: tuple[int, int]
    processes: tuple[int, int]
    file_size: int = -1


@dataclass(frozen=True, slots=True)
class Order:
    """A container as it is to be made."""

    container: str
    image_id: str
    argv: tuple[str, ...]
    limits: Limits
    mounts: tuple[Mount, ...]


@dataclass(frozen=True, slots=True)
class Dialect:
    """What is particular to one runtime.

    `init` is empty where a container can not be prepared without its program beginning.  The
    words tell from its own messages why an image could not be fetched: no interface says it.
    """

    engine: Engine
    install: str
    version: tuple[str, ...]
    create: tuple[str, ...]
    init: tuple[str, ...]
    start: tuple[str, ...]
    remove: tuple[str, ...]
    maps_caller_to_root: bool
    no_container: tuple[str, ...]
    no_image: tuple[str, ...]
    unknown: tuple[str, ...]
    denied: tuple[str, ...]
    corrupt: tuple[str, ...]
    unreachable: tuple[str, ...]


def create_argv(program: tuple[str, ...], dialect: Dialect, order: Order, caller: Caller) -> list[str]:
    """The command that makes the container of an order without starting it."""
    limits = order.limits
    user = "0:0" if dialect.maps_caller_to_root else f"{caller.user}:{caller.group}"
    size = limits.file_size_bytes if caller.file_size < 0 else min(caller.file_size, limits.file_size_bytes)
    argv = [*program, "create", "--name", order.container, "--pull", "never"]
    argv += ["--network", "none", "--read-only", "--cap-drop", "all"]
    argv += ["--security-opt", "no-new-privileges", "--security-opt", "label=disable"]
    argv += ["--log-driver", "none", "--restart", "no", "--user", user, "--workdir", OUTPUTS]
    argv += ["--pids-limit", str(limits.pids), "--cpus", str(limits.cpus)]
    # The same for both: nothing may go to the swap instead.
    argv += ["--memory", str(limits.memory_bytes), "--memory-swap", str(limits.memory_bytes)]
    # One such option replaces a runtime's whole default list, so the list is complete here.
    argv += ["--ulimit", f"fsize={size}:{size}"]
    argv += ["--ulimit", f"nofile={caller.open_files[0]}:{caller.open_files[1]}"]
    argv += ["--ulimit", f"nproc={caller.processes[0]}:{caller.processes[1]}"]
    # In memory, within the memory limit, and gone afterwards.
    argv += ["--tmpfs", "/tmp:rw,nosuid,nodev"]
    argv += dialect.create
    for mount in order.mounts:
        argv += ["--mount", mount_word(mount)]
    return [*argv, order.image_id, *order.argv]


def mount_word(mount: Mount) -> str:
    """A mount as both runtimes read it: one line of comma-separated values, quoted.

    >>> mount_word(Mount("/a,b", "/inputs/b"))
    'type=bind,"source=/a,b","target=/inputs/b",readonly'
    """
    fields = [f"source={mount.source}", f"target={mount.target}"]
    words = ["type=bind", *('"' + field.replace('"', '""') + '"' for field in fields)]
    return ",".join(words if mount.writable else [*words, "readonly"])
