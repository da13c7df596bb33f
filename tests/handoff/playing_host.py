"""A stand-in for an agent's host, as a process of its own: it ends a sub-agent as the hosts do.

`python playing_host.py EVENT.json`: each line on standard input is what the sub-agent does in one turn
(a shell command), and when it wants to end the host runs the hook with the event.  A blocked sub-agent gets
the reason, does the second command of its turn, and ends again with `stop_hook_active`.  What happened is
printed, one JSON object a turn.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any


def hook(event: dict[str, Any]) -> str | None:
    """Run the hook as a host does; gives the reason with which it blocks."""
    done = subprocess.run(
        [sys.executable, "-m", "muniment", "hook", "subagent-stop"],
        input=json.dumps(event).encode(),
        capture_output=True,
        check=True,
    )
    if not done.stdout.strip():
        return None
    said = json.loads(done.stdout)
    assert set(said) == {"decision", "reason"} and said["decision"] == "block" and said["reason"].strip()
    return str(said["reason"])


def main(path: str) -> None:
    with open(path, encoding="utf-8") as stream:
        event = json.load(stream)
    for line in sys.stdin:
        first, second = json.loads(line)
        subprocess.run(["sh", "-c", first], check=True, stdout=subprocess.DEVNULL)
        turn: dict[str, Any] = {"blocked": hook({**event, "stop_hook_active": False}), "again": None}
        if turn["blocked"] is not None:
            subprocess.run(["sh", "-c", second], check=True, stdout=subprocess.DEVNULL)
            turn["again"] = hook({**event, "stop_hook_active": True})
        print(json.dumps(turn), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
