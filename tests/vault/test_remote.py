"""The client: what it carries, when it tries again, and what it does not believe."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.vault.content import START, keep, numbered, restored
from tests.vault.servers import Served
from tests.vault.table_client import TableClient

from muniment.message import Message
from muniment.settings import Layer, Settings
from muniment.vault.bearing import token_source
from muniment.vault.errors import (
    NoKeys,
    SnapshotDamaged,
    TokenRefused,
    UnknownSnapshot,
    VaultAnswer,
    VaultUnreachable,
)
from muniment.vault.keys import add_key, read_keys
from muniment.vault.line import KEPT, Line
from muniment.vault.place import Address
from muniment.vault.remote import RemoteVault
from muniment.vault.serve_settings import CLAIM_NAME, KEYS
from muniment.vault.settings import TOKEN_FILE
from muniment.vault.tokens import read_token

ROOT_OF_NOTHING = "4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945"  # sha256 of "[]"
SNAPSHOT = {
    "backup_id": "bk_20261130_120000_abcd",
    "user_label": "",
    "created_at": 0,
    "created": "2026-11-30T12:00:00.000000Z",
    "size_bytes": 3,
    "sections": [],
    "root": ROOT_OF_NOTHING,
    "sha256": None,
    "soundness": "sound",
    "whole": True,
}
QUOTA = {"snapshots": 5, "used": 1, "uploading": 0, "remaining": 4}
LISTING = {
    "backups": [SNAPSHOT],
    "quota": QUOTA,
    "limits": {"bundle_bytes": 1, "label": 64, "sessions": 2},
    "vault": "V",
}


def http(status: int, body: bytes | Mapping[str, object], *headers: str) -> bytes:
    """An answer as it travels."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(data)}", "Connection: close", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + data


@contextmanager
def liar(*answers: bytes) -> Iterator[tuple[Callable[..., RemoteVault], list[bytes]]]:
    """A stand-in for a server that is broken or hostile: it gives these answers, one a connection."""
    listening = socket.create_server(("127.0.0.1", 0))
    asked: list[bytes] = []

    def work() -> None:
        for answer in answers:
            connection, _ = listening.accept()
            with connection:
                asked.append(connection.recv(65536))
                connection.sendall(answer)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    port = listening.getsockname()[1]

    def client(note: Callable[[Message], None] = lambda message: None) -> RemoteVault:
        address = Address.of(f"http://127.0.0.1:{port}")
        return RemoteVault(Line(address, lambda: "t.o.k", note=note, pause=lambda seconds: None, kept=KEPT))

    try:
        yield client, asked
    finally:
        listening.close()
        thread.join(30)


def test_a_call_that_is_lost_is_made_once_more_and_it_is_said() -> None:
    notes: list[str] = []
    with liar(b"", http(200, LISTING)) as (client, asked):
        assert client(lambda message: notes.append(str(message))).list().remaining == 4
    assert len(asked) == 2
    assert len(notes) == 1 and "once more" in notes[0]


def test_twice_lost_is_unreachable() -> None:
    with liar(b"", b"") as (client, asked), pytest.raises(VaultUnreachable):
        client().list()
    assert len(asked) == 2


def test_a_reservation_is_not_made_twice() -> None:
    """Its answer may be lost while the slot is held."""
    with liar(b"") as (client, asked), pytest.raises(VaultUnreachable):
        client().reserve()
    assert len(asked) == 1


def test_nobody_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    address = Address.of(f"http://127.0.0.1:{port}")
    vault = RemoteVault(Line(address, lambda: "t", pause=lambda seconds: None))
    with pytest.raises(VaultUnreachable):
        vault.list()


@pytest.mark.parametrize(
    "answer",
    [
        http(200, b""),
        http(200, b"[]"),
        http(200, b"{}"),
        http(200, b'{"backups": 1}'),
        http(200, {**LISTING, "backups": [{**SNAPSHOT, "backup_id": "../../x"}]}),
        http(200, {**LISTING, "backups": [{**SNAPSHOT, "size_bytes": -1}]}),
        http(200, {**LISTING, "backups": [{**SNAPSHOT, "user_label": "a\x1b[2J"}]}),
        http(200, {**LISTING, "backups": [{**SNAPSHOT, "root": "x"}]}),
        http(200, {**LISTING, "quota": {**QUOTA, "snapshots": "5"}}),
        http(200, {**LISTING, "limits": {"bundle_bytes": [], "label": 64, "sessions": 2}}),
        http(200, {**LISTING, "limits": {"bundle_bytes": 1, "label": None, "sessions": 2}}),
        http(200, b'{"vault": "a", "vault": "b"}'),
        http(200, b"[" * 5000),
        http(302, b"", "Location: http://127.0.0.1:1/"),
        http(418, b"<html>"),
        http(404, {"error": "no_such_code", "message": "x", "detail": {}}),
    ],
)
def test_answers_that_no_vault_gives(answer: bytes) -> None:
    with liar(answer) as (client, asked), pytest.raises(VaultAnswer):
        client().list()
    assert len(asked) == 1, "a redirect is not followed, and what was answered is not asked again"


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (http(200, b"abc", "X-Sha256: " + "0" * 64), SnapshotDamaged),
        (http(200, b"abc"), SnapshotDamaged),
        (b"HTTP/1.1 200 X\r\nContent-Length: 9\r\nX-Sha256: a\r\n\r\nabc", VaultUnreachable),
        (http(206, b"abc"), VaultAnswer),
        (b"HTTP/1.1 200 X\r\nContent-Length: many\r\nX-Sha256: a\r\n\r\nabc", VaultAnswer),
        (b"HTTP/1.1 200 X\r\nX-Sha256: a\r\n\r\nabc", VaultAnswer),
    ],
)
def test_a_download_that_is_not_what_it_says(answer: bytes, error: type[Exception]) -> None:
    with liar(answer) as (client, _), pytest.raises(error):
        list(client().download("bk_20261130_120000_abcd"))


def test_an_offset_at_the_end_whose_answer_breaks_off() -> None:
    """There is nothing to be had, but the line was lost all the same."""
    answer = b"HTTP/1.1 416 X\r\nTransfer-Encoding: chunked\r\n\r\nnonsense\r\n"
    with liar(answer) as (client, _), pytest.raises(VaultUnreachable):
        list(client().download("bk_20261130_120000_abcd", 3))


def test_an_answer_that_is_cut_short_is_not_believed() -> None:
    whole = http(200, LISTING)
    with liar(whole[:-1]) as (client, asked), pytest.raises(VaultUnreachable):
        client().list()
    assert len(asked) == 1


def test_an_index_of_something_else_is_not_believed(quick_path: Path) -> None:
    index = numbered(1, 2).index.to_bytes()
    with liar(http(200, LISTING), http(200, index)) as (client, _), pytest.raises(SnapshotDamaged):
        client().index("bk_20261130_120000_abcd")


def test_a_connection_is_used_again_and_a_stale_one_is_not(quick_path: Path) -> None:
    served = Served(quick_path / "served")
    try:
        now = [0.0]
        address = Address.of(served.url)
        vault = RemoteVault(Line(address, served.token, monotonic=lambda: now[0], kept=KEPT))
        vault.list()
        (first,) = vault._line._idle
        vault.list()
        assert vault._line._idle[0][1] is first[1]
        now[0] += 3600
        vault.list()
        assert vault._line._idle[0][1] is not first[1]
        vault.close()
        assert vault.list().snapshots == ()
        vault.close()
    finally:
        served.close()


def test_connections_do_not_pile_up(quick_path: Path) -> None:
    served = Served(quick_path / "served")
    try:
        vault = served.client()
        for _ in range(10):
            vault.abort(vault.reserve().upload_id)
            vault.list()
        assert len(vault._line._idle) <= 4
    finally:
        served.close()


def test_whole_snapshots_of_other_clients_are_read(quick_path: Path) -> None:
    """Beside them our own snapshots are made as ever."""
    served = Served(quick_path / "served")
    try:
        told = TableClient(served.port, served.token()).create(b"0123456789").json
        vault = served.client()
        snapshot = vault.show(told["backup_id"])
        assert snapshot.whole and snapshot.sha256 is not None
        assert b"".join(vault.download(snapshot.id)) == b"0123456789"
        assert b"".join(vault.download(snapshot.id, 4)) == b"456789"
        assert vault.index(snapshot.id).whole
        mine = keep(vault, numbered(1, 2)).snapshot
        assert restored(vault, mine.id) == numbered(1, 2).raw
        vault.delete(snapshot.id)
        with pytest.raises(UnknownSnapshot):
            vault.show(snapshot.id)
    finally:
        served.close()


# Tokens


def source(url: str, environment: dict[str, str], **settings: object) -> Callable[[], str]:
    """The token source as the wiring makes it."""
    known = (TOKEN_FILE, KEYS, CLAIM_NAME)
    layer = Layer("test", {name.replace("__", "."): value for name, value in settings.items()})
    return token_source(Address.of(url), Settings(known, [layer]), environment, lambda: START)


def test_where_the_token_comes_from(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("from.the.file\n")
    given = {"CONTAINER_JWT": "from.the.variable"}
    far = "https://vault.example"
    assert source(far, given, vault__token_file=str(file))() == "from.the.variable"
    assert source(far, {}, vault__token_file=str(file))() == "from.the.file"
    file.write_text("renewed")
    assert source(far, {}, vault__token_file=str(file))() == "renewed"
    with pytest.raises(TokenRefused):
        source(far, {})()
    for odd in ("", "a b", "a\r\nX-Evil: 1", "é"):
        file.write_text(odd)
        with pytest.raises(TokenRefused):
            source(far, {}, vault__token_file=str(file))()
    with pytest.raises(TokenRefused):
        source(far, {"CONTAINER_JWT": "a\r\nX-Evil: 1"})()


def test_on_this_machine_the_key_file_says_who_is_who(tmp_path: Path) -> None:
    keys = tmp_path / "keys.json"
    with pytest.raises(NoKeys):
        source("http://127.0.0.1:1", {}, serve__keys=str(keys))()
    add_key(keys, clock=lambda: START)
    token = source("http://127.0.0.1:1", {}, serve__keys=str(keys))()
    assert read_token(token, read_keys(keys), START).type == "access"
    with pytest.raises(TokenRefused):
        source("http://198.51.100.7:1", {}, serve__keys=str(keys))()


@pytest.mark.parametrize(
    "address",
    [
        "http://",
        "http://user:secret@h/",
        "ftp://h",
        "http://h:99999",
        "http://h?x",
        "http://h\n",
        "http:///x",
    ],
)
def test_addresses_that_are_none(address: str) -> None:
    with pytest.raises(ValueError):
        Address.of(address)
