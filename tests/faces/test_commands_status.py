"""`muniment`, `status` and `init`: what stands where, in both languages."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import Any

import pytest
from tests.faces.at_work import AtWork
from tests.faults.stage import mounted

from muniment.clock import system_clock
from muniment.disk.root import Root
from muniment.record.event import Draft
from muniment.record.state import open_workspace

NOTE = "No workspace was named or found; the current folder {} is taken.\n"


BEGUN = (
    '{"ts":"2026-11-30T11:00:00Z","backup_id":"bk_20261129_100000_abcd","section":"restore",'
    '"status":"begun","restore":"01KDVDNA000000000000000000","sections":["files/workspace"]}\n'
)


def told(out: str) -> dict[str, str]:
    """Label and fact of each line."""
    pairs = [line.split("  ", 1) for line in out.splitlines()]
    return {label: fact.strip() for label, fact in pairs}


def test_before_anything_it_makes_nothing(outside: AtWork) -> None:
    bare = outside.call()
    assert bare.code == 0
    assert told(bare.out) == {
        "workspace": f"{outside.folder}  (current folder)",
        "host": "generic",
        "session": "none yet",
        "ledger": "not begun",
        "not archived": "nothing",
        "under way": "nothing",
        "snapshot": "none yet",
        "next": "muniment init",
    }
    assert bare.err == NOTE.format(outside.folder)
    assert bare == outside.call("status")
    assert list(outside.folder.iterdir()) == []


def test_in_chinese(outside: AtWork) -> None:
    answer = outside.call("status", "--lang", "zh")
    assert told(answer.out) == {
        "工作区": f"{outside.folder}  (当前文件夹)",
        "宿主": "generic",
        "会话": "尚无",
        "账本": "尚未开始",
        "未归档": "无",
        "进行中": "无",
        "快照": "尚无",
        "下一步": "muniment init",
    }
    assert answer.err == f"未指定也未找到工作区，现采用当前文件夹 {outside.folder}。\n"


def test_init_opens_a_record_once(outside: AtWork) -> None:
    first = outside.call("init")
    assert first.code == 0
    state = outside.folder / ".muniment"
    assert stat.S_IMODE(state.stat().st_mode) == 0o700
    assert (state / ".gitignore").read_bytes() == b"*\n"
    identity = (state / "root.json").read_bytes()
    (event,) = outside.records()
    assert told(first.out)["ledger"] == f"1 event, head {event['sha256'][:12]}"
    again = outside.call("init")
    assert again.code == 0
    assert outside.records() == [event]
    assert (state / "root.json").read_bytes() == identity


def test_init_shows_what_status_shows(outside: AtWork) -> None:
    named = ("-w", str(outside.folder))
    assert outside.done("init", *named).out == outside.done("status", *named).out
    assert outside.done("init", *named, "--lang", "zh").out == outside.done(*named, "--lang", "zh").out


def test_each_step_of_the_work_shows(work: AtWork) -> None:
    work.write("report.md")
    before = told(work.done().out)
    assert (before["not archived"], before["next"]) == ("report.md", "muniment archive report.md")
    work.done("archive", "report.md")
    after = told(work.done().out)
    assert after["session"] == f"{work.archive_id()}  (stands in, no host tells one)"
    assert after["ledger"] == f"2 events, head {work.records()[-1]['sha256'][:12]}"
    assert (after["not archived"], after["next"]) == ("nothing", "muniment archive verify --all")
    chinese = told(work.done("--lang", "zh").out)
    assert chinese["会话"] == f"{work.archive_id()}  (代用，没有宿主告知会话)"
    assert chinese["账本"].startswith("2 个事件，链头 ")


def test_the_suggested_command_can_be_pasted(work: AtWork) -> None:
    """A name with a blank and a quote is quoted for the shell."""
    work.write("it's mine/report.md")
    assert told(work.done().out)["next"] == """muniment archive 'it'"'"'s mine/report.md'"""


def test_for_a_program(work: AtWork) -> None:
    work.write("report.md")
    shown = work.asked()
    (event,) = work.records()
    assert shown["workspace"] == str(work.folder)
    assert (shown["workspace_rule"], shown["workspace_found_by"]) == ("marker", ".muniment")
    assert (shown["session"], shown["session_source"]) == (None, None)
    assert shown["ledger"] == {"events": 1, "head": event["sha256"], "damage": None}
    assert shown["not_archived"] == ["report.md"]
    assert shown["root_id"] == event["subject"]


def test_how_the_workspace_was_found_is_said(outside: AtWork) -> None:
    inside = str(outside.folder)
    for environment, rule in (
        ({"MUNIMENT_WORKSPACE": inside}, "from the environment"),
        ({"OPENCLAW_WORKSPACE_DIR": inside}, "from the host"),
        ({"WORKSPACE_DIR": inside}, "from the host"),
    ):
        answer = outside.call(environment=environment)
        assert told(answer.out)["workspace"] == f"{inside}  ({rule})"
        assert answer.err == ""
    assert told(outside.call("-w", inside).out)["workspace"] == f"{inside}  (named by --workspace)"


@pytest.mark.parametrize("name", ["arch", "archive", "archives"])
def test_a_refused_workspace(outside: AtWork, name: str) -> None:
    (outside.folder / name).mkdir()
    answer = outside.call("init", "-w", name, "--json")
    assert (answer.code, answer.object["error"]) == (3, "INVALID_WORKSPACE")
    assert list((outside.folder / name).iterdir()) == []


def test_a_missing_workspace(outside: AtWork) -> None:
    answer = outside.call("-w", "nosuch")
    assert answer.code == 3
    assert answer.err.splitlines() == [
        "muniment: The workspace does not exist or is no folder. (WORKSPACE_MISSING)",
        f"  where: {outside.folder}/nosuch",
        "  why: it was named by --workspace",
        "  next: Name an existing folder with --workspace, or make it first.",
    ]


def test_the_host(outside: AtWork) -> None:
    inside = str(outside.folder)
    data = outside.folder / "data"
    workspace = data / "workspace"
    workspace.mkdir(parents=True)
    hosts = {
        "generic": {},
        "openclaw": {"OPENCLAW_WORKSPACE_DIR": inside},
        "claude": {"CLAUDECODE": "1"},
        "starchild": {"DATA_DIR": str(data), "WORKSPACE_DIR": str(workspace)},
    }
    for host, environment in hosts.items():
        assert told(outside.call(environment=environment).out)["host"] == host


# What is open in the rooms


class Snapshots:
    """Somebody with stock rules and a vault of their own."""

    def __init__(self, work: AtWork, vault: Path) -> None:
        self.work = work
        self.vault = vault
        self.environment = {"MUNIMENT_VAULT": vault.as_uri()}
        work.write("memory/note.md", "remember")
        assert work.call("backup", "rules", "default", environment=self.environment).code == 0

    def ask(self, *arguments: str, **more: str) -> dict[str, Any]:
        answer = self.work.call(*arguments, "--json", environment={**self.environment, **more})
        assert answer.code == 0, answer.err
        return answer.object

    def take(self) -> str:
        plan = self.ask("backup", "plan")["plan_id"]
        return str(self.ask("backup", "create", "--plan", plan, "--yes")["backup_id"])

    def line(self) -> str:
        return told(self.work.call(environment=self.environment).out)["snapshot"]


@pytest.fixture
def snapshots(work: AtWork, tmp_path: Path) -> Snapshots:
    return Snapshots(work, tmp_path / "vault")


def test_looking_makes_no_vault_and_nothing_else(snapshots: Snapshots) -> None:
    home = Path(os.environ["HOME"])
    before = sorted(home.rglob("*"))
    assert snapshots.line() == "none yet"
    assert snapshots.ask("status")["vault"] == {"url": snapshots.vault.as_uri(), "shares_device": True}
    assert not snapshots.vault.exists() and sorted(home.rglob("*")) == before


def test_the_last_snapshot_its_age_and_its_place(snapshots: Snapshots) -> None:
    first = snapshots.take()
    warned = f"{snapshots.vault.as_uri()} ⚠ on the same device as what it saves"
    assert re.fullmatch(rf"{first}, \d+ seconds? ago, {re.escape(warned)}", snapshots.line())
    snapshots.work.write("more.txt", "more")
    second = snapshots.take()
    assert snapshots.line().startswith(second)
    (event,) = [one for one in snapshots.work.records() if one["subject"] == second]
    assert snapshots.ask("status")["last_snapshot"] == {
        "backup_id": second,
        "at": event["at"],
        "in_this_vault": True,
    }
    delete = ("backup", "delete", second, "--confirm", second, "--yes")
    snapshots.ask(*delete, MUNIMENT_CONFIRM_RELAYED="delete")
    assert snapshots.line().startswith(first), "one that was deleted is none"


def test_it_has_ten_lines_at_most(snapshots: Snapshots) -> None:
    """Every line that there can be: a schedule, something half done, and much of everything (spec 0)."""
    work = snapshots.work
    for number in range(40):
        work.write(f"{number:02}/report.md")
    daily = ("backup", "schedule", "--daily", "03:30", "--yes", "--timer", "cron")
    snapshots.ask(*daily, MUNIMENT_CONFIRM_RELAYED="schedule")
    snapshots.ask("job", "init", "rna-7", MUNIMENT_JOB_ROOT=str(work.folder / "jobs"))
    work.write(".muniment/restore.log", BEGUN)
    answer = work.call(environment={**snapshots.environment, "MUNIMENT_JOB_ROOT": str(work.folder / "jobs")})
    lines = told(answer.out)
    assert list(lines) == [
        "workspace",
        "host",
        "session",
        "ledger",
        "not archived",
        "half done",
        "under way",
        "snapshot",
        "schedule",
        "next",
    ]
    assert lines["not archived"] == "00/report.md, 01/report.md, 02/report.md and 37 more"
    assert answer.out.count("\n") == 10


def test_a_vault_on_another_device_is_not_warned_of(work: AtWork, tmp_path: Path) -> None:
    with mounted("tmpfs", tmp_path / "disk", "size=16m"):
        snapshots = Snapshots(work, tmp_path / "disk" / "vault")
        snapshots.take()
        assert snapshots.line().endswith(snapshots.vault.as_uri())


def test_a_snapshot_in_another_vault_than_the_one_set(snapshots: Snapshots, tmp_path: Path) -> None:
    snapshots.take()
    other = tmp_path / "other"
    snapshots.environment["MUNIMENT_VAULT"] = other.as_uri()
    assert snapshots.line().endswith(f"⚠ not in the vault that is set: {other.as_uri()}")
    assert not other.exists()
    assert snapshots.ask("status")["last_snapshot"]["in_this_vault"] is False


def test_a_restore_that_is_half_done_comes_first(work: AtWork) -> None:
    work.write("report.md")
    log = work.write(".muniment/restore.log", BEGUN)
    shown = told(work.done().out)
    assert shown["half done"] == "bk_20261129_100000_abcd (restored by half)"
    assert shown["next"] == "muniment backup restore bk_20261129_100000_abcd"
    log.write_text("")
    shown = told(work.done().out)
    assert shown["half done"] == f"{log} (RESTORE_LOG_BROKEN)"
    assert shown["next"] == "muniment doctor"


def test_a_snapshot_that_was_announced_and_no_more(work: AtWork) -> None:
    """As a run leaves it that was killed while the vault had it."""
    with Root.open(work.folder) as root:
        ledger = open_workspace(root, clock=system_clock).ledger
        begun = ledger.append(Draft("backup.creating", "0" * 64, {"root": "1" * 64}))
    assert work.asked()["backup"] == [
        {"reference": f"ev_{begun.event_id}", "state": "announced", "next": "muniment backup list"}
    ]


def test_open_handoffs_and_jobs(work: AtWork, tmp_path: Path) -> None:
    where = {"MUNIMENT_JOB_ROOT": str(tmp_path / "jobs"), "XDG_DATA_HOME": str(tmp_path / "data")}
    assert work.call("job", "init", "rna-7", environment=where).code == 0
    assert work.call("job", "init", "old", environment=where).code == 0
    assert work.call("job", "cancel", "old", environment=where).code == 0
    shown = work.call("status", "--json", environment=where).object
    assert shown["jobs"] == [
        {"reference": "job:rna-7", "state": "initialize", "next": "muniment job show rna-7"}
    ]
    assert shown["next"] == "muniment job show rna-7"
    assert told(work.call(environment=where).out)["under way"] == "job:rna-7 (begun)"
    (tmp_path / "jobs" / "rna-7" / "registry.yaml").write_text("{")
    (broken,) = work.call("status", "--json", environment=where).object["jobs"]
    assert (broken["state"], broken["next"]) == ("REGISTRY_REFUSED", "muniment job verify rna-7")
    assert told(work.done().out)["under way"] == "nothing", "the folder of jobs is another one"
