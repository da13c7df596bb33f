"""Hosts: which session it is, when sources agree, differ, fail or are silent (spec 1, archive id)."""

from __future__ import annotations

import itertools
import os
import signal
import threading
from collections.abc import Callable, Sequence

import pytest

from muniment.hosts.chain import (
    Told,
    resolve_session,
    told_by_command,
    told_by_flag,
    told_by_host,
    told_by_status,
)
from muniment.hosts.errors import InvalidSession
from muniment.hosts.launch import LaunchFailed, launch
from muniment.hosts.openclaw.session import CronKey
from muniment.hosts.session import Session, SessionSource

KEY = "agent:main:abc123"
ANSWER = f"🧵 Session: {KEY} • updated just now".encode()
STANDS_IN = Session("local-0416-1430", SessionSource.FALLBACK)

HOST = told_by_host("MUNIMENT_SESSION_KEY", KEY)
META = told_by_host("_meta.sessionKey", KEY)
STATUS = told_by_status(ANSWER)
FLAG = told_by_flag(KEY)


def no_mirror(key: CronKey) -> str:
    raise AssertionError(f"nobody asks for the job of {key}")


def resolve(
    told: Sequence[Told],
    *,
    command: Callable[[], Told] | None = None,
    fallback: Callable[[], Session] | None = None,
    host_session_id: str | None = None,
    mirror: Callable[[CronKey], str] = no_mirror,
) -> Session:
    return resolve_session(
        told, command=command, fallback=fallback, host_session_id=host_session_id, mirror=mirror
    )


class Answers:
    """A stand-in for a configured command: gives or raises what it was told, in turn."""

    def __init__(self, *answers: bytes | Exception) -> None:
        self.left = list(answers)
        self.asked: list[Sequence[str]] = []

    def __call__(self, command: Sequence[str]) -> bytes:
        self.asked.append(command)
        answer = self.left.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.mark.parametrize(
    ("told", "source"),
    [
        (HOST, SessionSource.HOST),
        (META, SessionSource.HOST),
        (STATUS, SessionSource.SESSION_STATUS),
        (FLAG, SessionSource.FLAG),
    ],
)
def test_one_source_tells_the_session(told: Told, source: SessionSource) -> None:
    assert resolve([told]) == Session("abc123", source, KEY)


def test_sources_that_agree_count_as_the_strongest() -> None:
    assert resolve([HOST, STATUS, FLAG]).source is SessionSource.HOST
    assert resolve([STATUS, FLAG]).source is SessionSource.SESSION_STATUS


OTHERS = [
    told_by_host("MUNIMENT_SESSION_KEY", "agent:main:one"),
    told_by_host("_meta.sessionKey", "agent:main:two"),
    told_by_status(b'{"sessionKey": "agent:main:three"}'),
    told_by_flag("agent:main:four"),
]


@pytest.mark.parametrize(("one", "other"), list(itertools.combinations(OTHERS, 2)))
def test_two_that_differ_are_refused_and_both_named(one: Told, other: Told) -> None:
    with pytest.raises(InvalidSession) as caught:
        resolve([one, other], fallback=lambda: STANDS_IN)
    for told in (one, other):
        assert told.by in caught.value.reason and told.key in caught.value.reason


def test_keys_with_one_id_still_differ() -> None:
    with pytest.raises(InvalidSession):
        resolve([told_by_flag("agent:main:abc"), told_by_host("_meta.sessionKey", "agent:ops:abc")])


@pytest.mark.parametrize("key", [1, None, ["agent:main:x"], {"key": "agent:main:x"}, True])
def test_a_host_tells_texts(key: object) -> None:
    with pytest.raises(InvalidSession):
        told_by_host("_meta.sessionKey", key)


@pytest.mark.parametrize("key", ["", " ", "abc", "unknown", "global", "agent:main:", "agent:main:unknown"])
def test_what_is_no_key_is_refused_whoever_tells_it(key: str) -> None:
    for tell in (told_by_flag, lambda text: told_by_host("_meta.sessionKey", text)):
        with pytest.raises(InvalidSession):
            tell(key)


def test_the_stand_in_is_asked_only_when_nobody_spoke() -> None:
    assert resolve([], fallback=lambda: STANDS_IN) == STANDS_IN
    assert resolve([FLAG], fallback=lambda: pytest.fail("asked")).source is SessionSource.FLAG


def test_where_a_hosts_session_is_owed_nothing_stands_in() -> None:
    with pytest.raises(InvalidSession) as caught:
        resolve([])
    assert caught.value.reason.startswith("invalid Session")


@pytest.mark.parametrize("answer", [ANSWER, f'{{"sessionKey": "{KEY}"}}'.encode(), f"{KEY}\n".encode()])
def test_a_command_tells_the_session(answer: bytes) -> None:
    ask = Answers(answer)
    found = resolve([], command=lambda: told_by_command(("ask", "it"), ask), fallback=lambda: STANDS_IN)
    assert found == Session("abc123", SessionSource.COMMAND, KEY)
    assert ask.asked == [("ask", "it")]


@pytest.mark.parametrize(
    "first", [LaunchFailed("it: exit code 1"), b"", b"unknown", b"{}", b"\xff", b"two\nlines"]
)
def test_a_command_that_fails_is_asked_once_more(first: bytes | Exception) -> None:
    ask = Answers(first, ANSWER)
    assert told_by_command(["ask"], ask).key == KEY
    assert len(ask.asked) == 2


@pytest.mark.parametrize("answer", [LaunchFailed("it: exit code 1"), b"unknown"])
def test_a_command_that_fails_twice_blocks(answer: bytes | Exception) -> None:
    ask = Answers(answer, answer, ANSWER)
    with pytest.raises(InvalidSession) as caught:
        resolve([], command=lambda: told_by_command(["ask"], ask), fallback=lambda: STANDS_IN)
    assert len(ask.asked) == 2
    assert caught.value.__cause__ is not None


def test_a_command_is_not_asked_when_somebody_spoke() -> None:
    assert resolve([FLAG], command=lambda: pytest.fail("asked")).source is SessionSource.FLAG


def cron(key: str, host_session_id: str | None = None) -> Session:
    return resolve([told_by_flag(key)], host_session_id=host_session_id, mirror=lambda job: f"of-{job.job}")


def test_a_scheduled_run_has_its_own_id_and_its_jobs() -> None:
    key = "agent:main:cron:j:run:r/7"
    assert cron(key) == Session("r_7", SessionSource.FLAG, key, "of-j")


def test_a_run_that_is_not_named_has_the_hosts_session_id() -> None:
    assert cron("agent:main:cron:j", "0d9f-11").archive_id == "0d9f-11"
    assert cron("agent:main:cron:j:run:r", "0d9f-11").archive_id == "r", "a run that is named comes first"


@pytest.mark.parametrize("session_id", [None, "", "  "])
def test_a_run_that_nothing_names_is_refused(session_id: str | None) -> None:
    with pytest.raises(InvalidSession):
        cron("agent:main:cron:j", session_id)


def test_a_job_that_is_not_known_blocks() -> None:
    def unknown(key: CronKey) -> str:
        raise InvalidSession(where=key.job)

    with pytest.raises(InvalidSession):
        resolve([told_by_flag("agent:main:cron:j:run:r")], mirror=unknown)


def test_real_commands() -> None:
    assert launch(["printf", "agent:main:abc"]) == b"agent:main:abc"
    assert launch(["cat"]) == b"", "it gets no input"


@pytest.mark.parametrize(
    "command",
    [["/no/such/program"], ["false"], ["sh", "-c", "kill -9 $$"], ["sh", "-c", "yes | head -c 3000000"]],
)
def test_real_commands_that_fail(command: list[str]) -> None:
    with pytest.raises(LaunchFailed):
        launch(command)


def test_a_command_that_never_ends_is_ended_with_all_it_started() -> None:
    with pytest.raises(LaunchFailed, match="no answer"):
        launch(["sh", "-c", "sleep 1000 & sleep 1000"], time_out_s=0.2)


def test_a_command_that_never_stops_talking_is_ended() -> None:
    with pytest.raises(LaunchFailed, match="more than 1000 bytes"):
        launch(["yes"], output_max=1000)


def test_a_command_is_ended_when_the_person_stops_us(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[int] = []

    def stop(_: threading.Timer) -> None:
        raise KeyboardInterrupt

    def end(group: int) -> None:
        ended.append(group)
        os.killpg(group, signal.SIGKILL)

    monkeypatch.setattr(threading.Timer, "start", stop)
    monkeypatch.setattr("muniment.hosts.launch._end", end)
    with pytest.raises(KeyboardInterrupt):
        launch(["sleep", "1000"])
    (group,) = ended
    with pytest.raises(ProcessLookupError):
        os.kill(group, 0)
