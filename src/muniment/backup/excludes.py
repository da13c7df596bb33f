"""Floor 3, `backup`: what is left out, and by whose word: pure matching of paths (spec 4, rules file).

A pattern without a glob sign is anchored: it names one path below the data folder, or below the
workspace when it begins with `workspace/`.  Only patterns with a glob sign match anywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import pathspec

WORKSPACE = "workspace"
DATA = "data"
ALWAYS_OUT = frozenset({".backup", ".restore"})
EVERYWHERE_OUT = "__pycache__"
EVERYWHERE_OUT_ENDING = ".pyc"
_GLOB_SIGNS = frozenset("*?[")


class Reason(StrEnum):
    """Why something is left out; the order of the members is the order in which they count."""

    SELF_LOOP = "excluded_self_loop"
    USER_RULE = "excluded_user_rule"
    DEFAULT_RULE = "excluded_default_rule"


@dataclass(slots=True)
class Excludes:
    """All patterns of one plan.

    `self_loop` are anchored paths that must never be in a snapshot (the extraction folder, logs
    of this program); `user` are the lines of the rules file and of the call; `default_workspace`
    and `default_data` are top-level names of the layout.  `used` collects the user's patterns that
    matched something.
    """

    self_loop: frozenset[tuple[str, str]]
    user: Sequence[str]
    default_workspace: frozenset[str]
    default_data: frozenset[str]
    full: bool = False
    data_name: str = "data"
    used: set[str] = field(default_factory=set)
    _anchored: dict[tuple[str, str], str] = field(default_factory=dict)
    _globs: list[tuple[str, pathspec.PathSpec]] = field(default_factory=list)

    def __post_init__(self) -> None:
        for pattern in self.user:
            if _GLOB_SIGNS.intersection(pattern):
                self._globs.append((pattern, pathspec.PathSpec.from_lines("gitwildmatch", [pattern])))
            else:
                self._anchored[anchor(pattern, self.data_name)] = pattern

    def reason(self, section: str, path: str) -> Reason | None:
        """Why an entry of a section (`workspace` or `data`) is left out; None when it is kept.

        Folders above were asked before: what lies in a folder that is left out is never asked.
        """
        top, _, rest = path.partition("/")
        name = path.rpartition("/")[2]
        if (section, path) in self.self_loop or (not rest and top in ALWAYS_OUT):
            return Reason.SELF_LOOP
        if self._by_user(section, path):
            return Reason.USER_RULE
        if name == EVERYWHERE_OUT or name.endswith(EVERYWHERE_OUT_ENDING):
            return Reason.DEFAULT_RULE
        defaults = self.default_workspace if section == WORKSPACE else self.default_data
        if not self.full and not rest and top in defaults:
            return Reason.DEFAULT_RULE
        return None

    def _by_user(self, section: str, path: str) -> bool:
        pattern = self._anchored.get((section, path))
        if pattern is not None:
            self.used.add(pattern)
            return True
        shown = f"{WORKSPACE}/{path}" if section == WORKSPACE else path
        for pattern, spec in self._globs:
            if spec.match_file(shown) or spec.match_file(shown + "/"):
                self.used.add(pattern)
                return True
        return False

    @property
    def unused(self) -> list[str]:
        """The user's patterns that matched nothing."""
        return [pattern for pattern in self.user if pattern not in self.used]


def anchor(pattern: str, data_name: str = "data") -> tuple[str, str]:
    """The section and path that an anchored pattern names.

    >>> anchor("data/sessions"), anchor("sessions"), anchor("workspace/a/b/")
    (('data', 'sessions'), ('data', 'sessions'), ('workspace', 'a/b'))
    """
    names = [name for name in pattern.split("/") if name not in ("", ".")]
    if names[:1] == [WORKSPACE] and len(names) > 1:
        return WORKSPACE, "/".join(names[1:])
    if names[:1] == [data_name] and len(names) > 1:
        names = names[1:]
    if names[:1] == [WORKSPACE] and len(names) > 1:
        return WORKSPACE, "/".join(names[1:])
    return DATA, "/".join(names)
