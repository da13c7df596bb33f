"""Floor 3, `backup`: the restore log: it exists exactly while a restore was begun and has not ended.

Its first line says what was begun, each further line that a section is done (spec 4, step 0).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from muniment.backup.errors import RestoreLogBroken, RestoreLogDoubled
from muniment.canonical import NotJson, read_json
from muniment.disk.errors import system_reason
from muniment.errors import RestoreHalfDone
from muniment.message import say
from muniment.path import printable

SECTIONS = ("files/workspace", "files/data", "settings", "profile", "scheduled_tasks")
_LIMIT = 1 << 20


@dataclass(frozen=True, slots=True)
class HalfRestore:
    """A restore that was begun: of which snapshot, under which id, which sections, which are done."""

    path: Path
    backup_id: str
    restore: str
    sections: tuple[str, ...]
    done: tuple[str, ...]
    begun: str

    @property
    def progress(self) -> tuple[int, int]:
        """Sections done, of how many."""
        return len(self.done), len(self.sections)


def look(place: Path, former: Sequence[Path] = ()) -> HalfRestore | None:
    """The restore that is half done, if there is one.

    `RestoreLogDoubled` when logs stand at two places (one file reached by two names is one log),
    `RestoreLogBroken` when the log's first line can not be read.
    """
    found: list[Path] = []
    for path in (place, *former):
        if _is_there(path) and not any(_same(path, other) for other in found):
            found.append(path)
    if len(found) > 1:
        raise RestoreLogDoubled(where=" | ".join(printable(str(path)) for path in found))
    return read_log(found[0]) if found else None


def _is_there(path: Path) -> bool:
    """A log that can not be asked for is no log that is not there."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise RestoreLogBroken(where=printable(str(path)), why=system_reason(error)) from error
    return True


def _same(one: Path, other: Path) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


def read_log(path: Path) -> HalfRestore:
    """Read a restore log; a torn last line is as if it had not been written."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(fd, "rb") as stream:
            data = stream.read(_LIMIT)
    except OSError as error:
        raise RestoreLogBroken(where=printable(str(path)), why=say("{finding}", finding=error)) from error
    lines = data.split(b"\n")[:-1]
    try:
        if not lines:
            raise ValueError("its first line is not whole")
        head = read_json(lines[0])
        if head["section"] != "restore" or head["status"] != "begun":
            raise ValueError("its first line says something else")
        sections = tuple(head["sections"])
        texts = (head["backup_id"], head["restore"], head["ts"], *sections)
        if not all(isinstance(text, str) for text in texts) or not set(sections) <= set(SECTIONS):
            raise ValueError("its first line has members of another type")
        done: list[str] = []
        for line in lines[1:]:
            row = read_json(line)
            if row["status"] == "ok" and row["section"] in sections and row["section"] not in done:
                done.append(row["section"])
    except (NotJson, KeyError, TypeError, ValueError) as error:
        raise RestoreLogBroken(where=printable(str(path)), why=say("{finding}", finding=error)) from error
    return HalfRestore(path, head["backup_id"], head["restore"], sections, tuple(done), head["ts"])


def require_none(place: Path, former: Sequence[Path] = ()) -> None:
    """`RestoreHalfDone`, with its id and progress, while a restore is half done."""
    half = look(place, former)
    if half is not None:
        done, of = half.progress
        raise RestoreHalfDone(
            where=printable(half.backup_id),
            why=say("{done} of {of} sections are restored since {begun}", done=done, of=of, begun=half.begun),
        )
