"""Daily runs on one consent, as a person and a timer call them: real processes, real vault, real notifier."""

from __future__ import annotations

import fcntl
import io
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.backup.world import RULES, put

from muniment.app import House
from muniment.faces.cli.main import run

NOTIFIER = """\
import json, sys
with open(sys.argv[1], "a") as notices:
    notices.write(json.dumps(json.load(sys.stdin)) + "\\n")
print("this goes nowhere")
"""


@dataclass(frozen=True)
class Ended:
    """How one call ended."""

    code: int
    out: str
    err: str

    @property
    def object(self) -> dict[str, Any]:
        found = json.loads(self.out)
        assert isinstance(found, dict)
        return found


class Person:
    """Somebody with a workspace, a home and a vault of their own, who types commands."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.workspace = place / "workspace"
        self.told = place / "notices"
        put(self.workspace / "memory" / "note.md", "remember")
        put(self.workspace / ".muniment" / "backup_rules.md", RULES)
        put(place / "notify.py", NOTIFIER)
        # Settings as people keep them: a timer has no environment to give any.
        command = json.dumps([sys.executable, str(place / "notify.py"), str(self.told)])
        settings = f'[vault]\nurl = "{(place / "vault").as_uri()}"\n[notify]\ncommand = {command}\n'
        put(place / "home" / ".config" / "muniment" / "config.toml", settings)
        self.environment = {
            "HOME": str(place / "home"),
            "PATH": os.environ["PATH"],
            "PYTHONPATH": os.pathsep.join(sys.path),
            "LANG": "C.UTF-8",
        }

    def process(self, *arguments: str) -> Ended:
        """One call of the program as a process of its own, with nobody at a terminal."""
        done = subprocess.run(
            [sys.executable, "-m", "muniment", "-w", str(self.workspace), *arguments],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
        )
        return Ended(done.returncode, done.stdout, done.stderr)

    def call(self, *arguments: str, **more: str) -> Ended:
        """The same in this process, for what does not hang on being one."""
        out, err = io.StringIO(), io.StringIO()
        words = ["-w", str(self.workspace), "backup", *arguments]
        code = run(words, House, {**self.environment, **more}, io.StringIO(), out, err)
        return Ended(code, out.getvalue(), err.getvalue())

    def consent(self, *arguments: str) -> Ended:
        """The consent; this person has allowed their agent to pass it on."""
        more = ("schedule", "--daily", "03:30", "--yes", "--timer", "cron", *arguments)
        ended = self.call(*more, MUNIMENT_CONFIRM_RELAYED="schedule")
        assert ended.code == 0, ended.err
        return ended

    def run(self) -> Ended:
        """What the timer calls."""
        return self.call("create", "--scheduled", "--json")

    @property
    def notices(self) -> list[dict[str, Any]]:
        if not self.told.exists():
            return []
        return [json.loads(line) for line in self.told.read_text().splitlines()]

    def state(self) -> dict[str, Any]:
        found = self.call("schedule", "--json").object["schedule"]
        assert isinstance(found, dict)
        return found


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Person:
    somebody = Person(tmp_path)
    monkeypatch.setenv("HOME", somebody.environment["HOME"])
    for name in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    return somebody


def test_a_run_saves_what_was_consented_to_and_says_nothing(person: Person) -> None:
    person.consent()
    ended = person.process("backup", "create", "--scheduled", "--json")
    assert ended.code == 0, ended.err
    assert ended.object["scheduled"] is True
    assert ended.object["witness"] == "relayed"
    assert person.notices == []
    listed = person.call("list", "--json").object["backups"]
    assert [one["scheduled"] for one in listed] == [True]
    assert person.state()["last_run"]["backup_id"] == ended.object["backup_id"]


def test_something_new_at_the_top_stops_it_and_somebody_is_told(person: Person) -> None:
    person.consent()
    put(person.workspace / "downloads" / "a.bin", "new")
    ended = person.process("backup", "create", "--scheduled", "--json")
    assert ended.code == 3
    assert ended.object["error"] == "SCHEDULE_STOPPED"
    assert "workspace/downloads" in ended.err
    (notice,) = person.notices
    assert notice.pop("at").endswith("Z")
    assert len(notice.pop("root_id")) == 26
    assert notice == {
        "schema": "muniment.notice/1",
        "event": "run_stopped",
        "workspace": str(person.workspace),
        "code": "SCHEDULE_STOPPED",
        "exit_code": 3,
        "message": "The scheduled run stopped: the standing consent does not cover what there is now.",
        "where": "workspace/downloads",
        "why": "workspace/downloads appeared since the consent",
        "next": "Look at `muniment backup plan`; a person consents to it as it is now with "
        "`muniment backup schedule --daily HH:MM`.",
        "backup_id": None,
    }
    assert person.call("list", "--json").object["backups"] == [], "nothing was saved"
    last = person.state()["last_run"]
    assert (last["code"], last["reason"], last["item"]) == (
        "SCHEDULE_STOPPED",
        "item_appeared",
        "workspace/downloads",
    )
    # Status and doctor say so to whoever looks.
    assert "stopped" in person.process("status").out
    doctor = person.process("doctor", "-n", "--json")
    found = {one["subject"]: one for one in doctor.object["findings"]}
    assert found["schedule"]["level"] == "warning"
    # A person consents to it as it is now, and it goes on.
    person.consent()
    assert person.process("backup", "create", "--scheduled").code == 0


def test_other_rules_stop_it(person: Person) -> None:
    person.consent()
    rules = person.workspace / ".muniment" / "backup_rules.md"
    rules.write_text(RULES.replace("## Extra excludes\n```\n", "## Extra excludes\n```\nworkspace/memory\n"))
    ended = person.run()
    assert ended.code == 3
    assert [(one["event"], one["why"]) for one in person.notices] == [
        ("run_stopped", "the backup rules changed since the consent")
    ]


def test_what_vanished_stops_it(person: Person) -> None:
    put(person.workspace / "notes" / "a.md", "a")
    person.consent()
    (person.workspace / "notes" / "a.md").unlink()
    (person.workspace / "notes").rmdir()
    assert person.run().code == 3
    assert person.state()["last_run"]["reason"] == "item_vanished"


def test_too_much_stops_it(person: Person) -> None:
    person.consent("--max-size", "1")
    put(person.workspace / "memory" / "large.bin", bytes(2 << 20))
    assert person.run().code == 3
    assert person.state()["last_run"]["reason"] == "too_large"
    assert [one["event"] for one in person.notices] == ["run_stopped"]


def test_another_vault_stops_it(person: Person) -> None:
    person.consent()
    ended = person.call("create", "--scheduled", MUNIMENT_VAULT_URL=(person.place / "other").as_uri())
    assert ended.code == 3
    assert person.state()["last_run"]["reason"] == "vault_changed"


def test_what_the_rules_leave_out_may_come_and_go(person: Person) -> None:
    person.consent()
    put(person.workspace / "node_modules" / "a" / "index.js", "x")
    assert person.run().code == 0


def test_more_of_what_is_there_is_what_it_is_for(person: Person) -> None:
    person.consent()
    put(person.workspace / "memory" / "deeper" / "more.md", "more")
    assert person.run().code == 0


def test_without_a_consent_nothing_runs(person: Person) -> None:
    ended = person.run()
    assert ended.code == 3
    assert ended.object["error"] == "SCHEDULE_MISSING"
    assert person.call("schedule", "--json").object == {"schedule": None}


def test_an_agent_can_not_consent(person: Person) -> None:
    ended = person.call("schedule", "--daily", "03:30", "--yes", "--json")
    assert ended.code == 3
    assert ended.object["error"] == "NOT_CONFIRMED"
    assert person.run().code == 3


def test_an_edited_consent_consents_to_nothing(person: Person) -> None:
    person.consent()
    place = person.workspace / ".muniment" / "schedule.json"
    told = json.loads(place.read_text())
    told["terms"]["most_bytes"] *= 2
    place.write_text(json.dumps(told))
    ended = person.run()
    assert ended.code == 4
    assert ended.object["error"] == "STATE_DAMAGED"
    assert [one["event"] for one in person.notices] == ["run_failed"]


def test_a_consent_that_was_taken_back_can_not_be_put_back(person: Person) -> None:
    person.consent()
    place = person.workspace / ".muniment" / "schedule.json"
    kept = place.read_bytes()
    assert person.call("schedule", "--uninstall", "--json").object["ended"] is True
    assert person.run().object["error"] == "SCHEDULE_MISSING"
    place.write_bytes(kept)
    assert person.run().object["error"] == "STATE_DAMAGED"


def test_a_rehearsal_consents_to_nothing(person: Person) -> None:
    ended = person.call("schedule", "--daily", "03:30", "-n", "--json", "--timer", "cron")
    assert ended.code == 0
    assert ended.object["consented"] is False
    assert "30 3 * * * " in ended.object["entry"]
    assert person.run().code == 3


def test_the_line_for_cron_is_what_runs(person: Person) -> None:
    """The command of the printed line, run as cron would: by a shell, in another folder."""
    entry = person.consent("--json").object["entry"]
    (line,) = [one for one in entry.splitlines() if not one.startswith("#")]
    assert line.startswith("30 3 * * * ")
    command = line.removeprefix("30 3 * * * ").replace("\\%", "%")
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        cwd="/",
        env=person.environment,
        capture_output=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert person.state()["last_run"]["backup_id"] is not None


def test_two_runs_at_once(person: Person) -> None:
    """The second is told so, and bothers nobody."""
    person.consent()
    assert person.run().code == 0
    with (person.workspace / ".muniment" / "schedule.lock").open("r+") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        ended = person.run()
    assert ended.code == 5
    assert ended.object["error"] == "SCHEDULE_RUNNING"
    assert person.notices == []
    assert person.state()["last_run"]["code"] is None


def test_a_run_while_a_restore_goes_on_takes_nothing_half_restored(person: Person) -> None:
    person.consent()
    with (person.workspace / ".muniment" / "workspace.lock").open("a+") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        ended = person.run()
    assert ended.code == 5
    assert [(one["event"], one["exit_code"]) for one in person.notices] == [("run_failed", 5)]


def test_a_partial_run_is_stored_and_told(person: Person) -> None:
    """A socket is no fault; a folder that can not be read is, for all but root, so it is told by a name
    that no snapshot can hold."""
    person.consent()
    deep = person.workspace / "memory"
    for _ in range(205):
        deep = deep / "d"
    deep.mkdir(parents=True)
    put(deep / "far.md", "far")
    ended = person.run()
    assert ended.code == 4, ended.err
    assert ended.object["error"] == "SNAPSHOT_PARTIAL"
    (notice,) = person.notices
    assert (notice["event"], notice["backup_id"]) == ("run_partial", ended.object["result"]["backup_id"])


def test_full_slots_are_told(person: Person) -> None:
    person.consent()
    assert person.call("create", "--scheduled", MUNIMENT_VAULT_SNAPSHOTS="1").code == 0
    ended = person.call("create", "--scheduled", "--json", MUNIMENT_VAULT_SNAPSHOTS="1")
    assert ended.code == 5
    assert ended.object["error"] == "QUOTA_EXCEEDED"
    assert [one["event"] for one in person.notices] == ["slots_full"]


def test_a_notifier_that_fails_is_told_of_and_changes_nothing(person: Person) -> None:
    person.consent()
    put(person.workspace / "new.md", "new")
    put(person.place / "notify.py", "import sys; sys.exit(7)")
    ended = person.run()
    assert ended.code == 3
    assert ended.object["error"] == "SCHEDULE_STOPPED"
    notified = ended.object["result"]["notified"]
    assert notified["told"] is False
    assert "exit code 7" in notified["why"]
    assert "notify.command" in ended.err


def test_a_workspace_names_no_notifier(person: Person) -> None:
    never = person.place / "never"
    put(person.workspace / ".muniment" / "config.toml", f'[notify]\ncommand = ["touch", "{never}"]\n')
    ended = person.run()
    assert ended.object["error"] == "SCHEDULE_MISSING"
    assert ended.object["result"]["notified"]["told"] is False
    assert not never.exists()
    assert person.notices == []
