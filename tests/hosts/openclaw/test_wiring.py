"""Hosts, OpenClaw: the house on its layouts: whose session, which cards, which commands (spec 1)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from muniment.app import House
from muniment.archive.model import Receipt, Request
from muniment.errors import MunimentError
from muniment.hosts.errors import InvalidFlag, InvalidSession
from muniment.hosts.openclaw import layout
from muniment.hosts.session import Session, SessionSource
from muniment.path import RelPath
from muniment.settings import BadSetting

KEY = "agent:main:abc123"

Build = Callable[..., House]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    place = tmp_path / "base" / "w-7" / "workspace"
    place.mkdir(parents=True)
    (place / "report.md").write_text("# Report\n")
    return place


@pytest.fixture
def build(tmp_path: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Build:
    """Makes houses that stand in the workspace, with nothing of this machine's set-up."""
    monkeypatch.chdir(workspace)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))

    def make(*, flag: str | None = None, client_root: str | None = None, **variables: str) -> House:
        environment = {"HOME": str(tmp_path / "home"), **variables}
        return House(workspace=flag, environment=environment, note=lambda _: None, client_root=client_root)

    return make


@pytest.fixture
def on_the_hosted_layout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, "BASE", str(tmp_path / "base"))


def keep(house: House, name: str = "report.md") -> Receipt:
    (receipt,) = house.archive({}).keep([Request(RelPath.parse(name))], card_root=house.card_root())
    return receipt


def refused(house: House) -> MunimentError:
    """The refusal of archiving, after which the source is as it was."""
    with pytest.raises(MunimentError) as caught:
        house.card_root()
        keep(house)
    assert Path("report.md").read_text() == "# Report\n"
    assert not Path("archives").exists()
    return caught.value


def test_off_openclaw_an_id_stands_in(build: Build) -> None:
    assert build().session().source is SessionSource.FALLBACK


@pytest.mark.usefixtures("on_the_hosted_layout")
def test_a_hosted_workspace_owes_the_hosts_session(build: Build, workspace: Path) -> None:
    for house in (build(client_root=str(workspace)), build(WORKSPACE_DIR=str(workspace))):
        assert isinstance(refused(house), InvalidSession)


@pytest.mark.usefixtures("on_the_hosted_layout")
def test_cards_of_a_hosted_workspace_begin_with_its_path(build: Build, workspace: Path) -> None:
    house = build(WORKSPACE_DIR=str(workspace), MUNIMENT_SESSION_KEY=KEY)
    receipt = keep(house)
    assert receipt.card.archive_root == f"{workspace}/archives/abc123"
    assert (workspace / "archives" / "abc123" / receipt.card.subpath).read_text() == "# Report\n"


@pytest.mark.usefixtures("on_the_hosted_layout")
@pytest.mark.parametrize("flag", [".", "..", "/tmp"])
def test_a_flag_is_compared_with_what_the_host_says(build: Build, workspace: Path, flag: str) -> None:
    house = build(flag=flag, WORKSPACE_DIR=str(workspace), MUNIMENT_SESSION_KEY=KEY)
    if flag == ".":
        assert keep(house).address.archive_id == "abc123"
    else:
        assert isinstance(refused(house), InvalidFlag)


@pytest.mark.usefixtures("on_the_hosted_layout")
def test_a_card_that_would_lead_outside_is_refused_before_anything_moves(
    build: Build, workspace: Path
) -> None:
    house = build(
        WORKSPACE_DIR=str(workspace), MUNIMENT_SESSION_KEY=KEY, MUNIMENT_ARCHIVE_CARD_PREFIX="/elsewhere"
    )
    assert isinstance(refused(house), InvalidFlag)


def test_the_plugins_key_is_the_hosts(build: Build) -> None:
    assert build(MUNIMENT_SESSION_KEY=KEY).session() == Session("abc123", SessionSource.HOST, KEY)


def test_a_shared_server_does_not_believe_its_environment(build: Build) -> None:
    house = build(MUNIMENT_SESSION_KEY=KEY).for_client(None, one_session=False)
    assert house.session().source is SessionSource.FALLBACK
    assert build(MUNIMENT_SESSION_KEY=KEY).for_client(None, one_session=True).session().key == KEY


def test_what_a_call_told_is_compared_with_the_environment(build: Build) -> None:
    house = build(MUNIMENT_SESSION_KEY=KEY)
    house.use_session("agent:main:other", None)
    with pytest.raises(InvalidSession, match=r"MUNIMENT_SESSION_KEY.*--session"):
        house.session()
    house.use_session(None, json.dumps({"sessionKey": KEY}).encode())
    assert house.session().source is SessionSource.HOST


def test_a_command_of_the_persons_own_tells_the_session(build: Build, tmp_path: Path) -> None:
    own = tmp_path / "config" / "muniment"
    own.mkdir(parents=True)
    (own / "config.toml").write_text(f'[archive]\nsession_command = ["printf", "{KEY}"]\n')
    assert build().session() == Session("abc123", SessionSource.COMMAND, KEY)
    shown = build(MUNIMENT_ARCHIVE_SESSION_COMMAND="printf 'agent:main:two'").session()
    assert shown.archive_id == "two"


def test_a_command_that_fails_blocks(build: Build) -> None:
    assert isinstance(refused(build(MUNIMENT_ARCHIVE_SESSION_COMMAND="false")), InvalidSession)


def test_a_command_of_the_workspace_is_never_run(build: Build, workspace: Path) -> None:
    (workspace / ".muniment").mkdir()
    (workspace / ".muniment" / "config.toml").write_text('[archive]\nsession_command = ["touch", "ran"]\n')
    assert isinstance(refused(build()), BadSetting)
    assert not (workspace / "ran").exists()


def with_job(home: Path, session: str) -> None:
    store = home / ".openclaw" / "cron" / "jobs.json"
    store.parent.mkdir(parents=True)
    store.write_text(json.dumps({"version": 1, "jobs": [{"id": "j", "sessionKey": session}]}))


def test_a_scheduled_run_is_kept_twice(build: Build, tmp_path: Path, workspace: Path) -> None:
    with_job(tmp_path / "home", "agent:main:telegram:42")
    receipt = keep(build(MUNIMENT_SESSION_KEY="agent:main:cron:j:run:r7"))
    told = receipt.to_json()
    assert receipt.address.archive_id == "r7"
    assert told["mirrored_archive_root"] == f"{workspace}/archives/42"
    for archive_id, subpath in (("r7", receipt.card.subpath), ("42", told["mirrored_subpath"])):
        assert Path("archives", archive_id, str(subpath)).read_text() == "# Report\n"


def test_a_scheduled_run_is_named_by_the_hosts_session_id(build: Build, tmp_path: Path) -> None:
    with_job(tmp_path / "home", "agent:main:telegram:42")
    key = "agent:main:cron:j"
    assert build(MUNIMENT_SESSION_KEY=key, MUNIMENT_SESSION_ID="0d9f").session().archive_id == "0d9f"
    assert isinstance(refused(build(MUNIMENT_SESSION_KEY=key)), InvalidSession)


def test_a_job_that_nobody_knows_blocks(build: Build) -> None:
    assert isinstance(refused(build(MUNIMENT_SESSION_KEY="agent:main:cron:j:run:r7")), InvalidSession)
