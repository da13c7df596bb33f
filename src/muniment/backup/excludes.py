"""Floor 3, `backup`: what is left out, and by whose word: pure matching of paths (spec 4, rules file).

A pattern without a glob sign is anchored: it names one path below the data folder, or below the
workspace when it begins with `workspace/`.  Only patterns with a glob sign match anywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from pathspec import GitIgnoreSpec

WORKSPACE = "workspace"
DATA = "data"
EXTRA = "extra"
ALWAYS_OUT = frozenset({".backup", ".restore"})
_GLOB_SIGNS = frozenset("*?[")


class Reason(StrEnum):
    """Why something is left out; of several, the first of these counts."""

    SELF_LOOP = "excluded_self_loop"
    USER_RULE = "excluded_user_rule"
    DEFAULT_RULE = "excluded_default_rule"


class Excludes:
    """All patterns of one plan.

    `self_loop` are places that must never be in a snapshot, as section and path; `user` are the
    lines of the rules file and of the call; `defaults` are, by section, the top-level names that
    the layout leaves out.  `always_in` are places that no rule but the first drops, nor what lies in
    them.  With `one_section` there is no data folder beside the workspace, and every pattern is
    anchored at the workspace.
    """

    def __init__(
        self,
        *,
        user: Sequence[str] = (),
        defaults: dict[str, frozenset[str]] | None = None,
        self_loop: frozenset[tuple[str, str]] = frozenset(),
        always_in: frozenset[tuple[str, str]] = frozenset(),
        full: bool = False,
        one_section: bool = False,
    ) -> None:
        self._self_loop = self_loop
        self._defaults = {} if full or defaults is None else defaults
        self._user = tuple(user)
        self._used: set[str] = set()
        self._always_in = always_in
        self._on_the_way = {
            (section, "/".join(path.split("/")[:length]))
            for section, path in always_in
            for length in range(1, path.count("/") + 1)
        }
        self._hollow: dict[tuple[str, str], Reason] = {}
        self._anchored: dict[tuple[str, str], str] = {}
        self._globs: list[tuple[str, GitIgnoreSpec]] = []
        for pattern in self._user:
            if _GLOB_SIGNS.intersection(pattern):
                self._globs.append((pattern, GitIgnoreSpec.from_lines([pattern])))
            else:
                section, path = anchor(pattern)
                self._anchored[WORKSPACE if one_section else section, path] = pattern
        self._above = {
            (section, path.rpartition("/")[0])
            for section, path in (*self_loop, *always_in, *self._on_the_way, *self._anchored)
        }

    def by_name(self, section: str, folder: str) -> bool:
        """Whether for everything that lies in a folder, other than at the top, `left_out_by_name` says
        the same as `reason` does.

        >>> rules = Excludes(user=["workspace/a/b"])
        >>> rules.by_name("workspace", "a"), rules.by_name("workspace", "c")
        (False, True)
        """
        return not (
            not folder
            or self._globs
            or (section, folder) in self._above
            or (section, folder) in self._hollow
            or any(
                section == one and (folder == place or folder.startswith(f"{place}/"))
                for one, place in self._always_in
            )
        )

    def reason(self, section: str, path: str) -> Reason | None:
        """Why an entry of a section is left out; None when it is kept.

        Folders above were asked before: what lies in a folder that is left out is never asked.

        >>> Excludes(user=["sessions"]).reason("data", "sessions")
        <Reason.USER_RULE: 'excluded_user_rule'>
        >>> Excludes(user=["memory"]).reason("workspace", "memory") is None
        True
        """
        above, _, name = path.rpartition("/")
        at_top = name == path
        if (section, path) in self._self_loop or (at_top and name in ALWAYS_OUT):
            return Reason.SELF_LOOP
        if any(
            section == one and (path == place or path.startswith(f"{place}/"))
            for one, place in self._always_in
        ):
            return None
        why = self._hollow.get((section, above)) or self._by_rule(section, path, name, at_top)
        if why is not None and (section, path) in self._on_the_way:
            # Only what has to be in is kept of it.
            self._hollow[section, path] = why
            return None
        return why

    def _by_rule(self, section: str, path: str, name: str, at_top: bool) -> Reason | None:
        if self._by_user(section, path):
            return Reason.USER_RULE
        if left_out_by_name(name):
            return Reason.DEFAULT_RULE
        if at_top and name in self._defaults.get(section, frozenset()):
            return Reason.DEFAULT_RULE
        return None

    def _by_user(self, section: str, path: str) -> bool:
        pattern = self._anchored.get((section, path))
        if pattern is not None:
            self._used.add(pattern)
            return True
        if not self._globs:
            return False
        shown = f"{WORKSPACE}/{path}" if section == WORKSPACE else path
        for pattern, spec in self._globs:
            if spec.match_file(shown) or spec.match_file(f"{shown}/"):
                self._used.add(pattern)
                return True
        return False

    @property
    def unused(self) -> list[str]:
        """The user's patterns that have matched nothing so far."""
        return [pattern for pattern in self._user if pattern not in self._used]


def left_out_by_name(name: str) -> bool:
    """Whether a name alone says that this can be made again.

    >>> left_out_by_name("__pycache__"), left_out_by_name("a.pyc"), left_out_by_name("a.py")
    (True, True, False)
    """
    return name == "__pycache__" or name.endswith(".pyc")


class Only(Excludes):
    """Leaves out everything at the top but one name.

    >>> Only("a").reason("extra", "b")
    <Reason.DEFAULT_RULE: 'excluded_default_rule'>
    """

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name

    def by_name(self, section: str, folder: str) -> bool:
        """Never."""
        return False

    def reason(self, section: str, path: str) -> Reason | None:
        """Why an entry is left out."""
        return None if path == self._name else Reason.DEFAULT_RULE


def anchor(pattern: str) -> tuple[str, str]:
    """The section and path that an anchored pattern names.

    >>> anchor("data/sessions"), anchor("sessions"), anchor("workspace/a/b/")
    (('data', 'sessions'), ('data', 'sessions'), ('workspace', 'a/b'))
    """
    names = [name for name in pattern.split("/") if name not in ("", ".")]
    if names[:1] == [DATA] and len(names) > 1:
        names = names[1:]
    if names[:1] == [WORKSPACE] and len(names) > 1:
        return WORKSPACE, "/".join(names[1:])
    return DATA, "/".join(names)
