"""`list.py`, `download.py`, `restore.py`, `delete.py`: each row of the table, well and badly (spec 4)."""

from __future__ import annotations

import hashlib
import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.scripts.agent import Agent

UNKNOWN = "bk_20261130_000000_zzzz"


@pytest.fixture
def sent(agent: Agent) -> tuple[Agent, str]:
    """An agent with one snapshot."""
    return agent, agent.well("upload", agent.packed())["backup_id"]


# list.py


def test_an_empty_list_says_so_and_suggests(bare: Agent) -> None:
    done = bare.call("list")
    assert (done.returncode, done.stdout) == (0, "There is no snapshot yet.\n")
    assert "pack.py" in done.stderr
    assert bare.well("list", "--json")["backups"] == []


def test_a_list_is_numbered_newest_first(agent: Agent) -> None:
    bundle = agent.packed()
    ids = [agent.well("upload", bundle, "--label", f"n{number}")["backup_id"] for number in range(2)]
    lines = agent.call("list").stdout.splitlines()
    assert lines[0] == "2 / 5"
    numbered = [line.split() for line in lines if line.startswith("[")]
    assert numbered == [["[1]", ids[1], "n1"], ["[2]", ids[0], "n0"]]


# download.py


def test_what_a_vault_gives_is_held_to_its_digest(sent: tuple[Agent, str], liar: Liar) -> None:
    agent, backup_id = sent
    good = Path(agent.packed()).read_bytes()
    liar.listed = agent.well("list", "--json")["backups"]
    for body, told in (
        (good, None),
        (good, "x" * 64),
        (good, hashlib.sha256(b"other").hexdigest()),
        (good[:-40], hashlib.sha256(good).hexdigest()),
    ):
        liar.body, liar.digest = body, told
        agent.badly("download", backup_id, BACKUP_STORAGE_URL=liar.url)
        assert [
            one.name for one in (agent.workspace / ".restore").iterdir() if one.name != ".gitignore"
        ] == []
    liar.digest = hashlib.sha256(good).hexdigest()
    liar.body = good
    done = agent.call("download", backup_id, BACKUP_STORAGE_URL=liar.url)
    assert done.returncode == 0, done.stderr


def test_a_vault_that_knows_the_table_and_nothing_more(sent: tuple[Agent, str], liar: Liar) -> None:
    """Only what the table names is needed of an answer."""
    agent, backup_id = sent
    liar.listed = agent.well("list", "--json")["backups"]
    assert set(liar.listed[0]) == {"backup_id", "user_label", "created_at", "size_bytes", "sections"}
    url = {"BACKUP_STORAGE_URL": liar.url}
    assert agent.well("list", "--json", **url)["backups"] == liar.listed
    assert agent.call("list", **url).stdout.startswith("1 / ?\n")
    bundle = agent.packed()
    assert (
        agent.well("upload", bundle, **url)["sha256"] == hashlib.sha256(Path(bundle).read_bytes()).hexdigest()
    )
    assert agent.well("delete", backup_id, "--confirm", backup_id, **url)["deleted_backup_id"] == backup_id
    liar.listed = "nothing of the kind"
    assert "VAULT_ANSWER" in agent.badly("list", BACKUP_STORAGE_URL=liar.url)


def test_an_unknown_snapshot(bare: Agent) -> None:
    for backup_id in (UNKNOWN, "undo", "../../etc", "latest", ""):
        assert "SNAPSHOT_UNKNOWN" in bare.badly("download", backup_id)
        assert "SNAPSHOT_UNKNOWN" in bare.badly("restore", "--backup-id", backup_id)


# restore.py


def test_apply_writes_what_is_new_and_leaves_what_was_modified(sent: tuple[Agent, str]) -> None:
    agent, backup_id = sent
    agent.write("workspace/memory/note.md", "mine")
    (agent.data / "sessions/s.json").unlink()
    done = agent.call("restore", "--backup-id", backup_id, "--apply")
    assert done.returncode == 0, done.stderr
    assert "\nApplied: wrote=1 skipped_modified=1 errors=0\n" in done.stdout
    assert (agent.workspace / "memory/note.md").read_text() == "mine"
    assert (agent.data / "sessions/s.json").read_text() == "{}"


def test_a_restore_that_is_half_done_refuses_the_next(sent: tuple[Agent, str]) -> None:
    """The host's sections are still open, so the flow begins with what is half done."""
    agent, backup_id = sent
    (agent.data / "sessions/s.json").unlink()
    assert agent.call("restore", "--backup-id", backup_id, "--apply").returncode == 0
    said = agent.badly("restore", "--backup-id", backup_id)
    assert "RESTORE_HALF_DONE" in said and backup_id in said and "2 of 5" in said
    assert "RESTORE_HALF_DONE" in agent.badly("pack", "--api-dir", str(agent.api))
    warned = agent.call("delete", backup_id, "--confirm", backup_id)
    assert warned.returncode == 0 and "half done" in warned.stderr, "it warns, and may go on"


def test_what_runs_by_itself_is_marked_and_restored(agent: Agent) -> None:
    agent.write("workspace/setup.sh", "echo hi\n")
    backup_id = agent.well("upload", agent.packed())["backup_id"]
    (agent.workspace / "setup.sh").unlink()
    plan = agent.call("restore", "--backup-id", backup_id)
    assert "  + [workspace] setup.sh  (8 B)  ⚠ runs by itself" in plan.stdout.splitlines()
    done = agent.call("restore", "--backup-id", backup_id, "--apply")
    assert done.returncode == 0, done.stderr
    assert (agent.workspace / "setup.sh").read_text() == "echo hi\n"


def test_a_folder_that_somebody_extracted(agent: Agent, tmp_path: Path) -> None:
    import subprocess

    folder = tmp_path / "extracted"
    folder.mkdir()
    subprocess.run(["tar", "xzf", agent.packed(), "-C", folder], check=True)
    (agent.data / "sessions/s.json").unlink()
    plan = agent.call("restore", "--extract-dir", str(folder))
    assert plan.returncode == 0 and "  + [data] sessions/s.json  (2 B)" in plan.stdout, plan.stderr
    (folder / "files/data/sessions/s.json").write_text("[]")
    agent.badly("restore", "--extract-dir", str(folder), "--apply")
    assert not (agent.data / "sessions/s.json").exists(), "what is not what the manifest says changes nothing"
    (folder / "files/data/sessions/s.json").write_text("{}")
    (folder / "files/data/more").write_text("unlisted")
    agent.badly("restore", "--extract-dir", str(folder), "--apply")
    (folder / "files/data/more").unlink()
    done = agent.call("restore", "--extract-dir", str(folder), "--apply")
    assert done.returncode == 0 and (agent.data / "sessions/s.json").read_text() == "{}", done.stderr
    for section in ("settings", "profile", "scheduled_tasks"):
        noted = agent.muniment("backup", "section-done", section)
        assert noted.returncode == 0, noted.stderr
    assert not (agent.workspace / ".restore.log").exists()
    agent.badly("restore", "--extract-dir", str(tmp_path / "none"))


def test_what_lies_fetched_and_was_changed_is_fetched_anew(sent: tuple[Agent, str]) -> None:
    agent, backup_id = sent
    assert agent.call("download", backup_id).returncode == 0
    note = agent.workspace / ".restore" / backup_id / "files/workspace/memory/note.md"
    note.write_text("swapped")
    (agent.workspace / "memory/note.md").unlink()
    done = agent.call("restore", "--backup-id", backup_id, "--apply")
    assert done.returncode == 0, done.stderr
    assert (agent.workspace / "memory/note.md").read_text() == "one\ntwo\nthree\n"


def test_what_can_not_be_restored_fails_and_is_named(sent: tuple[Agent, str]) -> None:
    agent, backup_id = sent
    (agent.workspace / "memory/note.md").unlink()
    (agent.workspace / "memory/note.md").mkdir()
    done = agent.call("restore", "--backup-id", backup_id, "--apply")
    assert done.returncode == 1
    assert "\nApplied: wrote=0 skipped_modified=0 errors=1\n" in done.stdout
    assert "ERROR: " in done.stderr and "memory/note.md" in done.stdout


# delete.py


def test_delete_exits_2_only_when_confirm_differs(sent: tuple[Agent, str]) -> None:
    agent, backup_id = sent
    for typed in (UNKNOWN, backup_id[:-1], backup_id.upper(), "", f"{backup_id}x", "yes"):
        agent.badly("delete", backup_id, "--confirm", typed, code=2)
    agent.badly("delete", UNKNOWN, "--confirm", backup_id, code=2)
    agent.badly("delete", UNKNOWN, "--confirm", UNKNOWN, code=1)
    assert len(agent.well("list", "--json")["backups"]) == 1
    agent.well("delete", backup_id, "--confirm", f"  {backup_id} ")
    agent.badly("delete", backup_id, "--confirm", backup_id, code=1)
    (event,) = agent.ledger("backup.deleted")
    assert event["evidence"]["confirmation"]["witness"] == "relayed"


class Liar:
    """A stand-in for a vault by another hand, which speaks the table alone and says what it is told to."""

    def __init__(self) -> None:
        self.listed: Any = []
        self.body = b""
        self.digest: str | None = None
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, format: str, *args: object) -> None:
                pass

            def _say(self, status: int, value: object) -> None:
                data = json.dumps(value).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def do_GET(self) -> None:
                if self.path == "/backups":
                    self._say(200, {"backups": outer.listed})
                    return
                self.send_response(200)
                if outer.digest is not None:
                    self.send_header("X-Sha256", outer.digest)
                self.end_headers()
                self.wfile.write(outer.body)

            def do_POST(self) -> None:
                data = self.rfile.read(int(self.headers["Content-Length"]))
                said = json.loads(self.headers["X-Manifest"])
                assert set(said) == {"user_label", "sections"}
                digest = hashlib.sha256(data).hexdigest()
                self._say(201, {"backup_id": UNKNOWN, "size_bytes": len(data), "sha256": digest,
                                "remaining_slots": 3})  # fmt: skip

            def do_DELETE(self) -> None:
                outer.listed = []
                self.send_response(204)
                self.end_headers()

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End it."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)


@pytest.fixture
def liar() -> Iterator[Liar]:
    """Such a vault."""
    found = Liar()
    yield found
    found.close()
