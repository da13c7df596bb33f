"""Hosts, OpenClaw: the hosted layout, and whose workspace one is (spec 1, hosted OpenClaw)."""

from __future__ import annotations

from pathlib import Path

import pytest

from muniment.hosts.errors import InvalidFlag
from muniment.hosts.openclaw import layout
from muniment.hosts.openclaw.layout import BASE, Hosted, card_prefix, given_paths, hosted, is_openclaw

PLACE = "/home/root/workspace/w-7/workspace"
HOSTED = Hosted("w-7", PLACE, "MCP root", BASE)


def test_the_base_is_the_one_of_the_specification() -> None:
    assert BASE == "/home/root/workspace"


def test_what_the_host_gives() -> None:
    environment = {
        "WORKSPACE_DIR": "/w",
        "OPENCLAW_WORKSPACE_DIR": "",
        "MUNIMENT_WORKSPACE": "/m",
        "PWD": PLACE,
    }
    assert given_paths(environment, "/r") == [
        ("MCP root", "/r"),
        ("MUNIMENT_WORKSPACE", "/m"),
        ("WORKSPACE_DIR", "/w"),
    ]
    assert given_paths({}) == []


@pytest.mark.parametrize("by", ["MCP root", "OPENCLAW_WORKSPACE_DIR", "WORKSPACE_DIR"])
@pytest.mark.parametrize("path", [PLACE, PLACE + "/"])
def test_a_path_of_the_host_tells_the_workspace(by: str, path: str) -> None:
    assert hosted([(by, path)]) == Hosted("w-7", PLACE, by, BASE)


@pytest.mark.parametrize(
    "path",
    [
        "/home/root/workspace",
        "/home/root/workspace/workspace",
        "/home/root/workspace/w-7",
        "/home/root/workspace/w-7/workspace/inner",
        "/home/root/workspace/a/b/workspace",
        "/home/root/workspace/../workspace",
        "/home/root/workspace/./workspace",
        "/home/root/workspace//workspace",
        "/home/root/workspace/w\n/workspace",
        "/home/root/workspaces/w/workspace",
        "x/home/root/workspace/w-7/workspace",
        "/mnt/home/root/workspace/w-7/workspace",
    ],
)
def test_any_other_path_is_not_hosted(path: str) -> None:
    assert hosted([("WORKSPACE_DIR", path)]) is None


def test_no_flag_makes_a_workspace_hosted() -> None:
    assert hosted([], PLACE) is None


@pytest.mark.parametrize("flag", ["/home/root/workspace/w-8/workspace", "/tmp", PLACE + "/inner", "/"])
def test_a_flag_that_differs_is_refused(flag: str) -> None:
    with pytest.raises(InvalidFlag) as caught:
        hosted([("MCP root", PLACE)], flag)
    assert caught.value.code == "INVALID_FLAG" and PLACE in caught.value.reason


def test_a_flag_that_says_the_same_is_fine() -> None:
    assert hosted([("MCP root", PLACE)], PLACE) == HOSTED


def test_two_paths_of_the_host_that_differ_are_refused() -> None:
    with pytest.raises(InvalidFlag):
        hosted([("MCP root", PLACE), ("MUNIMENT_WORKSPACE", "/tmp")])


def test_the_base_can_be_another_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, "BASE", "/t")
    assert hosted([("WORKSPACE_DIR", "/t/w.1/workspace")]) == Hosted(
        "w.1", "/t/w.1/workspace", "WORKSPACE_DIR", "/t"
    )


@pytest.mark.parametrize(
    ("setting", "place", "wanted"),
    [
        ("", None, "/real/w"),
        ("/shown", None, "/shown"),
        ("/shown/", None, "/shown"),
        ("", HOSTED, PLACE),
        ("/home/root/workspace/w-7/workspace/sub", HOSTED, "/home/root/workspace/w-7/workspace/sub"),
    ],
)
def test_what_cards_begin_with(setting: str, place: Hosted | None, wanted: str) -> None:
    assert card_prefix(setting, place, "/real/w") == wanted


@pytest.mark.parametrize(
    "setting",
    [
        "/elsewhere",
        "/home/root/workspace",
        "/home/root/workspaces/w",
        "/home/root/workspace/../../etc",
        "home/root/workspace/w-7/workspace",
        "/home/root/workspace//w",
        "/home/root/workspace/w/./x",
    ],
)
def test_a_card_that_would_lead_outside_is_refused(setting: str) -> None:
    with pytest.raises(InvalidFlag):
        card_prefix(setting, HOSTED, "/real/w")


@pytest.mark.parametrize(
    ("path", "place", "environment", "wanted"),
    [
        ("/home/ada/work", None, {}, False),
        ("/home/ada/work", None, {"WORKSPACE_DIR": "/home/ada/work"}, False),
        ("/home/ada/work", None, {"OPENCLAW_WORKSPACE_DIR": "/elsewhere"}, True),
        ("/home/ada/.openclaw/workspace", None, {}, True),
        ("/home/ada/.openclaw", None, {}, True),
        ("/home/ada/.openclaw2", None, {}, False),
        ("/anywhere", HOSTED, {}, True),
    ],
)
def test_whose_workspace_it_is(
    path: str, place: Hosted | None, environment: dict[str, str], wanted: bool
) -> None:
    assert is_openclaw(Path(path), place, environment, Path("/home/ada/.openclaw")) is wanted
