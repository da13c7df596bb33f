"""Floor 3, `backup`: what calls a scheduled run every day: a line of cron, a timer of systemd, or an
entry of the host; written so that nothing of anybody else's is touched (spec 4, list, delete, keep).
"""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from muniment.backup.errors import TimerForeign, TimerNotSet
from muniment.disk.errors import NotThere, named
from muniment.disk.root import Root
from muniment.disk.write import write_verified
from muniment.hosts.launch import Attend, Ended, LaunchFailed
from muniment.message import Message, say
from muniment.path import RelPath, printable

_UNIT_MOST = 1 << 20

Which = Callable[[str], str | None]
"""Where a program lies, None when it is not there."""


@dataclass(frozen=True, slots=True)
class Job:
    """What is called: the workspace's id, its path, the time of day, and the command."""

    root_id: str
    workspace: str
    daily: str
    command: tuple[str, ...]

    def __post_init__(self) -> None:
        if any(sign in word for word in self.command for sign in "\n\r\0"):
            raise TimerNotSet(where=printable(self.workspace), why=say("a path has a line break in its name"))


class Timer(Protocol):
    """One way to be called every day."""

    @property
    def kind(self) -> str:
        """The word by which it is chosen."""
        ...

    def entry(self) -> str:
        """What is to be entered, for a person to do it."""
        ...

    def install(self) -> None:
        """Enter it, in place of a former one for this workspace: `TimerNotSet`, `TimerForeign`."""
        ...

    def remove(self) -> bool:
        """Take it away; whether it was there."""
        ...


def cron_block(job: Job) -> bytes:
    """The marked lines of a crontab.

    >>> job = Job("01J", "/w", "03:05", ("muniment", "a b", "100%"))
    >>> print(cron_block(job).decode(), end="")
    # muniment backup 01J: begin
    5 3 * * * muniment 'a b' 100\\%
    # muniment backup 01J: end
    """
    hour, minute = map(int, job.daily.split(":"))
    line = f"{minute} {hour} * * * {shlex.join(job.command)}".replace("%", "\\%")
    begin, end = _marks(job.root_id)
    return b"\n".join((begin, line.encode("utf-8", "surrogateescape"), end, b""))


def _marks(root_id: str) -> tuple[bytes, bytes]:
    return f"# muniment backup {root_id}: begin".encode(), f"# muniment backup {root_id}: end".encode()


def without_block(table: bytes, root_id: str) -> bytes:
    """A crontab without this workspace's marked lines, every other byte as it was; `TimerForeign` when
    the marks do not stand as they were written."""
    begin, end = _marks(root_id)
    lines = table.split(b"\n")
    first = [at for at, line in enumerate(lines) if line == begin]
    last = [at for at, line in enumerate(lines) if line == end]
    if not first and not last:
        return table
    if len(first) != 1 or len(last) != 1 or last[0] != first[0] + 2:
        why = say("the lines marked {mark} are not as they were written", mark=begin.decode())
        raise TimerForeign(where="crontab", why=why)
    return b"\n".join((*lines[: first[0]], *lines[last[0] + 1 :]))


def with_block(table: bytes, job: Job) -> bytes:
    """A crontab with the marked lines at its end."""
    rest = without_block(table, job.root_id)
    return rest + (b"\n" if rest and not rest.endswith(b"\n") else b"") + cron_block(job)


@dataclass(frozen=True, slots=True)
class Cron:
    """The person's crontab, changed by the program `crontab` alone."""

    job: Job
    attend: Attend
    which: Which = shutil.which

    @property
    def kind(self) -> str:
        """See `Timer`."""
        return "cron"

    def entry(self) -> str:
        """See `Timer`."""
        return printable_lines(cron_block(self.job).decode("utf-8", "surrogateescape"))

    def install(self) -> None:
        """See `Timer`."""
        self._write(with_block(self._read(), self.job))

    def remove(self) -> bool:
        """See `Timer`."""
        table = self._read()
        rest = without_block(table, self.job.root_id)
        if rest == table:
            return False
        self._write(rest)
        return True

    def _read(self) -> bytes:
        if self.which("crontab") is None:
            raise TimerNotSet(where="crontab", why=say("there is no such program here"))
        ended = self._run("-l")
        # An empty table is an error to it; any other failure must not be taken for one.
        if ended.code == 0:
            return ended.output
        if b"no crontab for" in ended.complaint:
            return b""
        raise _failed("crontab -l", ended)

    def _write(self, table: bytes) -> None:
        ended = self._run("-", data=table)
        if ended.code != 0:
            raise _failed("crontab -", ended)
        # Some put a heading of their own above it.
        if not self._read().endswith(table):
            raise TimerNotSet(where="crontab", why=say("it gives back something else than it was given"))

    def _run(self, argument: str, data: bytes = b"") -> Ended:
        return _ran(self.attend, ("env", "LC_ALL=C", "crontab", argument), data)


def service_unit(job: Job) -> str:
    """The unit that runs it once."""
    command = " ".join(_quoted(word) for word in job.command)
    return (
        f"{_unit_mark(job.root_id)}\n[Unit]\nDescription=Scheduled snapshot of an agent (Muniment)\n\n"
        f"[Service]\nType=oneshot\nExecStart={command}\n"
    )


def timer_unit(job: Job) -> str:
    """The unit that calls it every day; a run missed while the machine was off is made up for."""
    return (
        f"{_unit_mark(job.root_id)}\n[Unit]\nDescription=Daily snapshot of an agent (Muniment)\n\n"
        f"[Timer]\nOnCalendar=*-*-* {job.daily}:00\nPersistent=true\n\n[Install]\nWantedBy=timers.target\n"
    )


def _unit_mark(root_id: str) -> str:
    return f"# muniment backup {root_id}"


def _quoted(word: str) -> str:
    """A word as systemd reads it in a command line.

    >>> print(_quoted('a "b" $c %d'))
    "a \\"b\\" $$c %%d"
    """
    for sign, spelled in (("\\", "\\\\"), ('"', '\\"'), ("$", "$$"), ("%", "%%")):
        word = word.replace(sign, spelled)
    return f'"{word}"'


@dataclass(frozen=True, slots=True)
class Systemd:
    """A timer among the person's own units in `folder`."""

    job: Job
    folder: Path
    attend: Attend
    which: Which = shutil.which

    @property
    def kind(self) -> str:
        """See `Timer`."""
        return "systemd"

    @property
    def name(self) -> str:
        """The units' name, without its ending."""
        return f"muniment-backup-{self.job.root_id.lower()}"

    def _units(self) -> dict[str, str]:
        job = self.job
        return {f"{self.name}.service": service_unit(job), f"{self.name}.timer": timer_unit(job)}

    def entry(self) -> str:
        """See `Timer`."""
        shown = [f"# {self.folder / name}\n{text}" for name, text in self._units().items()]
        return printable_lines("\n".join(shown))

    def install(self) -> None:
        """See `Timer`."""
        with named(str(self.folder)):
            self.folder.mkdir(parents=True, exist_ok=True)
        with Root.open(self.folder) as root:
            for name in self._units():
                self._is_ours(root, name)
            for name, text in self._units().items():
                data = text.encode("utf-8", "surrogateescape")
                write_verified(root, RelPath((name,)), data, replace=True, mode=0o644)
        self._control("daemon-reload")
        self._control("enable", "--now", f"{self.name}.timer")

    def remove(self) -> bool:
        """See `Timer`."""
        if not self.folder.is_dir():
            return False
        with Root.open(self.folder) as root:
            ours = [name for name in self._units() if self._is_ours(root, name)]
            if not ours:
                return False
            finding: TimerNotSet | None = None
            try:
                self._control("disable", "--now", f"{self.name}.timer")
            except TimerNotSet as error:
                finding = error  # without its units it never runs again; that is said at the end
            for name in ours:
                root.unlink(RelPath((name,)), missing_ok=True)
        if finding is not None:
            raise finding
        self._control("daemon-reload")
        return True

    def _is_ours(self, root: Root, name: str) -> bool:
        """Whether the unit is there; one that Muniment did not write is `TimerForeign`."""
        try:
            there = root.read(RelPath((name,)), _UNIT_MOST)
        except NotThere:
            return False
        if there.split(b"\n", 1)[0] != _unit_mark(self.job.root_id).encode():
            raise TimerForeign(where=printable(str(self.folder / name)))
        return True

    def _control(self, *arguments: str) -> None:
        if self.which("systemctl") is None:
            raise TimerNotSet(where="systemctl", why=say("there is no such program here"))
        ended = _ran(self.attend, ("systemctl", "--user", *arguments), b"")
        if ended.code != 0:
            raise _failed(f"systemctl --user {arguments[0]}", ended)


@dataclass(frozen=True, slots=True)
class OpenClaw:
    """An entry of OpenClaw's own scheduler, which only its running gateway takes: a person, or the
    agent, enters it with OpenClaw's program."""

    job: Job

    @property
    def kind(self) -> str:
        """See `Timer`."""
        return "openclaw"

    def entry(self) -> str:
        """See `Timer`."""
        hour, minute = map(int, self.job.daily.split(":"))
        message = (
            f"Run exactly this command and report what it prints: {shlex.join(self.job.command)} "
            "If it ends with an error, tell the person and do nothing else."
        )
        words = ("openclaw", "cron", "add", "--name", f"muniment backup {self.job.root_id}")
        when = ("--cron", f"{minute} {hour} * * *", "--session", "isolated", "--message", message)
        return printable_lines(shlex.join((*words, *when)) + "\n")

    def install(self) -> None:
        """See `Timer`."""
        raise TimerNotSet(where="openclaw", why=_BY_HAND)

    def remove(self) -> bool:
        """See `Timer`."""
        raise TimerNotSet(where="openclaw", why=_BY_HAND)


_BY_HAND = say("OpenClaw's gateway keeps its own entries; use `openclaw cron add` and `openclaw cron rm`")


def printable_lines(text: str) -> str:
    """A text of several lines, each as a person may read it."""
    return "\n".join(printable(line) for line in text.split("\n"))


def _ran(attend: Attend, command: Sequence[str], data: bytes) -> Ended:
    try:
        return attend(command, data)
    except LaunchFailed as error:
        raise TimerNotSet(where=command[0], why=say("{finding}", finding=error)) from error


def _failed(what: str, ended: Ended) -> TimerNotSet:
    said = printable(ended.complaint.decode("utf-8", "replace").strip()[:500])
    why: Message = say("exit code {code}: {said}", code=ended.code, said=said)
    return TimerNotSet(where=what, why=why)
