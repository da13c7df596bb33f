"""Hosts, OpenClaw: the plugin in the real OpenClaw (spec 1, archive id; spec 6, hosts)."""

from __future__ import annotations

import json
import os
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.hosts.openclaw.gateway import BASE, Gateway, OpenClaw, can_mount

KEY = "agent:main:abc123"
SKILLS = {"archive", "backup", "handoff", "job"}
ADDRESS = re.compile(r"\d{4}(-\d\d){5}/")

pytestmark = pytest.mark.xdist_group("openclaw")
"""One process has the gateway; two would start two."""

needs_mounts = pytest.mark.skipif(
    not can_mount(), reason="mounts need root and a mount namespace of one's own"
)


@pytest.mark.skipif("CI" not in os.environ, reason="only continuous integration must be able to mount")
def test_continuous_integration_can_mount() -> None:
    assert can_mount()


def card_of(text: str) -> dict[str, Any]:
    """The one card of an answer, which is its fence and nothing else."""
    found = re.fullmatch(r"```json\n(\{.*\})\n```", text, re.DOTALL)
    assert found is not None, text
    card: dict[str, Any] = json.loads(found[1])
    return card


def said(body: Any) -> tuple[str, dict[str, Any]]:
    """The text of an answer of `/tools/invoke`, and its details."""
    (part,) = body["result"]["content"]
    assert part["type"] == "text"
    return part["text"], body["result"]["details"]


def test_the_plugin_is_loaded_without_a_network(gateway: Gateway) -> None:
    told = gateway.claw.told("plugins", "inspect", "muniment", "--runtime", network=False)
    plugin = told["plugin"]
    assert (plugin["status"], plugin["enabled"]) == ("loaded", True)
    assert plugin["toolNames"] == ["archive"]
    assert [one["name"] for one in told["typedHooks"]] == ["before_tool_call"]


def test_a_call_with_a_host_session_archives_and_gives_the_card(gateway: Gateway) -> None:
    (gateway.claw.workspace / "report.md").write_text("# Report\n")
    status, body = gateway.invoke("archive", {"kind": "file", "sourcePath": "report.md"}, KEY)
    text, details = said(body)
    card = card_of(text)
    assert status == 200 and card["type"] == "archive_grid"
    subpath = card["data"].pop("subpath")
    root = str(gateway.claw.workspace / "archives" / "abc123")
    assert card["data"] == {"type": "file", "archive_root": root, "name": "report.md"}
    assert ADDRESS.match(subpath) and subpath.endswith("/report.md")
    assert (Path(root) / subpath).read_text() == "# Report\n"
    assert not (gateway.claw.workspace / "report.md").exists()
    (evidence,) = details["evidence"]
    assert (evidence["archive_id"], evidence["archive_id_source"]) == ("abc123", "host")
    assert (details["ok"], details["status"]) == (True, "completed")


def test_an_argument_that_was_made_up_is_refused(gateway: Gateway) -> None:
    (gateway.claw.workspace / "note.md").write_text("# Note\n")
    arguments = {"kind": "file", "sourcePath": "note.md", "sessionKey": "agent:main:other"}
    status, body = gateway.invoke("archive", arguments, KEY)
    text, details = said(body)
    assert status == 200
    assert text == (
        "Archive blocked: The call does not fit the archive's rules: sessionKey: archive takes no argument "
        "of this name (code: INVALID_INPUT)"
    )
    assert (details["ok"], details["status"]) == (False, "blocked")
    assert (gateway.claw.workspace / "note.md").read_text() == "# Note\n"
    assert not (gateway.claw.workspace / "archives" / "other").exists()


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"kind": "file", "sourcePath": "../outside.md"}, "INVALID_SOURCE"),
        ({"kind": "file", "sourcePath": "/etc/passwd"}, "INVALID_SOURCE"),
        ({"kind": "file", "sourcePath": "nowhere.md"}, "MISSING_SOURCE"),
        ({"kind": "else", "sourcePath": "note.md"}, "INVALID_INPUT"),
        ({}, "INVALID_INPUT"),
    ],
)
def test_a_refusal_is_the_programs_own_line(gateway: Gateway, arguments: dict[str, str], code: str) -> None:
    status, body = gateway.invoke("archive", arguments, KEY)
    text, details = said(body)
    assert status == 200 and details["status"] == "blocked"
    assert re.fullmatch(rf"Archive blocked: [^\n]+ \(code: {code}\)", text), text


def test_a_session_that_is_none_is_refused(gateway: Gateway) -> None:
    (gateway.claw.workspace / "nobody.md").write_text("# Nobody\n")
    _, body = gateway.invoke("archive", {"kind": "file", "sourcePath": "nobody.md"}, "agent:main:unknown")
    text, _ = said(body)
    assert text.startswith("Archive blocked: invalid Session") and text.endswith("(code: INVALID_SESSION)")
    assert (gateway.claw.workspace / "nobody.md").exists()


def test_without_the_hosts_token_nothing_is_called(gateway: Gateway) -> None:
    status, _ = gateway.invoke("archive", {"kind": "file", "sourcePath": "note.md"}, KEY, token=None)
    assert status == 401


def test_two_sessions_at_once_keep_their_ids_apart(gateway: Gateway) -> None:
    names = {f"{session}-{number}.md": session for session in ("left", "right") for number in range(4)}
    for name in names:
        (gateway.claw.workspace / name).write_text(f"# {name}\n")

    def keep(name: str) -> dict[str, Any]:
        arguments = {"kind": "file", "sourcePath": name}
        _, body = gateway.invoke("archive", arguments, f"agent:main:{names[name]}")
        return card_of(said(body)[0])

    with ThreadPoolExecutor(len(names)) as pool:
        cards = dict(zip(names, pool.map(keep, names), strict=True))
    for name, session in names.items():
        data = cards[name]["data"]
        assert data["archive_root"] == str(gateway.claw.workspace / "archives" / session)
        assert Path(data["archive_root"], data["subpath"]).read_text() == f"# {name}\n"


def test_an_agent_calls_it_in_its_own_loop(gateway: Gateway) -> None:
    assert "Successfully wrote" in gateway.turn("main", "write", {"path": "made.md", "content": "# Made\n"})
    card = card_of(gateway.turn("main", "archive", {"kind": "file", "sourcePath": "made.md"}))
    data = card["data"]
    assert Path(data["archive_root"], data["subpath"]).read_text() == "# Made\n"


@needs_mounts
def test_on_the_hosted_layout_the_card_begins_with_its_root(gateway: Gateway) -> None:
    (gateway.claw.hosted / "report.md").write_text("# Hosted\n")
    _, body = gateway.invoke("archive", {"kind": "file", "sourcePath": "report.md"}, "agent:hosted:s-1")
    data = card_of(said(body)[0])["data"]
    assert data["archive_root"] == f"{BASE}/workspace/w-7/workspace/archives/s-1"
    assert (gateway.claw.hosted / "archives" / "s-1" / data["subpath"]).read_text() == "# Hosted\n"


# The guard, in the agent's own loop


@pytest.fixture
def kept(gateway: Gateway) -> Path:
    """Something in the archive of the ordinary workspace."""
    (gateway.claw.workspace / "kept.md").write_text("# Kept\n")
    _, body = gateway.invoke("archive", {"kind": "file", "sourcePath": "kept.md"}, KEY)
    data = card_of(said(body)[0])["data"]
    return Path(data["archive_root"], data["subpath"])


def calls(path: str) -> list[tuple[str, dict[str, Any]]]:
    """What an agent may try in order to change a file."""
    patch = f"*** Begin Patch\n*** Update File: {path}\n@@\n-# Kept\n+# Changed\n*** End Patch"
    return [
        ("write", {"path": path, "content": "# Changed\n"}),
        ("edit", {"path": path, "edits": [{"oldText": "# Kept", "newText": "# Changed"}]}),
        ("apply_patch", {"input": patch}),
        ("exec", {"command": f"echo changed > {path}"}),
        ("exec", {"command": f"sed -i s/Kept/Changed/ {path}"}),
    ]


def test_a_write_into_the_archive_is_denied_and_told_why(gateway: Gateway, kept: Path) -> None:
    inside = str(kept.relative_to(gateway.claw.workspace))
    spellings = (inside, str(kept), f"file://{kept}", f"@{kept}")
    tried = [*calls(inside), *(calls(spelling)[0] for spelling in spellings[1:])]
    tried.append(calls(f"@{kept}")[2])
    tried.append(("exec", {"command": f"rm {kept.name}", "workdir": str(kept.parent)}))
    for tool, arguments in tried:
        outcome = gateway.turn("main", tool, arguments)
        assert "ARCHIVE_PROTECTED" in outcome, (tool, arguments, outcome)
        assert kept.read_text() == "# Kept\n", (tool, arguments)


def test_elsewhere_agents_write_as_ever(gateway: Gateway, kept: Path) -> None:
    gateway.turn("main", "exec", {"command": "echo one > elsewhere.txt"})
    assert (gateway.claw.workspace / "elsewhere.txt").read_text() == "one\n"
    gateway.turn("main", "exec", {"command": f"cat {kept}"})
    gateway.turn("main", "write", {"path": str(gateway.claw.place / "outside.txt"), "content": "two"})
    assert (gateway.claw.place / "outside.txt").read_text() == "two", "no hosted layout, no such rule"


@needs_mounts
def test_on_the_hosted_layout_nothing_is_written_outside_the_workspace(gateway: Gateway) -> None:
    outside = BASE / "elsewhere" / "x.md"
    for tool, arguments in [*calls(str(outside))[:1], *calls(str(outside))[3:4]]:
        outcome = gateway.turn("hosted", tool, arguments)
        assert "OUTSIDE_WORKSPACE" in outcome, (tool, outcome)
    assert list(gateway.claw.outside.iterdir()) == []
    gateway.turn("hosted", "write", {"path": "inside.md", "content": "# Inside\n"})
    assert (gateway.claw.hosted / "inside.md").read_text() == "# Inside\n"


@needs_mounts
def test_a_guard_that_can_not_be_asked_stops_writes_on_the_hosted_layout_only(gateway: Gateway) -> None:
    program = gateway.claw.program
    whole = program.read_text()
    program.write_text("#!/bin/sh\nexit 70\n")
    try:
        outcome = gateway.turn("hosted", "write", {"path": "unseen.md", "content": "x"})
        assert "PROGRAM_FAILED" in outcome and not (gateway.claw.hosted / "unseen.md").exists()
        gateway.turn("main", "write", {"path": "unseen.md", "content": "x"})
        assert (gateway.claw.workspace / "unseen.md").read_text() == "x"
        _, body = gateway.invoke("archive", {"kind": "file", "sourcePath": "unseen.md"}, KEY)
        assert said(body)[0] == (
            "Archive blocked: The program ended with exit code 70 and no answer (code: PROGRAM_FAILED)"
        )
    finally:
        program.write_text(whole)


# Skills and bundles


def listed(claw: OpenClaw) -> dict[str, Any]:
    """Our skills, as OpenClaw lists them for its agent, without a network."""
    told = claw.told("skills", "list", "--agent", "main", network=False)
    return {one["name"]: one for one in told["skills"] if one["name"] in SKILLS}


def test_the_skills_come_with_the_plugin(gateway: Gateway) -> None:
    ours = listed(gateway.claw)
    assert set(ours) == SKILLS and all(one["eligible"] for one in ours.values()), ours


def test_the_bundle_installs_and_its_skills_are_listed(openclaw: OpenClaw) -> None:
    done = openclaw.muniment("install", "--bundle", str(openclaw.place / "bundle"))
    assert done.returncode == 0, done.stderr
    words = ("plugins", "install", "./bundle", "--force", "--accept-capabilities")
    done = openclaw.openclaw(*words, network=False)
    assert done.returncode == 0, done.stdout + done.stderr
    ours = listed(openclaw)
    assert set(ours) == SKILLS and all(one["eligible"] for one in ours.values()), ours
    assert {one["source"] for one in ours.values()} == {"openclaw-extra"}


def test_after_openclaw_wrote_its_file_anew_only_ours_goes(openclaw: OpenClaw) -> None:
    """It drops comments and puts things of its own in; the rest has to outlive us."""
    assert openclaw.muniment("install", "openclaw").returncode == 0
    done = openclaw.openclaw("config", "set", "logging.level", "debug", network=False)
    assert done.returncode == 0, done.stdout + done.stderr
    written = json.loads(openclaw.configuration.read_text())
    assert written["plugins"]["entries"]["muniment"]["enabled"] is True
    assert openclaw.muniment("uninstall", "openclaw").returncode == 0
    del written["plugins"]
    assert json.loads(openclaw.configuration.read_text()) == written


@pytest.mark.long
def test_a_plugin_file_with_a_second_name_is_not_loaded(openclaw: OpenClaw) -> None:
    """Why the plugin is copied: package managers link what they install, and OpenClaw takes no such file."""
    assert openclaw.muniment("install", "openclaw").returncode == 0
    words = ("plugins", "inspect", "muniment", "--runtime", "--json")
    told = openclaw.openclaw(*words, network=False)
    assert json.loads(told.stdout)["plugin"]["status"] == "loaded", told.stdout
    os.link(openclaw.state / "muniment-plugin" / "index.ts", openclaw.place / "second")
    told = openclaw.openclaw(*words, network=False)
    assert '"loaded"' not in told.stdout, told.stdout
