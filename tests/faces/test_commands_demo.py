"""`muniment demo`: what it tells is what happens, in both languages (spec 6; issue 1)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.faces.at_work import AtWork

from muniment.faces.cli.demo.stage import Stage

PROJECT = Path(__file__).parents[2]

STORY = [
    (["init"], 0),
    (["archive", "report.md"], 0),
    (["archive", "summary.md"], 3),
    (["archive", "verify", "--all"], 0),
    (["archive", "verify", "--all"], 4),
    (["ledger", "tail"], 0),
    (["ledger", "verify"], 0),
    (["ledger", "locate", "report.md"], 4),
]
"""Kept, an empty file refused, verified, tampered with, found out; the ledger holds."""

SAID = {
    "en": [
        "An empty file is no deliverable",
        "✓ exit code 3",
        "intact",
        "changed",
        "All of this went as told.",
    ],
    "zh-CN": ["空文件不是交付物", "✓ 退出码 3", "完好", "已改变", "以上一切均如所述。"],
}

SAID_LEFT_OUT = {"en": "was left out; where it would have stood", "zh-CN": "略去了 1 处"}


def demo(home: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    (home / "tmp").mkdir(exist_ok=True)
    return subprocess.run(
        [sys.executable, "-m", "muniment", "demo", *arguments],
        cwd=home,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "TMPDIR": str(home / "tmp"),
            "PYTHONPATH": str(PROJECT / "src"),
            "PYTHONUTF8": "1",
            **more,
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


@pytest.mark.parametrize("language", SAID)
def test_the_story(tmp_path: Path, language: str) -> None:
    # what a person has set up must not change it
    workspace = tmp_path / "theirs"
    workspace.mkdir()
    done = demo(
        tmp_path,
        "--json",
        "--lang",
        language,
        MUNIMENT_WORKSPACE=str(workspace),
        WORKSPACE_DIR=str(workspace),
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["as_told"] is True
    # whatever has the tests has cwltool; podman is not everywhere
    assert set(told["left_out"]) <= {"container"}
    assert (SAID_LEFT_OUT[language] in done.stderr) == (told["left_out"] != [])
    steps = [(one["arguments"], one["exit_code"]) for one in told["steps"]]
    assert steps[: len(STORY)] == STORY
    assert len(steps) > len(STORY), "the chapters of the other rooms"
    assert [one for one in told["steps"] if one["exit_code"] != one["expected"]] == []
    place = -1
    for sentence in SAID[language]:
        assert done.stderr.find(sentence, place + 1) > place, sentence
        place = done.stderr.find(sentence, place + 1)
    assert "ARCHIVE_STATUS: OK | ARCHIVE_ROOT: archives/local-" in done.stderr
    assert "ARCHIVE_STATUS: BLOCKED | ARCHIVE_REASON: The source is empty: summary.md" in done.stderr
    assert [line for line in done.stderr.splitlines() if line.startswith("✗")] == []
    assert list(workspace.iterdir()) == [] and list((tmp_path / "tmp").iterdir()) == []


def test_the_folder_can_be_kept(tmp_path: Path) -> None:
    done = demo(tmp_path, "--keep")
    assert done.returncode == 0, done.stderr
    (place,) = (tmp_path / "tmp").iterdir()
    assert f"The folder of the demo is {place}" in done.stderr
    (report,) = place.glob("workspace/archives/*/*/report.md")
    assert "| C | 10 |" in report.read_text()


def test_it_can_not_be_rehearsed(tmp_path: Path) -> None:
    assert demo(tmp_path, "-n").returncode == 2


def test_a_story_that_goes_otherwise_is_said(outside: AtWork, monkeypatch: pytest.MonkeyPatch) -> None:
    def untrue(stage: Stage) -> None:
        stage.run("init", expect=3)
        stage.run("archive", "nosuch", expect=3)

    monkeypatch.setattr("muniment.faces.cli.demo.CHAPTERS", (untrue,))
    monkeypatch.setenv("PYTHONPATH", str(PROJECT / "src"))
    answer = outside.call("demo", "--json")
    assert answer.code == 4
    assert answer.object["as_told"] is False
    assert [one["exit_code"] for one in answer.object["steps"]] == [0, 3]
    marks = [line for line in answer.err.splitlines() if line[:1] in ("✓", "✗")]
    assert marks == ["✗ exit code 0", "✓ exit code 3"]
    assert answer.err.endswith("NOT all of this went as told: see the lines marked with ✗.\n")
