"""Floor 3, `backup`: what becomes of each thing of a snapshot: pure (spec 4, restore).

Facts in: the snapshot's rows and what stands in their places.  Verdicts out: new, unchanged,
modified; what belongs to a machine and is laid aside; what would run by itself.
"""

from __future__ import annotations

import itertools
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from muniment.backup.excludes import DATA, EXTRA, WORKSPACE
from muniment.backup.restore_model import Face, Item, Order, RestorePlan, Status, Step, Stored
from muniment.bundle.tar import wire
from muniment.evidence import Kind
from muniment.message import Message, say

STATE = ".muniment"
OWN = ".restore"
SECTION_LOG = {WORKSPACE: "files/workspace", DATA: "files/data"}
"""The names of the sections of files in the restore log."""

API_SECTIONS = {
    "api/settings.json": "settings",
    "api/profile.json": "profile",
    "api/scheduled_tasks.json": "scheduled_tasks",
}
"""The sections that the host's own tools restore, in the order in which that is done."""

_KEPT_IN_STATE = ("config.toml",)


@dataclass(frozen=True, slots=True)
class Ground:
    """What the layout says, as names relative to their sections.

    `rules` is the rules file, which is the person's and restored like any file; `never` are the logs
    and states of acts that were under way; `passed` is where another section begins.
    """

    rules: tuple[str, str]
    never: frozenset[tuple[str, str]]
    bound: frozenset[str]
    runs: frozenset[str]
    passed: frozenset[tuple[str, str]] = frozenset()


def place_of(path: str) -> tuple[str, str]:
    """Section and path in it of a bundle's path; the section `api` has its files at the top.

    >>> place_of("files/workspace/a/b"), place_of("api/settings.json"), place_of("files/data")
    (('workspace', 'a/b'), ('api', 'settings.json'), ('data', ''))
    """
    if path.startswith("api/"):
        return "api", path[4:]
    _, _, rest = path.partition("/")
    section, _, rel = rest.partition("/")
    return section, rel


def destiny(section: str, rel: str, ground: Ground) -> Status | None:
    """What becomes of a place whatever stands there: None for what is restored in place.

    >>> ground = Ground(("workspace", ".muniment/backup_rules.md"), frozenset(), frozenset(), frozenset())
    >>> destiny("workspace", ".muniment/ledger/000001.jsonl", ground)
    <Status.ASIDE: 'aside'>
    >>> destiny("workspace", ".muniment/backup_rules.md", ground) is None
    True
    """
    if section == EXTRA:
        return Status.BY_HAND
    if (section, rel) == ground.rules:
        return None
    if section == WORKSPACE and (rel == STATE or rel.startswith(f"{STATE}/")):
        return None if rel in (STATE, *(f"{STATE}/{name}" for name in _KEPT_IN_STATE)) else Status.ASIDE
    top = rel.partition("/")[0]
    if top == OWN or top in ground.bound:
        return Status.ASIDE
    if any(section == one and (rel == path or rel.startswith(f"{path}/")) for one, path in ground.never):
        return Status.ASIDE
    if any(section == one and (rel == path or rel.startswith(f"{path}/")) for one, path in ground.passed):
        return Status.BLOCKED
    return None


def runs_by_itself(section: str, rel: str, ground: Ground) -> bool:
    """Whether something starts a file of this name without being asked: a hook, a timetable, a
    host's settings; in a repository its hooks and its configuration, which names programs.

    >>> ground = Ground(("workspace", "rules.md"), frozenset(), frozenset(), frozenset({"setup.sh"}))
    >>> [runs_by_itself("workspace", rel, ground) for rel in ("setup.sh", "a/setup.sh", "a/.git/hooks/x")]
    [True, False, True]
    """
    if any(rel == name or rel.startswith(f"{name}/") for name in ground.runs):
        return True
    if section == WORKSPACE and rel == f"{STATE}/config.toml":
        return True
    names = rel.split("/")
    return any(
        one == ".git" and inner in ("hooks", "config", "config.worktree")
        for one, inner in itertools.pairwise(names)
    )


def face_of(stored: Stored) -> Face:
    """What a thing of the snapshot looks like once it is in place."""
    return Face(stored.kind, stored.size, stored.sha256, stored.target)


def judge(
    stored: Stored,
    now: Face | None,
    ground: Ground,
    *,
    blocked: Message | None = None,
    live: bool = False,
    group: str = "",
) -> Item:
    """The item of one thing that is restored in place.

    `now` is what stands there; `blocked` says why nothing can be put there; `live` that it is a
    database whose own log holds more than the file does.
    """
    section, rel = place_of(stored.path)
    after = face_of(stored)
    step = Step(section, rel, now, after, stored.path, stored.mode & 0o777, stored.mtime_ns, group)
    runs = stored.kind is not Kind.DIRECTORY and runs_by_itself(section, rel, ground)
    if blocked is not None:
        return Item(Status.BLOCKED, step, runs, blocked)
    if now is None:
        return Item(Status.NEW, step, runs)
    if Kind.DIRECTORY in (now.kind, after.kind):
        if now.kind is after.kind:
            return Item(Status.UNCHANGED, step, runs)
        if after.kind is Kind.DIRECTORY:
            return Item(Status.BLOCKED, step, runs, say("the snapshot has a folder where a file stands"))
        return Item(Status.BLOCKED, step, runs, say("a folder stands there"))
    if now == after and not live:
        return Item(Status.UNCHANGED, step, runs)
    return Item(Status.MODIFIED, step, runs)


def choose(
    plan: RestorePlan,
    *,
    overwrite: bool,
    exact: bool = False,
    run: bool = False,
    only: frozenset[tuple[str, str]] | None = None,
) -> Order:
    """What is to be done of a plan.

    New things always; modified ones with `overwrite`; what is not in the snapshot goes with `exact`;
    what runs by itself only with `run`.  `only` are the modified and running things that the person
    picked one by one, and then decides instead of `overwrite` and `run`.
    """
    chosen: list[Step] = []
    skipped = runs = replaces = 0
    groups: set[str] = set()
    for item in plan.items:
        step = item.step
        if item.status is Status.SURPLUS:
            if step.group or not exact:
                continue
            replaces += 1
        elif item.status is Status.MODIFIED:
            wanted = (overwrite and (run or not item.runs)) if only is None else _place(step) in only
            if not wanted:
                skipped += 1
                continue
            replaces += 1
            groups.add(step.group)
        elif item.status is Status.NEW:
            wanted = not item.runs or (run if only is None else _place(step) in only)
            if not wanted:
                skipped += 1
                continue
            groups.add(step.group)
        else:
            continue
        runs += item.runs
        chosen.append(step)
    beside = [
        item.step
        for item in plan.items
        if item.status is Status.SURPLUS and item.step.group and item.step.group in groups
    ]
    steps = _in_order([*chosen, *beside])
    return Order(plan, steps, skipped, runs, replaces + len(beside))


def _place(step: Step) -> tuple[str, str]:
    return step.section, step.rel


def _in_order(steps: list[Step]) -> tuple[Step, ...]:
    """By section and path; what lies beside a database goes before it, so that a new file never
    stands next to an old log; what is taken away goes last, the deepest first."""
    place = {WORKSPACE: 0, DATA: 1}

    def key(step: Step) -> tuple[int, int, bytes, int, bytes]:
        gone = step.after is None
        last = 1 if gone and not step.group else 0
        path = wire(step.rel)
        # Turned over, with a last sign beyond all others, so that a folder comes after what lies in it.
        depth = bytes(255 - byte for byte in path) + b"\xff" if last else wire(step.group) or path
        return place[step.section], last, depth, 0 if gone else 1, path

    return tuple(sorted(steps, key=key))


def collisions(paths: Iterable[str]) -> list[tuple[str, str]]:
    """Pairs of paths that a file system which folds case or normal forms can not hold side by side.

    >>> collisions(["a/Read.me", "a/README", "a/read.me"])
    [('a/Read.me', 'a/read.me')]
    """
    seen: dict[str, str] = {}
    found: list[tuple[str, str]] = []
    for path in paths:
        key = unicodedata.normalize("NFC", path).casefold()
        if key in seen and seen[key] != path:
            found.append((seen[key], path))
        seen.setdefault(key, path)
    return found


def open_sections(api: Iterable[str]) -> tuple[str, ...]:
    """The sections of the host's settings that a snapshot has, in the order of restoring them.

    >>> open_sections(["api/scheduled_tasks.json", "api/settings.json"])
    ('settings', 'scheduled_tasks')
    """
    present = set(api)
    return tuple(name for path, name in API_SECTIONS.items() if path in present)


def is_left_out(section: str, rel: str, exclusions: Mapping[str, frozenset[str]]) -> bool:
    """Whether a place lies in what the snapshot left out by its rules, so that its absence there
    says nothing."""
    out = exclusions.get(section, frozenset())
    names = rel.split("/")
    if any("/".join(names[:length]) in out for length in range(1, len(names) + 1)):
        return True
    return any(name == "__pycache__" for name in names) or rel.endswith(".pyc")
