"""What looks like a key is refused with its field; what only looks long is not."""

from __future__ import annotations

import base64
import hashlib
import random
import resource
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.disk.processes import in_child
from tests.handoff.world import build

from muniment.handoff.anchors import without_anchors
from muniment.handoff.headings import headings
from muniment.handoff.prose import claims_in, is_progress_note
from muniment.handoff.secrets import looks_secret, secrets_in

CHANCE = random.Random(11)


def draw(size: int, signs: str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789") -> str:
    return "".join(CHANCE.choice(signs) for _ in range(size))


KEYS = [
    "-----BEGIN " + "OPENSSH PRIVATE KEY-----",
    "AKIA" + "IOSFODNN7EXAMPLE",
    "ghp_" + draw(36),
    "github_pat_" + draw(40),
    "glpat-" + draw(20),
    "xoxb-" + "1234567890-abcdef",
    "sk-" + draw(40),
    "sk-ant-" + draw(40),
    "sk_live_" + draw(24),
    "AIza" + draw(35),
    "hf_" + draw(34),
    "npm_" + draw(36),
    "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxIn0." + draw(43),
    "password: hunter2hunter2",
    "PASSWORD=s3cr3t!",
    "the api key is " + draw(20),
    '"client_secret": "' + draw(24) + '"',
    "DB_PASSWORD='p@ssw0rd'",
    "密码：abc123xyz",
    "口令是 s3cr3t99",
    "Authorization: Bearer " + draw(40),
    "postgres://app:" + "pa55word@db/x",
    base64.b64encode(random.Random(3).randbytes(32)).decode(),
    base64.urlsafe_b64encode(random.Random(4).randbytes(48)).decode(),
    "AWS " + draw(40),
    "AGE-SECRET-KEY-1" + draw(58, "ABCDEFGHJKLMNPQRSTUVWXYZ023456789"),
    "the token-id is 4f9Kd02Lm7",
    "api-key-is 4f9Kd02Lm7",
    "my_password_of_token_7 = hunter2hunter2",
    "token_password_: hunter2hunter2",
    "口令密码为abc123xyz",
]
HARMLESS = [
    "sha256:" + hashlib.sha256(b"x").hexdigest(),
    hashlib.sha256(b"x").hexdigest(),
    hashlib.sha1(b"x").hexdigest(),
    hashlib.md5(b"x").hexdigest(),
    hashlib.sha512(b"x").hexdigest(),
    "01KDVDNA000000000000000000",
    "ho_01KDVDNA00000000000000000A",
    "arc_01KDVDNA00000000000000000A",
    "ev1-G1WHEGVCKS3VN035BPN5H9RSWX",
    str(uuid.UUID(int=2**100 + 12345)),
    "secret://deploy/token",
    "password: secret://db/main",
    "token=secret://ci/npm-token-9aB",
    "password=<your password>",
    "API_KEY=${API_KEY}",
    "token: {{ token }}",
    "password: ********",
    "Never write the password into the report.",
    "The token is refreshed by the host; the secret is well-kept.",
    "max_tokens=200000 and tokens: 4096",
    "src/muniment/handoff/verification_of_a_long_path_name.py",
    "https://example.org/docs/reference/Handoff-Gate-Steps-2026-11-30.html",
    "test_a_packet_with_a_very_long_name_that_goes_on_and_on_2026",
    "ThisIsAVeryLongCamelCaseClassNameWithoutDigits",
    "2026-11-30T14:28:00.000000Z",
    "解析器读取全部四十个文件，令牌由主机刷新。",
    "",
]


@pytest.mark.parametrize("text", KEYS, ids=range(len(KEYS)))
def test_keys(text: str) -> None:
    assert looks_secret(text)
    assert looks_secret(f"Use {text} for it.")


@pytest.mark.parametrize("text", HARMLESS, ids=range(len(HARMLESS)))
def test_no_keys(text: str) -> None:
    assert not looks_secret(text)
    assert not looks_secret(f"See {text} for it.")


def test_the_field_is_named() -> None:
    key = "ghp_" + "aB3d" * 9
    value: dict[str, Any] = {"a": ["x", {"b c": key}], "d": {"password": "hunter2hunter2"}, key: 1}
    assert sorted(secrets_in(value)) == ["(a key there)", "a[1].'b c'", "d.password"]


def test_whole_documents_of_an_honest_delegation_hold_no_key() -> None:
    world = build(mode="independent_task", task_adapter=True)
    assert list(secrets_in({name: world[name] for name in ("packet", "dispatch", "return")})) == []


@given(st.text(max_size=200))
def test_hostile_text_is_only_text(text: str) -> None:
    assert looks_secret(text) in (True, False)
    assert is_progress_note(text) in (True, False)
    assert claims_in(text) <= {"committed", "pushed"}


LONG = (
    "a" * 60_000,
    "a1B" * 20_000,
    "password=" * 6_000,
    "token-" * 10_000,
    "secret" * 10_000,
    "密码" * 20_000,
    "token" + " " * 60_000,
    "-" * 60_000,
    "a." * 30_000,
    "eyJaaaaaaaa-" * 5_000,
    "not " * 15_000 + "committed",
    "committed " * 6_000,
    "not committed, " * 4_000,
    "to" + " " * 60_000 + "be committed",
    "# x" + " " * 400_000 + "x",
    "<!-- " * 12_000,
    "ev1-" * 15_000,
)


def _headings(text: str) -> object:
    return list(headings(text.encode()))


def _without_anchors(text: str) -> object:
    return without_anchors(text.encode())


ASKS = (looks_secret, is_progress_note, claims_in, _headings, _without_anchors)


@pytest.mark.parametrize("ask", ASKS)
def test_a_long_text_does_not_keep_the_processor_busy(ask: Callable[[str], object]) -> None:
    """In a process that is ended after seconds of its own, not of the clock; what grows by the square takes
    more."""

    def read() -> str:
        resource.setrlimit(resource.RLIMIT_CPU, (5, 5))
        for text in LONG:
            ask(text)
        return "read"

    assert in_child(read) == "read"
