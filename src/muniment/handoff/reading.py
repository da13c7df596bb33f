"""Handoff room: the world read into facts: targets, baselines, artifacts; no judgement here."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence

from muniment.disk import platform
from muniment.disk.errors import NotThere, OutsideRoot, named
from muniment.disk.root import Root
from muniment.disk.tree import measure
from muniment.disk.write import CHUNK
from muniment.errors import MunimentError
from muniment.evidence import Kind
from muniment.handoff.anchors import without_anchors
from muniment.handoff.facts import Baseline, FileRead, TargetRead
from muniment.handoff.model import Contract, Required, Target
from muniment.message import say
from muniment.path import RelPath
from muniment.record.event import LINE_LIMIT
from muniment.record.segments import segment_name, segment_numbers

ADDED_MAX = 16 << 20
"""Bytes that one piece of work may add to a target; more is not read into memory."""

Commands = Callable[[str, bytes], int | None]
"""Runs the parent's command of that name over the work; its exit code, none if it can not be run."""


def read_baselines(root: Root, contract: Contract) -> dict[Target, Baseline]:
    """Every owed target as it is now."""
    return {target: _baseline(root, target, entry) for target, entry in contract.required.items()}


def _baseline(root: Root, target: Target, entry: Required) -> Baseline:
    try:
        state, size = hashlib.sha256(), 0
        stream = _stream(root, RelPath.parse(entry.path))
        for chunk in _whole_lines(stream) if target is Target.TEAM_JOURNAL else stream:
            state.update(chunk)
            size += len(chunk)
    except NotThere:
        return Baseline(False)
    return Baseline(True, size, state.hexdigest())


def _whole_lines(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """The bytes up to the last newline: what a killed writer left after it, the next one sets aside."""
    rest = b""
    for chunk in chunks:
        whole, end, rest = (rest + chunk).rpartition(b"\n")
        yield whole + end
        if len(rest) > 2 * LINE_LIMIT:  # no line of a journal, so nobody will set it aside
            yield rest
            rest = b""


def read_targets(
    root: Root, contract: Contract, baselines: Mapping[Target, Baseline], run: Commands | None
) -> dict[Target, TargetRead]:
    """Every owed target, read again under the root."""
    found: dict[Target, TargetRead] = {}
    for target, entry in contract.required.items():
        skip = 0 if target is Target.CENTRAL_BOARD else baselines.get(target, Baseline(False)).size
        try:
            found[target] = _target(root, entry, skip, run)
        except NotThere:
            found[target] = TargetRead("missing")
        except MunimentError as error:
            found[target] = TargetRead("unreadable", why=say("{finding}", finding=error.reason))
    return found


def _target(root: Root, entry: Required, skip: int, run: Commands | None) -> TargetRead:
    whole, prefix = hashlib.sha256(), hashlib.sha256()
    size = lines = 0
    added = bytearray()
    for chunk in _stream(root, RelPath.parse(entry.path)):
        whole.update(chunk)
        old = chunk[: max(0, skip - size)]
        prefix.update(old)
        lines += old.count(b"\n")
        added += chunk[len(old) :]
        size += len(chunk)
        if len(added) > ADDED_MAX:
            return TargetRead("unreadable", why=say("more than {most} bytes were added", most=ADDED_MAX))
    work = bytes(added)
    names = [check.text for check in entry.verification if check.kind == "command"]
    codes = {name: run(name, without_anchors(work)) if run is not None else None for name in names}
    digest = prefix.hexdigest() if size >= skip else None
    return TargetRead("file", size, whole.hexdigest(), digest, lines, work, codes)


def _stream(root: Root, rel: RelPath) -> Iterator[bytes]:
    """The bytes of a file, or of a journal's segments one after the other."""
    if stat.S_ISDIR(root.stat(rel).st_mode):
        names = [segment_name(number) for number in segment_numbers(root, rel)]
        if not names:
            raise NotThere(where=rel.posix)
        for name in names:
            yield from _stream_file(root, rel / name)
    else:
        yield from _stream_file(root, rel)


def _stream_file(root: Root, rel: RelPath) -> Iterator[bytes]:
    fd = root.open_file(rel)
    try:
        with named(rel):
            while chunk := os.read(fd, CHUNK):
                yield chunk
    finally:
        platform.close(fd)


def read_file(root: Root, path: str, moved: Callable[[RelPath], Sequence[RelPath]]) -> FileRead:
    """An artifact: opened and hashed; `moved` says where something that was moved lies now."""
    try:
        rel = root.relative(path)
    except OutsideRoot as error:
        return FileRead(path, "outside", why=error.why)
    if not rel.parts:
        return FileRead(path, "outside", why=say("it is the root itself"))
    try:
        return _measured(root, path, rel, None)
    except NotThere:
        pass
    except MunimentError as error:
        return _failed(path, error)
    for now in moved(rel):
        try:
            return _measured(root, path, now, now.posix)
        except MunimentError as error:
            return _failed(path, error)
    return FileRead(path, "missing")


def _measured(root: Root, path: str, rel: RelPath, now: str | None) -> FileRead:
    found = measure(root, rel)
    table = found.table
    if found.kind is Kind.LINK:
        return FileRead(path, "outside", why=say("it is a link"))
    files = [row for row in table.rows if row.kind is Kind.FILE]
    alone = files[0].digest if found.kind is Kind.FILE else table.digest
    return FileRead(path, "read", table.size, len(files), alone.hex if alone is not None else "", now)


def _failed(path: str, error: MunimentError) -> FileRead:
    state = "outside" if isinstance(error, OutsideRoot) else "unreadable"
    return FileRead(path, state, why=say("{finding}", finding=error.reason))
