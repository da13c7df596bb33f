"""Floor 3, `archive`: what a sweep would archive: everything loose, folders as wholes where they can be."""

from __future__ import annotations

import stat
from collections.abc import Sequence
from dataclasses import dataclass, field

from muniment.disk.root import Root
from muniment.disk.tree import walk_stats
from muniment.path import RelPath


@dataclass(frozen=True, slots=True)
class Gathered:
    """Sources for one call, and what can not be archived: empty files, and links."""

    sources: tuple[RelPath, ...]
    empty: tuple[RelPath, ...]
    links: tuple[RelPath, ...]


def gather(root: Root, loose: Sequence[RelPath]) -> Gathered:
    """Sort what is loose.

    A folder of which every file is loose goes as a whole, so that its inner order survives, and a
    plan or an empty file in it goes along; a link keeps the folders around it from going as wholes.
    """
    looking = _Looking(root, frozenset(loose))
    sources: list[RelPath] = []
    covered: set[RelPath] = set()
    empty: list[RelPath] = []
    links: list[RelPath] = []
    for path in sorted(loose):
        if stat.S_ISLNK(root.stat(path).st_mode):
            links.append(path)
        elif _size(root, path) == 0:
            empty.append(path)
        elif not any(above in covered for above in (path, *path.ancestors())):
            whole = looking.widest_whole(path)
            covered.add(whole)
            sources.append(whole)
    alone = (path for path in empty if not any(above in covered for above in path.ancestors()))
    return Gathered(tuple(sources), tuple(alone), tuple(links))


@dataclass(frozen=True, slots=True)
class _Looking:
    """What was found of folders; each is walked once."""

    root: Root
    loose: frozenset[RelPath]
    whole: dict[RelPath, bool] = field(default_factory=dict)

    def widest_whole(self, path: RelPath) -> RelPath:
        """The highest folder around a path that holds nothing but loose files; else the path."""
        widest = path
        for folder in path.ancestors():
            if not folder.parts or not self._all_loose(folder):
                break
            widest = folder
        return widest

    def _all_loose(self, folder: RelPath) -> bool:
        if folder not in self.whole:
            self.whole[folder] = all(
                self._fits(folder / RelPath.parse(inner), found.st_mode)
                for inner, found in walk_stats(self.root, folder)
                if inner
            )
        return self.whole[folder]

    def _fits(self, path: RelPath, mode: int) -> bool:
        if stat.S_ISDIR(mode):
            return True
        return stat.S_ISREG(mode) and (
            path in self.loose or any(above in self.loose for above in path.ancestors())
        )


def _size(root: Root, path: RelPath) -> int:
    return sum(found.st_size for _, found in walk_stats(root, path) if stat.S_ISREG(found.st_mode))
