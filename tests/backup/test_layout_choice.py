"""Which layout is saved, through the real command line: what each host sets, and what follows from it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.backup.world import RULES, put
from tests.faces.at_work import AtWork

PACKED = "ok"


class Machine:
    """A home folder, a folder to stand in, and an environment that holds nothing but what is set here."""

    def __init__(self, place: Path, patch: pytest.MonkeyPatch) -> None:
        self.place = place
        self.home = place / "home"
        self.home.mkdir()
        for name in ("XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
            patch.setenv(name, str(place / name))
        patch.setenv("HOME", str(self.home))
        self.environment = {"HOME": str(self.home), "MUNIMENT_VAULT": (place / "vault").as_uri()}
        self.at = AtWork(place / "project", patch)
        self.err = ""

    @property
    def project(self) -> Path:
        return self.at.folder

    def ask(self, *arguments: str, code: int = 0) -> dict[str, Any]:
        answer = self.at.call("backup", *arguments, "--json", environment=self.environment)
        assert answer.code == code, answer.err
        self.err = answer.err
        return answer.object

    def rules(self) -> Path:
        """Stock rules, as the program writes them for the layout in force; where they lie."""
        answer = self.at.call("backup", "rules", "default", environment=self.environment)
        assert answer.code == 0, answer.err
        return Path(answer.out.removeprefix("CREATED ").removesuffix("\n"))

    def items(self, plan: dict[str, Any]) -> dict[str, str]:
        """Section and name of what is at the top, with what becomes of it."""
        return {f"{one['section']}/{one['rel']}": one["status"] for one in plan["items"]}


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    yield Machine(tmp_path.resolve(), monkeypatch)


def write(folder: Path, *names: str) -> None:
    for name in names:
        put(folder / name, name)


def test_a_folder_of_no_host(machine: Machine) -> None:
    machine.at.done("init")
    write(machine.project, "memory/m", "logs/l", "node_modules/n", ".env")
    write(machine.home, ".claude/settings.json", ".openclaw/openclaw.json")
    assert machine.rules() == machine.project / ".muniment" / "backup_rules.md"
    plan = machine.ask("plan")
    assert plan["data_dir"] == plan["workspace_dir"] == str(machine.project)
    found = machine.items(plan)
    assert {section.split("/")[0] for section in found} == {"workspace"}
    assert found["workspace/memory"] == found["workspace/logs"] == found["workspace/.env"] == PACKED
    assert found["workspace/node_modules"] == "excluded_default_rule"


# OpenClaw


def openclaw(machine: Machine) -> None:
    state = machine.home / ".openclaw"
    write(state, "openclaw.json", "cron/jobs.json", "logs/l", "cache/c", "memory/main.sqlite-note")
    write(machine.project, "SOUL.md", "memory/m", "node_modules/n")


@pytest.mark.parametrize("variable", ["OPENCLAW_WORKSPACE_DIR", "below its folder", "OPENCLAW_STATE_DIR"])
def test_an_openclaw_workspace(machine: Machine, variable: str) -> None:
    openclaw(machine)
    state, workspace = machine.home / ".openclaw", machine.project
    if variable == "below its folder":
        workspace = state / "workspace"
        write(workspace, "SOUL.md", "memory/m", "node_modules/n")
        machine.environment["MUNIMENT_WORKSPACE"] = str(workspace)
    else:
        machine.environment["OPENCLAW_WORKSPACE_DIR"] = str(workspace)
    if variable == "OPENCLAW_STATE_DIR":
        other = machine.place / "state"
        state.rename(other)
        state = other
        machine.environment[variable] = str(state)
    assert machine.rules() == workspace / ".muniment" / "backup_rules.md"
    plan = machine.ask("plan")
    assert (plan["workspace_dir"], plan["data_dir"]) == (str(workspace), str(state))
    found = machine.items(plan)
    assert found["workspace/SOUL.md"] == found["workspace/memory"] == PACKED
    assert found["data/openclaw.json"] == found["data/cron"] == found["data/memory"] == PACKED
    assert found["data/logs"] == found["data/cache"] == "excluded_default_rule"
    assert found["workspace/node_modules"] == "excluded_default_rule"
    assert "data/workspace" not in found, "saved once, as the workspace"


# Claude Code


def test_claude_code_is_never_assumed(machine: Machine) -> None:
    """Its folder holds the conversations of every project: it comes along when the person says so."""
    machine.at.done("init")
    write(machine.home, ".claude/settings.json", ".claude/projects/other/talk.jsonl")
    write(machine.project, "CLAUDE.md")
    machine.environment["CLAUDECODE"] = "1"
    machine.rules()
    plan = machine.ask("plan")
    assert plan["data_dir"] == str(machine.project)
    assert str(machine.home / ".claude") in machine.err and "backup.layout" in machine.err
    machine.environment["MUNIMENT_BACKUP_LAYOUT"] = "generic"
    assert machine.ask("plan")["plan_id"] == plan["plan_id"]
    assert ".claude" not in machine.err, "whoever has decided is not told again"
    del machine.environment["MUNIMENT_BACKUP_LAYOUT"]
    del machine.environment["CLAUDECODE"]
    assert machine.ask("plan")["plan_id"] == plan["plan_id"], "the same plan, whoever starts the program"
    assert ".claude" not in machine.err


@pytest.mark.parametrize("moved", [False, True], ids=["home", "CLAUDE_CONFIG_DIR"])
def test_the_layout_of_claude_code(machine: Machine, moved: bool) -> None:
    machine.at.done("init")
    folder = machine.place / "elsewhere" if moved else machine.home / ".claude"
    write(folder, "settings.json", "projects/p/talk.jsonl", "skills/s/SKILL.md", ".credentials.json")
    write(folder, "debug/d", "cache/c", "shell-snapshots/s")
    write(machine.project, "CLAUDE.md", ".claude/settings.json")
    machine.environment["MUNIMENT_BACKUP_LAYOUT"] = "claude"
    if moved:
        machine.environment["CLAUDE_CONFIG_DIR"] = str(folder)
    assert machine.rules() == machine.project / ".muniment" / "backup_rules.md"
    plan = machine.ask("plan")
    assert (plan["workspace_dir"], plan["data_dir"]) == (str(machine.project), str(folder))
    found = machine.items(plan)
    for kept in ("settings.json", "projects", "skills"):
        assert found[f"data/{kept}"] == PACKED
    for left in ("debug", "cache", "shell-snapshots"):
        assert found[f"data/{left}"] == "excluded_default_rule"
    assert found["workspace/CLAUDE.md"] == found["workspace/.claude"] == PACKED
    assert [one for one in plan["warnings"] if "data/.credentials.json" in one]


# Starchild


@pytest.fixture
def starchild(machine: Machine) -> Machine:
    """The container's two folders, elsewhere than in the container."""
    data = machine.place / "data"
    write(data, "sessions/s", "logs/l", "memory/m", "scheduled_jobs.json", ".agents/a")
    write(data / "workspace", "memory/m", "logs/l", "config/c", ".restore", ".active-upload.json")
    machine.environment |= {"DATA_DIR": str(data), "WORKSPACE_DIR": str(data / "workspace")}
    return machine


def test_starchild_in_another_place(starchild: Machine) -> None:
    data = starchild.place / "data"
    rules = data / "workspace" / "config" / "backup_rules.md"
    assert starchild.rules() == rules
    refused = starchild.ask("plan", code=3)
    assert (refused["error"], "--api-dir" in refused["next"]) == ("API_MISSING", True)
    api = starchild.place / "api"
    for name, value in (("profile", {}), ("settings", {"language": "zh"}), ("scheduled_tasks", [])):
        put(api / f"{name}.json", json.dumps(value))
    plan = starchild.ask("plan", "--api-dir", str(api))
    assert (plan["workspace_dir"], plan["data_dir"]) == (str(data / "workspace"), str(data))
    assert {one["file"]: one["status"] for one in plan["api"]} == dict.fromkeys(
        ("profile.json", "settings.json", "scheduled_tasks.json"), PACKED
    )
    found = starchild.items(plan)
    assert found["data/sessions"] == found["data/scheduled_jobs.json"] == PACKED
    for left in ("logs", "memory", ".agents"):
        assert found[f"data/{left}"] == "excluded_default_rule"
    assert found["workspace/memory"] == found["workspace/logs"] == PACKED, "the same names one floor below"
    assert found["workspace/.restore"] == found["workspace/.active-upload.json"] == "excluded_self_loop"
    assert "data/workspace" not in found
    done = starchild.ask("create", "--plan", plan["plan_id"], "--yes")
    shown = starchild.ask("show", done["backup_id"])
    assert "api" in shown["sections"]


def test_its_restore_log_is_looked_for_where_it_lies(starchild: Machine) -> None:
    begun = {"ts": "2026-11-30T11:00:00Z", "backup_id": "bk_20261129_100000_abcd", "section": "restore"}
    begun |= {"status": "begun", "restore": "01KDVDNA000000000000000000"}
    line = json.dumps({**begun, "sections": ["files/workspace"]})
    put(starchild.place / "data" / "workspace" / ".restore.log", f"{line}\n")
    assert starchild.ask("plan", code=9)["error"] == "RESTORE_HALF_DONE"


@pytest.mark.parametrize("missing", ["DATA_DIR", "WORKSPACE_DIR"])
def test_one_of_its_two_variables_is_no_starchild(starchild: Machine, missing: str) -> None:
    """Others use these names too."""
    workspace = starchild.environment["WORKSPACE_DIR"]
    del starchild.environment[missing]
    starchild.environment["MUNIMENT_WORKSPACE"] = workspace
    starchild.rules()
    assert starchild.ask("plan")["data_dir"] == workspace


# What the layouts have in common


@pytest.mark.parametrize("layout", ["openclaw", "claude", "starchild"])
def test_a_host_whose_folder_is_not_there(machine: Machine, layout: str) -> None:
    machine.at.done("init")
    machine.environment["MUNIMENT_BACKUP_LAYOUT"] = layout
    machine.environment["DATA_DIR"] = str(machine.place / "nosuch")
    write(machine.project, "memory/m")
    put(machine.project / ".muniment" / "backup_rules.md", RULES)
    put(machine.project / "config" / "backup_rules.md", RULES)
    api = machine.place / "api"
    api.mkdir()
    plan = machine.ask("plan", "--api-dir", str(api))
    assert {one.split("/")[0] for one in machine.items(plan)} == {"workspace"}
    assert [one for one in plan["warnings"] if plan["data_dir"] in one]
    assert not os.path.lexists(plan["data_dir"])


def test_a_vault_inside_the_hosts_folder_is_refused(machine: Machine) -> None:
    openclaw(machine)
    machine.environment["OPENCLAW_WORKSPACE_DIR"] = str(machine.project)
    machine.rules()
    machine.environment["MUNIMENT_VAULT"] = (machine.home / ".openclaw" / "vault").as_uri()
    assert machine.ask("plan", code=3)["error"] == "VAULT_INSIDE"
