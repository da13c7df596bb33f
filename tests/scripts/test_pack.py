"""`pack.py`, `propose_rules.py` and `ensure_rules.py`: what they take, print and refuse (spec 4)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.scripts.agent import RULES, Agent

HALF: dict[str, Any] = {
    "ts": "2026-11-30T10:00:00Z",
    "backup_id": "bk_20261130_100000_half",
    "section": "restore",
    "status": "begun",
    "restore": "01M8P570G0X2AHZAQP4MK26C10",
    "sections": ["files/workspace", "files/data"],
}


@pytest.fixture
def agent(caller: Agent, tmp_path: Path) -> Agent:
    """The module's agent with a workspace of its own: no vault is needed for any of this."""
    fresh = Agent(tmp_path / "star", None)
    (fresh.workspace / "skills").symlink_to(caller.workspace / "skills")
    fresh.furnish()
    return fresh


def paths(packed: dict[str, Any]) -> set[str]:
    return {one["path"] for one in packed["manifest"]["contents"]["files"]}


def test_a_dry_run_prints_the_plan_and_writes_no_bundle(agent: Agent) -> None:
    plan = agent.well("pack", "--api-dir", str(agent.api), "--dry-run")
    assert {
        "plan_id", "label", "mode", "workspace_dir", "data_dir", "created_at_unix", "items", "api",
        "extra_paths", "warnings", "total_files", "total_size_bytes",
    } == set(plan)  # fmt: skip
    by_place = {(one["section"], one["rel"]): one["status"] for one in plan["items"]}
    assert by_place["workspace", "large"] == "excluded_user_rule"
    assert by_place["data", "logs"] == "excluded_default_rule"
    assert by_place["data", "sessions"] == by_place["workspace", "memory"] == "ok"
    assert {one["file"]: one["status"] for one in plan["api"]} == dict.fromkeys(
        ("profile.json", "settings.json", "scheduled_tasks.json"), "ok"
    )
    assert list(agent.temporary.iterdir()) == []


def test_every_flag(agent: Agent, tmp_path: Path) -> None:
    further = tmp_path / "etc"
    further.mkdir()
    (further / "agent.conf").write_text("x")
    out = tmp_path / "out" / "mine.tar.gz"
    out.parent.mkdir()
    agent.write("workspace/output/a", "a")
    agent.write("workspace/output/b", "b")
    packed = agent.well(
        "pack", "--api-dir", str(agent.api), "--out", str(out), "--mode", "full", "--label", "by hand",
        "--extra-exclude", "workspace/output/a", "sessions", "--extra-path", str(further),
    )  # fmt: skip
    assert packed["bundle_path"] == str(out) and out.stat().st_size == packed["size_bytes"]
    manifest = packed["manifest"]
    assert (manifest["mode"], manifest["label"]) == ("full", "by hand")
    found = paths(packed)
    assert {"files/workspace/output/b", "files/extra/etc/agent.conf", "files/data/logs/today"} <= found
    assert not {"files/workspace/output/a", "files/data/sessions/s.json"} & found
    assert agent.data.joinpath("logs/today").exists()


def test_folders_by_flags_and_by_variables(agent: Agent, tmp_path: Path) -> None:
    other = Agent(tmp_path / "other", None)
    other.furnish()
    other.write("workspace/memory/other.md", "here")
    packed = agent.well(
        "pack", "--api-dir", str(agent.api), "--workspace-dir", str(other.workspace), "--data-dir",
        str(other.data),
    )  # fmt: skip
    assert "files/workspace/memory/other.md" in paths(packed)
    by_variable = agent.well(
        "pack", "--api-dir", str(agent.api), "--dry-run", WORKSPACE_DIR="", DATA_DIR=str(other.data)
    )
    assert by_variable["workspace_dir"] == str(other.workspace), "WORKSPACE_DIR follows DATA_DIR"


def test_the_rules_of_a_variable(agent: Agent, tmp_path: Path) -> None:
    rules = tmp_path / "rules.md"
    rules.write_text(RULES.replace("day {date}", "of the variable"))
    packed = agent.well("pack", "--api-dir", str(agent.api), "--dry-run", BACKUP_RULES_PATH=str(rules))
    assert packed["label"] == "of the variable"
    fresh = tmp_path / "none" / "rules.md"
    done = agent.call("ensure_rules", BACKUP_RULES_PATH=str(fresh))
    assert (done.returncode, done.stdout) == (0, f"CREATED {fresh}\n") and fresh.is_file()


def test_an_api_folder_that_is_not_there(agent: Agent) -> None:
    said = agent.badly("pack", "--api-dir", "/nowhere/api")
    assert said.startswith("ERROR: --api-dir does not exist: /nowhere/api")
    assert "shell variables do not outlive a call" in said
    said = agent.badly("pack", "--api-dir", "")
    assert said.startswith("ERROR: --api-dir does not exist: ") and "shell variables" in said
    assert list(agent.temporary.iterdir()) == [], "no empty folder stays"


def test_an_api_file_that_is_none(agent: Agent) -> None:
    (agent.api / "settings.json").write_text("{")
    assert "API_REFUSED" in agent.badly("pack", "--api-dir", str(agent.api))


def test_an_open_restore_log_refuses(agent: Agent) -> None:
    (agent.workspace / ".restore.log").write_text(json.dumps(HALF) + "\n")
    for words in (["pack", "--api-dir", str(agent.api)], ["pack", "--api-dir", str(agent.api), "--dry-run"],
                  ["propose_rules"]):  # fmt: skip
        said = agent.badly(*words)
        assert "RESTORE_HALF_DONE" in said and HALF["backup_id"] in said and "0 of 2" in said
    assert list(agent.temporary.iterdir()) == []
    assert (agent.workspace / ".restore.log").exists(), "never cleared silently"


def test_without_rules_or_with_broken_ones_nothing_starts(agent: Agent) -> None:
    rules = agent.workspace / "config" / "backup_rules.md"
    rules.write_text("## Mode\n```\ndefault\n")
    assert "RULES_BROKEN" in agent.badly("pack", "--api-dir", str(agent.api))
    rules.unlink()
    assert "RULES_MISSING" in agent.badly("pack", "--api-dir", str(agent.api))
    assert not rules.exists(), "a stock file is never written silently"


def test_a_bundle_is_never_written_over_something_or_into_itself(agent: Agent, tmp_path: Path) -> None:
    out = tmp_path / "there.tar.gz"
    out.write_text("mine")
    assert "ALREADY_THERE" in agent.badly("pack", "--api-dir", str(agent.api), "--out", str(out))
    assert out.read_text() == "mine"
    for place in ("workspace/b.tar.gz", "b.tar.gz", "workspace/memory/b.tar.gz"):
        said = agent.badly("pack", "--api-dir", str(agent.api), "--out", str(agent.data / place))
        assert "BUNDLE_AMONG_SAVED" in said
        assert not (agent.data / place).exists()
    (agent.workspace / ".backup").mkdir()
    agent.packed("--out", str(agent.workspace / ".backup" / "b.tar.gz"))


def test_a_bundle_is_only_its_owners(agent: Agent) -> None:
    bundle = Path(agent.packed())
    assert bundle.stat().st_mode & 0o777 == 0o600 and bundle.parent.stat().st_mode & 0o777 == 0o700


def test_a_file_that_can_not_be_read_is_named_and_fails(agent: Agent) -> None:
    """The bundle is there, and says what is not in it; but nobody takes it for a success."""
    done = agent.call("pack", "--api-dir", str(agent.api), "--extra-path", "/proc/self/mem")
    assert done.returncode == 1, done.stderr
    packed = json.loads(done.stdout)
    assert Path(packed["bundle_path"]).is_file() and "files/extra/mem" not in paths(packed)
    assert "WARNING: files/extra/mem: " in done.stderr and "BUNDLE_PARTIAL" in done.stderr
    assert any("files/extra/mem" in one for one in packed["manifest"]["plan_summary"]["warnings"])


def test_propose_rules(agent: Agent) -> None:
    agent.write("workspace/.cache/x", "x")
    found = agent.well("propose_rules")
    assert set(found) == {"workspace", "data", "summary"}
    assert set(found["summary"]) == {
        "total_size_bytes", "core_count", "skip_count", "ask_count", "unknown_count",
    }  # fmt: skip
    by_name = {one["name"]: one for one in found["workspace"]}
    assert set(by_name["memory"]) == {"name", "size_bytes", "file_count", "category", "reason"}
    assert (by_name["memory"]["category"], by_name["memory"]["size_bytes"]) == ("core", 14)
    assert {one["name"]: one["category"] for one in found["data"]} == {"sessions": "core", "logs": "skip"}


def test_ensure_rules(agent: Agent) -> None:
    rules = agent.workspace / "config" / "backup_rules.md"
    before = rules.read_bytes()
    done = agent.call("ensure_rules")
    assert (done.returncode, done.stdout) == (0, f"EXISTS  {rules}\n")
    assert rules.read_bytes() == before
    rules.unlink()
    done = agent.call("ensure_rules")
    assert (done.returncode, done.stdout) == (0, f"CREATED {rules}\n")
    assert "## Extra excludes" in rules.read_text()
    rules.parent.rename(agent.workspace / "was")
    (agent.workspace / "config").write_text("in the way")
    agent.badly("ensure_rules")
