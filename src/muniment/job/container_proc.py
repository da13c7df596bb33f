"""Room `job`: what the kernel itself says of a container's process: its network, its memory.

A number of a process means nothing on its own: the runtime may be in a virtual machine, and then
that number is somebody else's here.  So a process counts only when its control group bears the
container's id.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

PROC = "/proc"
GROUPS = "/sys/fs/cgroup"


@dataclass(frozen=True, slots=True)
class Kernel:
    """Where the kernel's files are."""

    proc: str = PROC
    groups: str = GROUPS

    def interfaces(self, pid: int, container: str) -> tuple[str, ...] | None:
        """The network interfaces that a container's process sees; None where that can not be told."""
        if self._groups_of(pid, container) is None:
            return None
        table = _read(f"{self.proc}/{pid}/net/dev")
        # Read after the table: a process that ended meanwhile may have left its number to another.
        if table is None or self._groups_of(pid, container) is None:
            return None
        return tuple(line.partition(":")[0].strip() for line in table.splitlines()[2:] if ":" in line)

    def memory_file(self, pid: int, container: str) -> str | None:
        """The file in which the kernel counts the processes of a container that it ended for want
        of memory; None where that can not be told."""
        groups = self._groups_of(pid, container)
        if groups is None:
            return None
        places = []
        if "memory" in groups:
            places.append(f"{self.groups}/memory{groups['memory']}/memory.oom_control")
        if "" in groups:
            places.append(f"{self.groups}{groups['']}/memory.events")
        return next((place for place in places if os.path.exists(place)), None)

    @staticmethod
    def ended_for_memory(place: str) -> bool | None:
        """Whether that file counts any; None when it is gone with its container."""
        text = _read(place)
        if text is None:
            return None
        return any(line.startswith("oom_kill ") and line.split()[1] != "0" for line in text.splitlines())

    def _groups_of(self, pid: int, container: str) -> Mapping[str, str] | None:
        """Controllers and their groups' paths, the unified hierarchy under an empty name."""
        table = _read(f"{self.proc}/{pid}/cgroup") if pid > 0 else None
        if table is None or container not in table:
            return None
        found: dict[str, str] = {}
        for line in table.splitlines():
            number, _, rest = line.partition(":")
            controllers, _, path = rest.partition(":")
            for name in controllers.split(",") if number != "0" else ("",):
                if container in path:
                    found[name] = path
        return found


def _read(place: str) -> str | None:
    """A file of the kernel; None when what it tells of is gone."""
    try:
        with open(place, encoding="utf-8", errors="replace") as stream:
            return stream.read()
    except OSError:
        return None
