"""Floor 3, `backup`: looking at everything that would be saved; no byte of content is read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from muniment.backup.excludes import DATA, WORKSPACE, Excludes
from muniment.backup.model import ABSENT, OK, ExtraPath, Item
from muniment.backup.rules_file import RulesFile
from muniment.backup.walk import Walk
from muniment.bundle.manifest import Exclusion
from muniment.disk.errors import NotThere
from muniment.disk.root import Root
from muniment.evidence import Kind
from muniment.hosts.places import Places
from muniment.message import Message, say
from muniment.path import printable


@dataclass(slots=True)
class Surveyed:
    """What a survey saw: items at the top of both sections, further paths, what is left out deeper
    down, and what has to be said."""

    items: list[Item] = field(default_factory=list)
    extra: list[ExtraPath] = field(default_factory=list)
    exclusions: list[Exclusion] = field(default_factory=list)
    warnings: list[Message] = field(default_factory=list)


def excludes_of(places: Places, rules: RulesFile, mode: str, more: Sequence[str] = ()) -> Excludes:
    """The patterns of a plan: the layout's defaults, the rules file, and what the call adds."""
    loops: set[tuple[str, str]] = set()
    for path in (places.restore_log, *places.former_restore_logs, places.upload_state, places.extraction):
        for section, root in sections(places):
            if path.is_relative_to(root):
                loops.add((section, path.relative_to(root).as_posix()))
    return Excludes(
        user=(*rules.excludes, *more),
        defaults={
            WORKSPACE: places.workspace_sets.skip,
            DATA: places.data_sets.skip | places.rebuildable,
        },
        self_loop=frozenset(loops),
        full=mode == "full",
        one_section=places.data is None,
    )


def sections(places: Places) -> list[tuple[str, Path]]:
    """The sections with their folders: the workspace, and the data folder if there is one."""
    found = [(WORKSPACE, places.workspace)]
    return found if places.data is None else [*found, (DATA, places.data)]


def passed_in(places: Places, section: str) -> frozenset[str]:
    """Paths of the data section that belong to the workspace and are saved there."""
    if section == DATA and places.data is not None and places.workspace.is_relative_to(places.data):
        return frozenset({places.workspace.relative_to(places.data).as_posix()})
    return frozenset()


def walks(
    places: Places, excludes: Excludes, *, full: bool, keep_outside_links: bool
) -> list[tuple[Root, Walk]]:
    """One walk a section over what would be saved; the caller closes the roots."""
    found: list[tuple[Root, Walk]] = []
    for section, path in sections(places):
        try:
            root = Root.open(path)
        except NotThere:
            continue
        walk = Walk(
            root.fd,
            section,
            excludes,
            f"files/{section}",
            passed_in(places, section),
            keep_outside_links,
            raw_databases=full,
        )
        found.append((root, walk))
    return found


def survey(
    places: Places, rules: RulesFile, excludes: Excludes, *, full: bool, keep_outside_links: bool = False
) -> Surveyed:
    """Look at both sections and the further paths."""
    seen = Surveyed(warnings=[*rules.warnings])
    for root, walk in walks(places, excludes, full=full, keep_outside_links=keep_outside_links):
        with root:
            _survey_section(seen, walk, root.path)
    for unfenced in rules.unfenced:
        if any(os.path.lexists(path / unfenced.text) for _, path in sections(places)):
            seen.warnings.append(
                say(
                    "line {line}: {text} stands outside the fence and is not read",
                    line=unfenced.line,
                    text=printable(unfenced.text),
                )
            )
    for pattern in excludes.unused:
        seen.warnings.append(say("the exclude {pattern} matches nothing", pattern=printable(pattern)))
    seen.extra.extend(_extra(path) for path in rules.paths)
    for extra in seen.extra:
        if extra.status != OK:
            seen.warnings.append(say("the further path {path} is not there", path=printable(extra.src)))
    return seen


def _survey_section(seen: Surveyed, walk: Walk, place: str) -> None:
    totals: dict[str, tuple[Kind, int, int]] = {}
    for one in walk:
        top, _, rest = one.rel.partition("/")
        kind, size, files = totals.get(top, (one.kind, 0, 0))
        is_file = one.kind is Kind.FILE
        totals[top] = (one.kind if not rest else kind, size + one.size, files + is_file)
    out = {one.rel: one.reason for one in walk.exclusions if "/" not in one.rel}
    for top in sorted({*totals, *out}, key=os.fsencode):
        if top in out:
            kind, size, files = _measure(Path(place) / top)
            status = out[top]
        else:
            kind, size, files = totals[top]
            status = OK
        noun = "dir" if kind is Kind.DIRECTORY else "file"
        seen.items.append(
            Item(
                walk.section,
                f"{walk.section}_{noun}",
                f"{place}/{top}",
                f"{walk.bundle_prefix}/{top}",
                top,
                status,
                size,
                files,
            )
        )
    seen.exclusions.extend(walk.exclusions)


def _measure(path: Path) -> tuple[Kind, int, int]:
    """How much lies at a path that is left out: shown, never read."""
    if path.is_symlink() or not path.is_dir():
        try:
            return Kind.FILE, path.lstat().st_size, 1
        except OSError:
            return Kind.FILE, 0, 0
    size = files = 0
    for folder, _, names in os.walk(path):
        for name in names:
            try:
                size += os.lstat(os.path.join(folder, name)).st_size
            except OSError:
                continue
            files += 1
    return Kind.DIRECTORY, size, files


def _extra(text: str) -> ExtraPath:
    path = Path(text)
    bundle = f"files/extra/{path.name}"
    if not path.is_absolute() or not os.path.lexists(path):
        return ExtraPath(text, bundle, ABSENT, 0, 0)
    _, size, files = _measure(path)
    return ExtraPath(text, bundle, OK, size, files)


def kept(items: Iterable[Item]) -> list[str]:
    """The sections of a snapshot as its manifest names them, such as `workspace/memory`."""
    return sorted({f"{item.section}/{item.rel}" for item in items if item.status == OK})
