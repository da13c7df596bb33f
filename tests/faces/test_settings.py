"""`muniment settings`: what is in force, and where each value came from."""

from __future__ import annotations

from tests.faces.at_work import AtWork
from tests.faces.calling import call

from muniment.faces.cli.root import ROOT

ENVIRONMENT = {"MUNIMENT_ARCHIVE_NAMES": "short"}


def test_names_and_values() -> None:
    answer = call("settings", root=ROOT, environment=ENVIRONMENT)
    assert answer.code == 0
    assert [line.split() for line in answer.out.splitlines()] == [
        ["setting", "value"],
        ["archive.names", "short"],
        ["confirm.relayed", "plan,create"],
        ["vault.url"],
    ]


def test_explained() -> None:
    lines = call("settings", "--explain", root=ROOT, environment=ENVIRONMENT).out.splitlines()
    assert lines[1].split() == ["archive.names", "short", "environment", "How", "names", "are", "kept."]
    assert "default" in lines[2]
    chinese = call("settings", "--explain", "--lang", "zh", root=ROOT, environment=ENVIRONMENT).out
    assert "环境变量" in chinese and "默认值" in chinese


def test_for_a_program() -> None:
    (one,) = call("settings", "archive.names", "--json", root=ROOT, environment=ENVIRONMENT).object[
        "settings"
    ]
    assert one == {
        "name": "archive.names",
        "value": "short",
        "origin": "environment",
        "about": "How names are kept.",
        "variables": ["MUNIMENT_ARCHIVE_NAMES"],
    }
    found = call("settings", "--json", root=ROOT).object["settings"]
    assert [(one["name"], one["value"]) for one in found] == [
        ("archive.names", "kept"),
        ("confirm.relayed", ["plan", "create"]),
        ("vault.url", ""),
    ]


def test_a_secret_is_never_shown(work: AtWork) -> None:
    environment = {"MUNIMENT_JOB_WES_TOKEN": "s3cret-word"}
    for more in ([], ["--explain"], ["--json"]):
        answer = work.call("settings", *more, environment=environment)
        assert answer.code == 0 and "job.wes_token" in answer.out
        assert "s3cret" not in answer.out + answer.err
    (told,) = work.call("settings", "job.wes_token", "--json", environment=environment).object["settings"]
    assert (told["value"], told["origin"]) == (None, "environment")
    assert "not shown" in work.call("settings", "job.wes_token", environment=environment).out
    assert work.asked("settings", "job.wes_token")["settings"][0]["value"] == ""


def test_a_name_that_nothing_has() -> None:
    answer = call("settings", "archive.name", root=ROOT)
    assert answer.code == 2
    assert "no setting has this name; did you mean archive.names?" in answer.err
    assert "BAD_SETTING" in answer.err


def test_a_value_that_can_not_be() -> None:
    answer = call("settings", "--json", root=ROOT, environment={"MUNIMENT_ARCHIVE_NAMES": "long"})
    assert (answer.code, answer.object["error"], answer.object["where"]) == (2, "BAD_SETTING", "environment")
