"""Floor 2, `hosts`: the few things asked of git, through its own program."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

_TIME_OUT_S = 10


def ask_git(folder: Path, *arguments: str, protocols: str = "") -> bytes | None:
    """What git prints for a read-only question; None when there is no git or no answer.

    Its environment is ours: no other repository, no pager, no lock taken on the index.  Nothing is
    fetched but by the `protocols` given, with colons between them: a repository can have git ask
    another one, by a program of its choice, for any object that it lacks.
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment |= {"LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}
    environment |= {"GIT_ALLOW_PROTOCOL": protocols}
    try:
        answer = subprocess.run(
            ["git", "-c", "core.fsmonitor=false", "-C", str(folder), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            timeout=_TIME_OUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return answer.stdout if answer.returncode == 0 else None


def short_head(folder: Path) -> str | None:
    """The short hash of the commit checked out; None outside a repository or before a commit."""
    answer = ask_git(folder, "rev-parse", "--short=7", "--verify", "HEAD")
    return answer.decode("ascii", "replace").strip() if answer else None
