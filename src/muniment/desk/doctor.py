"""Floor 3½, `desk`: `doctor`: looks for what is wrong with a workspace, and mends what is safe to mend."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from muniment.archive.recover import ACTS, Ending, empty_addresses, recover
from muniment.clock import instant, read_instant
from muniment.desk.finding import Finding, Level
from muniment.desk.status import SNAPSHOTS
from muniment.desk.vault import KeptVault, look_at_vault
from muniment.disk import platform
from muniment.disk.errors import AlreadyThere, Locked, NotThere
from muniment.disk.journal import Act
from muniment.disk.tree import walk_stats
from muniment.disk.write import is_scratch
from muniment.errors import MunimentError
from muniment.hosts.session import Session
from muniment.job.container_runtime import ContainerRuntime
from muniment.job.errors import RuntimeMissing
from muniment.message import Message, say, say_count
from muniment.path import RelPath, printable
from muniment.record.state import FOLDER, Workspace
from muniment.record.subject import Subject, Unfinished
from muniment.record.verify import verify

if TYPE_CHECKING:
    from muniment.backup.schedule import Scheduled

__all__ = ["Finding", "Level", "examine"]


def examine(
    workspace: Workspace,
    *,
    mend: bool,
    subjects: Sequence[Subject] = (),
    vault: KeptVault | None = None,
    containers: ContainerRuntime | None = None,
    session: Callable[[], Session | None] | None = None,
    schedule: Callable[[], Scheduled | None] = lambda: None,
) -> list[Finding]:
    """Look at everything; with `mend`, end half-done acts and clear what killed acts left."""
    looks: tuple[Callable[[Workspace, bool], Iterator[Finding]], ...] = (
        _half_done,
        partial(_leftovers, subjects),
        _empty_addresses,
        _permissions,
        _file_system,
        _ledger,
        _clock,
    )
    found = [finding for look in looks for finding in look(workspace, mend)]
    found += [finding for subject in subjects for finding in _rooms(subject)]
    if session is not None:
        found.append(_session(session))
    found += _schedule(schedule)
    if vault is not None:
        found += look_at_vault(vault, workspace.clock(), mend=mend)
    if containers is not None:
        found.append(_containers(containers))
    return found


def _session(current: Callable[[], Session | None]) -> Finding:
    """Who tells the session, as far as it is known without asking for one or minting one."""
    try:
        found = current()
    except MunimentError as error:
        why = say("{what} {where}: {why}", what=error.message, where=error.where, why=error.why or "")
        return Finding("session", Level.WRONG, why)
    if found is None:
        return Finding("session", Level.GOOD, say("none is told to this call"))
    told = say("{id}, from: {source}", id=found.archive_id, source=found.source.value)
    return Finding("session", Level.GOOD, told)


def _containers(runtime: ContainerRuntime) -> Finding:
    """Whether the tools of jobs could be run; nothing else needs it, so its absence is no fault."""
    try:
        version = runtime.version()
    except RuntimeMissing:
        missing = say("{runtime} is not here; only running the tool of a job needs it", runtime=runtime.name)
        return Finding("containers", Level.GOOD, missing)
    except MunimentError as error:
        found = say("{what}: {why}", what=error.message, why=error.why or "")
        return Finding("containers", Level.WARNING, found)
    works = say("{runtime} {version} answers", runtime=runtime.name, version=printable(version))
    return Finding("containers", Level.GOOD, works)


def _schedule(schedule: Callable[[], Scheduled | None]) -> Iterator[Finding]:
    """Whether daily runs do what was consented to; nothing is said where there is no schedule."""
    step = "muniment backup schedule"
    try:
        found = schedule()
    except MunimentError as error:
        why = error.why or error.message
        yield Finding("schedule", Level.WRONG, say("it can not be read: {finding}", finding=why))
        return
    if found is None:
        return
    last = found.last
    if last is not None and last.code is not None:
        what = say("the last run, at {at}, ended with {code}", at=instant(last.at), code=last.code)
        yield Finding("schedule", Level.WARNING, say("{what}; go on with: {step}", what=what, step=step))
    elif found.missed:
        what = say("the run that was due last never came")
        yield Finding("schedule", Level.WARNING, say("{what}; go on with: {step}", what=what, step=step))
    else:
        yield Finding("schedule", Level.GOOD, say("the next run is due at {at}", at=instant(found.next)))


def _rooms(subject: Subject) -> Iterator[Finding]:
    """What a room began and was kept from ending, and what of it can not be read.  None of it is
    ended here: that takes a person's word."""
    for one in subject.unfinished():
        if one.fault is not None:
            yield Finding(one.reference, Level.WRONG, _step(one.fault, one))
        elif subject.prefix == SNAPSHOTS:
            state = say("restored by half") if one.half else say("announced, and nobody said that it is kept")
            yield Finding(one.reference, Level.WARNING, _step(state, one))


def _step(what: Message, one: Unfinished) -> Message:
    if one.step == "muniment doctor":
        return what
    return say("{what}; go on with: {step}", what=what, step=one.step)


def _half_done(workspace: Workspace, mend: bool) -> Iterator[Finding]:
    if not workspace.journal.names():
        yield Finding("half-done acts", Level.GOOD, say("none"))
        return
    try:
        with workspace.working(alone=True, wait=False):
            for name in workspace.journal.names():
                yield _end(workspace, name, mend)
    except Locked:
        yield Finding(
            "half-done acts", Level.WARNING, say("another act is going on; look again when it has ended")
        )


def _end(workspace: Workspace, name: str, mend: bool) -> Finding:
    """Each journal for itself: one that can not be ended keeps no other from it."""
    subject = printable(name.removesuffix(".json"))
    try:
        act = workspace.journal.read(name)
        if not workspace.journal.fits(act):
            return Finding(
                subject,
                Level.WRONG,
                say("{kind} of {begun} was begun in another workspace; it is left alone", **_named(act)),
            )
        if act.kind not in ACTS:
            return Finding(
                subject,
                Level.WRONG,
                say("{kind} of {begun} is nothing that can be ended here", **_named(act)),
            )
        if not mend:
            return Finding(subject, Level.WARNING, say("{kind} of {begun} is half done", **_named(act)))
        ending = recover(workspace, act)
    except MunimentError as error:
        return Finding(
            subject,
            Level.WRONG,
            say("{what} {where}: {why}", what=error.message, where=error.where, why=error.why or ""),
        )
    if ending is Ending.FINISHED:
        return Finding(subject, Level.MENDED, say("{kind} of {begun} was finished", **_named(act)))
    return Finding(
        subject,
        Level.MENDED,
        say("{kind} of {begun} was called off; its source is as it was", **_named(act)),
    )


def _named(act: Act) -> dict[str, object]:
    return {"kind": printable(act.kind), "begun": printable(act.begun)}


def _leftovers(subjects: Sequence[Subject], workspace: Workspace, mend: bool) -> Iterator[Finding]:
    """Unfinished files below `.muniment/`: nothing refers to them, unless a restore is half done, which
    may have laid there what it replaces."""
    left = [
        FOLDER / RelPath.parse(inner)
        for inner, found in walk_stats(workspace.root, FOLDER)
        if inner and stat.S_ISREG(found.st_mode) and is_scratch(os.path.basename(inner))
    ]
    if left and any(one.half for subject in subjects for one in subject.unfinished()):
        kept = say_count(
            "{count} is left, perhaps by what is half done; end that first",
            "{count} are left, perhaps by what is half done; end that first",
            len(left),
        )
        yield Finding("unfinished files", Level.WARNING, kept)
        return
    yield from _clear(workspace, "unfinished files", left, mend)


def _empty_addresses(workspace: Workspace, mend: bool) -> Iterator[Finding]:
    """Places in the archive that a killed call had claimed, and nothing came to."""
    yield from _clear(workspace, "empty addresses", empty_addresses(workspace), mend)


def _clear(workspace: Workspace, subject: str, left: list[RelPath], mend: bool) -> Iterator[Finding]:
    """Remove files and empty folders, unless an act goes on: they may be its own."""
    if not left:
        yield Finding(subject, Level.GOOD, say("none"))
    elif not mend:
        yield Finding(subject, Level.WARNING, say_count("{count} is left", "{count} are left", len(left)))
    else:
        try:
            with workspace.working(alone=True, wait=False):
                for path in left:
                    _remove(workspace, path)
        except Locked:
            yield Finding(
                subject,
                Level.WARNING,
                say("another act is going on; look again when it has ended"),
            )
            return
        yield Finding(
            subject, Level.MENDED, say_count("{count} was removed", "{count} were removed", len(left))
        )


def _remove(workspace: Workspace, path: RelPath) -> None:
    """What went away, or was filled, since it was listed is nothing to remove any more."""
    with contextlib.suppress(NotThere, AlreadyThere):
        if stat.S_ISDIR(workspace.root.stat(path).st_mode):
            workspace.root.remove_folder(path)
        else:
            workspace.root.unlink(path)


def _permissions(workspace: Workspace, mend: bool) -> Iterator[Finding]:
    mode = stat.S_IMODE(workspace.root.stat(FOLDER).st_mode)
    if mode & 0o077 == 0:
        yield Finding(
            "permissions", Level.GOOD, say("only the owner can look into {path}", path=FOLDER.posix)
        )
    elif mend:
        with workspace.root.folder(FOLDER) as fd:
            os.fchmod(fd, 0o700)
        yield Finding("permissions", Level.MENDED, say("{path} was closed to others", path=FOLDER.posix))
    else:
        yield Finding("permissions", Level.WARNING, say("others can look into {path}", path=FOLDER.posix))


def _file_system(workspace: Workspace, mend: bool) -> Iterator[Finding]:
    mount = platform.mount_of(workspace.root.fd)
    if mount is None or mount.fs_type in platform.LOCAL_FILE_SYSTEMS:
        yield Finding("file system", Level.GOOD, say("{kind}", kind=mount.fs_type if mount else "local"))
        return
    yield Finding(
        "file system",
        Level.WARNING,
        say(
            "{kind} at {place} is shared or unknown: locks between machines can not be trusted there",
            kind=printable(mount.fs_type),
            place=printable(mount.mount_point),
        ),
    )


def _clock(workspace: Workspace, mend: bool) -> Iterator[Finding]:
    """Whether the clock went back behind what was recorded; records are in order all the same."""
    newest = workspace.ledger.last(1)
    ahead = False
    with contextlib.suppress(ValueError):  # nobody can tell the time of such an event
        ahead = bool(newest) and read_instant(newest[0].at) > workspace.clock()
    if ahead:
        what = say(
            "it stands before the newest event, of {at}; new addresses would tell a false time",
            at=newest[0].at,
        )
        yield Finding("clock", Level.WARNING, what)
    else:
        yield Finding("clock", Level.GOOD, say("nothing that was recorded lies ahead of it"))


def _ledger(workspace: Workspace, mend: bool) -> Iterator[Finding]:
    verdict = verify(workspace.ledger)
    if verdict.whole:
        yield Finding(
            "ledger", Level.GOOD, say_count("whole: {count} event", "whole: {count} events", verdict.events)
        )
        return
    first = verdict.findings[0] if verdict.findings else None
    where = f"{first.segment}:{first.line}" if first else ""
    yield Finding(
        "ledger", Level.WRONG, say("NOT whole: {where} {why}", where=where, why=first.why if first else "")
    )
