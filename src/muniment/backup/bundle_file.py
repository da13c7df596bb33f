"""Floor 3, `backup`: a plan as a bundle file on this machine, read back before it is spoken of."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from muniment.backup.content import PURPOSE, sentence
from muniment.backup.errors import BundleAmongSaved, BundlePartial
from muniment.backup.excludes import Excludes
from muniment.backup.model import Plan, Request
from muniment.backup.rules_file import RulesFile
from muniment.backup.survey import excludes_of, folders
from muniment.backup.taking import Advance, Progress, Room, content_of, heading_of
from muniment.bundle.gunzip import raw
from muniment.bundle.join import join
from muniment.bundle.model import Extent, Fault
from muniment.bundle.pack import Packing
from muniment.bundle.verify import Verified, verify
from muniment.disk.errors import named
from muniment.disk.root import Root, real_folder
from muniment.disk.scratch import remove_leftovers
from muniment.disk.write import CHUNK, write_verified
from muniment.hosts.places import Places
from muniment.message import Message
from muniment.path import RelPath, printable


@dataclass(frozen=True, slots=True)
class Filed:
    """A bundle file as it was read back; `size` in bytes, `manifest` as it stands in it."""

    path: Path
    size: int
    sha256: str
    manifest: Mapping[str, Any]
    faults: tuple[Fault, ...]
    warnings: tuple[Message, ...]

    @property
    def partial(self) -> BundlePartial | None:
        """What to say when something that was planned is not in it as it is."""
        lost = [fault for fault in self.faults if fault.kind != "changed"]
        if not lost:
            return None
        return BundlePartial(count=len(lost), where=printable(lost[0].path), why=lost[0].finding)


@dataclass(slots=True)
class Filing:
    """One plan on its way into a file."""

    room: Room
    plan: Plan
    request: Request
    rules: RulesFile
    warnings: Sequence[Message]
    api: Mapping[str, bytes]

    def write(self, out: Path, progress: Progress) -> Filed:
        """Pack into a new file, whole or not at all, and read that back."""
        keep = [path for path in self.request.include if not os.path.isabs(path)]
        excludes = excludes_of(self.room.places, self.rules, self.plan.mode, self.request.exclude, keep)
        refuse_among(out, self.room.places, excludes, self.plan)
        self.warnings = (*self.warnings, *remove_leftovers(PURPOSE, self.room.options.scratch))
        told = [str(warning) for warning in self.warnings]
        rel = RelPath((out.name,))
        with (
            Root.open(real_folder(out.parent)) as root,
            content_of(self.room, self.plan, self.request, self.rules, self.api, told) as content,
        ):
            heading = heading_of(self.room, self.plan, content)
            workers = self.room.options.workers
            packing = Packing(content, content, heading, workers=workers, shared=content.shared)
            with closing(iter(packing)) as extents:
                watched = _watched(packing, extents, progress)
                written = write_verified(root, rel, join(watched), mode=0o600)
            verified = _read_back(root, rel)
        faults = (*content.faults, *packing.faults)
        spoken = set(map(sentence, faults))
        warnings = tuple(one for one in (*self.warnings, *content.warnings) if str(one) not in spoken)
        manifest = json.loads(verified.manifest)
        return Filed(out, written.size, written.digest.hex, manifest, faults, warnings)


def _watched(packing: Packing, extents: Iterator[Extent], progress: Progress) -> Iterator[Extent]:
    advance = Advance(progress)
    for extent in extents:
        advance.to(packing, extent.path, extent.length)
        yield extent


def _read_back(root: Root, rel: RelPath) -> Verified:
    with root.parent(rel) as (fd, name):
        opened = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=fd)
    with os.fdopen(opened, "rb", buffering=0) as stream, named(rel):
        return verify(raw(iter(lambda: stream.read(CHUNK), b"")))


def refuse_among(out: Path, places: Places, excludes: Excludes, plan: Plan) -> None:
    """`BundleAmongSaved` for a file that would be packed into itself while it grows."""
    place = Path(os.path.realpath(out.parent)) / out.name
    for section in reversed(folders(places)):
        above = Path(os.path.realpath(section.path))
        if not place.is_relative_to(above):
            continue
        names = place.relative_to(above).parts[:-1]
        folders_above = ["/".join(names[:length]) for length in range(1, len(names) + 1)]
        if any(path in section.passed for path in folders_above):
            continue
        if not any(excludes.reason(section.name, path) for path in folders_above):
            raise BundleAmongSaved(where=printable(str(out)))
    for extra in plan.extra_paths:
        if place.is_relative_to(os.path.realpath(extra.src)):
            raise BundleAmongSaved(where=printable(str(out)))


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """A folder of our own for a bundle, made now; after an error an empty one is not left behind."""
    with named(str(folder)):
        folder.mkdir(mode=0o700)
    try:
        yield folder
    except BaseException:
        if not any(folder.iterdir()):
            folder.rmdir()
        raise
