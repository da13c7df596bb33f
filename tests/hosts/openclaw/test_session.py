"""Hosts, OpenClaw: the session key in raw answers, and the id that paths bear (spec 1, archive id)."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.hosts.errors import InvalidSession
from muniment.hosts.openclaw.session import (
    ANSWER_MAX,
    ID_MAX,
    KEY_MAX,
    CronKey,
    archive_id,
    check_key,
    cron_key,
    session_key,
)

KEY = "agent:main:abc123"

REAL = f"""🦞 OpenClaw 2026.9.6
🧠 Model: anthropic/x · 🔑 api-key
📚 Context: 0/200k (0%)

🧵 Session: {KEY} • updated just now
⚙️ Execution: direct
🪢 Queue: collect
"""
"""The shape of what OpenClaw 2026.9.6 prints."""


@pytest.mark.parametrize(
    "answer",
    [
        REAL,
        REAL.replace("\n", "\r\n"),
        f"🧵 Session: {KEY}",
        f"🧵 Session: {KEY} ",
        f"🧵 Session: {KEY} • duration 3m • updated 2m ago",
        f"🧵 Session: {KEY} • ",
        f"🧵 Session: {KEY} • no activity • unknown • 🧵 Session: agent:main:other",
        f"  🧵 Session: {KEY}\n",
        f"\ufeff🧵 Session: {KEY}",
        f"said before: 🧵 Session: agent:main:other\n🧵 Session: {KEY}",
        json.dumps({"details": {"sessionKey": KEY}}),
        json.dumps({"result": {"details": {"sessionKey": KEY}}}),
        json.dumps({"sessionKey": KEY}),
        json.dumps(
            {"ok": True, "result": {"content": [{"text": "🧵 Session: a:b"}], "details": {"sessionKey": KEY}}}
        ),
        json.dumps(
            {"sessionKey": KEY, "details": {"sessionKey": KEY}, "result": {"details": {"sessionKey": KEY}}}
        ),
        json.dumps({"sessionKey": KEY, "details": None, "result": "text"}),
        json.dumps({"sessionKey": KEY, "args": {"sessionKey": "agent:main:other"}}),
        json.dumps({"sessionKey": f" {KEY}\n"}),
        "\n " + json.dumps({"sessionKey": KEY}, indent=2) + "\n",
    ],
)
def test_an_answer_tells_its_key(answer: str) -> None:
    assert session_key(answer.encode()) == KEY


REFUSED = {
    "nothing": b"",
    "blank": b" \n\t",
    "no such line": "🦞 OpenClaw\n".encode(),
    "another emoji": "🪡 Session: agent:main:abc".encode(),
    "another word": "🧵 Sessions: agent:main:abc".encode(),
    "no emoji": b"Session: agent:main:abc",
    "an empty line": "🧵 Session:".encode(),
    "a blank line": "🧵 Session:   \r\n".encode(),
    "only what is cut": "🧵 Session: • updated just now".encode(),
    "unknown": "🧵 Session: unknown • no activity".encode(),
    "global": "🧵 Session: global".encode(),
    "no colon": "🧵 Session: abc123".encode(),
    "nothing after the colon": "🧵 Session: agent:main:".encode(),
    "white space after the colon": "🧵 Session: agent:main: • x".encode(),
    "unknown after the colon": "🧵 Session: agent:main:unknown".encode(),
    "global after the colon": "🧵 Session: agent:main:global".encode(),
    "two lines": f"🧵 Session: {KEY}\n🧵 Session: agent:main:other".encode(),
    "two lines, the same": f"🧵 Session: {KEY}\n🧵 Session: {KEY}".encode(),
    "not UTF-8": b"\xff\xfe",
    "UTF-16": f"🧵 Session: {KEY}".encode("utf-16"),
    "too large": b" " * ANSWER_MAX + f"🧵 Session: {KEY}".encode(),
    "a key of 64 KiB": b"\xf0\x9f\xa7\xb5 Session: agent:main:" + b"a" * 65536,
    "broken JSON": b'{"sessionKey": "agent:main:abc"',
    "JSON without a key": b'{"details": {}}',
    "a JSON list": json.dumps([{"sessionKey": KEY}]).encode(),
    "a JSON text": json.dumps(KEY).encode(),
    "a key elsewhere": json.dumps({"result": {"result": {"details": {"sessionKey": KEY}}}}).encode(),
    "a key in a list": json.dumps({"details": [{"sessionKey": KEY}]}).encode(),
    "a key that is a number": b'{"sessionKey": 1}',
    "a key that is a flag": b'{"sessionKey": false}',
    "a key that is an object": json.dumps({"sessionKey": {"key": KEY}}).encode(),
    "a blank key": b'{"sessionKey": ""}',
    "unknown in JSON": b'{"sessionKey": "unknown"}',
    "doubled members": f'{{"sessionKey": "{KEY}", "sessionKey": "{KEY}"}}'.encode(),
    "a lone surrogate": b'{"sessionKey": "agent:main:\\ud800"}',
    "NaN": b'{"x": NaN, "sessionKey": "agent:main:abc"}',
    "too deep": b'{"details": ' * 100_000,
    "two that differ": json.dumps(
        {"sessionKey": KEY, "details": {"sessionKey": "agent:main:other"}}
    ).encode(),
    "two that differ in depth": json.dumps(
        {"details": {"sessionKey": KEY}, "result": {"details": {"sessionKey": "agent:main:other"}}}
    ).encode(),
}


@pytest.mark.parametrize("case", REFUSED)
def test_any_other_answer_is_refused(case: str) -> None:
    with pytest.raises(InvalidSession) as caught:
        session_key(REFUSED[case])
    assert caught.value.code == "INVALID_SESSION"
    assert caught.value.reason.startswith("invalid Session: ")
    assert len(caught.value.reason) < 500 and caught.value.reason.isprintable()


def test_two_that_differ_are_both_named() -> None:
    for case in ("two that differ", "two that differ in depth"):
        with pytest.raises(InvalidSession) as caught:
            session_key(REFUSED[case])
        assert KEY in caught.value.reason and "agent:main:other" in caught.value.reason
        assert "details.sessionKey" in caught.value.reason


@pytest.mark.parametrize(
    ("key", "wanted"),
    [
        ("agent:main:abc123", "abc123"),
        ("agent:main:main", "main"),
        ("a:b", "b"),
        (":b", "b"),
        ("agent:main:AbC-1_2", "AbC-1_2"),
        ("agent:main:telegram:group:-100123", "-100123"),
        ("agent:main:whatsapp:+4930123", "_4930123"),
        ("agent:main:a b", "a_b"),
        ("agent:main:a/../b", "a____b"),
        ("agent:main:..", "__"),
        ("agent:main:归档", "__"),
        ("agent:main:a\0b", "a_b"),
        ("agent:main:a\u202eb", "a_b"),
        ("agent:main:a\nb", "a_b"),
        ("agent:main:unknown1", "unknown1"),
        ("agent:main:Global", "Global"),
        ("agent:main:" + "x" * ID_MAX, "x" * ID_MAX),
        ("agent:main:１２", "__"),
    ],
)
def test_the_id_is_what_follows_the_last_colon(key: str, wanted: str) -> None:
    assert archive_id(check_key(key)) == wanted


@pytest.mark.parametrize("key", ["agent:main:" + "x" * (ID_MAX + 1), "a:" * KEY_MAX + "b"])
def test_a_key_that_is_too_long_is_refused(key: str) -> None:
    with pytest.raises(InvalidSession):
        check_key(key)


@given(st.text(max_size=300))
def test_an_id_fits_any_path_whatever_the_key(text: str) -> None:
    try:
        made = archive_id(check_key(f"agent:main:{text}"))
    except InvalidSession:
        return
    assert 0 < len(made) <= ID_MAX and made.isascii()
    assert set(made) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")


@given(st.binary(max_size=200))
def test_no_bytes_crash_the_reading(answer: bytes) -> None:
    for prefix in (b"", "🧵 Session: ".encode(), b'{"sessionKey": "'):
        try:
            assert ":" in session_key(prefix + answer)
        except InvalidSession as error:
            assert error.reason.isprintable()


@pytest.mark.parametrize(
    ("key", "wanted"),
    [
        ("agent:main:cron:job-1", CronKey("main", "job-1", None)),
        ("agent:ops:cron:job-1:run:r-7", CronKey("ops", "job-1", "r-7")),
        ("agent:main:abc123", None),
        ("agent:main:cron", None),
        ("agent:cron:main", None),
        ("agent:main:telegram:cron:x", None),
        ("cron:job-1", None),
    ],
)
def test_the_keys_of_scheduled_jobs(key: str, wanted: CronKey | None) -> None:
    assert cron_key(key) == wanted


@pytest.mark.parametrize(
    "key",
    [
        "agent:main:cron:",
        "agent:main:cron:job:run:",
        "agent:main:cron:job:trigger",
        "agent:main:cron:job:run:r:more",
        "agent::cron:job",
        "agent:main:cron::run:r",
    ],
)
def test_a_scheduled_key_of_unknown_form_is_refused(key: str) -> None:
    with pytest.raises(InvalidSession):
        cron_key(key)


def test_the_key_that_all_runs_of_a_job_share() -> None:
    assert CronKey("main", "j", "r").own == CronKey("main", "j", None).own == "agent:main:cron:j"
