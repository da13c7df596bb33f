"""The desk where a server keeps the snapshots: each is fetched and read whole, and none is believed."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.faces.at_work import AtWork
from tests.vault.content import flipped
from tests.vault.servers import Served


class Agent:
    """Somebody in a workspace whose vault is kept by a server."""

    def __init__(self, place: Path, served: Served, patch: pytest.MonkeyPatch) -> None:
        self.work = AtWork(place / "work", patch)
        self.served = served
        self.environment = {"MUNIMENT_VAULT": served.url, "CONTAINER_JWT": served.token()}
        self.ask("init")
        self.work.write("memory/note.md", "remember the third sensor")
        self.ask("backup", "rules", "default")
        plan = self.ask("backup", "plan")["plan_id"]
        self.snapshot = str(self.ask("backup", "create", "--plan", plan, "--yes")["backup_id"])

    def ask(self, *arguments: str, code: int = 0) -> dict[str, Any]:
        answer = self.work.call(*arguments, "--json", environment=self.environment)
        assert answer.code == code, answer.err
        return answer.object

    def verify(self, *, code: int = 0) -> dict[str, str]:
        told = self.ask("verify", "--all", code=code)["verified"]
        return {one["reference"]: one["standing"] for one in told}


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Agent]:
    for name in ("XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    served = Served(tmp_path / "served")
    try:
        yield Agent(tmp_path, served, monkeypatch)
    finally:
        served.close()


def test_everything_is_read_over_the_line(agent: Agent) -> None:
    told = agent.ask("verify", "--all")
    found = {one["reference"]: one for one in told["verified"]}
    assert set(found) == {"ledger", agent.snapshot}
    assert told["good"] is True
    assert f"in {agent.snapshot}" in found["ledger"]["finding"], "its witness was fetched and compared"
    assert "compared" in found[agent.snapshot]["finding"]
    hits = agent.ask("find", "note.md")["hits"]
    assert [(one["reference"], one["path"]) for one in hits] == [(agent.snapshot, "workspace/memory/note.md")]


def test_the_doctor_asks_the_server(agent: Agent) -> None:
    def vault() -> dict[str, str]:
        found = agent.ask("doctor")["findings"]
        return {one["subject"]: one["level"] for one in found if "vault" in one["subject"]}

    # When it was checked and what uploads left there, only its keeper can tell.
    assert vault() == {"vault": "good", "vault's device": "good"}
    assert "1 snapshot" in agent.work.call("doctor", environment=agent.environment).out
    agent.served.close()
    assert vault() == {"vault": "warning"}


def test_what_the_server_damaged_is_red(agent: Agent) -> None:
    (pack,) = (one for one in agent.served.folder.rglob("packs/**/*") if one.is_file())
    pack.write_bytes(flipped(pack.read_bytes(), 60))
    assert agent.verify(code=4) == {"ledger": "good", agent.snapshot: "bad"}


def test_what_the_server_lost_is_red(agent: Agent) -> None:
    agent.served.client().delete(agent.snapshot)
    assert agent.verify(code=4) == {"ledger": "good", agent.snapshot: "bad"}


def test_of_a_server_that_is_gone_nobody_knows(agent: Agent) -> None:
    agent.served.close()
    assert agent.verify(code=4) == {"ledger": "good", agent.snapshot: "unknown"}
    found = agent.ask("find", "note.md", code=0)["hits"]
    assert [(one["reference"], one["standing"]) for one in found] == [("vault", "unknown")]


def test_another_vault_than_the_one_that_keeps_it_proves_nothing(agent: Agent, tmp_path: Path) -> None:
    agent.environment = {"MUNIMENT_VAULT": (tmp_path / "vault").as_uri()}
    plan = agent.ask("backup", "plan")["plan_id"]
    here = agent.ask("backup", "create", "--plan", plan, "--yes")["backup_id"]
    found = agent.verify(code=4)
    assert found == {"ledger": "good", here: "good", agent.snapshot: "unknown", "vault": "good"}
    shutil.rmtree(tmp_path / "vault")
