"""Floor 3, `backup`: all that a snapshot is made of: entries in the bundle's order, and their source.

Databases are copied consistently into a scratch folder outside what is saved; a copy goes with the
descriptor through which it is read.
"""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from heapq import merge
from itertools import chain
from pathlib import Path
from types import TracebackType

from muniment.backup.excludes import DATA, EXTRA, WORKSPACE, Excludes, Only
from muniment.backup.model import OK, ExtraPath
from muniment.backup.survey import Section, folders
from muniment.backup.walk import FOLDED, Many, Seen, Walk
from muniment.backup.walk_ahead import WalksAhead
from muniment.bundle.manifest import Exclusion
from muniment.bundle.model import Entry, Fault
from muniment.bundle.segments import Part, Segment, one_by_one
from muniment.bundle.tar import wire
from muniment.bundle.tree import Tree
from muniment.clock import Clock
from muniment.disk.errors import NotThere, system_reason
from muniment.disk.root import Root
from muniment.disk.scratch import scratch_folder
from muniment.disk.sqlite import DatabaseUnreadable, copy_database
from muniment.errors import MunimentError
from muniment.evidence import Kind
from muniment.hosts.places import Places
from muniment.message import Message, say
from muniment.path import RelPath, printable

PURPOSE = "backup"
"""In the name of the scratch folder."""

SLOW_S = 5.0
"""A database whose copy took longer is spoken of."""

Size = Callable[[bytes], int | None]
"""The size of the copy that a database of that stamp gave the last time."""


@dataclass(slots=True)
class Content:
    """The entries of one snapshot, and their source; use it as a context, iterate it once.

    `exclusions`, `faults` and `warnings` grow while it is iterated; at its end the latter two stand in
    `told` as well.  A file that changed after `settled_ns` has no stamp, for it may change again without
    looking so; nor has one on another `device`, whose clock may be another.  Copies go below `scratch`,
    by default the temporary directory.  With `ahead` another process walks both sections.
    """

    places: Places
    excludes: Excludes
    api: Mapping[str, bytes]
    extra: Sequence[ExtraPath]
    clock: Clock
    full: bool = False
    keep_outside_links: bool = False
    settled_ns: int = 0
    device: int = 0
    known_size: Size = lambda stamp: None
    scratch: Path | None = None
    ahead: bool = False
    exclusions: list[Exclusion] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    warnings: list[Message] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    copied: dict[bytes, int] = field(default_factory=dict)
    _trees: dict[str, tuple[Root, Tree]] = field(default_factory=dict)
    _copies: dict[str, Path] = field(default_factory=dict)
    _databases: set[str] = field(default_factory=set)
    _raw: set[str] = field(default_factory=set)
    _unfolded: list[Exclusion] = field(default_factory=list)
    _walks: list[Walk] = field(default_factory=list)
    _ahead: WalksAhead | None = None
    _held: ExitStack = field(default_factory=ExitStack)
    _copying: Path | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __enter__(self) -> Content:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._held.close()

    def __iter__(self) -> Iterator[Entry | Segment]:
        # All folders are opened before the first entry is given: a helper that is forked then has them.
        further = [self._further(one) for one in self.extra if one.status == OK]
        first, last = self._section(DATA), self._section(WORKSPACE)
        if self.ahead:
            self._ahead = self._held.enter_context(WalksAhead(self._walks))
        created = int(self.clock().timestamp()) * 1_000_000_000
        for name in sorted(self.api):
            data = self.api[name]
            yield Entry(f"api/{name}", Kind.FILE, 0o644, created, len(data), content=data)
        yield from chain(*first)
        if len(further) == 1:
            yield from further[0]
        else:
            yield from merge(*map(one_by_one, further), key=lambda entry: wire(entry.path))
        yield from chain(*last)
        found = [*map(str, self.warnings), *map(sentence, self.faults)]
        # The plan has told some of it already.
        self.told[:] = dict.fromkeys([*self.told, *found])

    def _section(self, name: str) -> list[Iterable[Entry | Segment]]:
        return [self._folder(section) for section in folders(self.places) if section.name == name]

    def _further(self, one: ExtraPath) -> Iterable[Entry | Segment]:
        path = Path(one.src)
        try:
            is_folder = stat.S_ISDIR(path.lstat().st_mode)
        except OSError as error:
            self.faults.append(Fault(one.bundle, "left_out", _why(error)))
            return ()
        if is_folder:
            return self._folder(Section(EXTRA, path, one.bundle))
        # A lone file or link: its folder is opened, and nothing else in it is looked at.
        return self._folder(Section(EXTRA, path.parent, f"files/{EXTRA}"), path.name, one.bundle)

    def _folder(self, section: Section, only: str = "", as_path: str = "") -> Iterable[Entry | Segment]:
        """A folder, opened now; with `only`, of it the one thing of that name, which stands at `as_path`."""
        try:
            root = self._held.enter_context(Root.open(section.path))
        except MunimentError as error:
            if section.name == EXTRA:  # it was there when it was planned
                self.faults.append(Fault(section.bundle, "left_out", _why(error)))
                return ()
            if isinstance(error, NotThere):
                return ()
            raise
        tree = Tree(root.fd)
        self._held.callback(tree.close)
        key = str(len(self._trees))
        self._trees[key] = (root, tree)
        walk = Walk(
            root.fd,
            section.name,
            Only(only) if only else self.excludes,
            section.bundle,
            section.passed,
            self.keep_outside_links,
            raw_databases=self.full,
            settled_ns=self.settled_ns,
            device=self.device,
            exclusions=[] if only else self.exclusions,
            faults=self.faults,
        )
        if section.name != EXTRA:
            self._walks.append(walk)
        return self._below(walk, root, key, section, only, as_path)

    def _below(
        self, walk: Walk, root: Root, key: str, section: Section, only: str, as_path: str
    ) -> Iterator[Entry | Segment]:
        if not only:
            itself = Part.of([wire(section.bundle)], [(section.bundle, os.fstat(root.fd), "")])
            yield Segment("", "", itself)
        # What lies beside a database that could not be copied, until its place in the order comes.
        beside: list[Entry] = []
        parts = self._ahead.parts(walk) if self._ahead and section.name != EXTRA else walk.parts()
        for part in parts:
            if isinstance(part, Many) and not beside and not only:
                yield Segment(f"{section.bundle}/{part.below}", f"{key}\0{part.below}", part.part)
                continue
            for seen in part.each() if isinstance(part, Many) else (part,):
                path = as_path or f"{section.bundle}/{seen.rel}"
                while beside and wire(beside[0].path) < wire(path):
                    yield beside.pop(0)
                yield self._entry(seen, root, key, path)
                if path in self._raw:
                    beside = [*beside, *self._companions(seen, root, key, path, walk)]
                    beside.sort(key=lambda entry: wire(entry.path))
        if self._unfolded:
            walk.exclusions[:] = [one for one in walk.exclusions if one not in self._unfolded]
        yield from beside

    def _companions(self, seen: Seen, root: Root, key: str, path: str, walk: Walk) -> list[Entry]:
        """What was left out as folded into a copy that could not be made: it is packed after all, since
        the newest rows may stand there alone."""
        found: list[Entry] = []
        for suffix in ("-journal", "-wal"):
            rel = seen.rel + suffix
            try:
                fact = root.stat(RelPath.parse(rel))
            except NotThere:
                continue
            except MunimentError as error:
                self.faults.append(Fault(path + suffix, "left_out", _why(error)))
                continue
            mode, when, size = stat.S_IMODE(fact.st_mode), fact.st_mtime_ns, fact.st_size
            if stat.S_ISREG(fact.st_mode):
                found.append(Entry(path + suffix, Kind.FILE, mode, when, size, "", b"", f"{key}\0{rel}"))
                self._unfolded.append(Exclusion(walk.section, rel, FOLDED))
        return found

    def _entry(self, seen: Seen, root: Root, key: str, path: str) -> Entry:
        settled = seen.changed_ns < self.settled_ns and seen.device == self.device
        stamp = seen.stamp if settled else b""
        size = seen.size
        if seen.database:
            self._databases.add(path)
            known = self.known_size(stamp) if stamp else None
            if known is None:
                try:
                    size = self._copy(root, path, seen.rel).stat().st_size
                except (MunimentError, OSError) as error:
                    # As it lies it may be torn; but nothing at all would be less.
                    self._databases.discard(path)
                    self._raw.add(path)
                    self.faults.append(Fault(path, "unsettled", _why(error)))
                    stamp = b""
            else:
                size = known
            if stamp:
                self.copied[stamp] = size
        return Entry(
            path,
            seen.kind,
            seen.mode,
            seen.mtime_ns,
            size,
            seen.target,
            stamp,
            f"{key}\0{seen.rel}" if seen.kind is Kind.FILE else "",
        )

    def shared(self, entry: Entry) -> bool:
        """Whether a process that was forked since the first entry can open it too: of a database only
        this one knows the copy."""
        return entry.path not in self._databases

    def open(self, entry: Entry) -> int:
        """Open a file for reading (called by the packer, from any thread)."""
        key, _, rel = entry.origin.partition("\0")
        root, tree = self._trees[key]
        if entry.path not in self._databases:
            return tree.open(entry, rel)
        with self._lock:
            copy = self._copies.pop(entry.path, None)
        if copy is None:
            try:
                copy = self._copy(root, entry.path, rel)
            except MunimentError as error:
                raise OSError(None, str(_why(error))) from error
            with self._lock:
                self._copies.pop(entry.path, None)
        fd = os.open(copy, os.O_RDONLY | os.O_CLOEXEC)
        copy.unlink()
        return fd

    def _copy(self, root: Root, path: str, rel: str) -> Path:
        """A consistent copy of a database in the scratch folder."""
        with self._lock:
            if self._copying is None:
                self._copying = self._held.enter_context(scratch_folder(PURPOSE, self.scratch))
            target = self._copying / f"{len(self._databases)}-{len(self._copies)}-{os.urandom(4).hex()}"
        began = self.clock()
        done = copy_database(root, RelPath.parse(rel), target)
        took = (self.clock() - began).total_seconds()
        fact = root.stat(RelPath.parse(rel))
        os.utime(target, ns=(fact.st_atime_ns, fact.st_mtime_ns))
        if took >= SLOW_S:
            self.warnings.append(
                say(
                    "{path}: the database was read for {seconds} s", path=printable(path), seconds=round(took)
                )
            )
        if done.recovered:
            self.warnings.append(say("{path}: the database was recovered on a copy", path=printable(path)))
        with self._lock:
            self._copies[path] = target
        return target


def sentence(fault: Fault) -> str:
    """A fault as manifests and plans tell it."""
    return f"{printable(fault.path)}: {fault.finding}"


def _why(error: MunimentError | OSError) -> Message:
    if isinstance(error, DatabaseUnreadable):
        return say("the database could not be copied: {finding}", finding=error.why or error.message)
    if isinstance(error, OSError):
        return say("it could not be read: {error}", error=system_reason(error))
    return say("it could not be read: {error}", error=error.why or error.message)
