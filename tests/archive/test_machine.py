"""Archiving, editing, losing, taking back, sealing and mending in any order: what is told is there."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule
from tests.archive.scene import Scene, swift_scene

from muniment.archive.check import check, entries, find_entry
from muniment.archive.errors import AlreadyUndone, EmptySource, MissingSource, TargetExists
from muniment.archive.keepers import seal, undo
from muniment.archive.model import Standing
from muniment.desk.doctor import Level, examine
from muniment.disk.errors import AlreadyThere, NotThere, SourceChanged
from muniment.hosts.session import Session, SessionSource

NAMES = ("PLAN.md", "report.md", "results/a.txt", "deep/er/b.bin")
CONTENTS = st.sampled_from([b"", b"# one\n", b"# two\n", b"\x00\xff" * 3000])
SESSIONS = {name: Session(name, SessionSource.HOST) for name in ("s1", "s2")}


@dataclass(slots=True)
class Kept:
    """What the model knows of a deliverable: where it came from and lies, what was recorded, what is
    there now (None: nothing)."""

    origin: str
    path: str
    recorded: bytes
    now: bytes | None
    plan: bool
    sealed: bool = False
    undone: bool = False

    @property
    def standing(self) -> Standing:
        if self.now is None:
            return Standing.MISSING
        if self.now == self.recorded:
            return Standing.INTACT
        return Standing.EDITED if self.plan and not self.sealed else Standing.CHANGED


class ArchiveMachine(RuleBasedStateMachine):
    """A workspace beside a dictionary that says what must be there."""

    kept = Bundle("kept")

    def __init__(self) -> None:
        super().__init__()
        self.stack = contextlib.ExitStack()
        self.scene: Scene = self.stack.enter_context(swift_scene())
        self.files: dict[str, bytes] = {}
        self.known: dict[str, Kept] = {}

    def teardown(self) -> None:
        self.stack.close()

    @initialize()
    def begin(self) -> None:
        self.scene.later()

    @rule(name=st.sampled_from(NAMES), data=CONTENTS)
    def write(self, name: str, data: bytes) -> None:
        self.scene.write(name, data)
        self.files[name] = data

    @rule(name=st.sampled_from(NAMES))
    def delete(self, name: str) -> None:
        (self.scene.path / name).unlink(missing_ok=True)
        self.files.pop(name, None)

    @rule(target=kept, name=st.sampled_from(NAMES), session=st.sampled_from(sorted(SESSIONS)))
    def archive(self, name: str, session: str) -> str:
        self.scene.later(1)
        expected: type[Exception] | None = None
        plan_there = any(
            one.now is not None and one.path == f"archives/{session}/PLAN.md"
            for one in self.known.values()
            if not one.undone
        )
        if name not in self.files:
            expected = MissingSource
        elif not self.files[name]:
            expected = EmptySource
        elif name == "PLAN.md" and plan_there:
            expected = TargetExists
        if expected is not None:
            with pytest.raises(expected):
                self.scene.keep(name, session=SESSIONS[session])
            return ""
        (receipt,) = self.scene.keep(name, session=SESSIONS[session])
        data = self.files.pop(name)
        path = receipt.address.path.posix
        self.known[receipt.reference] = Kept(name, path, data, data, name == "PLAN.md")
        return receipt.reference

    @rule(reference=kept, data=CONTENTS)
    def edit(self, reference: str, data: bytes) -> None:
        one = self.known.get(reference)
        if one is not None and one.now is not None and not one.undone:
            (self.scene.path / one.path).write_bytes(data)
            one.now = data

    @rule(reference=kept)
    def lose(self, reference: str) -> None:
        one = self.known.get(reference)
        if one is not None and one.now is not None and not one.undone:
            (self.scene.path / one.path).unlink()
            one.now = None

    @rule(reference=kept)
    def seal(self, reference: str) -> None:
        one = self.known.get(reference)
        if one is None:
            return
        entry = find_entry(self.scene.workspace, reference)
        expected: type[Exception] | None = None
        if one.undone:
            expected = AlreadyUndone
        elif one.now is None:
            expected = NotThere
        elif not one.now:
            expected = EmptySource
        elif one.standing is Standing.CHANGED:
            expected = SourceChanged
        if expected is not None:
            with pytest.raises(expected):
                seal(self.scene.workspace, entry)
            return
        assert one.now is not None
        seal(self.scene.workspace, entry)
        one.sealed, one.recorded = True, one.now

    @rule(reference=consumes(kept))
    def take_back(self, reference: str) -> None:
        one = self.known.get(reference)
        if one is None:
            return
        entry = find_entry(self.scene.workspace, reference)
        expected: type[Exception] | None = None
        if one.now is None:
            expected = NotThere
        elif one.now != one.recorded:
            expected = SourceChanged
        elif one.origin in self.files:
            expected = AlreadyThere
        if expected is not None:
            with pytest.raises(expected):
                undo(self.scene.workspace, entry)
            return
        assert one.now is not None
        undo(self.scene.workspace, entry)
        self.files[one.origin] = one.now
        one.undone = True
        with pytest.raises(AlreadyUndone):
            undo(self.scene.workspace, entry)

    @rule()
    def mend(self) -> None:
        for one in examine(self.scene.workspace, mend=True):
            # The timestamp of what was lost is empty, and goes.
            assert one.level is Level.GOOD or one.subject in {"empty addresses", "file system"}

    @invariant()
    def everything_is_where_the_model_says(self) -> None:
        for name in NAMES:
            path = self.scene.path / name
            assert (path.read_bytes() if path.exists() else None) == self.files.get(name)
        lying = {
            str(path.relative_to(self.scene.path))
            for path in self.scene.path.glob("archives/**/*")
            if path.is_file()
        }
        assert lying == {one.path for one in self.known.values() if one.now is not None and not one.undone}
        assert self.scene.journals() == [] and self.scene.unfinished() == []

    @invariant()
    def what_is_told_is_what_is_there(self) -> None:
        found = [one for one in entries(self.scene.workspace) if not one.undone]
        assert {one.reference for one in found} == {
            reference for reference, one in self.known.items() if not one.undone
        }
        for checked in check(self.scene.workspace, found):
            assert checked.standing is self.known[checked.entry.reference].standing

    @invariant()
    def the_ledger_verifies(self) -> None:
        assert self.scene.sound()


TestArchiveMachine = ArchiveMachine.TestCase
TestArchiveMachine.settings = settings(
    max_examples=15,
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
