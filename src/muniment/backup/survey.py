"""Floor 3, `backup`: looking at everything that would be saved; no byte of content is read."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from muniment.backup.excludes import DATA, EXTRA, WORKSPACE, Excludes, anchor
from muniment.backup.model import ABSENT, OK, ApiFile, ExtraPath, Item
from muniment.backup.rules_file import RulesFile
from muniment.backup.walk import Many, Seen, Walk
from muniment.bundle.manifest import Exclusion
from muniment.disk.errors import NotThere
from muniment.disk.root import Root
from muniment.evidence import Kind
from muniment.hosts.places import Places
from muniment.message import Message, say
from muniment.path import printable

STATE = ".muniment"
LEDGER = f"{STATE}/ledger"
PLANS = f"{STATE}/plans"


@dataclass(frozen=True, slots=True)
class Section:
    """A folder that is saved: its name, where it lies here and in the bundle, and which paths in it
    belong to another section."""

    name: str
    path: Path
    bundle: str
    passed: frozenset[str] = frozenset()


@dataclass(slots=True)
class Surveyed:
    """What a survey saw: items at the top of both sections, further paths, what is left out deeper
    down, and what has to be said."""

    items: list[Item] = field(default_factory=list)
    extra: list[ExtraPath] = field(default_factory=list)
    exclusions: list[Exclusion] = field(default_factory=list)
    warnings: list[Message] = field(default_factory=list)


def folders(places: Places) -> list[Section]:
    """The sections with their folders: the workspace, and the data folder if there is one."""
    found = [Section(WORKSPACE, places.workspace, f"files/{WORKSPACE}")]
    if places.data is not None:
        passed: frozenset[str] = frozenset()
        work, data = Path(os.path.realpath(places.workspace)), Path(os.path.realpath(places.data))
        if work.is_relative_to(data) and work != data:
            passed = frozenset({work.relative_to(data).as_posix()})
        found.append(Section(DATA, places.data, f"files/{DATA}", passed))
    return found


def excludes_of(
    places: Places, rules: RulesFile, mode: str, more: Sequence[str] = (), keep: Sequence[str] = ()
) -> Excludes:
    """The patterns of a plan: the layout's defaults, the rules file, and what the call adds; `keep`
    are places that no rule shall leave out."""
    never = (places.restore_log, *places.former_restore_logs, places.upload_state, places.extraction)
    loops = {
        (section.name, path.relative_to(section.path).as_posix())
        for path in never
        for section in folders(places)
        if path.is_relative_to(section.path)
    }
    loops.add((WORKSPACE, PLANS))
    always = {(WORKSPACE, LEDGER)}
    for text in keep:
        section, path = anchor(text)
        always.add((WORKSPACE if places.data is None else section, path))
    if places.rules.is_relative_to(places.workspace):
        always.add((WORKSPACE, places.rules.relative_to(places.workspace).as_posix()))
    return Excludes(
        user=(*rules.excludes, *more),
        defaults={
            WORKSPACE: places.workspace_sets.skip,
            DATA: places.data_sets.skip | places.rebuildable,
        },
        self_loop=frozenset(loops),
        always_in=frozenset(always),
        full=mode == "full",
        one_section=places.data is None,
    )


def survey(
    places: Places,
    rules: RulesFile,
    excludes: Excludes,
    *,
    full: bool,
    more_paths: Sequence[str] = (),
    keep_outside_links: bool = False,
) -> Surveyed:
    """Look at both sections and the further paths."""
    seen = Surveyed(warnings=[*rules.warnings])
    for section in folders(places):
        try:
            root = Root.open(section.path)
        except NotThere:
            if section.name == DATA:
                folder = printable(str(section.path))
                seen.warnings.append(say("the host's folder {folder} is not there", folder=folder))
            continue
        with root:
            walk = Walk(
                root.fd,
                section.name,
                excludes,
                section.bundle,
                section.passed,
                keep_outside_links,
                raw_databases=full,
            )
            _survey_section(seen, walk, str(section.path), places)
    _warn_of_unfenced(seen, places, rules)
    for pattern in excludes.unused:
        seen.warnings.append(say("the exclude {pattern} matches nothing", pattern=printable(pattern)))
    seen.extra.extend(_further([*rules.paths, *more_paths]))
    for extra in seen.extra:
        if extra.status != OK:
            seen.warnings.append(say("the further path {path} is not there", path=printable(extra.src)))
    return seen


def _warn_of_unfenced(seen: Surveyed, places: Places, rules: RulesFile) -> None:
    for unfenced in rules.unfenced:
        text = unfenced.text.removeprefix(f"{WORKSPACE}/").removeprefix(f"{DATA}/")
        try:
            exists = any(os.path.lexists(section.path / text) for section in folders(places))
        except ValueError:  # a NUL
            continue
        if exists:
            seen.warnings.append(
                say(
                    "line {line}: {text} stands outside the fence and is not read",
                    line=unfenced.line,
                    text=printable(unfenced.text),
                )
            )


def _survey_section(seen: Surveyed, walk: Walk, place: str, places: Places) -> None:
    totals: dict[str, tuple[Kind, int, int]] = {}
    for part in walk.parts():
        if isinstance(part, Many) and part.below:
            top = part.below.partition("/")[0]
            kind, size, files = totals[top]  # a folder stands before what lies in it
            here = part.part.files()
            totals[top] = kind, size + sum([one for _, one in here]), files + len(here)
            if not places.secret.isdisjoint([name for name, _ in here]):
                for one in part.each():
                    _warn_of_secret(seen, one, walk, places)
            continue
        for one in part.each() if isinstance(part, Many) else (part,):
            top, _, rest = one.rel.partition("/")
            kind, size, files = totals.get(top, (one.kind, 0, 0))
            totals[top] = (one.kind if not rest else kind, size + one.size, files + (one.kind is Kind.FILE))
            _warn_of_secret(seen, one, walk, places)
    out = {one.rel: one.reason for one in walk.exclusions if "/" not in one.rel}
    for top in sorted({*totals, *out}, key=os.fsencode):
        if top in out:
            kind, size, files = measure(Path(place) / top)
            status = out[top]
        else:
            kind, size, files = totals[top]
            status = OK
        noun = "dir" if kind is Kind.DIRECTORY else "file"
        item = f"{walk.section}_{noun}"
        src, bundle = f"{place}/{top}", f"{walk.bundle_prefix}/{top}"
        seen.items.append(Item(walk.section, item, src, bundle, top, status, size, files))
    core = places.workspace_sets.core if walk.section == WORKSPACE else places.data_sets.core
    for top in sorted(core - {*totals, *out}):
        src, bundle = f"{place}/{top}", f"{walk.bundle_prefix}/{top}"
        noun = "file" if "." in top[1:] or top == ".env" else "dir"
        seen.items.append(Item(walk.section, f"{walk.section}_{noun}", src, bundle, top, ABSENT, 0, 0))
    for fault in walk.faults:
        seen.warnings.append(say("{path}: {finding}", path=printable(fault.path), finding=fault.finding))
    seen.exclusions.extend(walk.exclusions)


def _warn_of_secret(seen: Surveyed, one: Seen, walk: Walk, places: Places) -> None:
    if one.kind is Kind.FILE and one.rel.rpartition("/")[2] in places.secret:
        seen.warnings.append(
            say(
                "{path} holds secrets and would be stored in plain text",
                path=printable(f"{walk.section}/{one.rel}"),
            )
        )


def measure(path: Path) -> tuple[Kind, int, int]:
    """How much lies at a path that is left out: shown, never read."""
    try:
        fact = path.lstat()
    except OSError:
        return Kind.FILE, 0, 0
    if not stat.S_ISDIR(fact.st_mode):
        return Kind.FILE, fact.st_size, 1
    size = files = 0
    for folder, _, names in os.walk(path):
        for name in names:
            try:
                size += os.lstat(os.path.join(folder, name)).st_size
            except OSError:
                continue
            files += 1
    return Kind.DIRECTORY, size, files


def _further(texts: Sequence[str]) -> list[ExtraPath]:
    """Further paths, each under its own name; a name that is taken gets a number."""
    found: list[ExtraPath] = []
    taken: set[str] = set()
    for text in dict.fromkeys(texts):
        path = Path(text)
        # `..` names nothing in a snapshot; what it leads to has a name.
        own = (os.path.basename(os.path.realpath(text)) if path.name == ".." else path.name) or "root"
        name, number = own, 2
        while name in taken:
            name, number = f"{own}-{number}", number + 1
        taken.add(name)
        bundle = f"files/{EXTRA}/{name}"
        if "\0" in text or not path.is_absolute() or not os.path.lexists(path):
            found.append(ExtraPath(text, bundle, ABSENT, 0, 0))
            continue
        _, size, files = measure(path)
        found.append(ExtraPath(text, bundle, OK, size, files))
    return found


def sections_of(items: Iterable[Item], extra: Iterable[ExtraPath], api: Iterable[ApiFile]) -> list[str]:
    """The sections of a snapshot as its manifest names them, such as `workspace/memory`."""
    names = {f"{item.section}/{item.rel}" for item in items if item.status == OK}
    if any(one.status == OK for one in extra):
        names.add(EXTRA)
    if any(one.status == OK for one in api):
        names.add("api")
    return sorted(names)
