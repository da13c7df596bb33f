"""Through the command line: sessions and flags that are refused, and cards where a host told a session."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.archive.command import muniment
from tests.archive.scene import Scene, open_scene, untouched

KEY = "agent:main:abc123"


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    with open_scene(tmp_path / "w") as opened:
        opened.write("report.md")
        yield opened


@pytest.mark.parametrize(
    "key", ["", "abc123", "agent:main:", "agent:main:unknown", "unknown", "global", "agent:main: "], ids=repr
)
def test_a_key_that_names_no_session(scene: Scene, key: str) -> None:
    with untouched(scene, "report.md"):
        answer = muniment(scene.path, "archive", "report.md", "--session", key, "--format", "card")
    assert answer.code == 3
    assert answer.out.startswith("Archive blocked: invalid Session")
    assert answer.out.endswith(" (code: INVALID_SESSION)\n")


@pytest.mark.parametrize(
    "told", [b"", b"\xff", b"{}", "🧵 Session: unknown\n".encode(), b"Session: agent:main:abc123\n"], ids=repr
)
def test_an_answer_without_a_session(scene: Scene, told: bytes) -> None:
    with untouched(scene, "report.md"):
        answer = muniment(scene.path, "archive", "report.md", "--session-status", "-", typed=told)
    assert answer.code == 3
    assert answer.out.startswith("ARCHIVE_STATUS: BLOCKED | ARCHIVE_REASON: invalid Session")


def test_two_sources_that_differ_are_both_named(scene: Scene) -> None:
    told = "🧵 Session: agent:main:other • updated just now\n".encode()
    arguments = ("archive", "report.md", "--session", KEY, "--session-status", "-")
    with untouched(scene, "report.md"):
        answer = muniment(scene.path, *arguments, typed=told)
    assert answer.code == 3 and KEY in answer.out and "agent:main:other" in answer.out


def test_a_session_of_the_host_prints_the_line_and_its_card(scene: Scene) -> None:
    told = f"status\n🧵 Session: {KEY} • updated just now\n".encode()
    answer = muniment(scene.path, "archive", "report.md", "--session-status", "-", typed=told)
    (event,) = scene.events()
    assert (event.evidence["archive_id"], event.evidence["archive_id_source"]) == ("abc123", "session_status")
    line, *card = answer.out.splitlines()
    assert line == "ARCHIVE_STATUS: OK | ARCHIVE_ROOT: archives/abc123/"
    assert card[0] == "```json" and card[-1] == "```"
    assert '    "archive_root": "archives/abc123",' in card


def test_a_workspace_flag_that_differs_from_the_hosts(
    scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The base of the hosted layout is a constant that tests may replace."""
    monkeypatch.setattr("muniment.hosts.openclaw.layout.BASE", str(tmp_path / "base"))
    hosted = tmp_path / "base" / "w1" / "workspace"
    hosted.mkdir(parents=True)
    environment = {"OPENCLAW_WORKSPACE_DIR": str(hosted), "MUNIMENT_WORKSPACE": ""}
    arguments = ("archive", "report.md", "--session", KEY, "--json")
    with untouched(scene, "report.md"):
        for more in (("--workspace", str(scene.path)), ("--workspace", str(hosted / ".."))):
            answer = muniment(scene.path, *arguments, *more, environment=environment)
            assert (answer.code, answer.object["error"]) == (3, "INVALID_FLAG"), answer
    assert not list(hosted.iterdir())
