"""Room `job`: what a container left behind, taken in whole or not at all.

Nothing in the folder is trusted: its program chose every name, link and mode in it.
"""

from __future__ import annotations

import stat

from muniment.disk import platform
from muniment.disk.root import Root
from muniment.disk.tree import walk_stats
from muniment.job.backend import Piece
from muniment.job.errors import OutputTooLarge, OutputUnsafe
from muniment.job.model import Artifact
from muniment.job.outputs import measure_pieces
from muniment.message import say
from muniment.path import RelPath, printable

MOST_FILES = 2000
"""Files of one run at the most: the record of a run is one line."""

ROLE = "tool"


def take_outputs(job: Root, folder: RelPath, most: int) -> tuple[Artifact, ...]:
    """Size and sha256 of every file that lies in a folder of the job.

    `OutputUnsafe` for a link, a device, a pipe, a name that is not UTF-8, a file that would run with
    its owner's rights, or too many of them; `OutputTooLarge` beyond `most` bytes.
    """
    pieces: list[Piece] = []
    total = 0
    for inner, found in walk_stats(job, folder):
        rel = folder / RelPath.parse(inner) if inner else folder
        where = printable(rel.posix)
        if stat.S_ISDIR(found.st_mode):
            continue
        if stat.S_ISLNK(found.st_mode):
            raise OutputUnsafe(path=where, why=say("it is a link"))
        if not stat.S_ISREG(found.st_mode):
            raise OutputUnsafe(path=where, why=say("it is a pipe, a socket or a device"))
        if found.st_mode & (stat.S_ISUID | stat.S_ISGID):
            raise OutputUnsafe(path=where, why=say("it would run with the rights of its owner"))
        total += found.st_size
        if total > most:
            raise OutputTooLarge(
                where=where,
                found=say("more than {count} bytes", count=total - 1),
                most=say("{count} bytes", count=most),
            )
        pieces.append(Piece(rel, ROLE))
        if len(pieces) > MOST_FILES:
            raise OutputUnsafe(path=where, why=say("there are more than {count} files", count=MOST_FILES))
    with job.folder(folder) as fd:
        platform.sync_file_system(fd)
    return measure_pieces(job, pieces)
