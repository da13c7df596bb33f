"""Faces, hooks: what an agent's host calls at its events; standard library only (spec 6, hooks).

`muniment hook EVENT` comes here straight from `muniment.__main__`, before anything else loads.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence


def _session_start() -> int:
    from muniment.faces.hooks.session_start import run

    return run()


def _pre_tool_use() -> int:
    from muniment.faces.hooks.pre_tool_use import run

    return run()


def _stop() -> int:
    from muniment.faces.hooks.stop import run

    return run()


def _subagent_stop() -> int:
    from muniment.faces.hooks.subagent_stop import run

    return run()


EVENTS: dict[str, Callable[[], int]] = {
    "session-start": _session_start,
    "pre-tool-use": _pre_tool_use,
    "stop": _stop,
    "subagent-stop": _subagent_stop,
}
"""What answers each event, by the name that stands after `muniment hook`."""


def main(arguments: Sequence[str]) -> int:
    """Answer one event; the exit code is the event's own.

    An event that nobody answers gives 1, which hosts take as a failed hook that blocks nothing.
    """
    name = arguments[0] if arguments else ""
    answer = EVENTS.get(name)
    if answer is None:
        sys.stderr.write(f"muniment: there is no hook named {name!a} (NO_SUCH_HOOK)\n")
        return 1
    return answer()
