"""The four layouts: their places and sets as spec 4 lays them down, and what a proposal makes of them."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.backup.world import RULES, World, put

from muniment.backup import restore_log
from muniment.backup.errors import RestoreLogBroken, RestoreLogDoubled
from muniment.backup.model import Request
from muniment.backup.proposal import propose, size_without
from muniment.backup.rules import Category
from muniment.hosts.claude.places import places as claude
from muniment.hosts.generic.places import places as generic
from muniment.hosts.openclaw.places import places as openclaw
from muniment.hosts.places import Places
from muniment.hosts.starchild.places import places as starchild

Worlds = Callable[..., World]
HERE = Path("/home/ada/project")
HOME = Path("/home/ada")

CORE = "memory prompt config tasks skills setup.sh .env"
CORE_DATA = "scheduled_jobs.json preview_history.json previews.json sessions"
ASK, ASK_DATA = "output scripts", "scheduled_jobs.db tasks.json .user-packages .local"
SKIP = ".active-upload.json .restore.log"
SKIP_DATA = (
    "logs auto_update.log skills-install.log .bash_processes .startup-tasks hibernation_state.json memory"
    " .npm-cache .agents"
)


def test_the_warning_of_size_counts_further_paths_too(world: World, tmp_path: Path) -> None:
    put(tmp_path / "further/large", bytes(3000))
    world.rules()
    backups = world.backups
    backups.options = replace(backups.options, most=2000)
    assert not any("at most" in str(one) for one in backups.plan(Request()).plan.warnings)
    planned = backups.plan(Request(include=(str(tmp_path / "further"),)))
    assert any("at most" in str(one) for one in planned.plan.warnings)


def test_starchild_is_as_it_was_laid_down() -> None:
    places = starchild()
    assert (places.workspace, places.data) == (Path("/data/workspace"), Path("/data"))
    assert places.rules == Path("/data/workspace/config/backup_rules.md")
    assert places.restore_log == Path("/workspace/.restore.log")
    assert places.upload_state == Path("/workspace/.active-upload.json")
    assert places.extraction == Path("/data/workspace/.restore")
    assert places.api_required
    sets, data = places.workspace_sets, places.data_sets
    assert (sets.core, sets.ask, sets.skip) == tuple(frozenset(x.split()) for x in (CORE, ASK, SKIP))
    wanted = tuple(frozenset(x.split()) for x in (CORE_DATA, ASK_DATA, SKIP_DATA))
    assert (data.core, data.ask, data.skip) == wanted


@pytest.mark.parametrize(
    "places",
    [generic(HERE), openclaw(HERE, HOME / ".openclaw"), claude(HERE, HOME)],
    ids=lambda one: one.name,
)
def test_the_others_keep_their_state_in_the_workspace(places: Places) -> None:
    assert places.rules == HERE / ".muniment" / "backup_rules.md"
    assert places.restore_log == HERE / ".muniment" / "restore.log"
    assert places.upload_state == HERE / ".muniment" / "active-upload.json"
    assert places.extraction == HERE / ".restore"
    assert not places.api_required
    assert places.data == {
        "generic": None,
        "openclaw": HOME / ".openclaw",
        "claude": HOME / ".claude",
    }.get(places.name)
    for sets in (places.workspace_sets, places.data_sets):
        assert not (sets.core & sets.ask or sets.core & sets.skip or sets.ask & sets.skip)


def test_a_workspace_inside_the_data_folder_is_saved_once(make_world: Worlds) -> None:
    world = make_world()
    state = world.place / "state"
    workspace = state / "workspace"
    put(workspace / "SOUL.md", "me")
    put(state / "openclaw.json", "{}")
    put(state / "logs" / "l", "l")
    put(state / "cache" / "c", "c")
    world.places = openclaw(workspace, state)
    world.rules()
    receipt = world.snapshot()
    assert world.paths(receipt) == {"files/data/openclaw.json", "files/workspace/SOUL.md"}
    told = [str(one) for one in world.plan().plan.warnings]
    assert [one for one in told if "data/openclaw.json" in one and "secrets" in one]


def test_the_proposal_of_a_host_with_a_data_folder(make_world: Worlds) -> None:
    world = make_world(layout="starchild")
    assert world.data is not None
    sizes = {
        "data/sessions/s": 11 << 20,
        "data/odd/o": 21 << 20,
        "data/.local/l": 1,
        "data/.Cache-X/c": 1,
        "data/logs/l": 60 << 20,
        "data/small/s": 1,
        "data/workspace/output/o": 51 << 20,
        "data/workspace/memory/m": 1,
        "data/workspace/my_cache_dir/c": 1,
        "data/workspace/a.tmp.txt": 1,
        "data/workspace/scripts/s": 21 << 20,
    }
    for rel, size in sizes.items():
        path = world.place / rel
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as stream:
            stream.truncate(size)
    proposal = propose(world.places)
    assert [one.size for one in proposal.entries] == sorted(
        (one.size for one in proposal.entries), reverse=True
    )
    found = {(one.section, one.name): one for one in proposal.entries}
    advised = {key for key, one in found.items() if one.advice is not None}
    assert advised == {
        ("data", "sessions"),
        ("data", "odd"),
        ("data", ".local"),
        ("data", ".Cache-X"),
        ("workspace", "output"),
        ("workspace", "my_cache_dir"),
        ("workspace", "a.tmp.txt"),
    }
    assert found["data", "logs"].category is Category.SKIP
    assert found["workspace", "scripts"].category is Category.ASK
    assert found["data", "small"].category is Category.UNKNOWN
    left = size_without(proposal, [one.pattern for one in proposal.suggested])
    assert proposal.size - left == (11 << 20) + (21 << 20) + (51 << 20) + 4
    assert proposal.to_json()["summary"]["total_size_bytes"] == proposal.size  # type: ignore[index, call-overload]


BEGUN = (
    '{"ts":"2026-11-30T11:00:00Z","backup_id":"bk_20261129_100000_abcd","section":"restore","status":"begun",'
    '"restore":"01KDVDNA000000000000000000","sections":["files/workspace","settings"]}\n'
)


def test_one_log_under_two_names_is_one_log(tmp_path: Path) -> None:
    real = tmp_path / "data"
    real.mkdir()
    put(real / ".restore.log", BEGUN)
    (tmp_path / "alias").symlink_to(real, target_is_directory=True)
    half = restore_log.look(tmp_path / "alias" / ".restore.log", [real / ".restore.log"])
    assert half is not None and half.progress == (0, 2)


def test_two_logs_are_refused_and_both_are_named(tmp_path: Path) -> None:
    one, two = put(tmp_path / "one.log", BEGUN), put(tmp_path / "two.log", BEGUN)
    with pytest.raises(RestoreLogDoubled) as refused:
        restore_log.look(one, [two])
    assert str(one) in refused.value.where and str(two) in refused.value.where


def test_a_torn_last_line_counts_as_not_written(tmp_path: Path) -> None:
    done = '{"ts":"2026-11-30T11:00:01Z","backup_id":"b","section":"settings","status":"ok"}'
    half = restore_log.look(put(tmp_path / "log", BEGUN + done))
    assert half is not None and half.done == ()
    half = restore_log.look(put(tmp_path / "log", BEGUN + done + "\n"))
    assert half is not None and half.done == ("settings",)


@pytest.mark.parametrize("text", ["", "{}", "{}\n", "[]\n", BEGUN.replace("begun", "ok"), BEGUN + "no\n"])
def test_a_log_that_can_not_be_read_stops_everything(tmp_path: Path, text: str) -> None:
    with pytest.raises(RestoreLogBroken):
        restore_log.look(put(tmp_path / "log", text))


def test_no_log_is_no_restore(tmp_path: Path) -> None:
    assert restore_log.look(tmp_path / "none") is None


def test_the_data_section_of_a_linked_workspace(make_world: Worlds) -> None:
    """The workspace is reached by a link from elsewhere, and is still not saved twice."""
    world = make_world(layout="starchild")
    assert world.data is not None
    world.write("memory/m", "m")
    link = world.place / "link"
    os.symlink(world.workspace, link)
    world.places = starchild(link, world.data)
    put(link / "config" / "backup_rules.md", RULES)
    api = world.place / "api"
    api.mkdir()
    from muniment.backup.model import Request

    receipt = world.snapshot(Request(api_dir=str(api)))
    assert not [path for path in world.paths(receipt) if path.startswith("files/data/workspace")]
    assert "files/workspace/memory/m" in world.paths(receipt)
