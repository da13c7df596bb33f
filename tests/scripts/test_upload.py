"""`upload.py`: at once and by offsets, a wire that breaks, all slots taken, replacing (spec 4 and 5)."""

from __future__ import annotations

import fcntl
import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.scripts.agent import Agent
from tests.scripts.lossy import lossy
from tests.vault.load import Process
from tests.vault.table_client import TableClient

CHUNK = 10 << 20
"""Spec 5, HTTP: in so many bytes a large bundle is sent, and from so many on."""


def client(agent: Agent) -> TableClient:
    """Another client of the same user, written from the table alone."""
    assert agent.server is not None
    return TableClient(agent.server.port, agent.environment["CONTAINER_JWT"])


def state(agent: Agent) -> Path:
    return agent.workspace / ".active-upload.json"


def digest(bundle: str) -> str:
    return hashlib.sha256(Path(bundle).read_bytes()).hexdigest()


def test_a_small_bundle_goes_at_once_and_a_large_one_by_offsets(agent: Agent, server: Process) -> None:
    small = agent.packed()
    with lossy(server.port) as wire:
        agent.well("upload", small, BACKUP_STORAGE_URL=wire.url)
        assert [line for line in wire.lines if b"POST" in line] == [b"POST /backups HTTP/1.1"]
    agent.grow(CHUNK + 1000)
    large = agent.packed()
    with lossy(server.port) as wire:
        sent = agent.well("upload", large, BACKUP_STORAGE_URL=wire.url)
        posts = [line.split()[1] for line in wire.lines if b"POST" in line]
    assert posts[0] == b"/uploads/reserve" and len(posts) == 3
    assert all(path.endswith(b"/chunk") for path in posts[1:])
    assert sent["sha256"] == digest(large) == client(agent).get(sent["backup_id"]).headers["x-sha256"]
    assert not state(agent).exists()


def test_force_resumable(agent: Agent, server: Process) -> None:
    bundle = agent.packed()
    with lossy(server.port) as wire:
        sent = agent.well("upload", bundle, "--force-resumable", BACKUP_STORAGE_URL=wire.url)
        assert any(line.startswith(b"POST /uploads/reserve") for line in wire.lines)
    assert sent["sha256"] == digest(bundle)


def test_label_and_sections_are_the_bundles_unless_given(agent: Agent) -> None:
    bundle = agent.packed("--label", "of the bundle")
    agent.well("upload", bundle)
    agent.well(
        "upload", bundle, "--label", "自己的", "--sections", "workspace/memory,api", "--force-resumable"
    )
    newest, oldest = agent.well("list", "--json")["backups"]
    assert oldest["user_label"] == "of the bundle" and "data/sessions" in oldest["sections"]
    assert (newest["user_label"], set(newest["sections"])) == ("自己的", {"workspace/memory", "api"})
    assert "too long" not in agent.badly("upload", bundle, "--label", "x" * 65)


def test_a_connection_lost_inside_a_chunk_is_gone_on_with(agent: Agent, server: Process) -> None:
    agent.grow(2 * CHUNK)
    bundle = agent.packed()
    with lossy(server.port, (b"/chunk", CHUNK // 2)) as wire:
        done = agent.call("upload", bundle, BACKUP_STORAGE_URL=wire.url)
        asked = [line for line in wire.lines if line.startswith(b"GET /uploads/")]
    assert done.returncode == 0, done.stderr
    assert len(asked) == 1 and "not acknowledged" in done.stderr
    sent = json.loads(done.stdout)
    assert sent["sha256"] == digest(bundle)
    assert len(agent.well("list", "--json")["backups"]) == 1


def test_the_next_run_goes_on_where_this_one_ended(agent: Agent, server: Process) -> None:
    agent.grow(2 * CHUNK)
    bundle = agent.packed()
    cuts = ((b"/chunk", 12345), (b"GET /uploads/", 0), (b"GET /uploads/", 0))
    with lossy(server.port, *cuts) as wire:
        said = agent.badly("upload", bundle, BACKUP_STORAGE_URL=wire.url)
        assert "VAULT_UNREACHABLE" in said
        # Of the upload nothing is lost: the same vault by the same address goes on.
        kept = json.loads(state(agent).read_text())
        assert kept["sha256"] == digest(bundle) and kept["total"] == Path(bundle).stat().st_size
        upload_id = kept["upload_id"]
        first = Path(bundle).read_bytes()[:CHUNK]
        assert client(agent).chunk(upload_id, 0, first, kept["total"]).json == {"offset": CHUNK}
        before = len(wire.lines)
        done = agent.call("upload", bundle, BACKUP_STORAGE_URL=wire.url)
        assert done.returncode == 0, done.stderr
        lines = wire.lines[before:]
    assert not any(b"reserve" in line for line in lines)
    assert sum(b"/chunk" in line for line in lines) == 2, "the first 10 MiB are not sent again"
    assert f"goes on at byte {CHUNK}" in done.stderr
    assert json.loads(done.stdout)["sha256"] == digest(bundle)
    assert not state(agent).exists()


def test_only_the_same_bytes_are_gone_on_with(agent: Agent, server: Process) -> None:
    agent.grow(CHUNK)
    bundle = agent.packed()
    url = agent.environment["BACKUP_STORAGE_URL"]
    begun = client(agent).reserve(Path(bundle).stat().st_size).json["upload_id"]
    total = Path(bundle).stat().st_size
    other = {"v": 1, "upload_id": begun, "before": [], "url": url, "sha256": "0" * 64, "total": total}
    other |= {"label": "day", "sections": [], "replace": None}
    state(agent).write_text(json.dumps(other))
    done = agent.call("upload", bundle)
    assert done.returncode == 0, done.stderr
    assert "another bundle" in done.stderr
    assert client(agent).offset(begun).status == 404, "it held a slot, and was given up"
    assert json.loads(done.stdout)["remaining_slots"] == 4


def test_an_upload_that_is_gone_begins_anew(agent: Agent, server: Process) -> None:
    bundle = agent.packed()
    with lossy(server.port, (b"/chunk", 700), (b"GET /uploads/", 0), (b"GET /uploads/", 0)) as wire:
        agent.badly("upload", bundle, "--force-resumable", BACKUP_STORAGE_URL=wire.url)
        kept = json.loads(state(agent).read_text())
        assert client(agent).abort(kept["upload_id"]).status == 204
        done = agent.call("upload", bundle, "--force-resumable", BACKUP_STORAGE_URL=wire.url)
    assert done.returncode == 0, done.stderr
    assert "begins anew" in done.stderr and json.loads(done.stdout)["sha256"] == digest(bundle)


def test_an_answer_that_was_lost_stores_nothing_twice(agent: Agent, server: Process) -> None:
    """All bytes arrived, the snapshot counts, and only the last answer never came."""
    bundle = agent.packed()
    with lossy(server.port, (b"/chunk", None)) as wire:
        done = agent.call("upload", bundle, "--force-resumable", BACKUP_STORAGE_URL=wire.url)
    assert done.returncode == 0, done.stderr
    (one,) = agent.well("list", "--json")["backups"]
    sent = json.loads(done.stdout)
    assert (sent["backup_id"], sent["sha256"]) == (one["backup_id"], digest(bundle))
    assert sent["remaining_slots"] == 4


def test_a_list_that_was_lost_is_asked_for_once_more(agent: Agent, server: Process) -> None:
    with lossy(server.port, (b"GET /backups", 0)) as wire:
        done = agent.call("list", "--json", BACKUP_STORAGE_URL=wire.url)
        assert (done.returncode, len(wire.lines)) == (0, 2)
    assert "asked once more" in done.stderr
    with lossy(server.port, (b"GET /backups", 0), (b"GET /backups", 0)) as wire:
        agent.badly("list", "--json", BACKUP_STORAGE_URL=wire.url)


@pytest.mark.parametrize("flags", [[], ["--force-resumable"]], ids=["at once", "by offsets"])
def test_all_slots_taken_is_an_answer_and_replace_goes_on(agent: Agent, flags: list[str]) -> None:
    bundle = agent.packed()
    kept = [client(agent).create(b"x", f"n{number}").json["backup_id"] for number in range(5)]
    full = agent.well("upload", bundle, *flags)
    assert set(full) == {"error", "current"} and full["error"] == "quota_exceeded"
    assert {one["backup_id"] for one in full["current"]} == set(kept)
    assert len(agent.well("list", "--json")["backups"]) == 5, "nobody but the caller chooses what goes"
    sent = agent.well("upload", bundle, *flags, "--replace", kept[2])
    now = {one["backup_id"] for one in agent.well("list", "--json")["backups"]}
    assert now == {*kept, sent["backup_id"]} - {kept[2]} and sent["remaining_slots"] == 0
    (event,) = agent.ledger("backup.created")
    assert event["evidence"]["replaces"] == kept[2]
    assert "SNAPSHOT_UNKNOWN" in agent.badly("upload", bundle, *flags, "--replace", kept[2])
    assert "SNAPSHOT_UNKNOWN" in agent.badly("upload", bundle, *flags, "--replace", "../x")


Spoil = Callable[[bytes], bytes]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: b"",
        lambda data: data[:-1],
        lambda data: data[: len(data) // 2],
        lambda data: data + b"x",
        lambda data: data[:2000] + bytes([data[2000] ^ 1]) + data[2001:],
        lambda data: b"no archive at all",
    ],
    ids=["empty", "cut by one", "half", "longer", "one bit", "text"],
)
def test_a_bundle_that_could_not_be_restored_is_not_sent(agent: Agent, tmp_path: Path, spoil: Spoil) -> None:
    bad = tmp_path / "bad.tar.gz"
    bad.write_bytes(spoil(Path(agent.packed()).read_bytes()))
    agent.badly("upload", str(bad))
    assert agent.well("list", "--json")["backups"] == []


def test_a_bundle_that_is_no_file(agent: Agent, tmp_path: Path) -> None:
    assert "NOT_THERE" in agent.badly("upload", str(tmp_path / "none"))
    agent.badly("upload", str(tmp_path))


def test_one_upload_at_a_time(agent: Agent) -> None:
    """The state of an upload has one place; a second one says so and touches nothing."""
    bundle = agent.packed()
    agent.well("upload", bundle)
    with (agent.workspace / ".muniment" / "uploading.lock").open("r+") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert "LOCKED" in agent.badly("upload", bundle)
    agent.well("upload", bundle)
