"""Job: a process that runs a tool and kills itself at a named step: `killed_client.py ORDER.json`.

The order names the place of the job, its settings, and the word of the command before (or, with a
`+` before it, after) which nothing of this process runs any more.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.job.standin import StandIn, open_service

from muniment.job.launching import Attached, Done, SystemLauncher


class Deadly(SystemLauncher):
    """Real processes, and the end of this one at its step."""

    def __init__(self, step: str) -> None:
        self.step = step.removeprefix("+")
        self.after = step.startswith("+")

    def run(
        self, argv: Sequence[str], *, deadline: float, keep: Sequence[int] = (), cwd: str | None = None
    ) -> Done:
        self._die(argv, after=False)
        done = super().run(argv, deadline=deadline, keep=keep, cwd=cwd)
        self._die(argv, after=True)
        return done

    def start(self, argv: Sequence[str], *, out: int, err: int, keep: Sequence[int] = ()) -> Attached:
        self._die(argv, after=False)
        started = super().start(argv, out=out, err=err, keep=keep)
        self._die(argv, after=True)
        return started

    def _die(self, argv: Sequence[str], *, after: bool) -> None:
        if self.step in argv and after is self.after:
            os.kill(os.getpid(), signal.SIGKILL)


def main(path: str) -> None:
    """Run what the order says, as far as it goes."""
    order: dict[str, Any] = json.loads(Path(path).read_text("utf-8"))
    service = open_service(Path(order["place"]), StandIn(), **order["settings"])
    for runtime in service.containers.runtimes.values():
        runtime._launcher = Deadly(order["step"])
    service.run("j", order["argv"])


if __name__ == "__main__":
    main(sys.argv[1])
