"""Tools: single calls on a real house: what they take in of a client, and what they leave behind."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from muniment.app import House
from muniment.backup.rules_writing import write_stock
from muniment.faces.tools.table import TOOLS
from muniment.faces.tools.tool import Answer, Client

Tell = Callable[..., Answer]


@pytest.fixture
def tell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tell:
    """Calls a tool as the server does: in a house of its own, closed afterwards."""
    (tmp_path / "w").mkdir()
    environment = {
        "HOME": str(tmp_path),
        "MUNIMENT_WORKSPACE": str(tmp_path / "w"),
        "MUNIMENT_JOB_ROOT": str(tmp_path / "jobs"),
        "MUNIMENT_HANDOFF_NONCES": str(tmp_path / "nonces"),
        "MUNIMENT_VAULT_URL": f"file://{tmp_path}/vault",
    }
    for name in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    shared = House(workspace=None, environment=environment, note=lambda message: None)
    write_stock(shared.backups.places.rules)
    shared.close()

    def call(name: str, **given: Any) -> Answer:
        house = shared.for_client(None, one_session=False)
        try:
            answer = TOOLS[name].answer(house, given, Client(lambda files, read: None))
        finally:
            house.close()
        assert isinstance(answer, Answer)
        return answer

    return call


def test_a_call_leaves_nothing_open(tell: Tell) -> None:
    """A server lives long, and a process has only so many descriptors."""
    assert not tell("job_init", job="j", engine="cwl").failed
    planned = tell("backup_plan").structured
    assert planned is not None
    assert not tell("backup_create", planId=planned["plan_id"], personAgreed="yes").failed
    given: dict[str, dict[str, Any]] = {
        name: {} for name, tool in TOOLS.items() if tool.shape.reads_only and not tool.shape.required
    }
    given |= {"desk_verify": {"all": True}, "desk_find": {"text": "j"}, "job_show": {"job": "j"}}
    for name, arguments in given.items():
        assert not tell(name, **arguments).failed, name
        before = set(os.listdir("/proc/self/fd"))
        tell(name, **arguments)
        assert set(os.listdir("/proc/self/fd")) == before, name


@pytest.mark.parametrize("count", ["5", True, 2.5, -1, 0, 1001, None, [1]], ids=repr)
def test_a_number_that_is_none_or_too_much_is_refused_by_name(tell: Tell, count: object) -> None:
    assert tell("desk_timeline", count=count).text == (
        "Desk blocked: The call does not fit the tool: count: a whole number from 1 to 1000 was expected "
        "(code: INVALID_ARGUMENT)"
    )


def test_a_number_within_its_bounds_is_taken(tell: Tell) -> None:
    for number in (1, 1000):
        assert not tell("job_init", job=f"j{number}", engine="cwl").failed
    told = json.loads(tell("desk_timeline", count=1).text.removeprefix("```json\n").removesuffix("```"))
    assert [one["subject"] for one in told["events"]] == ["job:j1000"]
