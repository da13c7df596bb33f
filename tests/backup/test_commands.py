"""`muniment backup` as a person at a terminal and as an agent off it call it: the same gates on both."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tests.backup.world import RULES, put
from tests.faces.calling import Answer, Screen

from muniment.app import House
from muniment.faces.cli.main import run
from muniment.faces.tools.backup import TOOLS as ROOM
from muniment.faces.tools.tool import Answer as ToolAnswer
from muniment.faces.tools.tool import Client

TOOLS = {tool.shape.name: tool for tool in ROOM}


class Desk:
    """A workspace with a vault of its own, called by command line and by tools."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.workspace = place / "workspace"
        self.environment = {
            "MUNIMENT_WORKSPACE": str(self.workspace),
            "MUNIMENT_VAULT_URL": (place / "vault").as_uri(),
            "MUNIMENT_LANG": "en",
        }
        put(self.workspace / "memory" / "note.md", "remember")

    def call(self, *arguments: str, typed: str | None = None, **more: str) -> Answer:
        """One call; `typed` makes it one at a terminal."""
        terminal = typed is not None
        out, err = Screen(terminal=terminal), Screen(terminal=terminal)
        stdin = Screen(typed or "", terminal=terminal)
        code = run(["backup", *arguments], House, {**self.environment, **more}, stdin, out, err)
        return Answer(code, out.getvalue(), err.getvalue())

    def tool(self, name: str, **arguments: str) -> ToolAnswer:
        """One call of a tool."""
        house = House(workspace=None, environment=self.environment, note=lambda message: None, actor="mcp")
        try:
            answer = TOOLS[name].answer(house, arguments, Client(lambda files, read: None))
            assert isinstance(answer, ToolAnswer)
            return answer
        finally:
            house.close()

    def stored(self, **more: str) -> list[str]:
        """The ids of all snapshots, newest first."""
        answer = self.call("list", "--json", **more)
        assert answer.code == 0
        return [one["backup_id"] for one in answer.object["backups"]]

    def planned(self) -> str:
        """A plan's id."""
        answer = self.call("plan", "--json")
        assert answer.code == 0
        return str(answer.object["plan_id"])

    def snapshot(self) -> str:
        """A snapshot's id."""
        answer = self.call("create", "--plan", self.planned(), "--yes", "--json")
        assert answer.code == 0, answer.err
        return str(answer.object["backup_id"])


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    for name in ("XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    return Desk(tmp_path)


@pytest.fixture
def ruled(desk: Desk) -> Desk:
    """With the stock rules."""
    assert desk.call("rules", "default").code == 0
    return desk


def test_the_stock_file_is_never_written_silently(desk: Desk) -> None:
    place = desk.workspace / ".muniment" / "backup_rules.md"
    for arguments in (("plan",), ("create", "--plan", "0" * 64, "--yes"), ("rules", "propose"), ("list",)):
        desk.call(*arguments)
        assert not place.exists()
    refused = desk.call("plan", "--json")
    assert (refused.code, refused.object["error"]) == (3, "RULES_MISSING")
    for way in ("rules propose", "rules write", "rules default"):
        assert way in refused.object["next"]
    assert desk.call("rules", "default").out == f"CREATED {place}\n"
    before = place.read_bytes()
    assert desk.call("rules", "default").out == f"EXISTS  {place}\n"
    assert place.read_bytes() == before
    assert desk.call("plan").code == 0


def test_off_a_terminal_a_plan_is_named_and_confirmed(ruled: Desk) -> None:
    missing = ruled.call("create", "--yes", "--json")
    assert (missing.code, missing.object["error"]) == (3, "PLAN_MISSING")
    plan = ruled.planned()
    refused = ruled.call("create", "--plan", plan, "--json")
    assert (refused.code, refused.object["error"]) == (3, "NOT_CONFIRMED")
    assert ruled.stored() == []
    done = ruled.call("create", "--plan", plan, "--yes", "--json")
    assert done.code == 0
    assert done.object["witness"] == "relayed"
    assert ruled.stored() == [done.object["backup_id"]]
    forbidden = ruled.call(
        "create", "--plan", ruled.planned(), "--yes", "--json", MUNIMENT_CONFIRM_RELAYED="delete"
    )
    assert (forbidden.code, forbidden.object["error"]) == (3, "NOT_CONFIRMED")
    assert len(ruled.stored()) == 1


def test_a_stale_plan_is_a_conflict(ruled: Desk) -> None:
    plan = ruled.planned()
    put(ruled.workspace / "new.txt", "x")
    stale = ruled.call("create", "--plan", plan, "--yes", "--json")
    assert (stale.code, stale.object["error"]) == (5, "PLAN_STALE")
    assert "new.txt" in stale.object["why"]


def test_at_a_terminal_the_plan_is_shown_and_asked_for(ruled: Desk) -> None:
    no = ruled.call("create", typed="\n\n\nn\n")
    assert no.code == 130
    assert ruled.stored() == []
    put(ruled.workspace / ".env", "KEY=1")
    yes = ruled.call("create", typed="mine\n\n\n\n\n\ny\n")
    assert yes.code == 0, yes.err
    assert "✓ workspace/memory" in yes.out
    assert "⚠ workspace/.env holds secrets" in yes.out
    (one,) = ruled.call("list", "--json").object["backups"]
    assert one["user_label"] == "mine"
    assert "terminal" in yes.out


def test_a_mistyped_mode_is_asked_for_again(ruled: Desk) -> None:
    done = ruled.call("create", typed="\nful\nfull\n\n\n\n\ny\n")
    assert done.code == 0, done.err
    assert done.err.count("Mode (default, full)") == 3, "twice for the first plan, once for the changed one"


def test_at_a_terminal_missing_rules_begin_the_conversation(desk: Desk) -> None:
    put(desk.workspace / "output" / "big.bin", bytes(60 << 20))
    put(desk.workspace / ".cache-x" / "c", "c")
    done = desk.call("create", typed="\n夜间 {date}\n\n\n\ny\n")
    assert done.code == 0, done.err
    text = (desk.workspace / ".muniment" / "backup_rules.md").read_text()
    assert "workspace/output\nworkspace/.cache-x\n" in text
    assert "夜间 {date}" in text
    (one,) = desk.call("list", "--json").object["backups"]
    assert "workspace/output" not in one["sections"]
    assert one["user_label"].startswith("夜间 20")


def test_the_proposal_has_its_shape(desk: Desk) -> None:
    put(desk.workspace / "node_modules" / "x", "x")
    put(desk.workspace / "scripts" / "s", "s")
    put(desk.workspace / "stuff" / "t", "t" * 10)
    told = desk.call("rules", "propose", "--json").object
    assert set(told) == {"workspace", "data", "summary"}
    found = {one["name"]: one for one in told["workspace"]}
    assert {name: one["category"] for name, one in found.items()} == {
        ".muniment": "unknown",
        "memory": "core",
        "node_modules": "skip",
        "scripts": "ask",
        "stuff": "unknown",
    }
    assert set(found["stuff"]) == {"name", "size_bytes", "file_count", "category", "reason"}
    assert (found["stuff"]["size_bytes"], found["stuff"]["file_count"]) == (10, 1)
    summary = told["summary"]
    assert (summary["core_count"], summary["skip_count"]) == (1, 1)
    assert (summary["ask_count"], summary["unknown_count"]) == (1, 2)
    kept = sum(one["size_bytes"] for one in told["workspace"] if one["category"] != "skip")
    assert summary["total_size_bytes"] == kept


@pytest.mark.parametrize("language", ["en", "zh-CN"])
def test_rules_write_gives_a_file_with_its_inventory(desk: Desk, language: str) -> None:
    put(desk.workspace / "output" / "o", "o" * 2048)
    put(desk.workspace / "node_modules" / "n", "n")
    done = desk.call(
        "rules", "write", "--exclude", "workspace/output", "--notes", "## 理由\n可再生", "--lang", language
    )
    assert done.code == 0
    text = (desk.workspace / ".muniment" / "backup_rules.md").read_text()
    for heading in ("Mode", "Extra excludes", "Extra paths", "Label template", "Notes", "File inventory"):
        assert f"\n## {heading}\n" in text
    assert "\n### workspace/\n" in text and "\n### data/ (non-workspace)\n" in text
    assert "| ✗ | output | 2.0 KiB |" in text
    assert "| ✓ | memory |" in text
    assert "| ✗ | node_modules |" in text
    assert ("自动备份 {date}" if language == "zh-CN" else "auto-backup {date}") in text
    plan = desk.call("plan", "--json").object
    status = {one["rel"]: one["status"] for one in plan["items"]}
    assert status["output"] == "excluded_user_rule"
    assert plan["mode"] == "default" and plan["extra_paths"] == []


def test_a_decision_keeps_the_rules_that_it_replaces(desk: Desk) -> None:
    place = desk.workspace / ".muniment/backup_rules.md"
    first = desk.call("rules", "write", "--exclude", "workspace/output", "--json").object
    assert first == {"path": str(place), "former": None}
    by_hand = place.read_text().replace("## Extra paths\n\n```\n", "## Extra paths\n\n```\n/etc/mine\n")
    place.write_text(by_hand)
    second = desk.call("rules", "write", "--exclude", "workspace/skills", "--json").object
    assert second["former"] == str(place.with_name("backup_rules.former.md"))
    assert place.with_name("backup_rules.former.md").read_text() == by_hand
    assert "workspace/skills" in place.read_text() and "/etc/mine" not in place.read_text()


def test_a_decision_that_would_not_be_read_back_is_not_written(desk: Desk) -> None:
    for line in ("```", "# comment", "  "):
        refused = desk.call("rules", "write", "--exclude", line, "--json")
        assert (refused.code, refused.object["error"]) == (3, "RULES_BROKEN")
        assert not (desk.workspace / ".muniment" / "backup_rules.md").exists()


def test_the_plan_has_its_shape(ruled: Desk) -> None:
    put(ruled.workspace / "node_modules" / "n", "n")
    plan = ruled.call("plan", "--json").object
    assert set(plan) == {
        "plan_id",
        "label",
        "mode",
        "workspace_dir",
        "data_dir",
        "created_at_unix",
        "items",
        "api",
        "extra_paths",
        "warnings",
        "total_files",
        "total_size_bytes",
    }
    items = {one["rel"]: one for one in plan["items"]}
    assert items["memory"] == {
        "section": "workspace",
        "kind": "workspace_dir",
        "src": str(ruled.workspace / "memory"),
        "bundle": "files/workspace/memory",
        "rel": "memory",
        "status": "ok",
        "size_bytes": 8,
        "files": 1,
    }
    assert items["node_modules"]["status"] == "excluded_default_rule"
    assert items["skills"]["status"] == "absent"
    assert plan["api"] == [
        {"file": name, "status": "missing", "size_bytes": 0}
        for name in ("profile.json", "settings.json", "scheduled_tasks.json")
    ]
    assert len(plan["plan_id"]) == 64
    again = ruled.call("plan", "--json").object
    assert again["plan_id"] == plan["plan_id"]
    put(ruled.workspace / "memory" / "note.md", "longer than before")
    assert ruled.call("plan", "--json").object["plan_id"] == plan["plan_id"]
    put(ruled.workspace / "top.txt", "x")
    assert ruled.call("plan", "--json").object["plan_id"] != plan["plan_id"]


def test_an_empty_list_says_so(desk: Desk) -> None:
    answer = desk.call("list")
    assert answer.code == 0
    assert "There is no snapshot yet." in answer.out
    assert "muniment backup create" in answer.err


def test_looking_into_a_snapshot(ruled: Desk) -> None:
    put(ruled.workspace / "a" / "b.txt", "one")
    put(ruled.workspace / "data.bin", bytes(range(256)) * 4096)
    first = ruled.snapshot()
    put(ruled.workspace / "a" / "b.txt", "two")
    put(ruled.workspace / "a" / "new", "n")
    (ruled.workspace / "memory" / "note.md").unlink()
    second = ruled.snapshot()
    assert ruled.stored() == [second, first]
    assert ruled.call("cat", first, "workspace/a/b.txt").out == "one"
    assert ruled.call("cat", second, "files/workspace/a/b.txt").out == "two"
    paths = [one["path"] for one in ruled.call("ls", first, "workspace/a", "--json").object["files"]]
    assert paths == ["files/workspace/a/b.txt"]
    changes = ruled.call("diff", first, second, "--json").object["changes"]
    ours = {one["path"]: one["kind"] for one in changes if "/.muniment/" not in one["path"]}
    assert ours == {
        "files/workspace/a/b.txt": "changed",
        "files/workspace/a/new": "added",
        "files/workspace/memory/note.md": "removed",
    }
    found = ruled.call("find", "note.md", "--json").object["found"]
    assert [one["backup_id"] for one in found] == [first]
    assert ruled.call("find", "nowhere-at-all").code == 7
    shown = ruled.call("show", first, "--json").object
    assert shown["manifest"]["version"] == "1.1" and shown["manifest"]["source"] == "generic"
    target = ruled.place / "out.tar.gz"
    assert ruled.call("fetch", first, "--output", str(target)).code == 0
    listed = subprocess.run(["tar", "tzf", target], capture_output=True, text=True, check=True).stdout.split()
    assert "files/workspace/a/b.txt" in listed and listed[-1] == "manifest.json"
    again = ruled.call("fetch", first, "--output", str(target), "--json")
    assert (again.code, again.object["error"]) == (5, "ALREADY_THERE")
    gone = ruled.call("cat", first, "workspace/none", "--json", "--output", str(ruled.place / "x"))
    assert (gone.code, gone.object["error"]) == (7, "NOT_IN_SNAPSHOT")
    assert ruled.call("show", "bk_20200101_000000_abcd", "--json").object["error"] == "SNAPSHOT_UNKNOWN"


def test_deleting_takes_two_confirmations_at_a_terminal(ruled: Desk) -> None:
    first, second = ruled.snapshot(), ruled.snapshot()
    wrong_id = ruled.call("delete", typed=f"2\ny\n{second}\n")
    assert wrong_id.code == 3 and "DELETE_NOT_CONFIRMED" in wrong_id.err
    assert ruled.call("delete", typed="cancel\n").code == 130
    assert ruled.call("delete", typed="2\nn\n").code == 130
    assert ruled.call("delete", typed="2\ny\n").code == 130
    assert ruled.call("delete", typed="\nlatest\n").code == 130
    assert ruled.call("delete", "--yes", typed=f"2\nn\n{first}\n").code == 130
    assert ruled.stored() == [second, first]
    done = ruled.call("delete", typed=f"9\n2\ny\n  {first} \n")
    assert done.code == 0, done.err
    assert ruled.stored() == [second]
    assert second in done.out


def test_deleting_off_a_terminal(ruled: Desk) -> None:
    one = ruled.snapshot()
    for arguments in ((one,), (one, "--yes"), ("--confirm", one)):
        refused = ruled.call("delete", *arguments, "--json")
        assert (refused.code, refused.object["error"]) == (3, "NOBODY_TO_ASK")
    relayed = ruled.call("delete", one, "--confirm", one, "--json")
    assert (relayed.code, relayed.object["error"]) == (3, "NOT_CONFIRMED")
    allowed = {"MUNIMENT_CONFIRM_RELAYED": "delete"}
    differs = ruled.call("delete", one, "--confirm", one.upper(), "--json", **allowed)
    assert (differs.code, differs.object["error"]) == (3, "DELETE_NOT_CONFIRMED")
    assert ruled.stored() == [one]
    done = ruled.call("delete", one, "--confirm", one, "--json", **allowed)
    assert done.code == 0
    assert set(done.object) == {
        "deleted_backup_id",
        "user_label",
        "created_at",
        "size_bytes",
        "sections",
        "remaining_slots",
    }
    assert ruled.stored() == []


def test_a_full_vault_asks_for_what_goes(ruled: Desk) -> None:
    ruled.environment["MUNIMENT_VAULT_SNAPSHOTS"] = "2"
    first, second = ruled.snapshot(), ruled.snapshot()
    plan = ruled.planned()
    full = ruled.call("create", "--plan", plan, "--yes", "--json")
    assert (full.code, full.object["error"]) == (5, "QUOTA_EXCEEDED")
    assert [one["backup_id"] for one in full.object["result"]["current"]] == [second, first]
    done = ruled.call("create", "--plan", plan, "--yes", "--replace", first, "--json")
    assert done.code == 0 and done.object["remaining_slots"] == 0
    assert ruled.stored() == [done.object["backup_id"], second]
    asked = ruled.call("create", typed="\n\n\ny\n2\n")
    assert asked.code == 0, asked.err
    left = ruled.stored()
    assert len(left) == 2 and second not in left


def test_a_root_that_is_not_the_ledgers_is_found_out(ruled: Desk) -> None:
    one = ruled.snapshot()
    ledger = ruled.workspace / ".muniment" / "ledger" / "000001.jsonl"
    assert f'"subject":"{one}"' in ledger.read_text()
    import sqlite3
    from contextlib import closing

    put(ruled.workspace / "other.txt", "x")
    other = ruled.snapshot()
    vault = ruled.place / "vault"
    for name in ("index",):
        files = {path.name: path for path in (vault / "snapshots").rglob("*") if path.is_file()}
        (mine,) = [path for key, path in files.items() if one in str(path) and name in key]
        (theirs,) = [path for key, path in files.items() if other in str(path) and name in key]
        mine.chmod(0o600)
        mine.write_bytes(theirs.read_bytes())
    with closing(sqlite3.connect(vault / "catalogue.sqlite")) as base, base:
        (root,) = base.execute("SELECT root FROM snapshots WHERE id = ?", (other,)).fetchone()
        base.execute("UPDATE snapshots SET root = ? WHERE id = ?", (root, one))
    found = ruled.call("show", one, "--json")
    assert (found.code, found.object["error"]) == (4, "SNAPSHOT_ALTERED")


def test_the_tools_have_the_same_gates(desk: Desk) -> None:
    refused = desk.tool("backup_plan")
    assert refused.failed and "RULES_MISSING" in refused.text
    put(desk.workspace / ".muniment" / "backup_rules.md", RULES)
    plan = desk.tool("backup_plan", exclude="workspace/output\n*.zip").structured
    assert plan is not None
    assert desk.tool("backup_create", planId=str(plan["plan_id"])).failed
    assert "PLAN_MISSING" in desk.tool("backup_create", planId="0" * 64, personAgreed="yes").text
    done = desk.tool("backup_create", planId=str(plan["plan_id"]), personAgreed="yes")
    assert not done.failed and done.structured is not None
    assert done.structured["witness"] == "relayed"
    one = str(done.structured["backup_id"])
    listed = desk.tool("backup_list").structured
    assert listed is not None and [row["backup_id"] for row in listed["backups"]] == [one]  # type: ignore[union-attr, call-overload, index]
    same = desk.tool("backup_diff", before=one, after=one).structured
    assert same == {"total": 0, "changes": []}
    assert "DELETE_NOT_CONFIRMED" in desk.tool("backup_delete", backupId=one, confirm="yes").text
    assert "NOT_CONFIRMED" in desk.tool("backup_delete", backupId=one, confirm=one).text
    assert desk.stored() == [one]
    desk.environment["MUNIMENT_CONFIRM_RELAYED"] = "create,delete"
    assert not desk.tool("backup_delete", backupId=one, confirm=one).failed
    assert desk.stored() == []
    assert "INVALID_ARGUMENT" in desk.tool("backup_list", surprise="x").text


def test_what_the_tools_answer_is_what_they_promise(desk: Desk) -> None:
    from jsonschema import Draft202012Validator

    put(desk.workspace / ".muniment" / "backup_rules.md", RULES)
    answers = {"backup_plan": desk.tool("backup_plan")}
    plan = answers["backup_plan"].structured
    assert plan is not None
    answers["backup_create"] = desk.tool("backup_create", planId=str(plan["plan_id"]), personAgreed="yes")
    answers["backup_list"] = desk.tool("backup_list")
    desk.snapshot()
    newer, older = desk.stored()
    answers["backup_diff"] = desk.tool("backup_diff", before=older, after=newer)
    put(desk.workspace / "memory" / "note.md", "changed since")
    answers["backup_restore_plan"] = desk.tool("backup_restore_plan", backupId=older)
    restore = answers["backup_restore_plan"].structured
    assert restore is not None
    answers["backup_restore"] = desk.tool(
        "backup_restore",
        backupId=older,
        restorePlanId=str(restore["restore_plan_id"]),
        personAgreed="yes",
    )
    desk.environment["MUNIMENT_CONFIRM_RELAYED"] = "delete"
    answers["backup_delete"] = desk.tool("backup_delete", backupId=older, confirm=older)
    assert set(answers) == set(TOOLS)
    for name, answer in answers.items():
        assert not answer.failed, answer.text
        Draft202012Validator(TOOLS[name].shape.gives).validate(answer.structured)


def test_the_workspace_does_not_say_where_snapshots_go(ruled: Desk, tmp_path: Path) -> None:
    """Whoever wrote the workspace would have everything sent to them."""
    theirs, file = tmp_path / "theirs", ruled.workspace / ".muniment" / "config.toml"
    plan = ruled.planned()
    put(file, f'[vault]\nurl = "{theirs.as_uri()}"\n')
    del ruled.environment["MUNIMENT_VAULT_URL"]
    for act in (("list",), ("plan",), ("create", "--plan", plan, "--yes")):
        refused = ruled.call(*act, "--json")
        assert (refused.code, refused.object["error"]) == (2, "BAD_SETTING")
        assert refused.object["where"] == str(file)
    assert not theirs.exists()
    mine = ruled.call("list", "--json", MUNIMENT_VAULT=(tmp_path / "mine").as_uri())
    assert mine.code == 0, "what the person says is stronger"
