"""Floor 2, `hosts`: where a host keeps what a backup saves: one table a host (spec 4, layouts)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Sets:
    """Names at the top of a section, by what is proposed for them.

    `core` and `ask` are kept, `skip` is left out by default; anything else is `unknown` and kept.
    """

    core: frozenset[str] = frozenset()
    ask: frozenset[str] = frozenset()
    skip: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Places:
    """The layout of one host.

    `data` is None when there is no folder beside the workspace.  `secret` are names of files that
    hold secrets in plain text, `bound` those that belong to this machine only, `runs` those that
    run by themselves once they are there (each relative to its section).  `rebuildable` are
    further top-level names of the data folder that are never saved.
    """

    name: str
    workspace: Path
    data: Path | None
    rules: Path
    restore_log: Path
    former_restore_logs: tuple[Path, ...]
    extraction: Path
    upload_state: Path
    workspace_sets: Sets
    data_sets: Sets
    secret: frozenset[str]
    bound: frozenset[str]
    runs: frozenset[str]
    api_required: bool = False
    rebuildable: frozenset[str] = frozenset()
