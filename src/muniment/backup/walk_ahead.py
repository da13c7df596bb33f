"""Floor 3, `backup`: walks by a process that goes ahead, while this one packs what it found."""

from __future__ import annotations

import pickle
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from types import TracebackType
from typing import Any

from muniment.backup.walk import Many, Seen, Walk
from muniment.bundle.ahead import Ahead, Lost
from muniment.bundle.crew import may_fork
from muniment.bundle.manifest import Exclusion
from muniment.bundle.segments import Part
from muniment.bundle.tar import wire
from muniment.evidence import Kind

FORK_FROM = 2000
"""So many files are worth a process."""

_MANY, _SEEN, _END = range(3)
_Plain = tuple[Any, ...]


class WalksAhead:
    """Walks that are made elsewhere, in their order; a context.

    Where no process can be had, or it is lost, a walk is made here, from where it stood.
    """

    def __init__(self, walks: Sequence[Walk]) -> None:
        self._ahead: Ahead[_Plain] | None = None
        if may_fork():
            try:
                self._ahead = Ahead(lambda: _told(walks))
            except OSError:
                return
            self._values = iter(self._ahead)

    def parts(self, walk: Walk) -> Iterator[Seen | Many]:
        """What the next of the walks gives."""
        part: Seen | Many | None = None
        try:
            while self._ahead:
                kind, *told = next(self._values)
                if kind == _MANY:
                    below, packed = told
                    part = Many(below, Part(*packed))
                elif kind == _SEEN:
                    rel, what, *more = told
                    part = Seen(rel, Kind(what), *more)
                else:
                    exclusions, faults = told
                    walk.exclusions += [Exclusion(*one) for one in exclusions]
                    walk.faults += pickle.loads(faults)
                    return
                yield part
        except (Lost, StopIteration):
            self.close()
        yield from _after(walk.parts(), _last(part) if part else b"")

    def close(self) -> None:
        """End the process."""
        if self._ahead:
            self._ahead.close()
            self._ahead = None

    def __enter__(self) -> WalksAhead:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _told(walks: Iterable[Walk]) -> Iterator[_Plain]:
    """All walks as plain values: their parts, and after each what it left out and could not read."""
    for walk in walks:
        left_out, unread = len(walk.exclusions), len(walk.faults)
        for part in walk.parts():
            if isinstance(part, Many):
                yield _MANY, part.below, tuple(part.part)
            else:
                yield _SEEN, part.rel, part.kind.value, *part[2:]
        exclusions = [tuple(one) for one in walk.exclusions[left_out:]]
        yield _END, exclusions, pickle.dumps(walk.faults[unread:])


def _last(part: Seen | Many) -> bytes:
    return wire(part.below) + part.part.last if isinstance(part, Many) else wire(part.rel)


def _after(parts: Iterable[Seen | Many], last: bytes) -> Iterator[Seen | Many]:
    """What comes after a path."""
    for part in parts:
        if last >= _last(part):
            continue
        if isinstance(part, Many):
            at = wire(part.below)
            begin = bisect_right([at + key for key in part.part.keys], last)
            if begin:
                part = part._replace(part=part.part.between(begin, part.part.number))
        yield part
