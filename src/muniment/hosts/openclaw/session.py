"""Floor 2, `hosts`: OpenClaw's session: from raw `session_status` answers to the id that paths bear.

Nothing here reads or writes; the answers may be anybody's bytes (spec 1, archive id).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from muniment.canonical import NotJson, read_json
from muniment.hosts.errors import InvalidSession
from muniment.message import Message, say
from muniment.path import printable

ANSWER_MAX = 1 << 20
"""Bytes of an answer that are looked at; a larger one is none of OpenClaw's."""

KEY_MAX = 1024
"""Characters of a session key."""

ID_MAX = 200
"""Characters of an archive id, so that every address below it fits a file system."""

_LABEL = "🧵 Session:"
_CUT = " • "
_NO_SESSION = frozenset({"", "unknown", "global"})
_NOT_IN_IDS = re.compile(r"[^A-Za-z0-9_-]")
_CRON = re.compile(r"agent:(?P<agent>[^:]+):cron:(?P<job>[^:]+)(?::run:(?P<run>[^:]+))?")
_CRON_FAMILY = re.compile(r"agent:[^:]*:cron:")
_SHOWN = 80


@dataclass(frozen=True, slots=True)
class CronKey:
    """The key of a scheduled job's session; `run` is None when the key does not name the run."""

    agent: str
    job: str
    run: str | None

    @property
    def own(self) -> str:
        """The key that all runs of the job share."""
        return f"agent:{self.agent}:cron:{self.job}"


def session_key(answer: bytes) -> str:
    """The session key in a raw answer of `session_status`, text or JSON.

    Anything but exactly one key is an `InvalidSession`.

    >>> session_key("🧵 Session: agent:main:abc123 • updated just now".encode())
    'agent:main:abc123'
    >>> session_key(b'{"details": {"sessionKey": "agent:main:abc123"}}')
    'agent:main:abc123'
    """
    if len(answer) > ANSWER_MAX:
        raise _invalid(
            say("the answer has {size} bytes; {limit} is the most", size=len(answer), limit=ANSWER_MAX)
        )
    try:
        text = answer.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _invalid(say("the answer is not UTF-8")) from error
    return _key_in_json(text) if text.lstrip().startswith("{") else _key_in_text(text)


def _key_in_json(text: str) -> str:
    try:
        answer = read_json(text.strip())
    except NotJson as error:
        raise _invalid(say("the answer is no JSON: {finding}", finding=_short(str(error)))) from error
    result = answer.get("result")
    places: tuple[tuple[str, object], ...] = (
        ("details.sessionKey", _details(answer)),
        ("result.details.sessionKey", _details(result)),
        ("sessionKey", answer.get("sessionKey")),
    )
    told: dict[str, str] = {}
    for place, key in places:
        if key is None:
            continue
        if not isinstance(key, str):
            raise _invalid(say("{place} is no text", place=place))
        told[place] = key
    if not told:
        raise _invalid(say("the answer names no session key"))
    if len(set(told.values())) > 1:
        raise _invalid(differing(told))
    return check_key(next(iter(told.values())))


def _details(value: object) -> object:
    details = value.get("details") if isinstance(value, Mapping) else None
    return details.get("sessionKey") if isinstance(details, Mapping) else None


def _key_in_text(text: str) -> str:
    lines = [line for line in text.split("\n") if line.strip().startswith(_LABEL)]
    if not lines:
        raise _invalid(say("the answer has no line that begins with {label}", label=_LABEL))
    if len(lines) > 1:
        raise _invalid(
            say("the answer has {count} lines that begin with {label}", count=len(lines), label=_LABEL)
        )
    return check_key(lines[0].lstrip().removeprefix(_LABEL).partition(_CUT)[0])


def check_key(key: str) -> str:
    """A session key as it came, without white space around it; what can not be one is refused.

    >>> check_key(" agent:main:abc123\\r")
    'agent:main:abc123'
    """
    key = key.strip()
    if len(key) > KEY_MAX:
        raise _invalid(
            say("a session key of {size} characters; {limit} is the most", size=len(key), limit=KEY_MAX)
        )
    if key in _NO_SESSION:
        raise _invalid(say("the host tells no session: {key}", key=_quoted(key)))
    if ":" not in key:
        raise _invalid(say("this is no session key: {key}", key=_quoted(key)))
    archive_id(key)
    return key


def archive_id(key: str) -> str:
    """The id that paths bear: what follows the last colon, every other sign as `_`.

    >>> archive_id("agent:main:telegram:+49 30")
    '_49_30'
    """
    return as_id(key.rpartition(":")[2], key)


def as_id(text: str, key: str) -> str:
    """A part of a session key as an archive id; `key` is what an error names."""
    if text.strip() in _NO_SESSION:
        raise _invalid(say("nothing that names a session follows the last colon: {key}", key=_quoted(key)))
    if len(text) > ID_MAX:
        raise _invalid(
            say("an archive id of {size} characters; {limit} is the most", size=len(text), limit=ID_MAX)
        )
    return _NOT_IN_IDS.sub("_", text)


def cron_key(key: str) -> CronKey | None:
    """The parts of a scheduled job's key; None for any other session.

    A key of the cron family whose form is not known would give all its runs one id; it is
    refused.

    >>> cron_key("agent:main:cron:job-1:run:r7").run
    'r7'
    >>> cron_key("agent:main:abc123") is None
    True
    """
    found = _CRON.fullmatch(key)
    if found is not None:
        return CronKey(found["agent"], found["job"], found["run"])
    if _CRON_FAMILY.match(key):
        raise _invalid(say("the key of a scheduled job has an unknown form: {key}", key=_quoted(key)))
    return None


def differing(told: Mapping[str, str]) -> Message:
    """That sources tell different sessions; each is named with what it told."""
    listed = tuple(f"{source} = {_quoted(key)}" for source, key in told.items())
    return say("they tell different sessions: {sources}", sources=listed)


def _invalid(why: Message) -> InvalidSession:
    return InvalidSession(why=why)


def _quoted(key: str) -> str:
    return f"“{_short(key)}”"


def _short(text: str) -> str:
    shown = printable(text)
    return shown if len(shown) <= _SHOWN else shown[:_SHOWN] + "…"
