"""The whole walk of a script user, and what each script prints on it (spec 4, surface)."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
from pathlib import Path

import pytest
from tests.scripts.agent import Agent


def test_pack_upload_list_download_restore_delete(agent: Agent) -> None:
    packed = agent.well("pack", "--api-dir", str(agent.api))
    assert set(packed) == {"bundle_path", "size_bytes", "manifest"}
    bundle = Path(packed["bundle_path"])
    assert re.fullmatch(r"backup-\d{8}T\d{6}Z-\d+/bundle\.tar\.gz", str(bundle.relative_to(agent.temporary)))
    assert packed["size_bytes"] == bundle.stat().st_size

    sent = agent.well("upload", str(bundle))
    digest = hashlib.sha256(bundle.read_bytes()).hexdigest()
    assert set(sent) == {"backup_id", "size_bytes", "sha256", "remaining_slots"}
    assert (sent["size_bytes"], sent["sha256"]) == (bundle.stat().st_size, digest)
    assert sent["remaining_slots"] == 4, "one of five slots is taken"
    backup_id = sent["backup_id"]
    assert re.fullmatch(r"bk_\d{8}_\d{6}_[a-z0-9]{4}", backup_id)

    listed = agent.well("list", "--json")
    (one,) = listed["backups"]
    assert set(one) == {"backup_id", "user_label", "created_at", "size_bytes", "sections"}
    assert (one["backup_id"], one["size_bytes"]) == (backup_id, bundle.stat().st_size)
    assert one["user_label"] == packed["manifest"]["label"]
    assert one["sections"] == packed["manifest"]["sections"]
    assert {"quota", "limits"} <= set(listed)
    people = agent.call("list").stdout
    assert people.startswith("1 / 5\n") and f"[1] {backup_id}  day " in people

    done = agent.call("download", backup_id)
    assert done.returncode == 0, done.stderr
    laid = agent.workspace / ".restore" / backup_id
    assert (laid / "files/workspace/memory/note.md").read_text() == "one\ntwo\nthree\n"
    assert (laid / "manifest.json").is_file()
    assert str(laid) in done.stdout

    agent.write("workspace/memory/note.md", "one\nTWO\nthree\n")
    (agent.data / "sessions/s.json").unlink()
    plan = agent.call("restore", "--backup-id", backup_id)
    assert plan.returncode == 0, plan.stderr
    files = len(packed["manifest"]["contents"]["files"]) + len(packed["manifest"]["contents"]["api"])
    lines = plan.stdout.splitlines()
    assert lines[0] == f"Pre-apply integrity check: OK ({files} files verified)"
    assert lines[1] == f"Restore plan (workspace={agent.workspace}, data={agent.data})"
    assert lines[2] == "  new       : 1 file(s)"
    assert re.fullmatch(r"  unchanged : \d+ file\(s\) \(will skip\)", lines[3])
    assert lines[4] == "  modified  : 1 file(s) (will overwrite with --force)"
    at = lines.index("NEW:")
    assert lines[at + 1] == "  + [data] sessions/s.json  (2 B)"
    at = lines.index("MODIFIED (existing content differs):")
    assert lines[at + 1] == "  ~ [workspace] memory/note.md"
    assert {"    -TWO", "    +two"} <= set(lines)
    assert "Applied" not in plan.stdout and not (agent.data / "sessions/s.json").exists()

    applied = agent.call("restore", "--backup-id", backup_id, "--apply", "--force")
    assert applied.returncode == 0, applied.stderr
    assert "\nApplied: wrote=2 skipped_modified=0 errors=0\n" in applied.stdout
    assert (agent.workspace / "memory/note.md").read_text() == "one\ntwo\nthree\n"
    assert (agent.data / "sessions/s.json").read_text() == "{}"
    (event,) = agent.ledger("backup.restoring")
    assert event["evidence"]["confirmation"]["witness"] == "relayed"

    for section in ("settings", "profile", "scheduled_tasks"):
        done = agent.muniment("backup", "section-done", section)
        assert done.returncode == 0, done.stderr
    assert not (agent.workspace / ".restore.log").exists()

    gone = agent.well("delete", backup_id, "--confirm", backup_id)
    assert gone == {
        "deleted_backup_id": backup_id,
        "user_label": one["user_label"],
        "created_at": one["created_at"],
        "size_bytes": one["size_bytes"],
        "sections": one["sections"],
    }
    assert agent.well("list", "--json")["backups"] == []
    kinds = [
        agent.ledger(kind)[0]["subject"] for kind in ("backup.created", "backup.deleting", "backup.deleted")
    ]
    assert kinds == [backup_id] * 3


def test_tar_opens_a_bundle_of_pack(agent: Agent) -> None:
    agent.write("workspace/memory/ü and space", "x")
    bundle = agent.packed()
    done = subprocess.run(["tar", "tzf", bundle], capture_output=True, check=True)
    names = done.stdout.decode("unicode_escape").encode("latin-1").decode().splitlines()
    assert {
        "manifest.json",
        "api/profile.json",
        "api/settings.json",
        "api/scheduled_tasks.json",
        "files/data/sessions/s.json",
        "files/workspace/config/backup_rules.md",
        "files/workspace/memory/note.md",
        "files/workspace/memory/ü and space",
    } <= set(names)
    assert not any("large" in name or "logs" in name or "active-upload" in name for name in names)
    told = subprocess.run(["tar", "xzOf", bundle, "manifest.json"], capture_output=True, check=True).stdout
    manifest = json.loads(told)
    assert (manifest["version"], manifest["source"], manifest["mode"]) == ("1.1", "starchild", "default")
    tasks = subprocess.run(
        ["tar", "xzOf", bundle, "api/scheduled_tasks.json"], capture_output=True, check=True
    )
    assert json.loads(tasks.stdout) == [{"title": "t", "schedule": "daily", "description": "d"}]


def test_what_the_program_makes_of_a_script_users_snapshot(agent: Agent) -> None:
    """The same vault, the same ledger: the command line goes on where a script ended."""
    backup_id = agent.well("upload", agent.packed())["backup_id"]
    agent.environment["MUNIMENT_VAULT"] = agent.environment["BACKUP_STORAGE_URL"]
    done = agent.muniment("backup", "verify", backup_id, "--json")
    assert done.returncode == 0, done.stderr
    shown = json.loads(agent.muniment("backup", "list", "--json").stdout)["backups"]
    assert [one["backup_id"] for one in shown] == [backup_id]
    assert (
        json.loads(done.stdout)["root"].removeprefix("sha256:")
        == agent.ledger("backup.created")[0]["evidence"]["root"]
    )


def test_scripts_speak_english_wherever_they_are(agent: Agent) -> None:
    """Their output is a contract; the agent tells the person in the person's language."""
    assert agent.environment["LANG"].startswith("zh")
    assert agent.call("list").stdout == "There is no snapshot yet.\n"
    assert "Missing" not in agent.badly("download", "bk_20261130_000000_zzzz")


@pytest.mark.parametrize(
    "script", ["pack", "upload", "list", "download", "propose_rules", "ensure_rules", "restore", "delete"]
)
def test_wrong_usage_exits_1(caller: Agent, script: str) -> None:
    wrong = caller.badly(script, "--nonsense")
    assert wrong.startswith("ERROR: ") and f"{script}.py" in wrong
    page = caller.call(script, "--help")
    assert page.returncode == 0 and page.stdout.startswith(f"usage: {script}.py")


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("pack", []),
        ("pack", ["--api-dir"]),
        ("pack", ["--api-dir", "a", "--mode", "some"]),
        ("pack", ["--api-dir", "a", "--extra-path", "not/absolute"]),
        ("upload", []),
        ("upload", ["a", "b"]),
        ("upload", ["a", "--force"]),
        ("download", []),
        ("list", ["a"]),
        ("restore", []),
        ("restore", ["--backup-id", "a", "--extract-dir", "b"]),
        ("delete", []),
        ("delete", ["bk_20261130_000000_zzzz"]),
        ("propose_rules", ["a"]),
        ("ensure_rules", ["a"]),
    ],
)
def test_calls_that_are_none_exit_1(caller: Agent, script: str, words: list[str]) -> None:
    caller.badly(script, *words)


def test_the_vault_and_its_token(agent: Agent) -> None:
    """Where it is and who calls come from the environment alone."""
    bundle = agent.packed()
    for words in (["list"], ["upload", bundle], ["download", "bk_20261130_000000_zzzz"]):
        assert "TOKEN_REFUSED" in agent.badly(*words, CONTAINER_JWT="not.a.token")
        assert "VAULT_UNREACHABLE" in agent.badly(*words, BACKUP_STORAGE_URL="http://127.0.0.1:9")
        assert "BAD_SETTING" in agent.badly(*words, BACKUP_STORAGE_URL="file:///tmp/vault")
    usual = agent.badly("list", BACKUP_STORAGE_URL="")
    assert "sc-agent-backup.internal:8080" in usual


def test_another_users_snapshot_is_unknown(agent: Agent) -> None:
    assert agent.server is not None
    backup_id = agent.well("upload", agent.packed())["backup_id"]
    other = agent.server.token("somebody-else")
    assert "SNAPSHOT_UNKNOWN" in agent.badly("download", backup_id, CONTAINER_JWT=other)
    assert "SNAPSHOT_UNKNOWN" in agent.badly("delete", backup_id, "--confirm", backup_id, CONTAINER_JWT=other)
    assert len(agent.well("list", "--json")["backups"]) == 1
