"""Other processes and other users: a function run in a forked child, its outcome brought back."""

from __future__ import annotations

import os
import pickle
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.faults.stage import refuse_or_skip

PLAIN_USER = 65534
"""A user that owns nothing."""


def in_child(run: Callable[[], Any], *, user: int | None = None) -> Any:
    """What a function gives, or the error code of the `MunimentError` that it raises, in a child."""
    return gather([start(run, user=user)])[0]


def open_the_way(place: Path, bits: int) -> None:
    """Let every user come to a folder that only root made; skipped where one is not root."""
    if os.geteuid() != 0:
        refuse_or_skip("the right to be another user")
    for path in (place, *place.parents):
        path.chmod(path.stat().st_mode | bits)


def start(run: Callable[[], Any], *, user: int | None = None) -> tuple[int, int]:
    """Begin a child; `gather` waits for it."""
    if user is not None and os.geteuid() != 0:
        refuse_or_skip("the right to be another user")
    read_end, write_end = os.pipe()
    child = os.fork()
    if child:
        os.close(write_end)
        return child, read_end
    status = 1
    try:
        os.close(read_end)
        if user is not None:
            os.setgroups([])
            os.setgid(user)
            os.setuid(user)
        try:
            answer = run()
        except BaseException as error:  # noqa: BLE001 - it is told to the parent
            answer = getattr(error, "code", None) or traceback.format_exc()
        os.write(write_end, pickle.dumps(answer))
        status = 0
    finally:
        os._exit(status)


def gather(children: list[tuple[int, int]]) -> list[Any]:
    """The answers of children, in order."""
    answers = []
    for child, read_end in children:
        with os.fdopen(read_end, "rb") as stream:
            data = stream.read()
        assert os.waitpid(child, 0)[1] == 0
        answers.append(pickle.loads(data))
    return answers
