"""Many at once, peers that are slow, disks that are full, servers that are killed (issue 9, must show 3)."""

from __future__ import annotations

import contextlib
import json
import os
import random
import select
import signal
import socket
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException, HTTPResponse
from pathlib import Path

import pytest
from tests.faults.stage import mounted
from tests.vault.killing import Fuse, Killed, doomed
from tests.vault.load import Process, killed_under_load
from tests.vault.servers import Served
from tests.vault.sites import Folder
from tests.vault.table_client import TableClient

from muniment.bundle.vault import Limits
from muniment.bundle.whole import Description
from muniment.faces.web import bodies
from muniment.faces.web.guarded import Guarded
from muniment.vault.collect import collect
from muniment.vault.errors import UploadGone
from muniment.vault.examine import examine
from muniment.vault.tenants import SERVED
from muniment.vault.whole import Wholes


def noise(size: int, seed: int = 1) -> bytes:
    return random.Random(seed).randbytes(size)


def answered(opened: socket.socket) -> int:
    """The status of the next answer; its body, which may come by itself, is taken off the connection too."""
    answer = HTTPResponse(opened)
    answer.begin()
    answer.read()
    return answer.status


def rest(opened: socket.socket) -> bytes:
    """Everything until the other side closes."""
    return b"".join(iter(lambda: opened.recv(65536), b""))


def test_fifty_for_the_last_slot(one: TableClient) -> None:
    """Four of five slots are taken; fifty create at once; one 201, all others 409 with the list."""
    for seed in range(4):
        assert one.create(noise(100, seed)).status == 201
    with ThreadPoolExecutor(50) as pool:
        answers = list(pool.map(lambda seed: one.create(noise(200_000, seed)), range(100, 150)))
    assert sorted(answer.status for answer in answers) == [201] + [409] * 49
    assert {answer.json["error"] for answer in answers if answer.status == 409} == {"quota_exceeded"}
    (winner,) = [answer.json["backup_id"] for answer in answers if answer.status == 201]
    assert winner in [found["backup_id"] for found in one.list()["backups"]]
    assert len(one.list()["backups"]) == 5


def test_fifty_reservations_for_the_last_slot(quick_path: Path) -> None:
    served = Served(quick_path / "served", Limits(snapshots=5, sessions=50))
    try:
        one = TableClient(served.port, served.token())
        for seed in range(4):
            one.create(noise(10, seed))
        with ThreadPoolExecutor(50) as pool:
            statuses = sorted(answer.status for answer in pool.map(one.reserve, range(10, 60)))
        assert statuses == [201] + [409] * 49
    finally:
        served.close()


def test_many_chunk_writers_one_wins(one: TableClient) -> None:
    """Ten send the same range, each with bytes of its own; what is kept is what one of them sent."""
    half = 300_000
    upload = one.reserve(2 * half).json["upload_id"]
    sent = [noise(half, seed) for seed in range(10)]
    with ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(lambda data: one.chunk(upload, 0, data, 2 * half), sent))
    assert sorted(answer.status for answer in answers) == [202] + [409] * 9
    assert all(answer.json["offset"] == half for answer in answers)
    winner = sent[[answer.status for answer in answers].index(202)]
    with ThreadPoolExecutor(10) as pool:
        last = list(pool.map(lambda data: one.chunk(upload, half, data, 2 * half), sent))
    assert sorted(answer.status for answer in last)[0] == 201
    assert {answer.status for answer in last} <= {201, 404, 409}
    assert [answer.status for answer in last].count(201) == 1
    index = [answer.status for answer in last].index(201)
    assert one.get(last[index].json["backup_id"]).body == winner + sent[index]
    assert len(one.list()["backups"]) == 1


def test_a_replace_races_a_delete(one: TableClient) -> None:
    """Whoever is first, the other is told; nothing is lost and nothing counts twice."""
    for turn in range(12):
        old = one.create(noise(10, turn)).json["backup_id"]
        with ThreadPoolExecutor(2) as pool:
            replacing = pool.submit(one.create, noise(20, turn), replace=old)
            deleting = pool.submit(one.delete, old)
            answers = replacing.result(), deleting.result()
        listed = [found["backup_id"] for found in one.list()["backups"]]
        assert old not in listed
        if answers[0].status == 201:
            assert listed == [answers[0].json["backup_id"]]
            assert answers[1].status in (204, 404)
            one.delete(listed[0])
        else:
            assert (answers[0].status, answers[1].status) == (404, 204)
            assert listed == []


def test_the_same_snapshot_is_deleted_once(one: TableClient) -> None:
    name = one.create(b"x").json["backup_id"]
    with ThreadPoolExecutor(8) as pool:
        statuses = sorted(answer.status for answer in pool.map(one.delete, [name] * 8))
    assert statuses == [204] + [404] * 7


# Peers


SOON = 0.3
"""Seconds for a peer that is to be given up; honest ones beside it have as many as ever."""


def taken_in(one: TableClient) -> None:
    """Until every connection that was opened before is known to the server, which takes them in turn."""
    while True:
        with contextlib.suppress(OSError, HTTPException):
            assert one.call("GET", "/healthz").status == 200
            return


def test_slow_and_idle_peers_are_given_up_and_cost_nothing_else(
    served: Served, one: TableClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload = one.reserve(100).json["upload_id"]
    with monkeypatch.context() as patch:
        patch.setattr(Guarded, "head_s", SOON)
        idle = [one.raw(b"") for _ in range(20)]
        headless = [one.raw(b"GET /backups HTTP/1.1\r\nHost:") for _ in range(20)]
        taken_in(one)
    with monkeypatch.context() as patch:
        patch.setattr(bodies, "SILENCE_S", SOON)  # looked at when a call begins
        bodiless = [one.half("POST", "/backups", {"Content-Length": "100"}, b"abc") for _ in range(20)]
        head = {"Content-Range": "bytes 0-99/100", "Content-Length": "100"}
        bodiless.append(one.half("POST", f"/uploads/{upload}/chunk", head, b""))
        taken_in(one)
    data = noise(3_000_000)
    assert one.create(data).status == 201, "a normal upload beside them"
    for opened in (*idle, *headless):
        assert opened.recv(1) == b"", "closed by the server"
        opened.close()
    for opened in bodiless:
        assert opened.recv(65536).startswith(b"HTTP/1.1 408")
        opened.close()
    assert one.offset(upload).json["offset"] == 0
    assert one.get(one.list()["backups"][0]["backup_id"]).body == data


def test_what_is_no_http_is_answered_in_the_one_shape(one: TableClient) -> None:
    for data in (
        b"\x16\x03\x01 hello\r\n\r\n",
        b"GET /backups HTTP/1.1\r\n" + b"a: b\r\n" * 20_000 + b"\r\n",
    ):
        with one.raw(data) as opened:
            answer = rest(opened)
        assert answer.startswith(b"HTTP/1.1 400")
        said = json.loads(answer.partition(b"\r\n\r\n")[2])
        assert {"error", "message", "detail"} == set(said)


def test_more_connections_than_there_may_be(one: TableClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Guarded, "connections_most", 5)
    kept = one.raw(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
    assert answered(kept) == 200
    opened = [one.raw(b"") for _ in range(10)]
    assert rest(kept) == b"", "the one that nobody used made room"
    refused: list[str] = []
    while len(refused) < 5:
        for each in select.select(opened, [], [], 60)[0]:
            opened.remove(each)
            refused.append(json.loads(rest(each).partition(b"\r\n\r\n")[2])["error"])
            each.close()
    assert refused == ["too_many"] * 5
    for each in (kept, *opened):
        each.close()
    while one.call("GET", "/healthz").status == 503:
        pass  # until it has seen that they are gone
    assert one.create(b"x").status == 201


def test_a_head_in_a_second_call_of_a_connection_is_waited_for_no_longer(
    one: TableClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    with one.raw(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n") as opened:
        assert answered(opened) == 200
        monkeypatch.setattr(Guarded, "head_s", SOON)
        opened.sendall(b"GET /heal")
        while data := opened.recv(65536):
            assert b"HTTP/1.1 2" not in data


def test_a_reader_who_does_not_read_is_given_up(
    served: Served, one: TableClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = one.create(noise(30_000_000)).json["backup_id"]
    monkeypatch.setattr(Guarded, "stuck_s", SOON)
    request = f"GET /backups/{name} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {one.token}\r\n\r\n"
    opened = socket.socket()
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    opened.connect(("127.0.0.1", served.port))
    opened.sendall(request.encode())
    assert one.create(b"x").status == 201
    got = len(opened.recv(1))  # the answer has begun: until then nobody holds anything
    # It reads on only once the server has let go of it: what is left in between ends early.
    while served.tenants._open and any(tenant.users for tenant in served.tenants._open.values()):
        assert one.call("GET", "/healthz").status == 200
    try:
        while data := opened.recv(1 << 20):
            got += len(data)
    except ConnectionResetError:
        pass
    opened.close()
    assert got < 30_000_000


def test_a_peer_that_may_not_call(quick_path: Path) -> None:
    from muniment.faces.web.reception import Rules
    from muniment.vault.access import network

    rules = Rules(peers=[network("fdaa::/16")], proxies=[network("127.0.0.1")])
    served = Served(quick_path / "served", SERVED, rules=rules)
    try:
        one = TableClient(served.port, served.token())
        assert one.call("GET", "/backups").status == 403
        assert one.call("GET", "/healthz").json["error"] == "peer_refused"
        for forwarded, status in (
            ("fdaa:0:1::7", 200),
            ("198.51.100.7", 403),
            ("fdaa::1, 198.51.100.7", 403),
        ):
            assert one.call("GET", "/backups", headers={"X-Forwarded-For": forwarded}).status == status
    finally:
        served.close()


def test_what_a_header_says_of_an_address_counts_from_trusted_proxies_alone(quick_path: Path) -> None:
    from muniment.faces.web.reception import Rules
    from muniment.vault.access import network

    served = Served(quick_path / "served", SERVED, rules=Rules(peers=[network("fdaa::/16")]))
    try:
        one = TableClient(served.port, served.token())
        for name in ("X-Forwarded-For", "Forwarded", "X-Real-IP"):
            assert one.call("GET", "/backups", headers={name: "fdaa::1"}).status == 403
    finally:
        served.close()
    served = Served(quick_path / "other", SERVED, rules=Rules(peers=[network("127.0.0.1")]))
    try:
        one = TableClient(served.port, served.token())
        assert one.call("GET", "/backups", headers={"X-Forwarded-For": "198.51.100.7"}).status == 200
    finally:
        served.close()


# Full disks


def test_a_full_disk_is_507_and_nothing_else_is_lost(tmp_path: Path) -> None:
    with mounted("tmpfs", tmp_path / "disk", "size=4m") as place:
        served = Served(place / "served", SERVED)
        try:
            one = TableClient(served.port, served.token())
            kept = noise(1_500_000)
            name = one.create(kept).json["backup_id"]
            full = one.create(noise(3_500_000, 2))
            assert (full.status, full.json["error"]) == (507, "no_space")
            upload = one.reserve(3_500_000).json["upload_id"]
            assert one.chunk(upload, 0, noise(3_500_000, 3), 3_500_000).status == 507
            assert one.offset(upload).json["offset"] == 0
            assert one.abort(upload).status == 204
            assert [found["backup_id"] for found in one.list()["backups"]] == [name]
            assert one.get(name).body == kept
            assert one.create(noise(500_000, 4)).status == 201, "what fits is still taken"
        finally:
            served.close()


# Killed


def _acts(wholes: Wholes, acknowledged: dict[str, bytes]) -> None:
    """One of each: at once, by offsets, replacing, deleting."""
    first = wholes.keep([b"first"], Description("", ()))
    acknowledged[first.snapshot.id] = b"first"
    upload = wholes.reserve(300_000, Description("", ()))
    data = noise(300_000)
    assert wholes.take(upload, 0, 100_000, 300_000, [data[:100_000]]) == 100_000
    second = wholes.take(upload, 100_000, 300_000, 300_000, [data[100_000:]])
    assert not isinstance(second, int)
    acknowledged[second.snapshot.id] = data
    acknowledged[""] = b""  # from here on the first one may go
    third = wholes.keep([b"third"], Description("", ()), replace=first.snapshot.id)
    acknowledged.pop(first.snapshot.id, None)
    acknowledged[third.snapshot.id] = b"third"
    wholes.store.delete(third.snapshot.id)
    acknowledged.pop(third.snapshot.id)


def test_killed_between_any_two_steps_of_whole_uploads(quick_path: Path) -> None:
    """What was acknowledged is there, nothing else is listed but what was being acknowledged, and
    nothing is left once garbage was collected."""
    sent = {b"first", noise(300_000), b"third"}
    steps = 0
    while True:
        steps += 1
        site = Folder(quick_path / f"vault-{steps}", SERVED)
        acknowledged: dict[str, bytes] = {}
        fuse = Fuse(steps)
        with contextlib.suppress(Killed):
            _acts(Wholes(doomed(site.client(), fuse)), acknowledged)
        after = site.client()
        listed = {found.id: b"".join(after.download(found.id)) for found in after.list().snapshots}
        may_go = acknowledged.pop("", None) is not None
        for name, data in acknowledged.items():
            if not (may_go and data in (b"first", b"third")):
                assert listed[name] == data
        assert set(listed.values()) <= sent
        assert len(listed) - len(acknowledged) <= 1
        site.clock.step(days=2)
        collect(after)
        site.clock.step(days=2)
        collect(after)
        assert examine(after).findings == []
        for upload in after.sessions():
            with pytest.raises(UploadGone):
                Wholes(after).look(upload.id)
        site.close()
        if not fuse.burnt:
            break
    assert steps > 40


def test_killed_under_load(quick_path: Path) -> None:
    """A real process, ended by SIGKILL in the middle of what three tenants do."""
    assert killed_under_load(quick_path / "home", kills=5, seed=20261130) > 5


@pytest.mark.long
@pytest.mark.parametrize("seed", range(5))
def test_killed_hundreds_of_times_under_load(tmp_path: Path, seed: int) -> None:
    assert killed_under_load(tmp_path / "home", kills=60, seed=seed) > 60


def test_sigterm_lets_a_call_come_to_its_end(quick_path: Path) -> None:
    server = Process(quick_path / "home")
    server.begin()
    one = TableClient(server.port, server.token("u-1"))
    assert one.create(b"before").status == 201
    with one.half("POST", "/backups", {"Content-Length": "10"}, b"01234") as opened:
        while b"calls_under_way 2.0" not in one.call("GET", "/metrics").body:
            pass  # until the server has begun to take it; the question itself is the other one
        assert server.process is not None
        os.kill(server.process.pid, signal.SIGTERM)
        with pytest.raises(OSError):  # soon nobody takes connections any more
            while True:
                socket.create_connection(("127.0.0.1", server.port), timeout=60).close()
        opened.sendall(b"56789")
        answer = rest(opened)
    assert answer.startswith(b"HTTP/1.1 201")
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["size_bytes"] == 10
    assert server.end(signal.SIGTERM) == 0
