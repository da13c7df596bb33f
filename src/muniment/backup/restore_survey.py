"""Floor 3, `backup`: the restore plan: what was fetched, beside what stands in its place."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from muniment.backup.excludes import DATA, WORKSPACE
from muniment.backup.fetching import Fetched
from muniment.backup.restore_model import Face, Item, RestorePlan, Status, Step, Stored
from muniment.backup.restore_rules import (
    SECTION_LOG,
    Ground,
    collisions,
    destiny,
    face_of,
    judge,
    open_sections,
    place_of,
)
from muniment.backup.standing import InTheWay, Standing
from muniment.backup.surplus import Surplus, exclusions_of
from muniment.backup.survey import folders
from muniment.bundle.tar import wire
from muniment.disk.errors import system_reason
from muniment.disk.root import Root
from muniment.disk.sqlite import COMPANIONS
from muniment.evidence import Kind
from muniment.hosts.places import Places
from muniment.message import Message, say
from muniment.path import RelPath, printable
from muniment.record.claims import Claim


def ground_of(places: Places) -> Ground:
    """The layout, as names relative to its sections."""
    never: set[tuple[str, str]] = set()
    passed: set[tuple[str, str]] = set()
    rules = (WORKSPACE, "")
    for section in folders(places):
        passed |= {(section.name, path) for path in section.passed}
        for path in (places.restore_log, *places.former_restore_logs, places.upload_state, places.extraction):
            if path.is_relative_to(section.path):
                never.add((section.name, path.relative_to(section.path).as_posix()))
        if places.rules.is_relative_to(section.path) and not rules[1]:
            rules = (section.name, places.rules.relative_to(section.path).as_posix())
    return Ground(rules, frozenset(never), places.bound, places.runs, frozenset(passed))


@dataclass(slots=True)
class Looking:
    """One look at everything that a snapshot would replace."""

    fetched: Fetched
    places: Places
    ground: Ground
    roots: Mapping[str, Root]
    claims: Iterable[Claim] = ()
    items: list[Item] = field(default_factory=list)
    warnings: list[Message] = field(default_factory=list)
    _held: ExitStack = field(default_factory=ExitStack)

    def plan(self, *, exact: bool = False, partial: bool = False) -> RestorePlan:
        """The plan; with `exact` it names what is in place and not in the snapshot, too."""
        api = tuple(row.path for row in self.fetched.rows if row.path.startswith("api/"))
        here = {row.path for row in self.fetched.rows}
        with self._held:
            standing = {
                name: self._held.enter_context(Standing(root.fd)) for name, root in self.roots.items()
            }
            kept = self._held.enter_context(Standing(self._lying()))
            for row in self.fetched.rows:
                section, rel = place_of(row.path)
                if section == "api" or not rel:
                    continue
                self._thing(row, section, rel, standing.get(section), kept, here)
            if exact:
                known = here | {f"files/{item.step.section}/{item.step.rel}" for item in self.items}
                out = exclusions_of(self.fetched)
                for name, root in self.roots.items():
                    found = Surplus(name, root, standing[name], self.ground, known, out, self._claimed)
                    found.look()
                    self.items += found.items
        self._extra()
        sections = [
            log
            for name, log in SECTION_LOG.items()
            if any(place_of(row.path)[0] == name for row in self.fetched.rows)
        ]
        return RestorePlan(
            self.fetched.backup_id,
            self.fetched.root,
            str(self.places.workspace),
            str(self.places.data or self.places.workspace),
            self.fetched.files,
            tuple(sorted(self.items, key=lambda item: (item.step.section != WORKSPACE, wire(item.step.rel)))),
            (*sections, *open_sections(api)),
            api,
            partial,
            tuple(self.warnings),
        )

    def _lying(self) -> int:
        """The folder in which the fetched snapshot lies, open as long as this look lasts."""
        below = self.fetched.folder.below(self.fetched.place)
        self._held.callback(below.close)
        return below.fd

    def _thing(
        self,
        row: Stored,
        section: str,
        rel: str,
        standing: Standing | None,
        kept: Standing,
        here: set[str],
    ) -> None:
        fate = destiny(section, rel, self.ground)
        step = Step(section, rel, None, face_of(row), row.path, row.mode & 0o777, row.mtime_ns)
        if fate is Status.BLOCKED:
            why = say("this place belongs to another section")
            self.items.append(Item(Status.BLOCKED, step, why=why))
            return
        if fate is not None:
            self.items.append(Item(fate, step))
            return
        now: Face | None = None
        blocked: Message | None = None
        group, live = "", False
        if standing is not None:
            try:
                now = standing.face(rel)
                if row.kind is Kind.FILE:
                    group, live = self._database(row, section, rel, now, standing, kept, here)
            except InTheWay as error:
                blocked = error.why
            except OSError as error:
                blocked = system_reason(error)
        elif row.kind is Kind.FILE and kept.is_database(row.path):
            group = rel
        if row.kind is not Kind.DIRECTORY:  # folders are only passed through
            blocked = blocked or self._claimed(section, rel)
        self.items.append(judge(row, now, self.ground, blocked=blocked, live=live, group=group))

    def _database(
        self,
        row: Stored,
        section: str,
        rel: str,
        now: Face | None,
        standing: Standing,
        kept: Standing,
        here: set[str],
    ) -> tuple[str, bool]:
        """The group of a database or of what lies beside one, and whether its log is live.

        What SQLite has laid beside the database in place, and the snapshot has not, goes with it.
        """
        prefix = row.path.removesuffix(rel)
        for suffix in COMPANIONS:
            base = rel.removesuffix(suffix)
            if base != rel and prefix + base in here and kept.is_database(prefix + base):
                return base, False
        is_one = now is not None and now.kind is Kind.FILE and standing.is_database(rel)
        if not is_one and not kept.is_database(row.path):
            return "", False
        beside = standing.companions(rel)
        live = any(size and not path.endswith("-shm") for path, size in beside.items())
        for path in beside:
            if prefix + path not in here:
                face = standing.face(path)
                self.items.append(Item(Status.SURPLUS, Step(section, path, face, None, group=rel)))
        return rel, live

    def _claimed(self, section: str, rel: str) -> Message | None:
        """Why a claim of somebody keeps the path where it is."""
        if section != WORKSPACE:
            return None
        path = RelPath.parse(rel)
        for claim in self.claims:
            if claim.touches(path):
                return say("{owner} claims it", owner=printable(claim.owner))
        return None

    def _extra(self) -> None:
        further = sorted(
            {
                "/".join(row.path.split("/")[:3])
                for row in self.fetched.rows
                if row.path.startswith("files/extra/")
            }
        )
        for path in further:
            self.warnings.append(
                say(
                    "{path} is never put back by itself; it lies in {folder}",
                    path=printable(path.removeprefix("files/")),
                    folder=printable(self.fetched.place.posix),
                )
            )


def folds(root: Root) -> bool:
    """Whether the file system of a folder takes names that differ in case for one name."""
    name = f".muniment-Case{os.urandom(4).hex()}.tmp"
    fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=root.fd)
    os.close(fd)
    try:
        os.stat(name.swapcase(), dir_fd=root.fd, follow_symlinks=False)
    except FileNotFoundError:
        return False
    finally:
        os.unlink(name, dir_fd=root.fd)
    return True


def colliding(rows: Iterable[Stored], roots: Mapping[str, Root]) -> list[tuple[str, str]]:
    """Names that can not stand side by side where they would be restored."""
    found: list[tuple[str, str]] = []
    for name, root in roots.items():
        pairs = collisions(row.path for row in rows if place_of(row.path)[0] == name)
        if pairs and folds(root):
            found += pairs
    return found


def section_roots(places: Places, workspace: Root) -> Iterator[tuple[str, Path]]:
    """The sections that are restored in place, and their folders."""
    yield WORKSPACE, Path(workspace.path)
    if places.data is not None:
        yield DATA, places.data
