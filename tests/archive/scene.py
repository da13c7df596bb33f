"""A workspace as the archive's tests find it: files of an agent, its record, and how to look at both."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from muniment.archive.entries import KEPT
from muniment.archive.model import Receipt, Request, Track
from muniment.archive.service import Archive, Options
from muniment.disk import platform
from muniment.disk.root import Root
from muniment.disk.write import is_scratch
from muniment.hosts.session import Session, SessionSource
from muniment.path import RelPath
from muniment.record.event import Event
from muniment.record.state import Workspace, open_workspace
from muniment.record.verify import verify

NOON = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)
FALLBACK = Session("a3f2b1c-1130-1200", SessionSource.FALLBACK)
REPORT = b"# Report\n\nThree of four sensors drifted.\n"

Look = tuple[str, int, int, int, bytes]
"""What stands at a path: kind, mode, time of change in nanoseconds, inode, bytes or target."""


def rel(path: str) -> RelPath:
    """A path below the workspace."""
    return RelPath.parse(path)


def look(path: Path) -> dict[str, Look]:
    """Everything at and below a path, without following links."""
    found: dict[str, Look] = {}
    for each in sorted([path, *path.rglob("*")]) if os.path.lexists(path) else []:
        facts = each.lstat()
        if stat.S_ISLNK(facts.st_mode):
            kind, data = "link", os.fsencode(os.readlink(each))
        elif stat.S_ISDIR(facts.st_mode):
            kind, data = "folder", b""
        elif stat.S_ISREG(facts.st_mode):
            kind, data = "file", each.read_bytes()
        else:
            kind, data = "special", b""
        when = 0 if kind == "folder" else facts.st_mtime_ns
        inner = str(each.relative_to(path))
        found[inner] = (kind, stat.S_IMODE(facts.st_mode), when, facts.st_ino, data)
    return found


def content(path: Path) -> dict[str, tuple[str, bytes]]:
    """What stands there, by kind and bytes alone."""
    return {inner: (found[0], found[4]) for inner, found in look(path).items()}


@dataclass(slots=True)
class Scene:
    """One workspace, opened; its clock stands still unless a test moves it."""

    path: Path
    root: Root
    workspace: Workspace
    now: list[datetime] = field(default_factory=lambda: [NOON])

    def write(self, name: str, data: bytes = REPORT, mode: int = 0o640) -> Path:
        """Put a file where an agent would."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        path.chmod(mode)
        os.utime(path, ns=(10**18, 10**18 + 7))
        return path

    def archive(self, session: Session = FALLBACK, **options: object) -> Archive:
        """The room itself, with a session and options of the test's choice."""
        return Archive(
            self.workspace,
            lambda: session,
            options=Options(**options),  # type: ignore[arg-type]
            local=lambda moment: moment,
            workspace_rule="flag",
        )

    def keep(self, *names: str, session: Session = FALLBACK, track: Track | None = None) -> list[Receipt]:
        """Archive paths by one call."""
        return self.archive(session).keep([Request(rel(name), track) for name in names])

    def later(self, seconds: int = 60) -> None:
        """Let time pass."""
        self.now[0] += timedelta(seconds=seconds)

    def events(self, kind: str = KEPT) -> list[Event]:
        """The events of one kind."""
        return [event for event in self.workspace.ledger.events() if event.kind == kind]

    def archived(self) -> dict[str, Look]:
        """All that lies below `archives/`, but for the folders of archive ids, which may stay."""
        return {
            inner: found
            for inner, found in look(self.path / "archives").items()
            if not (found[0] == "folder" and inner.count("/") == 0)
        }

    def unfinished(self) -> list[str]:
        """Everything below the workspace that is named as unfinished."""
        return [str(each.relative_to(self.path)) for each in self.path.rglob("*") if is_scratch(each.name)]

    def journals(self) -> list[str]:
        """The journals there are."""
        return self.workspace.journal.names()

    def sound(self) -> bool:
        """Whether the ledger verifies."""
        return verify(self.workspace.ledger).whole


@contextlib.contextmanager
def open_scene(path: Path) -> Iterator[Scene]:
    """Open the workspace of a folder, made when it is missing."""
    path.mkdir(parents=True, exist_ok=True)
    now = [NOON]
    with Root.open(path) as root:
        yield Scene(path, root, open_workspace(root, clock=lambda: now[0], actor="test"), now)


@contextlib.contextmanager
def swift_scene() -> Iterator[Scene]:
    """A workspace in memory, for sweeps whose thousands of syncs would only wear a disk."""
    memory = "/dev/shm"
    parent = memory if os.access(memory, os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=parent) as place, open_scene(Path(place) / "w") as scene:
        yield scene


@contextlib.contextmanager
def untouched(scene: Scene, *names: str) -> Iterator[None]:
    """Whatever happens inside: the sources stay as they are, and nothing is left of it anywhere."""
    before = {name: look(scene.path / name) for name in names}
    archived, kept = scene.archived(), scene.events()
    yield
    for name in names:
        assert look(scene.path / name) == before[name], f"{name} is not as it was"
    assert scene.archived() == archived, "something is left in archives/"
    assert scene.events() == kept, "the ledger says that something was kept"
    assert scene.journals() == [], "a journal is left"
    assert scene.unfinished() == [], "something unfinished is left"
    assert scene.sound()


def fail_at(monkeypatch: pytest.MonkeyPatch, function: str, use: int, number: int) -> None:
    """Let the so manieth use of a call of the platform fail."""
    true = getattr(platform, function)
    left = [use]

    def instead(*arguments: Any) -> Any:
        left[0] -= 1
        if left[0] == 0:
            raise OSError(number, os.strerror(number))
        return true(*arguments)

    monkeypatch.setattr(platform, function, instead)


_CHANGING = ("mkdir", "rename", "unlink", "rmdir", "write", "fchmod", "symlink", "ftruncate", "link")
"""What the program asks of the system to change anything; opening counts when it may create."""

KILLED = 77


def killed_at(number: int, act: Callable[[], object]) -> bool:
    """Run an act in a process of its own, which ends without any cleaning up just before its so
    manieth change of the disk; tells whether it got that far."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        status = 1
        try:
            _die_at(number)
            act()
            status = 0
        finally:
            os._exit(status)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status in (0, KILLED), f"the act failed by itself: {status}"
    return status == KILLED


def _die_at(number: int) -> None:
    left = [number]

    def counted(function: Callable[..., object], counts: Callable[..., bool]) -> Callable[..., object]:
        def instead(*arguments: object, **named: object) -> object:
            if counts(*arguments, **named):
                left[0] -= 1
                if left[0] == 0:
                    os._exit(KILLED)
            return function(*arguments, **named)

        return instead

    def always(*_: object, **__: object) -> bool:
        return True

    def creates(_: object, flags: int = 0, *__: object, **___: object) -> bool:
        return bool(flags & os.O_CREAT)

    for name in _CHANGING:
        setattr(os, name, counted(getattr(os, name), always))
    os.open = counted(os.open, creates)  # type: ignore[assignment]
    platform.rename_exclusive = counted(platform.rename_exclusive, always)  # type: ignore[assignment]


def every_kill(limit: int, steps: Sequence[int] | None = None) -> Iterator[int]:
    """Numbers to kill at; the caller breaks off when an act got through."""
    yield from steps if steps is not None else range(1, limit)
