"""The wire as existing clients speak it (spec 5, table): a client that knows the table alone."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import random
import re
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.vault.content import numbered
from tests.vault.servers import Served
from tests.vault.table_client import Answer, TableClient

from muniment.bundle.vault import Limits
from muniment.vault.examine import examine
from muniment.vault.tokens import tenant_of

ID = re.compile(r"bk_\d{8}_\d{6}_[a-z0-9]{4}", re.ASCII)
SMALL = Limits(snapshots=5, size=1 << 20, label=64, sessions=2)


def noise(size: int, seed: int = 1) -> bytes:
    """Bytes that do not deflate, as a tar.gz has them."""
    return random.Random(seed).randbytes(size)


def is_error(answer: Answer, status: int, code: str) -> bool:
    """Every error: `{error, message, detail}`."""
    said = answer.json
    shape = {"error", "message", "detail"} <= set(said) and isinstance(said["message"], str)
    assert (answer.status, said["error"]) == (status, code), said
    return shape and answer.headers["content-type"] == "application/json"


@pytest.fixture
def small(quick_path: Path) -> Iterator[Served]:
    """A server that takes 1 MiB at most."""
    found = Served(quick_path / "small", SMALL)
    yield found
    found.close()


# One-shot


@pytest.mark.parametrize("size", [1, 511, 512, 262_143, 262_144, 262_145, 3_000_000])
def test_one_shot_comes_back_byte_for_byte(one: TableClient, size: int) -> None:
    data = noise(size)
    created = one.create(data, "每日", ["workspace/b", "api"])
    told = created.json
    assert created.status == 201
    assert ID.fullmatch(told["backup_id"])
    assert (told["size_bytes"], told["sha256"]) == (size, hashlib.sha256(data).hexdigest())
    assert told["remaining_slots"] == 4
    given = one.get(told["backup_id"])
    assert (given.status, given.body) == (200, data)
    assert given.headers["x-sha256"] == told["sha256"]
    assert given.headers["content-length"] == str(size)
    (listed,) = one.list()["backups"]
    assert {name: listed[name] for name in ("backup_id", "user_label", "size_bytes", "sections")} == {
        "backup_id": told["backup_id"],
        "user_label": "每日",
        "size_bytes": size,
        "sections": ["api", "workspace/b"],
    }
    assert listed["created_at"] == 1796040000  # 2026-11-30T12:00:00Z


def test_the_newest_is_first(served: Served, one: TableClient) -> None:
    ids = []
    for number in range(3):
        ids.append(one.create(noise(10, number)).json["backup_id"])
        served.clock.step(seconds=1)
    assert [found["backup_id"] for found in one.list()["backups"]] == ids[::-1]


@pytest.mark.parametrize(
    "header",
    [b"{", b"[]", b'"x"', b'{"user_label": 4}', b'{"sections": "x"}', b'{"sections": [1]}', b"\xe6",
     b'{"user_label":"a","user_label":"b"}', b'{"user_label": NaN}'],
)  # fmt: skip
def test_a_manifest_that_is_none(one: TableClient, header: bytes) -> None:
    answer = one.call("POST", "/backups", b"x", {"X-Manifest": header.decode("latin-1")})
    assert is_error(answer, 400, "call_refused")
    assert one.list()["backups"] == []


def test_labels(one: TableClient) -> None:
    assert one.create(b"x", "y" * 64).status == 201
    assert is_error(one.create(b"x", "y" * 65), 400, "label_refused")
    assert is_error(one.create(b"x", "a\nb"), 400, "label_refused")
    assert one.create(b"x", None).json["user_label"] == ""
    assert len(one.list()["backups"]) == 2


def test_an_empty_body_is_no_snapshot(one: TableClient) -> None:
    assert is_error(one.create(b""), 400, "upload_refused")
    assert one.list()["backups"] == []


def test_a_body_that_is_chunked_is_taken_as_well(one: TableClient) -> None:
    head = {"Transfer-Encoding": "chunked"}
    with one.half("POST", "/backups", head, b"5\r\nhello\r\n3\r\n wo\r\n0\r\n\r\n") as opened:
        assert opened.recv(65536).startswith(b"HTTP/1.1 201")
    assert one.get(one.list()["backups"][0]["backup_id"]).body == b"hello wo"


def test_too_large(small: Served) -> None:
    one = TableClient(small.port, small.token())
    assert one.create(noise(1 << 20)).status == 201
    assert is_error(one.create(noise((1 << 20) + 1)), 413, "snapshot_too_large")
    assert is_error(one.reserve((1 << 20) + 1), 413, "snapshot_too_large")
    with one.half("POST", "/backups", {"Transfer-Encoding": "chunked"}, b"") as opened:
        block = noise(1 << 16)
        for _ in range(17):
            opened.sendall(b"10000\r\n" + block + b"\r\n")
        opened.sendall(b"0\r\n\r\n")
        assert opened.recv(65536).startswith(b"HTTP/1.1 413")
    assert len(one.list()["backups"]) == 1


# Quota, replace, delete


def test_quota_replace_delete(served: Served, one: TableClient) -> None:
    ids = [one.create(noise(100, seed), f"l{seed}").json["backup_id"] for seed in range(5)]
    full = one.create(noise(100, 9))
    assert is_error(full, 409, "quota_exceeded")
    assert sorted(found["backup_id"] for found in full.json["current"]) == sorted(ids)
    assert is_error(one.reserve(100), 409, "quota_exceeded")
    replaced = one.create(noise(100, 9), replace=ids[2])
    assert (replaced.status, replaced.json["remaining_slots"]) == (201, 0)
    assert is_error(one.get(ids[2]), 404, "snapshot_unknown")
    assert is_error(one.create(b"x", replace=ids[2]), 404, "snapshot_unknown")
    assert is_error(one.create(b"x", replace=""), 404, "snapshot_unknown")
    gone = one.delete(ids[0])
    assert (gone.status, gone.body) == (204, b"")
    assert is_error(one.delete(ids[0]), 404, "snapshot_unknown")
    assert one.create(b"x").status == 201
    assert len(one.list()["backups"]) == 5
    assert one.list()["quota"]["remaining"] == 0


def test_a_replace_that_fails_leaves_the_old_one(small: Served) -> None:
    one = TableClient(small.port, small.token())
    old = one.create(b"old").json["backup_id"]
    assert one.create(noise((1 << 20) + 1), replace=old).status == 413
    assert one.create(b"", replace=old).status == 400
    assert one.get(old).body == b"old"


# Resumable


def test_resumable_comes_back_byte_for_byte(one: TableClient) -> None:
    data = noise(2_500_000)
    done = one.resumable(data, 1_000_001, manifest={"user_label": "big", "sections": ["data/x"]})
    assert done.status == 201
    assert done.json["sha256"] == hashlib.sha256(data).hexdigest()
    assert (done.json["user_label"], done.json["sections"]) == ("big", ["data/x"])
    assert one.get(done.json["backup_id"]).body == data


def test_a_connection_that_is_lost_inside_a_chunk(one: TableClient) -> None:
    data = noise(900_000)
    upload = one.reserve(len(data)).json["upload_id"]
    assert one.chunk(upload, 0, data[:300_000], len(data)).json == {"offset": 300_000}
    head = {"Content-Range": f"bytes 300000-599999/{len(data)}", "Content-Length": "300000"}
    one.half("POST", f"/uploads/{upload}/chunk", head, data[300_000:400_000]).close()
    assert one.offset(upload).json["offset"] == 300_000
    assert one.chunk(upload, 300_000, data[300_000:], len(data)).status == 201
    assert one.get(one.list()["backups"][0]["backup_id"]).body == data


def test_an_offset_that_is_not_where_it_stands(one: TableClient) -> None:
    data = noise(300)
    upload = one.reserve(300).json["upload_id"]
    assert one.chunk(upload, 0, data[:100], 300).json == {"offset": 100}
    for start, total in ((0, 300), (50, 300), (200, 300), (100, 299), (100, 301)):
        answer = one.chunk(upload, start, data[start : start + 50], total)
        assert is_error(answer, 409, "offset_conflict")
        assert answer.json["offset"] == 100
    assert one.chunk(upload, 100, data[100:], 300).status == 201


@pytest.mark.parametrize(
    "text", ["", "bytes 0-9", "bytes 0-9/*", "bytes */10", "bytes 9-0/10", "bytes 0-10/10", "octets 0-9/10",
             "bytes 0-8/10", "bytes -9/10", "bytes 0-9/10, bytes 0-9/10", "bytes 00000000000000000-9/10"],
)  # fmt: skip
def test_a_range_that_is_none(one: TableClient, text: str) -> None:
    upload = one.reserve(10).json["upload_id"]
    answer = one.call("POST", f"/uploads/{upload}/chunk", b"0123456789", {"Content-Range": text})
    assert is_error(answer, 400, "call_refused")
    assert one.offset(upload).json["offset"] == 0


def test_an_upload_that_is_idle_for_an_hour_is_gone(served: Served, one: TableClient) -> None:
    upload = one.reserve(300).json["upload_id"]
    served.clock.step(minutes=59)
    assert one.chunk(upload, 0, b"x" * 100, 300).status == 202
    served.clock.step(minutes=59)
    assert one.offset(upload).status == 200
    served.clock.step(minutes=2)
    assert is_error(one.offset(upload), 404, "upload_gone")
    assert is_error(one.chunk(upload, 100, b"x" * 200, 300), 404, "upload_gone")
    assert one.list()["quota"]["remaining"] == 5


def test_a_reservation_holds_a_slot_and_is_shown(one: TableClient) -> None:
    for seed in range(4):
        one.create(noise(10, seed))
    upload = one.reserve(300, manifest={"user_label": "coming"}).json["upload_id"]
    full = one.create(b"x")
    assert is_error(full, 409, "quota_exceeded")
    (coming,) = [found for found in full.json["current"] if found.get("uploading")]
    assert (coming["upload_id"], coming["user_label"], coming["size_bytes"]) == (upload, "coming", 300)
    assert one.abort(upload).status == 204
    assert is_error(one.abort(upload), 404, "upload_gone")
    assert one.create(b"x").status == 201


def test_two_sessions_a_tenant(served: Served, one: TableClient) -> None:
    uploads = [one.reserve(10).json["upload_id"] for _ in range(2)]
    third = one.reserve(10)
    assert is_error(third, 409, "sessions_exceeded")
    assert {found["upload_id"] for found in third.json["current"] if found.get("uploading")} == set(uploads)
    assert one.create(b"x").status == 201, "one that comes at once is no session"
    assert TableClient(served.port, served.token("u-2")).reserve(10).status == 201
    one.abort(uploads[0])
    assert one.reserve(10).status == 201


@pytest.mark.parametrize("total", [0, -1, 1.5, "10", None, True, [], 10**30])
def test_a_total_that_is_none(one: TableClient, total: object) -> None:
    answer = one.reserve(total)
    assert answer.status == (413 if total == 10**30 else 400)
    assert one.list()["quota"]["uploading"] == 0


def test_a_resumable_replace(one: TableClient) -> None:
    ids = [one.create(noise(10, seed)).json["backup_id"] for seed in range(5)]
    upload = one.reserve(300, replace=ids[0])
    assert upload.status == 201
    assert one.get(ids[0]).status == 200
    done = one.chunk(upload.json["upload_id"], 0, noise(300), 300)
    assert done.status == 201
    assert one.get(ids[0]).status == 404
    assert is_error(one.reserve(10, replace=ids[0]), 404, "snapshot_unknown")


def test_what_was_taken_before_a_new_start_counts(served: Served, one: TableClient) -> None:
    """The digest that runs along is lost with the process; what was taken is read again."""
    data = noise(700_000)
    upload = one.reserve(len(data)).json["upload_id"]
    one.chunk(upload, 0, data[:400_000], len(data))
    with served.tenants.using(tenant_of("muniment", "userInfoID", "u-1")) as tenant:
        tenant.wholes._digests.clear()
    done = one.chunk(upload, 400_000, data[400_000:], len(data))
    assert done.json["sha256"] == hashlib.sha256(data).hexdigest()


# Ranges


def test_ranges(one: TableClient) -> None:
    data = noise(600_000)
    backup = one.create(data).json["backup_id"]
    for text, expected in (
        ("bytes=0-0", data[:1]),
        ("bytes=262143-262145", data[262_143:262_146]),
        ("bytes=599999-", data[-1:]),
        ("bytes=-5", data[-5:]),
        ("bytes=500000-999999999", data[500_000:]),
    ):
        part = one.get(backup, {"Range": text})
        assert (part.status, part.body) == (206, expected), text
        assert part.headers["content-range"].endswith("/600000")
    for text in ("bytes=600000-", "bytes=-0"):
        assert one.get(backup, {"Range": text}).status == 416
    for text in ("bytes=5-2", "bytes=a-b", "lines=1-2", "bytes=0-1,3-4", "bytes=-"):
        assert (one.get(backup, {"Range": text}).status, one.get(backup).body) == (200, data)
    tag = one.get(backup).headers["etag"]
    assert one.get(backup, {"If-None-Match": tag}).status == 304
    assert one.get(backup, {"Range": "bytes=0-1", "If-Range": tag}).status == 206
    assert one.get(backup, {"Range": "bytes=0-1", "If-Range": '"other"'}).status == 200
    head = one.call("HEAD", f"/backups/{backup}")
    assert (head.status, head.headers["content-length"], head.body) == (200, "600000", b"")


# Tenants


def test_another_tenants_id_is_an_unknown_one(served: Served, one: TableClient) -> None:
    mine = one.create(b"secret").json["backup_id"]
    upload = one.reserve(10).json["upload_id"]
    other = TableClient(served.port, served.token("u-2"))
    assert other.list()["backups"] == []
    unknown, nowhere = "bk_20200101_000000_zzzz", "01KDVDNA000000000000000000"
    for method, path in (
        ("GET", "/backups/{}"), ("DELETE", "/backups/{}"), ("GET", "/backups/{}/index"),
        ("GET", "/backups/{}/manifest"), ("GET", "/backups/{}/files/workspace/a"),
        ("POST", "/backups?replace={}"),
    ):  # fmt: skip
        body = b"x" if method == "POST" else None
        found = [other.call(method, path.format(name), body) for name in (mine, unknown)]
        assert found[0].status == found[1].status == 404
        assert found[0].body.replace(mine.encode(), unknown.encode()) == found[1].body
    for method, path in (("GET", "/uploads/{}"), ("DELETE", "/uploads/{}"), ("POST", "/uploads/{}/chunk")):
        head = {"Content-Range": "bytes 0-0/10"}
        found = [other.call(method, path.format(name), b"x", head) for name in (upload, nowhere)]
        assert found[0].status == found[1].status == 404
        assert found[0].body.replace(upload.encode(), nowhere.encode()) == found[1].body
    assert one.get(mine).body == b"secret"
    assert one.offset(upload).status == 200


def test_extents_are_not_shared_between_tenants(served: Served) -> None:
    """Who could ask whether a piece is there would learn what others have."""
    what = numbered(1, 2, 3)
    first, second = served.client("u-1"), served.client("u-2")
    upload = first.reserve(what.ids).upload_id
    first.put(upload, what.extents)
    assert second.reserve(what.ids).missing == set(what.ids)
    piece = f"/pieces/{what.ids[0].hex()}"
    assert TableClient(served.port, served.token("u-1")).call("GET", piece).status == 200
    assert TableClient(served.port, served.token("u-2")).call("GET", piece).status == 404


@pytest.mark.parametrize("token", [None, "", "x", "a.b.c"])
def test_without_a_token_that_holds(served: Served, token: str | None) -> None:
    one = TableClient(served.port, token)
    for method, path in (("GET", "/backups"), ("POST", "/backups"), ("POST", "/uploads/reserve")):
        answer = one.call(method, path, b"{}")
        assert is_error(answer, 401, "token_refused")
        assert answer.headers["www-authenticate"] == "Bearer"
    assert served.tenants.names() == []


def test_two_tokens_are_none(served: Served, one: TableClient) -> None:
    head = f"GET /backups HTTP/1.1\r\nHost: x\r\n{f'Authorization: Bearer {one.token}' + chr(13) + chr(10)}"
    with one.raw((head + f"Authorization: Bearer {one.token}\r\n\r\n").encode()) as opened:
        assert opened.recv(65536).startswith(b"HTTP/1.1 401")


# What holds everywhere


def test_calls_that_there_are_not(one: TableClient) -> None:
    assert is_error(one.call("GET", "/nothing"), 404, "not_found")
    answer = one.call("PUT", "/backups", b"x")
    assert is_error(answer, 405, "method_not_allowed")
    assert {"GET", "POST"} <= set(answer.headers["allow"].split(", "))


@pytest.mark.parametrize(
    "name", ["..%2f..%2fetc%2fpasswd", "bk_1", "%00", "bk_20261130_120000_ABCD", "..", "x" * 5000]
)
def test_ids_that_are_none(one: TableClient, name: str) -> None:
    for method in ("GET", "DELETE"):
        assert one.call(method, f"/backups/{name}").status in (400, 404, 405)
        assert one.call(method, f"/uploads/{name}").status in (400, 404, 405)


def test_open_calls_need_no_token(served: Served) -> None:
    one = TableClient(served.port, None)
    assert one.call("GET", "/healthz").json == {"status": "ok"}
    assert one.call("GET", "/readyz").status == 200
    assert b"muniment_vault_calls_total" in one.call("GET", "/metrics").body
    assert one.call("GET", "/openapi.json").json["openapi"].startswith("3.1")


def test_audit_has_a_line_a_mutation_and_no_label_and_no_token(served: Served, one: TableClient) -> None:
    made = one.create(b"x", "private label").json["backup_id"]
    upload = one.reserve(10, manifest={"user_label": "private label"}).json["upload_id"]
    one.abort(upload)
    one.create(b"y", "private label", replace=made)
    one.list()
    text = (served.folder / "audit.jsonl").read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    assert [line["act"] for line in lines] == ["create", "reserve", "abort", "create"]
    assert (lines[0]["backup_id"], lines[3]["replaces"]) == (made, made)
    assert {line["tenant"] for line in lines} == {tenant_of("muniment", "userInfoID", "u-1")}
    assert "private" not in text and (one.token or "-") not in text


# Whole files are looked into as well


def bundle() -> tuple[bytes, dict[str, bytes]]:
    """A snapshot as another packer would make it."""
    files = {"files/workspace/a.txt": b"hello\n", "files/workspace/b/c": noise(300_000, 3)}
    files["manifest.json"] = json.dumps({"version": "1.1"}).encode()
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, data in files.items():
            facts = tarfile.TarInfo(name)
            facts.size = len(data)
            tar.addfile(facts, io.BytesIO(data))
    return gzip.compress(made.getvalue(), mtime=0), files


def test_one_file_and_the_manifest_of_a_whole_upload(one: TableClient) -> None:
    data, files = bundle()
    backup = one.create(data).json["backup_id"]
    for path, content in files.items():
        where = "manifest" if path == "manifest.json" else path
        answer = one.call("GET", f"/backups/{backup}/{where}")
        assert (answer.status, answer.body) == (200, content), path
        assert answer.headers["content-length"] == str(len(content))
    assert is_error(one.call("GET", f"/backups/{backup}/files/workspace/nothing"), 404, "file_unknown")
    odd = one.create(b"no tar.gz").json["backup_id"]
    assert is_error(one.call("GET", f"/backups/{odd}/manifest"), 422, "bundle_refused")


def test_whole_uploads_are_checked_rebuilt_and_collected_like_all_others(
    served: Served, one: TableClient
) -> None:
    data = noise(900_000)
    kept, gone = (one.create(data + tail).json["backup_id"] for tail in (b"1", b"2"))
    one.delete(gone)
    served.clock.step(days=2)
    served.collect()
    served.clock.step(days=2)
    served.collect()
    with served.tenants.using(tenant_of("muniment", "userInfoID", "u-1")) as tenant:
        assert examine(tenant.store).findings == []
    assert one.get(kept).body == data + b"1"
