"""Handoff room: the process that stays with one worker: `python -m muniment.handoff.attend FOLDER READY GO`.

It forks the worker, which waits; writes down who that is; tells its parent over READY; and keeps the
exit code.  The worker begins only when a byte comes over GO, which the parent sends after the receipt
is durable.  Should the parent be killed before, GO ends without a byte and no work begins: so there
is no work without a receipt, whatever happens between any two of these steps.
"""

from __future__ import annotations

import contextlib
import os
import sys
from typing import Any, NoReturn

from muniment.canonical import canonical, read_json
from muniment.clock import instant, system_clock
from muniment.disk import platform
from muniment.disk.errors import Locked
from muniment.disk.locks import locked
from muniment.disk.root import Root
from muniment.disk.write import write_verified
from muniment.path import RelPath

ORDER, VIEW = RelPath(("order.json",)), RelPath(("view.json",))
STARTED, BEGAN, ENDED = RelPath(("started.json",)), RelPath(("began",)), RelPath(("ended.json",))
OUTPUT, LOG, LOCK = RelPath(("stdout",)), RelPath(("stderr",)), RelPath(("lock",))
NEVER_BEGAN, NOT_RUN = 126, 127
"""Exit codes of a worker that was never told to begin, and of one that could not be run."""


def main(path: str, ready: int, go: int) -> int:
    """Attend to the worker of one folder; a second process for the same folder does nothing."""
    os.set_inheritable(ready, False)
    os.set_inheritable(go, False)
    with Root.open(path) as folder:
        try:
            with locked(folder, LOCK, wait=False):
                if not folder.exists(STARTED):
                    _attend(folder, ready, go)
        except Locked:
            return 0
    return 0


def _attend(folder: Root, ready: int, go: int) -> None:
    order = read_json(folder.read(ORDER))
    pid = os.fork()
    if pid == 0:
        _work(folder, order, ready, go)
    os.close(go)
    begun = {
        "pid": pid,
        "start_time": platform.process_start(pid),
        "boot_id": platform.boot_id() or "unknown",
        "at": instant(system_clock()),
    }
    _keep(folder, STARTED, begun)
    with contextlib.suppress(BrokenPipeError):  # the parent is gone; so is GO, and the worker ends
        os.write(ready, b"\n")
    os.close(ready)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    ended = {"exit_code": code, "began": folder.exists(BEGAN), "at": instant(system_clock())}
    _keep(folder, ENDED, ended)


def _work(folder: Root, order: Any, ready: int, go: int) -> NoReturn:
    """In the worker's own process: wait for the word, then become the command."""
    code = NEVER_BEGAN
    try:
        os.close(ready)
        os.setsid()
        if os.read(go, 1):
            code = NOT_RUN
            _become(folder, order)
    finally:  # whatever went wrong, this process never goes back into the attendant's code
        os._exit(code)


def _become(folder: Root, order: Any) -> NoReturn:
    fresh = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    opened = (
        folder.open_file(VIEW),
        folder.open_file(OUTPUT, fresh, 0o600),
        folder.open_file(LOG, fresh, 0o600),
    )
    os.close(folder.open_file(BEGAN, fresh, 0o600))
    folder.sync_folder(RelPath())
    for number, fd in enumerate(opened):
        os.dup2(fd, number)
    os.chdir(order["cwd"])
    found = {**os.environ, **order["env"]}
    os.execvpe(
        order["argv"][0], order["argv"], {name: text for name, text in found.items() if text is not None}
    )


def _keep(folder: Root, rel: RelPath, value: dict[str, Any]) -> None:
    write_verified(folder, rel, canonical(value) + b"\n", mode=0o600)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
