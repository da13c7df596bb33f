"""Room `job`: the process that stays with one cwltool run: `python -m muniment.job.cwl_run FOLDER`.

The folder is the run's record, and serves the look-up.  Under the folder's lock this process
writes `started.json` before anything runs and `ended.json` after; it refuses to begin what has
been started once, so a run happens once or not at all, however often it is launched.
"""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
from typing import Any

from muniment.canonical import canonical, read_json
from muniment.clock import instant, system_clock
from muniment.disk.errors import Locked
from muniment.disk.locks import locked
from muniment.disk.root import Root
from muniment.disk.write import write_verified
from muniment.path import RelPath

ORDER, STARTED, ENDED = RelPath(("order.json",)), RelPath(("started.json",)), RelPath(("ended.json",))
LOCK, ANSWER, LOG = RelPath(("lock",)), RelPath(("answer.json",)), RelPath(("log.txt",))
STOP, ALIVE = RelPath(("stop",)), RelPath(("alive",))
GRACE = 10
"""Seconds between asking a run to stop and ending it; an order may say otherwise."""


def main(path: str) -> int:
    """Run the order of a folder, unless it was started before or somebody is at it."""
    # Whoever asks it to stop leaves word first, and that is read once there is a run to stop.  Not
    # ignored: a program that is started would inherit that.
    signal.signal(signal.SIGTERM, lambda number, frame: None)
    with Root.open(path) as folder:
        try:
            with locked(folder, LOCK, wait=False):
                if folder.exists(STARTED):
                    return 0
                _keep(folder, STARTED, {"pid": os.getpid(), "at": instant(system_clock())})
                code = _run(folder, read_json(folder.read(ORDER)))
                stopped = folder.exists(STOP)
                _keep(folder, ENDED, {"exit_code": code, "stopped": stopped, "at": instant(system_clock())})
        except Locked:
            return 0
    return 0


def _run(folder: Root, order: Any) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    answer, log = folder.open_file(ANSWER, flags, 0o644), folder.open_file(LOG, flags, 0o644)
    # cwltool inherits this lock: it tells that the run lives on should this process be killed.
    alive = folder.open_file(ALIVE, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(alive, fcntl.LOCK_EX)
    try:
        child = subprocess.Popen(
            order["argv"],
            cwd=folder.path,
            stdin=subprocess.DEVNULL,
            stdout=answer,
            stderr=log,
            env={**os.environ, **order["env"]},
            start_new_session=True,
            pass_fds=(alive,),
        )
    except OSError as error:
        os.write(log, f"could not be started: {error}\n".encode())
        return 127
    finally:
        for fd in (answer, log, alive):
            os.close(fd)

    def ask(number: int, frame: object) -> None:
        _end_group(child, signal.SIGTERM)
        signal.alarm(order.get("grace", GRACE))

    def insist(number: int, frame: object) -> None:
        _end_group(child, signal.SIGKILL)

    signal.signal(signal.SIGALRM, insist)
    signal.signal(signal.SIGTERM, ask)
    if folder.exists(STOP):
        ask(signal.SIGTERM, None)
    code = child.wait()
    signal.alarm(0)
    _end_group(child, signal.SIGKILL)
    return code


def _end_group(child: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Signal the run and all that it started; those that are gone need none."""
    try:
        os.killpg(child.pid, number)
    except ProcessLookupError:
        return


def _keep(folder: Root, rel: RelPath, value: dict[str, Any]) -> None:
    write_verified(folder, rel, canonical(value) + b"\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
