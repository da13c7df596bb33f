"""Floor 3, `archive`: judging a call: every path is measured, and all are accepted or none is."""

from __future__ import annotations

import contextlib
import itertools
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from muniment.archive import rules
from muniment.archive.content import (
    PARSED_LIMIT,
    look_into,
    missing_demand,
    required_of,
    wants_reading,
)
from muniment.archive.errors import EmptySource, InvalidSource, MissingSource
from muniment.archive.model import Request, Track
from muniment.digest import sha256
from muniment.disk.errors import (
    NotThere,
    OutsideRoot,
    ReadbackFailed,
    SourceChanged,
    SpecialFile,
    WrongKind,
)
from muniment.disk.root import Root
from muniment.disk.tree import Measured, Progress, measure
from muniment.evidence import Kind
from muniment.message import Message, say
from muniment.path import RelPath, printable


@dataclass(frozen=True, slots=True)
class Accepted:
    """A request that no rule refuses, with what was measured of its source and the name that it
    will bear."""

    request: Request
    track: Track
    measured: Measured
    key_fields: str
    task: str
    warnings: tuple[str, ...]
    name: str


def accept(
    root: Root,
    requests: Sequence[Request],
    *,
    claims: Sequence[tuple[RelPath, str]] = (),
    names: str = "kept",
    require: Mapping[str, tuple[str, ...]] | None = None,
    progress: Progress | None = None,
) -> list[Accepted]:
    """Read all sources and judge them; the first refusal is raised, and nothing has changed."""
    for request in requests:
        rules.judge_place(request.source, claims)
        rules.judge_name(request.source)
        rules.judge_display_name(request.display_name)
    _refuse_overlaps(sorted(request.source for request in requests))
    with source_errors():
        return [_accept_one(root, request, names, require or {}, progress) for request in requests]


def _accept_one(
    root: Root,
    request: Request,
    names: str,
    require: Mapping[str, tuple[str, ...]],
    progress: Progress | None,
) -> Accepted:
    source = request.source
    kind = _kind_of(root, source)
    rules.judge_kind(source, kind)
    if not root.spelled_exactly(source):
        raise InvalidSource(
            where=printable(source.posix), why=say("the folder spells this name in another way")
        )
    track = rules.judge_track(source, kind, request.track)
    measured = measure(root, source, refuse_writers=True, progress=progress)
    rules.judge_inside(source, measured.table)
    rules.judge_links(source, measured.table)
    if measured.table.size == 0:
        raise EmptySource(where=printable(source.posix))
    key_fields, task, warnings = _look_into(root, source, measured, require)
    if not measured.writers_known:
        warnings = (*warnings, "writers: not checked")
    name = rules.kept_name(source.name, names) if track is Track.FILE else source.name
    return Accepted(request, track, measured, key_fields, task, warnings, name)


def _look_into(
    root: Root, source: RelPath, measured: Measured, require: Mapping[str, tuple[str, ...]]
) -> tuple[str, str, tuple[str, ...]]:
    """The key fields, and what was required; a single file binds, inside a folder only what
    is required does."""
    warnings: list[str] = []
    required = parsed = 0
    for row in measured.table.files:
        if not wants_reading(row.path.rpartition("/")[2] or source.name, require):
            continue
        rel = source / RelPath.parse(row.path)
        demands = required_of(rel.name, require)
        if row.size > PARSED_LIMIT:
            if demands:
                why = say("it is too large to be looked into for {demand}", demand=demands[0])
                raise ReadbackFailed(where=printable(rel.posix), why=_key_fields(why))
            warnings.append(f"{row.path or rel.name}: too large to be parsed")
            continue
        data = root.read(rel, PARSED_LIMIT)
        if sha256(data) != row.digest:
            raise SourceChanged(where=printable(rel.posix))
        parsed += 1
        finding = look_into(rel.name, data)
        required += len(demands)
        missing = next(filter(None, (missing_demand(data, demand) for demand in demands)), None)
        if missing is not None or (finding is not None and measured.kind is Kind.FILE):
            raise ReadbackFailed(where=printable(rel.posix), why=_key_fields(missing or finding))
        if finding is not None:
            warnings.append(f"{row.path}: {finding}")
    key_fields = "present" if parsed else "none to check"
    return key_fields, f"{required} required" if required else "not checked", tuple(warnings)


def _refuse_overlaps(ordered: Sequence[RelPath]) -> None:
    """In order, what lies below a path comes right after it."""
    for above, path in itertools.pairwise(ordered):
        if path.within(above):
            raise InvalidSource(
                where=printable(path.posix),
                why=say("{other} is archived by the same call", other=printable(above.posix)),
            )


def _key_fields(finding: Message | None) -> Message:
    return say("key fields: {finding}", finding=finding)


def _kind_of(root: Root, source: RelPath) -> Kind:
    mode = root.stat(source).st_mode
    if stat.S_ISLNK(mode):
        return Kind.LINK
    if stat.S_ISDIR(mode):
        return Kind.DIRECTORY
    if stat.S_ISREG(mode):
        return Kind.FILE
    raise SpecialFile(where=printable(source.posix))


@contextlib.contextmanager
def source_errors() -> Iterator[None]:
    """What the disk refuses about a source, in the words of the protocol."""
    try:
        yield
    except NotThere as error:
        raise MissingSource(where=error.where, why=error.why) from error
    except (OutsideRoot, SpecialFile, WrongKind) as error:
        raise InvalidSource(where=error.where, why=error.why or error.message) from error
