"""Floor 3, `archive`: what a sweep would archive: everything loose, folders as wholes where they can be."""

from __future__ import annotations

import stat
from collections.abc import Sequence

from muniment.archive.model import PLAN_NAME
from muniment.disk.root import Root
from muniment.disk.tree import walk_stats
from muniment.path import RelPath


def gather(root: Root, loose: Sequence[RelPath]) -> tuple[list[RelPath], list[RelPath]]:
    """Sources for one call, and loose files that can not be archived because they are empty.

    A folder of which every file is loose goes as a whole, so that its inner order survives.
    """
    wanted = set(loose)
    empty = [path for path in loose if _size(root, path) == 0]
    sources: list[RelPath] = []
    covered: set[RelPath] = set()
    for path in sorted(wanted - set(empty)):
        if any(above in covered for above in (path, *path.ancestors())):
            continue
        whole = _widest_whole(root, path, wanted)
        covered.add(whole)
        sources.append(whole)
    inside = [path for path in empty if not any(above in covered for above in path.ancestors())]
    return sources, inside


def _widest_whole(root: Root, path: RelPath, wanted: set[RelPath]) -> RelPath:
    """The highest folder around a path that holds nothing but loose files; else the path."""
    if path.name == PLAN_NAME:
        return path
    widest = path
    for folder in path.ancestors():
        if not folder.parts or not _all_loose(root, folder, wanted):
            break
        widest = folder
    return widest


def _all_loose(root: Root, folder: RelPath, wanted: set[RelPath]) -> bool:
    for inner, found in walk_stats(root, folder):
        if inner and not _is_folder(found.st_mode) and folder / RelPath.parse(inner) not in wanted:
            return False
    return True


def _is_folder(mode: int) -> bool:
    return stat.S_ISDIR(mode)


def _size(root: Root, path: RelPath) -> int:
    return sum(found.st_size for _, found in walk_stats(root, path) if not _is_folder(found.st_mode))
