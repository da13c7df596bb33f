"""Floor 3, `backup`: all steps of one section, in batches: staged, made durable, placed, read back."""

from __future__ import annotations

from collections.abc import Sequence

from muniment.backup.databases import require_free, verify_restored
from muniment.backup.errors import DatabaseDiffers, DatabaseInUse
from muniment.backup.fetching import Fetched
from muniment.backup.placing import Advance, Numbered, Placing, batches, clears, makes, trouble
from muniment.backup.restore_model import Trouble
from muniment.backup.restore_set import RestoreSet
from muniment.backup.standing import InTheWay
from muniment.disk.errors import (
    AlreadyThere,
    NoPermission,
    NotThere,
    OutsideRoot,
    Overtaken,
    ReadbackFailed,
    SourceChanged,
    SpecialFile,
    WrongKind,
)
from muniment.disk.root import Root
from muniment.path import RelPath

_OF_ONE_STEP = (
    AlreadyThere,
    DatabaseDiffers,
    DatabaseInUse,
    InTheWay,
    NoPermission,
    NotThere,
    OutsideRoot,
    Overtaken,
    ReadbackFailed,
    SourceChanged,
    SpecialFile,
    WrongKind,
)
"""What keeps one step from being done and says nothing of the others; anything else ends the run."""


class Applying:
    """Does, ends or takes back the steps of a restore in one section."""

    def __init__(
        self, root: Root, kept: Root, folder: RelPath, one: RestoreSet, fetched: Fetched | None
    ) -> None:
        self._root = root
        self._kept = kept
        self._folder = folder
        self._fetched = fetched
        self._placing = Placing(root, kept, folder, one.restore)

    def close(self) -> None:
        """Let the folders go."""
        self._placing.close()

    def run(self, steps: Sequence[Numbered], *, again: bool, progress: Advance) -> tuple[int, list[Trouble]]:
        """Do every step that is not done; how many files were written, and what was not to be done.

        With `again` an ended run may have left any of them half done.
        """
        wrote = 0
        troubles: list[Trouble] = []
        made: list[Numbered] = []
        for batch in batches(steps):
            todo = self._settled(batch, troubles) if again else batch
            if not todo:
                continue
            group = todo[0].step.group
            done = self._group(todo, batch, troubles) if group else self._batch(todo, made, troubles)
            wrote += sum(not (makes(one.step) or clears(one.step)) for one in done)
            for one in done:
                progress(one.step.after.size if one.step.after else 0, 1, one.step.rel)
        self._dress(made)
        return wrote, troubles

    def _dress(self, made: Sequence[Numbered]) -> None:
        """Give folders that were made their modes and times, now that everything lies in them."""
        for one in reversed(made):
            self._placing.dress_folder(one)
        if made:
            self._placing.sync_names()

    def _settled(self, batch: Sequence[Numbered], troubles: list[Trouble]) -> list[Numbered]:
        """The steps that are still to be done."""
        todo: list[Numbered] = []
        for one in batch:
            try:
                if not self._placing.settle(one):
                    todo.append(one)
            except _OF_ONE_STEP as error:
                troubles.append(trouble(one.step, error))
        self._placing.sync_names()
        return todo

    def settle_all(self, steps: Sequence[Numbered]) -> None:
        """Leave nothing unfinished: each step is done or not."""
        self._settled(steps, [])

    def _batch(
        self, batch: Sequence[Numbered], made: list[Numbered], troubles: list[Trouble]
    ) -> list[Numbered]:
        assert self._fetched is not None
        placing, staged, done = self._placing, [], []
        try:
            for one in batch:
                try:
                    if makes(one.step):
                        placing.make_folder(one)
                        made.append(one)
                        done.append(one)
                        continue
                    if one.step.after is not None:
                        placing.stage(one, self._fetched)
                    staged.append(one)
                except _OF_ONE_STEP as error:
                    troubles.append(trouble(one.step, error))
            placing.sync_staged(staged)
            placed = self._place(staged, troubles)
        except BaseException:
            for one in staged:
                placing.unstage(one)
            raise
        placing.sync_names()
        for one in placed:
            try:
                placing.confirm(one)
                done.append(one)
            except _OF_ONE_STEP as error:
                troubles.append(trouble(one.step, error))
        return done

    def _place(self, staged: Sequence[Numbered], troubles: list[Trouble]) -> list[Numbered]:
        placed: list[Numbered] = []
        for one in staged:
            try:
                self._placing.place(one)
                placed.append(one)
            except _OF_ONE_STEP as error:
                self._placing.unstage(one)
                troubles.append(trouble(one.step, error))
        return placed

    def _group(
        self, todo: Sequence[Numbered], whole: Sequence[Numbered], troubles: list[Trouble]
    ) -> list[Numbered]:
        """A database and what lies beside it: all of it, or none."""
        assert self._fetched is not None
        placing = self._placing
        main = todo[0].step.group
        staged: list[Numbered] = []
        placed: list[Numbered] = []
        try:
            for one in todo:
                if one.step.after is not None:
                    placing.stage(one, self._fetched)
                staged.append(one)
            placing.sync_staged(staged)
            require_free(self._root, main, {one.step.rel for one in whole})
            for one in staged:
                placing.place(one)
                placed.append(one)
            placing.sync_names()
            for one in placed:
                placing.confirm(one)
            for one in placed:
                if one.step.rel == main and one.step.after is not None:
                    verify_restored(self._root, one.step, self._fetched)
        except _OF_ONE_STEP as error:
            self._all_back(staged, placed)
            where = next((one.step for one in whole if one.step.rel == main), todo[0].step)
            troubles.append(trouble(where, error))
            return []
        except BaseException:
            self._all_back(staged, placed)
            raise
        return placed

    def _all_back(self, staged: Sequence[Numbered], placed: Sequence[Numbered]) -> None:
        for one in staged:
            if one not in placed:
                self._placing.unstage(one)
        for one in reversed(placed):
            self._placing.take_back(one)
        self._placing.sync_names()

    # Undoing

    def undo(self, steps: Sequence[Numbered], *, progress: Advance) -> tuple[int, int, list[Trouble]]:
        """Take back every step: how many were put back, how many removed, and what stays."""
        back = removed = 0
        kept: list[Trouble] = []
        made: list[Numbered] = []
        groups: dict[str, list[Numbered]] = {}
        for one in reversed(steps):
            if one.step.group:
                groups.setdefault(one.step.group, []).append(one)
                continue
            try:
                self._settle_quietly(one)
                if not self._placing.take_back(one):
                    pass
                elif clears(one.step):
                    made.append(one)
                else:
                    back += one.step.before is not None
                    removed += one.step.before is None and not makes(one.step)
            except _OF_ONE_STEP as error:
                kept.append(trouble(one.step, error))
            progress(0, 1, one.step.rel)
        for main, members in groups.items():
            try:
                count = self._undo_group(main, members)
                back += count
            except _OF_ONE_STEP as error:
                kept.append(trouble(members[-1].step, error))
        self._placing.sync_names()
        self._dress(made)
        return back, removed, kept

    def _settle_quietly(self, one: Numbered) -> None:
        """A run that was ended may have left the step half done; what is neither is told by `take_back`."""
        try:
            self._placing.settle(one)
        except SourceChanged:
            return

    def _undo_group(self, main: str, members: Sequence[Numbered]) -> int:
        """A database back, with its logs: only while nobody holds it and nothing was written since."""
        for one in members:
            self._settle_quietly(one)
        faces = {one.step.rel: self._placing.face(one.step.rel) for one in members}
        own = {one.step.rel for one in members if one.step.after is not None}
        # Of an undoing that was ended: what is back already is no stranger.
        back = {one.step.rel for one in members if faces[one.step.rel] == one.step.before}
        if len(back) < len(members):
            require_free(self._root, main, own | back, clear=True)
        count = 0
        for one in sorted(members, key=lambda one: one.step.rel != main):
            count += self._placing.take_back(one)
        return count
