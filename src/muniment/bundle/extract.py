"""Floor 2, `bundle`: extracting: everything into a folder of its own, which appears whole or not at all.

Files are written below a staging folder by descriptors that follow no link; links are made last,
when nothing is written any more.  Only a bundle that agrees with its manifest gets its name.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain

from muniment.bundle.crew import Odd
from muniment.bundle.errors import ContentsDiffer, OutsideLink
from muniment.bundle.index import Index
from muniment.bundle.join import Fetch
from muniment.bundle.members import Member, Members
from muniment.bundle.model import MANIFEST, Packed, stays_inside
from muniment.bundle.tar import END
from muniment.bundle.tree import Chain
from muniment.bundle.verify import (
    Advance,
    Seen,
    Verified,
    facts_of,
    take,
    unfold,
    unwatched,
    verify,
    verify_quickly,
)
from muniment.disk import platform
from muniment.disk.copy import discard
from muniment.disk.errors import AlreadyThere, named
from muniment.disk.root import Root
from muniment.disk.write import HOLE, scratch_name, write_all, write_sparse
from muniment.evidence import Kind
from muniment.path import RelPath, printable

NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def extract(
    raw: Iterable[bytes],
    root: Root,
    target: RelPath,
    *,
    token: str | None = None,
    outside_links: bool = False,
    manifest: bool = False,
    seen: Seen = unwatched,
) -> Verified:
    """Write a bundle's tar stream as a new folder `target`; all of it or nothing.

    Modes and times are set; set-user and set-group bits are not, owners are the caller's.
    `outside_links` lets links point out of their section; with `manifest` the manifest's text lies
    beside the files.  Raises what `verify` raises, and the errors of `disk`.
    """
    with _staged(root, target, token, outside_links) as writer:
        result = verify(raw, writer, seen=seen)
        if manifest:
            writer.manifest(result.manifest)
    return result


def extract_kept(
    index: Index,
    fetch: Fetch,
    root: Root,
    target: RelPath,
    *,
    token: str | None = None,
    outside_links: bool = False,
    manifest: bool = False,
    workers: int = 2,
    advance: Advance = unwatched,
    seen: Seen = unwatched,
) -> Verified:
    """`extract` of a snapshot whose extents are kept; `fetch` must allow to be called from threads."""
    met: list[Member] = []
    try:
        with _staged(root, target, token, outside_links) as writer:
            watch = None if seen is unwatched else met.append
            result = verify_quickly(index, fetch, writer, workers=workers, advance=advance, seen=watch)
            if manifest:
                writer.manifest(result.manifest)
    except Odd:
        raw = unfold(index, fetch)
        return extract(
            raw, root, target, token=token, outside_links=outside_links, manifest=manifest, seen=seen
        )
    for member in met:
        seen(member)
    return result


def extract_part(
    runs: Iterable[Iterable[bytes]],
    wanted: Mapping[str, Packed],
    inside: Callable[[str], bool],
    root: Root,
    target: RelPath,
    *,
    token: str | None = None,
    outside_links: bool = False,
    seen: Seen = unwatched,
) -> None:
    """Write the members of some stretches of a tar stream that are `inside`; all of them or nothing.

    Each run begins with a member.  `wanted` are the manifest's rows of all files that are inside: one
    that is missing, differs or is not listed is `ContentsDiffer`.
    """
    with _staged(root, target, token, outside_links) as writer:
        missing = dict(wanted)
        bad: list[str] = []
        extra: list[str] = []
        for run in runs:
            members = Members(chain(run, (END,)))
            for member in members:
                if not inside(member.path) or member.path == MANIFEST:
                    continue
                if member.kind is Kind.DIRECTORY:
                    writer.folder(member)
                elif member.kind is Kind.LINK:
                    writer.link(member)
                elif member.same_as or member.path not in missing:
                    extra.append(member.path)
                elif take(members, member, writer) != facts_of(missing.pop(member.path)):
                    bad.append(member.path)
                seen(member)
        if missing or bad or extra:
            raise ContentsDiffer.of(bad, list(missing), extra)


@contextlib.contextmanager
def _staged(root: Root, target: RelPath, token: str | None, outside_links: bool) -> Iterator[_Writer]:
    """A writer into a folder beside `target`, which gets that name when all went well."""
    if root.exists(target):
        raise AlreadyThere(where=printable(target.posix))
    staging = target.parent / scratch_name(token)
    root.claim_folder(staging, 0o700)
    try:
        with root.folder(staging) as fd:
            writer = _Writer(fd, outside_links)
            try:
                with named(target):
                    yield writer
                    writer.finish()
                    platform.sync_file_system(fd)
            finally:
                writer.close()
        with root.folder(target.parent) as parent, named(target):
            platform.rename_exclusive(parent, staging.name, parent, target.name)
            platform.sync_folder(parent)
    except BaseException:
        _open_up(root, staging)
        discard(root, staging)
        raise


class _Writer:
    """Takes members and writes them below the staging folder."""

    def __init__(self, fd: int, outside_links: bool) -> None:
        self._top = fd
        self._chain = Chain(fd)
        self._made: set[tuple[str, ...]] = {()}
        self._outside_links = outside_links
        self._folders: list[Member] = []
        self._links: list[Member] = []
        self._file = -1
        self._place = ""
        self._here = -1
        self._found: dict[tuple[str, ...], set[str]] = {}

    def folder(self, member: Member) -> None:
        """Keep it for the end: its mode and time come when everything lies in it."""
        self._folders.append(member)

    def link(self, member: Member) -> None:
        """Keep it for the end."""
        if not self._outside_links and not stays_inside(member.path, member.target):
            raise OutsideLink(where=printable(member.path), target=printable(member.target))
        self._links.append(member)

    def file(self, member: Member) -> Callable[[bytes], object]:
        """Open it; the bytes are written as they come, long zeros as holes."""
        *names, name = member.path.split("/")
        if member.same_as:
            return lambda data: self._repeat(member)
        fd = self._file = os.open(name, NEW, 0o600, dir_fd=self._folder(tuple(names)))
        place = 0

        def put(data: bytes) -> None:
            nonlocal place
            if data:
                place += len(data)
                write_sparse(fd, data)
                return
            if os.fstat(fd).st_size != place:
                os.ftruncate(fd, place)  # it ends in a hole
            self._dress(fd, member)
            self._file = -1
            os.close(fd)

        return put

    def whole(self, path: str, mode: int, mtime_ns: int, data: bytes) -> None:
        """A small file with all its bytes; called in helpers too, each with its own open folders."""
        folder, _, name = path.rpartition("/")
        if folder != self._place:
            self._here = self._folder(tuple(folder.split("/")))
            self._place = folder
        fd = os.open(name, NEW, 0o600, dir_fd=self._here)
        try:
            write_sparse(fd, data)
            if data.endswith(b"\0"):
                os.ftruncate(fd, len(data))  # it may end in a hole
            os.fchmod(fd, mode & 0o777)
            os.utime(fd, ns=(mtime_ns, mtime_ns))
        finally:
            os.close(fd)

    def manifest(self, text: bytes) -> None:
        """The manifest, beside everything."""
        fd = os.open(MANIFEST, NEW, 0o600, dir_fd=self._top)
        try:
            write_all(fd, text)
        finally:
            os.close(fd)

    def finish(self) -> None:
        """Links, then the folders' modes and times, deepest first."""
        for member in self._links:
            *names, name = member.path.split("/")
            parent = self._folder(tuple(names))
            os.symlink(member.target, name, dir_fd=parent)
            with contextlib.suppress(NotImplementedError):
                os.utime(name, ns=(member.mtime_ns, member.mtime_ns), dir_fd=parent, follow_symlinks=False)
        for member in sorted(self._folders, key=lambda one: one.path, reverse=True):
            place = tuple(member.path.split("/"))
            fd = self._folder(place)
            self._require_spelt(place, fd)
            self._dress(fd, member)
        for place in list(self._found):
            self._require_spelt(place, self._folder(place))

    def _require_spelt(self, names: tuple[str, ...], fd: int) -> None:
        """What a helper has made in a folder bears just these names: under another spelling it would be
        another folder, which this file system can not have beside it."""
        found = self._found.pop(names, None)
        if found and not found <= set(os.listdir(fd)):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), "/".join(names))

    def close(self) -> None:
        """Close what an error has left open."""
        self._chain.close()
        if self._file >= 0:
            platform.close(self._file)

    def _folder(self, names: tuple[str, ...]) -> int:
        """The descriptor of a folder; it and those above it are made if they are missing."""
        self._place = ""  # the chain moves
        if names not in self._made:
            for depth in range(1, len(names) + 1):
                if names[:depth] not in self._made:
                    above = self._chain.folder(list(names[: depth - 1]))
                    try:
                        os.mkdir(names[depth - 1], 0o700, dir_fd=above)
                    except FileExistsError:
                        # A helper may have made it; `finish` looks at the names.
                        self._found.setdefault(names[: depth - 1], set()).add(names[depth - 1])
                    self._made.add(names[:depth])
        return self._chain.folder(list(names))

    def _repeat(self, member: Member) -> None:
        """A hard link of another writer becomes a file of its own."""
        *old, source = member.same_as.split("/")
        opened = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self._chain.folder(old))
        try:
            put = self.file(member._replace(same_as=""))
            while part := os.read(opened, HOLE):
                put(part)
            put(b"")
        finally:
            platform.close(opened)

    def _dress(self, fd: int, member: Member) -> None:
        kept = 0o1777 if member.kind is Kind.DIRECTORY else 0o777
        os.fchmod(fd, member.mode & kept)
        os.utime(fd, ns=(member.mtime_ns, member.mtime_ns))


def _open_up(root: Root, place: RelPath) -> None:
    """Make every folder ours to remove from: a snapshot's folders may have modes that forbid it."""
    with contextlib.suppress(OSError, AlreadyThere), root.folder(place) as fd:
        _open_up_below(fd)


def _open_up_below(fd: int) -> None:
    """A folder and all in it; open are only those that lead to the present one."""
    os.fchmod(fd, 0o700)
    with os.scandir(fd) as found:
        names = [item.name for item in found if item.is_dir(follow_symlinks=False)]
    for name in names:
        os.chmod(name, 0o700, dir_fd=fd)
        inner = os.open(name, platform.FOLDER, dir_fd=fd)
        try:
            _open_up_below(inner)
        finally:
            platform.close(inner)
