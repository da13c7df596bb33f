"""Room `job`: what an engine left behind, opened, measured and put down as facts."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence

from muniment.digest import Digest
from muniment.disk import platform
from muniment.disk.errors import NotThere, OutsideRoot, SpecialFile, WrongKind
from muniment.disk.root import Root
from muniment.disk.write import FORGET_BEYOND, chunks_of
from muniment.evidence import Kind, Row, Table
from muniment.job.backend import Piece
from muniment.job.errors import OutputUnsafe
from muniment.job.model import Artifact
from muniment.message import Message, say
from muniment.path import BadPath, RelPath, printable


def measure_pieces(folder: Root, pieces: Iterable[Piece]) -> tuple[Artifact, ...]:
    """Open every piece inside the job's folder, following no link, and hash it.

    `OutputUnsafe` for a link, a folder, a socket, or a name that is not UTF-8.
    """
    return tuple(_measure(folder, piece) for piece in pieces)


def _measure(folder: Root, piece: Piece) -> Artifact:
    where = printable(piece.path.posix)
    try:
        piece.path.posix.encode("utf-8")
    except UnicodeEncodeError as error:
        raise OutputUnsafe(path=where, why=say("its name is not UTF-8")) from error
    try:
        digest, size = hash_file(folder, piece.path)
    except (OutsideRoot, SpecialFile, WrongKind) as error:
        raise OutputUnsafe(path=where, why=error.why or error.message) from error
    return Artifact(os.path.join(folder.path, *piece.path.parts), size, digest.hex, piece.role)


def hash_file(folder: Root, rel: RelPath) -> tuple[Digest, int]:
    """Digest and size of a file as the disk has it; large ones leave the page cache first."""
    fd = folder.open_file(rel)
    try:
        if os.fstat(fd).st_size > FORGET_BEYOND:
            platform.forget_cache(fd)
        state, size = hashlib.sha256(), 0
        for chunk in chunks_of(fd):
            state.update(chunk)
            size += len(chunk)
    finally:
        platform.close(fd)
    return Digest(state.hexdigest()), size


def table_of(folder: Root, artifacts: Sequence[Artifact]) -> Table:
    """The evidence table of artifacts, by their paths in the job's folder."""
    rows = {inner_of(folder, one.path).posix: one for one in artifacts}
    return Table.of(Row(path, Kind.FILE, one.size, Digest(one.sha256)) for path, one in rows.items())


def inner_of(folder: Root, path: str) -> RelPath:
    """A recorded path as one of the job's folder; `OutsideRoot` when it is not below it."""
    if not path.startswith(folder.path + "/"):
        raise OutsideRoot(where=printable(path), why=say("it is not in {folder}", folder=folder.path))
    try:
        return RelPath.parse(path[len(folder.path) + 1 :])
    except BadPath as error:
        raise OutsideRoot(where=printable(path), why=say("{finding}", finding=error)) from error


def changed(folder: Root, artifacts: Sequence[Artifact]) -> list[Message]:
    """The recorded files that are missing or no longer what was recorded, each in words."""
    odd: list[Message] = []
    for one in artifacts:
        try:
            digest, size = hash_file(folder, inner_of(folder, one.path))
        except NotThere:
            odd.append(_odd(one, say("missing")))
        except (OutsideRoot, SpecialFile, WrongKind) as error:
            odd.append(_odd(one, error.why or error.message))
        else:
            if (digest.hex, size) != (one.sha256, one.size):
                odd.append(_odd(one, say("{size} bytes, sha256 {digest}…", size=size, digest=digest.short)))
    return odd


def _odd(artifact: Artifact, finding: Message) -> Message:
    return say("{path}: {finding}", path=printable(artifact.path), finding=finding)
