"""What `doctor` and `ledger verify` find out from the vault, through the real command line."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.faces.at_work import AtWork
from tests.faults.stage import mounted
from tests.vault.content import flipped

from muniment.clock import instant, system_clock
from muniment.errors import ExitCode

BEGUN = (
    '{"ts":"2026-11-30T11:00:00Z","backup_id":"bk_20261129_100000_abcd","section":"restore",'
    '"status":"begun","restore":"01KDVDNA000000000000000000","sections":["files/workspace"]}\n'
)


class Agent:
    """Somebody in a workspace with stock rules and a vault of their own."""

    def __init__(self, place: Path, patch: pytest.MonkeyPatch) -> None:
        self.work = AtWork(place / "work", patch)
        self.vault = place / "vault"
        self.environment = {"MUNIMENT_VAULT": self.vault.as_uri()}
        self.work.done("init")
        self.work.write("memory/note.md", "remember")
        self.ask("backup", "rules", "default")

    def ask(self, *arguments: str, code: int = 0) -> dict[str, Any]:
        answer = self.work.call(*arguments, "--json", environment=self.environment)
        assert answer.code == code, answer.err
        return answer.object

    def take(self) -> str:
        plan = self.ask("backup", "plan")["plan_id"]
        return str(self.ask("backup", "create", "--plan", plan, "--yes")["backup_id"])

    def findings(self, *options: str, code: int = 0) -> dict[str, tuple[str, str]]:
        told = self.ask("doctor", *options, code=code)["findings"]
        return {one["subject"]: (one["level"], one["message"]) for one in told}

    @property
    def segment(self) -> Path:
        return self.work.folder / ".muniment/ledger/000001.jsonl"

    def pack(self) -> Path:
        (found,) = (path for path in (self.vault / "packs").rglob("*") if path.is_file())
        return found


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Agent:
    for name in ("XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    return Agent(tmp_path, monkeypatch)


# doctor


def test_without_a_vault_none_is_made(agent: Agent) -> None:
    assert agent.findings()["vault"] == ("good", f"none yet; it would lie at {agent.vault.as_uri()}")
    assert not agent.vault.exists()


def test_a_vault_beside_what_it_saves(agent: Agent) -> None:
    agent.take()
    found = agent.findings()
    assert found["vault"] == ("good", f"{agent.vault.as_uri()}: 1 snapshot")
    assert found["vault's device"][0] == "warning"
    assert found["damaged snapshots"] == ("good", "none")
    assert found["vault's last check"][0] == "warning"
    assert found["vault's leftovers"] == ("good", "none")


def test_a_vault_on_a_device_of_its_own(tmp_path: Path, agent: Agent) -> None:
    with mounted("tmpfs", tmp_path / "vault", "size=16m"):
        agent.take()
        assert agent.findings()["vault's device"][0] == "good"


def test_when_it_was_checked_is_noted_where_it_lies(agent: Agent) -> None:
    agent.take()
    agent.ask("vault", "fsck", "-n")
    assert not (agent.vault / "checked.json").exists(), "a rehearsal writes nothing"
    agent.ask("vault", "fsck")
    level, message = agent.findings()["vault's last check"]
    assert (level, message.endswith(": everything was sound")) == ("good", True)
    note = agent.vault / "checked.json"
    record = json.loads(note.read_bytes())
    assert record.keys() == {"v", "at", "sound"} and record["sound"] is True
    note.write_text(json.dumps({**record, "at": instant(system_clock() - timedelta(days=91))}))
    assert agent.findings()["vault's last check"][0] == "warning"
    note.write_bytes(b"{")
    assert agent.findings()["vault's last check"][1].startswith("never")


def test_a_damaged_snapshot_is_wrong_until_it_is_healed(agent: Agent) -> None:
    snapshot, pack = agent.take(), agent.pack()
    pack.write_bytes(flipped(pack.read_bytes(), 40))
    agent.ask("vault", "fsck", "--repair", code=4)
    found = agent.findings(code=4)
    assert found["damaged snapshots"][0] == "wrong" and snapshot in found["damaged snapshots"][1]
    assert found["vault's last check"][0] == "wrong"
    agent.take()
    agent.ask("vault", "fsck")
    assert agent.findings()["damaged snapshots"] == ("good", "none")


def test_a_lost_catalogue_is_wrong_and_not_mended(agent: Agent) -> None:
    agent.take()
    (agent.vault / "catalogue.sqlite").unlink()
    level, message = agent.findings(code=4)["vault"]
    assert level == "wrong" and "no catalogue" in message
    assert agent.findings(code=4)["vault"][0] == "wrong"


def test_what_a_dead_upload_left_is_told_and_goes(agent: Agent) -> None:
    from muniment.vault.open import open_directory

    agent.take()
    past = open_directory(agent.vault, clock=lambda: system_clock() - timedelta(hours=2))
    past.reserve()
    past.close()
    assert agent.findings("-n")["vault's leftovers"] == ("good", "1 is under way or waits for its day")
    assert agent.findings()["vault's leftovers"] == ("mended", "1 was removed")
    assert agent.findings()["vault's leftovers"] == ("good", "none")


def test_a_restore_that_is_half_done(agent: Agent) -> None:
    log = agent.work.write(".muniment/restore.log", BEGUN)
    level, message = agent.findings()["bk_20261129_100000_abcd"]
    assert level == "warning" and "muniment backup restore bk_20261129_100000_abcd" in message
    assert log.read_text() == BEGUN, "it takes a person to end it"
    log.write_text("[]\n")
    assert agent.findings(code=4)[str(log)][0] == "wrong"


# ledger verify


def test_a_snapshot_in_the_vault_bears_witness(agent: Agent) -> None:
    agent.take()
    agent.work.write("more.md", "more")
    second = agent.take()
    told = agent.ask("ledger", "verify")
    assert (told["whole"], told["witnesses"], told["newest_witness_from"]) == (True, 2, second)
    assert told["newest_witness"]["count"] < told["events"]
    shown = agent.work.call("ledger", "verify", environment=agent.environment)
    assert f"in {second}" in shown.out


def test_records_cut_off_the_end_are_missed_by_the_snapshot(agent: Agent) -> None:
    """The chain that is left verifies by itself; only the witness elsewhere shows it."""
    snapshot = agent.take()
    lines = agent.segment.read_bytes().splitlines(keepends=True)
    agent.segment.write_bytes(b"".join(lines[:-3]))
    told = agent.ask("ledger", "verify", code=ExitCode.NOT_VERIFIED)
    assert (told["whole"], told["findings"]) == (False, [])
    assert (told["contradicted_by"], told["newest_witness_from"]) == ([snapshot], snapshot)
    shown = agent.work.call("ledger", "verify", environment=agent.environment)
    assert shown.code == 4 and f"the witness in {snapshot}" in shown.out
    without = agent.work.call("ledger", "verify", "--json", environment={"MUNIMENT_VAULT": "file:///nowhere"})
    assert (without.code, without.object["witnesses"]) == (0, 0), "nobody else could have told"


def test_snapshots_of_another_workspace_say_nothing(
    agent: Agent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent.take()
    other = AtWork(tmp_path / "other", monkeypatch)
    other.done("init")
    answer = other.call("ledger", "verify", "--json", environment=agent.environment)
    assert (answer.code, answer.object["witnesses"]) == (0, 0)


def test_verifying_makes_no_vault(agent: Agent) -> None:
    told = agent.ask("ledger", "verify")
    assert (told["whole"], told["witnesses"], told["vault_unreachable"]) == (True, 0, None)
    assert not agent.vault.exists()


def test_a_vault_that_can_not_be_reached_is_said(agent: Agent) -> None:
    agent.take()
    (agent.vault / "catalogue.sqlite").unlink()
    answer = agent.work.call("ledger", "verify", "--json", environment=agent.environment)
    assert (answer.code, answer.object["vault_unreachable"]) == (0, "CATALOGUE_LOST")
    assert "witnesses were not compared" in answer.err
