"""Floor 3, `backup`: fetching: a snapshot laid out beside the workspace, verified, with an inventory.

The inventory says what came out of the vault, also of links, folders and modes, which the manifest
does not list.  Its sha256 stands in the ledger, so that what is changed between fetching and
restoring is noticed (spec 4, restore).
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from muniment.backup.errors import FetchedDiffers, NoSuchEntry
from muniment.backup.reading import Reading, bundle_path
from muniment.backup.restore_model import Stored
from muniment.bundle.extract import extract, extract_kept, extract_part
from muniment.bundle.gunzip import raw
from muniment.bundle.manifest import BYTES_MOST, read_manifest
from muniment.bundle.members import Member
from muniment.bundle.model import MANIFEST, Packed, stays_inside
from muniment.bundle.model import Row as IndexRow
from muniment.bundle.tar import wire
from muniment.canonical import Json, NotJson, canonical, read_json
from muniment.digest import Digest, sha256
from muniment.disk.copy import discard
from muniment.disk.errors import AlreadyThere, NotThere
from muniment.disk.root import Root
from muniment.disk.tree import measure
from muniment.disk.write import write_verified
from muniment.evidence import Kind, Row
from muniment.message import say
from muniment.path import RelPath, printable
from muniment.record.event import Draft
from muniment.record.state import FOLDER, Workspace

FETCHED = "backup.fetched"
INVENTORIES = FOLDER / "restore"
_INVENTORY_LIMIT = 1 << 30

Advance = Callable[[int], object]
"""Is told of raw bytes as they are done."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """A snapshot, or a part of it, that lies in a folder; every row was read back there.

    `root` is the snapshot's, empty when it came from elsewhere.
    """

    folder: Root
    place: RelPath
    backup_id: str
    root: str
    rows: tuple[Stored, ...]
    facts: dict[str, Any]
    whole: bool = True

    @property
    def files(self) -> int:
        """How many files."""
        return sum(row.kind is Kind.FILE for row in self.rows)

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(row.size for row in self.rows)

    def by_section(self) -> dict[str, tuple[int, int]]:
        """Files and bytes of each section."""
        found: dict[str, tuple[int, int]] = {}
        for row in self.rows:
            if row.kind is Kind.FILE:
                name = "/".join(row.path.split("/")[: 1 if row.path.startswith("api/") else 2])
                files, size = found.get(name, (0, 0))
                found[name] = (files + 1, size + row.size)
        return dict(sorted(found.items()))

    def rel(self, path: str) -> RelPath:
        """Where something of the snapshot lies, seen from `folder`."""
        return self.place / RelPath.parse(path)


class Fetching:
    """Lays snapshots out in the extraction folder of one workspace."""

    def __init__(self, workspace: Workspace, extraction: RelPath) -> None:
        self._workspace = workspace
        self._extraction = extraction

    def place(self, backup_id: str, only: Sequence[str] = ()) -> RelPath:
        """The folder of a snapshot; a part of it lies in one of its own."""
        return self._extraction / (f"{backup_id}-part" if only else backup_id)

    def fetch(
        self, reading: Reading, only: Sequence[str] = (), advance: Advance = lambda size: None
    ) -> Fetched:
        """The snapshot (or what lies at or below some of its paths) in its folder, verified.

        What was fetched before is used again when it is still what its inventory says.
        """
        if only and reading.index.whole:
            return self._part_of_whole(reading, only, advance)
        backup_id = reading.snapshot.id
        place = self.place(backup_id, only)
        if not only:
            try:
                return self.find(backup_id)
            except (NotThere, FetchedDiffers):
                pass
        self._make_room(place)
        members: list[Member] = []
        if only:
            listed, facts = self._part(reading, only, place, members.append, advance)
        else:
            verified = extract_kept(
                reading.index,
                reading.vault.fetch,
                self._workspace.root,
                place,
                token=f"fetch-{backup_id}",
                manifest=True,
                advance=advance,
                seen=members.append,
            )
            listed, facts = _listed(verified.manifest), dict(verified.facts)
        return self._laid(place, backup_id, reading.index.root.hex, members, listed, facts, whole=not only)

    def receive(self, backup_id: str, chunks: Callable[[], Iterable[bytes]], advance: Advance) -> Fetched:
        """A snapshot that comes as its tar.gz, verified while it comes: an error of `chunks` leaves nothing.

        What was fetched before is used again when it is still what its inventory says.
        """
        place = self.place(backup_id)
        try:
            return self.find(backup_id)
        except (NotThere, FetchedDiffers):
            pass
        self._make_room(place)
        members: list[Member] = []
        told = raw(_told(iter(chunks()), advance))
        token = f"fetch-{backup_id}"
        root = self._workspace.root
        verified = extract(told, root, place, token=token, manifest=True, seen=members.append)
        listed, facts = _listed(verified.manifest), dict(verified.facts)
        return self._laid(place, backup_id, "", members, listed, facts, whole=True)

    def _make_room(self, place: RelPath) -> None:
        self.drop(place)
        root = self._workspace.root
        self._require_no_link()
        root.make_folders(self._extraction, 0o700)
        with suppress(AlreadyThere):
            write_verified(root, self._extraction / ".gitignore", b"*\n", mode=0o600)

    def _laid(
        self,
        place: RelPath,
        backup_id: str,
        root: str,
        members: Sequence[Member],
        listed: Mapping[str, Packed],
        facts: dict[str, Any],
        *,
        whole: bool,
    ) -> Fetched:
        """Remember what lies there now."""
        rows: list[Stored] = []
        for member in members:
            packed = listed.get(member.path)
            digest = packed.sha256 if packed and member.kind is Kind.FILE else ""
            size = packed.size if packed and member.kind is Kind.FILE else 0
            rows.append(
                Stored(member.path, member.kind, member.mode, member.mtime_ns, size, digest, member.target)
            )
        fetched = Fetched(self._workspace.root, place, backup_id, root, with_folders(rows), facts, whole)
        self._remember(fetched)
        return fetched

    def _part_of_whole(self, reading: Reading, only: Sequence[str], advance: Advance) -> Fetched:
        """A part of what came as a tar.gz of another's: it has no order to go by, so all is fetched."""
        fetched = self.fetch(reading, (), advance)
        inside = _inside(only)
        rows = tuple(row for row in fetched.rows if inside(row.path))
        for given in only:
            if not any(_inside([given])(row.path) for row in rows):
                raise NoSuchEntry(where=printable(given))
        return replace(fetched, rows=with_folders(rows), whole=False)

    def _require_no_link(self) -> None:
        """The extraction folder is ours; a link in its place would lead elsewhere."""
        root = self._workspace.root
        if root.exists(self._extraction):
            with root.folder(self._extraction):
                pass

    def _part(
        self,
        reading: Reading,
        only: Sequence[str],
        place: RelPath,
        seen: Callable[[Member], object],
        advance: Advance,
    ) -> tuple[dict[str, Packed], dict[str, Any]]:
        names = [bundle_path(path) for path in only]
        inside = _inside(only)
        listed = {path: packed for path, packed in reading.contents.files.items() if inside(path)}
        runs = (
            _told(unfold_rows(reading, run), advance)
            for run in stretches(list(reading.index), [wire(name) for name in names])
        )
        found: list[Member] = []

        def each(member: Member) -> None:
            found.append(member)
            seen(member)

        extract_part(
            runs, listed, inside, self._workspace.root, place, token=f"fetch-{place.name}", seen=each
        )
        for name, given in zip(names, only, strict=True):
            if not any(member.path == name or member.path.startswith(f"{name}/") for member in found):
                self.drop(place)
                raise NoSuchEntry(where=printable(given))
        return listed, reading.contents.facts

    def _remember(self, fetched: Fetched) -> None:
        facts: dict[str, Json] = {key: value for key, value in fetched.facts.items() if key != "contents"}
        head: dict[str, Json] = {
            "v": 1,
            "backup_id": fetched.backup_id,
            "root": fetched.root,
            "whole": fetched.whole,
            "facts": json.dumps(facts, sort_keys=True),
        }
        data = b"".join(canonical(line) + b"\n" for line in (head, *(row.to_json() for row in fetched.rows)))
        root = self._workspace.root
        root.make_folders(INVENTORIES, 0o700)
        write_verified(root, _inventory(fetched.place), data, replace=True, mode=0o600)
        self._workspace.ledger.append(
            Draft(
                FETCHED,
                fetched.backup_id,
                {
                    "root": fetched.root,
                    "inventory": sha256(data).hex,
                    "files": fetched.files,
                    "bytes": fetched.size,
                    "whole": fetched.whole,
                },
            )
        )

    def find(self, backup_id: str, *, part: bool = False) -> Fetched:
        """What was fetched before, read back: `NotThere` when there is none, `FetchedDiffers` when it
        is no longer what came out of the vault."""
        place = self.place(backup_id, ("part",) if part else ())
        root = self._workspace.root
        data = root.read(_inventory(place), _INVENTORY_LIMIT)
        if not self._is_ours(backup_id, sha256(data)):
            raise FetchedDiffers(
                where=printable(place.posix), why=say("its inventory is not the one that was written")
            )
        try:
            head, *lines = (read_json(line) for line in data.splitlines())
            rows = tuple(Stored.from_json(line) for line in lines)
            facts = json.loads(head["facts"])
            fetched = Fetched(root, place, backup_id, str(head["root"]), rows, facts, bool(head["whole"]))
        except (NotJson, KeyError, TypeError, ValueError) as error:
            raise FetchedDiffers(where=printable(place.posix), why=say("{finding}", finding=error)) from error
        check(fetched)
        return fetched

    def _is_ours(self, backup_id: str, digest: Digest) -> bool:
        needle = f'"subject":"{backup_id}"'.encode()
        return any(
            event.kind == FETCHED and event.evidence.get("inventory") == digest.hex
            for event in self._workspace.ledger.events(containing=needle)
        )

    def forget(self, backup_id: str) -> None:
        """Remove what was fetched of a snapshot, whole or in part, and nothing else of such a name."""
        for part in ((), ("part",)):
            place = self.place(backup_id, part)
            if self._workspace.root.exists(_inventory(place)):
                self.drop(place)

    def drop(self, place: RelPath) -> None:
        """Remove what was fetched, with its inventory."""
        root = self._workspace.root
        if root.exists(INVENTORIES):
            root.unlink(_inventory(place), missing_ok=True)
        if root.exists(place):
            discard(root, place)


def _inside(only: Sequence[str]) -> Callable[[str], bool]:
    """Whether a path of the bundle is one of those given, or below it."""
    names = [bundle_path(path) for path in only]
    for name, given in zip(names, only, strict=True):
        if name != "api" and not name.startswith(("files/", "api/")):
            raise NoSuchEntry(where=printable(given))

    def inside(path: str) -> bool:
        return any(path == name or path.startswith(f"{name}/") for name in names)

    return inside


def _inventory(place: RelPath) -> RelPath:
    return INVENTORIES / f"{place.name}.jsonl"


def check(fetched: Fetched) -> None:
    """Read everything again and compare with the inventory: `FetchedDiffers` names what differs."""
    expected = {row.path: row for row in fetched.rows}
    for row in measure(fetched.folder, fetched.place).table.rows:
        if row.path in ("", MANIFEST) or (row.kind is Kind.DIRECTORY and row.path.count("/") < 2):
            expected.pop(row.path, None)
            continue
        want = expected.pop(row.path, None)
        if want is None:
            raise _not_listed(row.path)
        if _content(row) != (want.kind, want.size, want.sha256, want.target):
            raise _not_as_kept(row.path)
    _none_missing(expected)


def _content(row: Row) -> tuple[Kind, int, str, str]:
    return row.kind, row.size, row.digest.hex if row.digest else "", row.target or ""


def _not_listed(path: str) -> FetchedDiffers:
    return FetchedDiffers(where=printable(path), why=say("the snapshot does not list it"))


def _not_as_kept(path: str) -> FetchedDiffers:
    return FetchedDiffers(where=printable(path), why=say("its bytes are not those of the snapshot"))


def _none_missing(paths: Iterable[str]) -> None:
    for path in paths:
        raise FetchedDiffers(where=printable(path), why=say("it is missing"))


def from_folder(folder: Path) -> Fetched:
    """A snapshot that somebody extracted by other means: its manifest is all there is to hold it to.

    Every file has to be listed, with its size and sha256; links have to stay in their section.
    """
    root = Root.open(folder)
    try:
        data = root.read(RelPath((MANIFEST,)), BYTES_MOST)
    except NotThere as error:
        raise FetchedDiffers(where=printable(str(folder)), why=say("it has no manifest.json")) from error
    listed: dict[str, Packed] = {}
    facts = read_manifest(data, lambda packed: listed.__setitem__(packed.path, packed))
    rows: list[Stored] = []
    for name in ("api", "files"):
        if not root.exists(RelPath((name,))):
            continue
        for row in measure(root, RelPath((name,))).table.rows:
            path = f"{name}/{row.path}" if row.path else name
            kind, size, digest, target = _content(row)
            packed = listed.pop(path, None)
            if kind is Kind.FILE and packed is None:
                raise _not_listed(path)
            if packed is not None and (kind, size, digest) != (Kind.FILE, packed.size, packed.sha256):
                raise _not_as_kept(path)
            if kind is Kind.LINK and not stays_inside(path, target):
                raise FetchedDiffers(where=printable(path), why=say("it is a link that leads out"))
            found = root.stat(RelPath.parse(path))
            rows.append(Stored(path, kind, found.st_mode & 0o7777, found.st_mtime_ns, size, digest, target))
    _none_missing(listed)
    return Fetched(root, RelPath(), "", "", with_folders(rows), facts)


def with_folders(rows: Sequence[Stored]) -> tuple[Stored, ...]:
    """The rows in the bundle's order, with every folder that leads to one.

    A folder that the snapshot does not describe gets the time of what lies in it first.

    >>> [row.path for row in with_folders([Stored("files/workspace/a/b", Kind.FILE, 0o644, 0)])]
    ['files/workspace/a', 'files/workspace/a/b']
    """
    found = {row.path: row for row in rows}
    for row in rows:
        names = row.path.split("/")
        for length in range(3, len(names)):
            found.setdefault(
                "/".join(names[:length]),
                Stored("/".join(names[:length]), Kind.DIRECTORY, 0o755, row.mtime_ns),
            )
    return tuple(sorted(found.values(), key=lambda row: wire(row.path)))


def _listed(manifest: bytes) -> dict[str, Packed]:
    found: dict[str, Packed] = {}
    read_manifest(manifest, lambda packed: found.__setitem__(packed.path, packed))
    return found


def _told(raw: Iterator[bytes], advance: Advance) -> Iterator[bytes]:
    for part in raw:
        advance(len(part))
        yield part


def unfold_rows(reading: Reading, rows: Sequence[IndexRow]) -> Iterator[bytes]:
    """The raw bytes of some rows, each checked."""
    return (reading.raw(row) for row in rows)


def stretches(rows: Sequence[IndexRow], names: Sequence[bytes]) -> Iterator[list[IndexRow]]:
    """The rows that hold some paths and what lies below them, as runs that each begin with a member.

    Rows of one path belong together: the path is that of the member which begins in the first.
    """
    starts: list[int] = [at for at, row in enumerate(rows) if at == 0 or rows[at - 1].path != row.path]
    paths = [rows[at].path for at in starts]
    wanted: set[int] = set()
    for name in names:
        wanted.add(max(bisect_right(paths, name) - 1, 0))
        first = max(bisect_right(paths, name + b"/") - 1, 0)
        last = max(bisect_right(paths, name + b"0") - 1, 0)
        wanted.update(range(first, last + 1))
    run: list[IndexRow] = []
    before = -2
    for unit in sorted(wanted):
        if unit != before + 1 and run:
            yield run
            run = []
        end = starts[unit + 1] if unit + 1 < len(starts) else len(rows)
        run.extend(rows[starts[unit] : end])
        before = unit
    if run:
        yield run
