"""Floor 2, `hosts`: which session it is: what the sources tell, in their order, and never made up.

Sources that tell different sessions are refused with both named (spec 1, archive id).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from muniment.hosts.errors import InvalidSession
from muniment.hosts.launch import Launch, LaunchFailed
from muniment.hosts.openclaw.session import (
    CronKey,
    archive_id,
    as_id,
    check_key,
    cron_key,
    differing,
    session_key,
)
from muniment.hosts.session import Session, SessionSource
from muniment.message import say

ATTEMPTS = 2
"""How often a configured command is asked: once, and once more at once."""


@dataclass(frozen=True, slots=True)
class Told:
    """What one source told: the key, and by which name the source is known."""

    source: SessionSource
    by: str
    key: str


def told_by_host(by: str, key: object) -> Told:
    """What the host told itself: the plugin's variable, or an MCP request's `_meta`."""
    if not isinstance(key, str):
        raise InvalidSession(where=by, why=say("{place} is no text", place=by))
    return Told(SessionSource.HOST, by, check_key(key))


def told_by_flag(key: str) -> Told:
    """What `--session` told."""
    return Told(SessionSource.FLAG, "--session", check_key(key))


def told_by_status(answer: bytes) -> Told:
    """What a raw answer of `session_status` told."""
    return Told(SessionSource.SESSION_STATUS, "session_status", session_key(answer))


def told_by_command(command: Sequence[str], launch: Launch) -> Told:
    """What a configured command tells: a raw answer of `session_status`, or the key on one line.

    When it fails it is asked once more at once; then it is an `InvalidSession`.
    """
    failure: Exception | None = None
    for _ in range(ATTEMPTS):
        try:
            return Told(SessionSource.COMMAND, "archive.session_command", _answered(launch(command)))
        except (LaunchFailed, InvalidSession) as error:
            failure = error
    assert failure is not None
    why = failure.why if isinstance(failure, InvalidSession) else None
    raise InvalidSession(
        where="archive.session_command", why=why or say("{finding}", finding=failure)
    ) from failure


def _answered(answer: bytes) -> str:
    line = answer.strip()
    bare = b"\n" not in line and not line.startswith("🧵".encode()) and not line.startswith(b"{")
    if not bare:
        return session_key(answer)
    try:
        return check_key(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise InvalidSession(why=say("the answer is not UTF-8")) from error


def resolve_session(
    told: Sequence[Told],
    *,
    command: Callable[[], Told] | None = None,
    fallback: Callable[[], Session] | None = None,
    host_session_id: str | None = None,
    mirror: Callable[[CronKey], str],
) -> Session:
    """The session that the sources agree on.

    `told` are the sources that spoke, the strongest first; only when there is none is `command`
    asked, and without one `fallback`, which must be None where a host's session is owed.  For a
    scheduled job `mirror` gives the id of the job's own session; a key that does not name its run
    has it from `host_session_id`, or is refused.
    """
    spoken = list(told)
    if not spoken and command is not None:
        spoken.append(command())
    if not spoken:
        if fallback is None:
            raise InvalidSession(why=say("the host's session was not told"))
        return fallback()
    first = spoken[0]
    if len({one.key for one in spoken}) > 1:
        raise InvalidSession(why=differing({one.by: one.key for one in spoken}))
    cron = cron_key(first.key)
    if cron is None:
        return Session(archive_id(first.key), first.source, first.key)
    run = cron.run or (host_session_id or "").strip()
    if not run:
        raise InvalidSession(where=first.by, why=say("the key of a scheduled job does not name its run"))
    return Session(as_id(run, first.key), first.source, first.key, mirror(cron))
