"""Hosts, OpenClaw: `muniment install openclaw` over configurations as people keep them (spec 6, hosts)."""

from __future__ import annotations

import difflib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from json5.loader import loads

from muniment.hosts.openclaw.folders import configuration

SOURCE = Path(__file__).parents[3] / "src"

COMMENTED = """\
// my gateway
{
  gateway: { mode: "local", auth: { mode: "token", token: 's3cret' } }, // do not share
  plugins: {
    load: { paths: ["~/work/voice" /* mine */] },
    entries: {
      voice: { enabled: true, config: { volume: 0x10, }, },
    },
  },
  /* the rest
     is as it came */
  mcp: { servers: { other: { command: "other" } } },
}
"""

ALLOWING = '{\n\t"plugins": {\n\t\t"allow": [\n\t\t\t"voice"\n\t\t]\n\t}\n}\n'


class Person:
    """Somebody with a home, and maybe an OpenClaw in it."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.state = home / ".openclaw"
        self.file = self.state / "openclaw.json"
        self.state.mkdir(parents=True)
        self.variables: dict[str, str] = {}

    def muniment(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-P", "-m", "muniment", *words],
            cwd=self.home,
            env={
                "HOME": str(self.home),
                "PATH": os.environ["PATH"],
                "PYTHONPATH": str(SOURCE),
                "PYTHONDONTWRITEBYTECODE": "1",
                **self.variables,
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )

    def states(self, *words: str) -> dict[str, str]:
        """What becomes of each file, by its name."""
        done = self.muniment(*words, "--json")
        assert done.returncode == 0, done.stderr
        told = json.loads(done.stdout)
        files = [each for host in told.get("hosts", [told]) for each in host["files"]]
        return {os.path.relpath(each["path"], self.home): each["state"] for each in files}

    def everything(self) -> dict[str, bytes]:
        """All files of OpenClaw."""
        return {
            path.relative_to(self.state).as_posix(): path.read_bytes()
            for path in sorted(self.state.rglob("*"))
            if path.is_file()
        }


@pytest.fixture
def person(tmp_path: Path) -> Person:
    return Person(tmp_path / "home")


def merged(text: str) -> Any:
    return loads(text)


@pytest.mark.parametrize(
    "before", [COMMENTED, ALLOWING, "{}", "{}\n", '{"plugins":{}}', COMMENTED.replace("\n", "\r\n")]
)
def test_only_ours_is_added_and_the_bytes_come_back(person: Person, before: str) -> None:
    person.file.write_bytes(before.encode())
    person.file.chmod(0o600)
    assert set(person.states("install", "openclaw", "--dry-run").values()) == {"new", "merged"}
    assert person.everything() == {"openclaw.json": before.encode()}, "nothing was done"

    assert person.states("install", "openclaw")[".openclaw/openclaw.json"] == "merged"
    after = person.file.read_bytes().decode()
    # Read by an independent reader: what was there, and three entries more.
    found, expected = merged(after), merged(before)
    plugins = expected.setdefault("plugins", {})
    plugins.setdefault("load", {}).setdefault("paths", []).append(str(person.state / "muniment-plugin"))
    entry = found["plugins"]["entries"]["muniment"]
    assert Path(entry["config"]["program"][0]).is_file()
    plugins.setdefault("entries", {})["muniment"] = {
        "enabled": True,
        "config": {"program": [sys.executable, "-P", "-m", "muniment"]},
    }
    if "allow" in plugins:
        plugins["allow"].append("muniment")
    assert found == expected
    # Nothing was taken out: each sign of before stands there still, in its order.
    steps = difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    assert {step[0] for step in steps} == {"equal", "insert"}
    assert person.file.stat().st_mode & 0o777 == 0o600

    again = person.everything()
    assert set(person.states("install", "openclaw").values()) == {"unchanged"}
    assert person.everything() == again
    (copy,) = [path for path in again if path.startswith("openclaw.json.")]
    assert again[copy] == before.encode()

    assert person.states("uninstall", "openclaw")[".openclaw/openclaw.json"] == "put_back"
    assert person.everything() == {"openclaw.json": before.encode()}
    assert person.states("uninstall", "openclaw") == {}


def test_it_puts_the_plugin_and_four_skills_beside_it(person: Person) -> None:
    person.states("install", "openclaw")
    plugin = person.state / "muniment-plugin"
    files = {path.relative_to(plugin).as_posix() for path in plugin.rglob("*") if path.is_file()}
    skills = {f"skills/{name}/SKILL.md" for name in ("archive", "backup", "handoff", "job")}
    assert files == {"index.ts", "openclaw.plugin.json", "package.json", *skills}
    assert {path.stat().st_nlink for path in plugin.rglob("*") if path.is_file()} == {1}
    assert set(person.states("uninstall", "openclaw").values()) == {"removed"}
    assert person.everything() == {} and not plugin.exists(), "there was no configuration before"


@pytest.mark.parametrize(
    ("broken", "code"),
    [
        ("{ plugins: { load: [ } }", "CONFIGURATION_BROKEN"),
        ("{ plugins: {} } trailing", "CONFIGURATION_BROKEN"),
        ('{"plugins": "none"}', "CONFIGURATION_SHAPE"),
        ('{"plugins": {"load": {"paths": "one"}}}', "CONFIGURATION_SHAPE"),
        ("[]", "CONFIGURATION_SHAPE"),
    ],
)
def test_a_broken_file_is_refused_and_nothing_is_touched(person: Person, broken: str, code: str) -> None:
    person.file.write_text(broken)
    done = person.muniment("install", "openclaw")
    assert done.returncode == 3 and f"({code})" in done.stderr and "openclaw.json:1:" in done.stderr
    assert person.everything() == {"openclaw.json": broken.encode()}


def test_bytes_that_are_no_text_are_refused(person: Person) -> None:
    person.file.write_bytes(b'{"a": "\xff"}')
    done = person.muniment("install", "openclaw")
    assert done.returncode == 3 and "CONFIGURATION_BROKEN" in done.stderr
    assert person.everything() == {"openclaw.json": b'{"a": "\xff"}'}


def test_what_the_owner_changed_since_stays(person: Person) -> None:
    person.file.write_text(COMMENTED)
    person.states("install", "openclaw")
    text = person.file.read_text()
    mine = text.replace('"enabled": true', '"enabled": false').replace("volume: 0x10", "volume: 9")
    assert mine != text
    person.file.write_text(mine)
    assert person.states("install", "openclaw")[".openclaw/openclaw.json"] == "unchanged"
    assert person.file.read_text() == mine, "it is not switched on again behind its owner's back"
    person.states("uninstall", "openclaw")
    left = merged(person.file.read_text())
    assert left["plugins"]["load"]["paths"] == ["~/work/voice"]
    assert left["plugins"]["entries"]["voice"]["config"] == {"volume": 9}
    assert left["plugins"]["entries"].get("muniment", {}) in ({}, {"enabled": False})
    assert "// do not share" in person.file.read_text()


@pytest.mark.parametrize(
    ("variables", "file"),
    [
        ({"OPENCLAW_STATE_DIR": "~/claw"}, "claw/openclaw.json"),
        ({"OPENCLAW_CONFIG_PATH": "~/conf/mine.json5"}, "conf/mine.json5"),
        ({"OPENCLAW_HOME": "~/other"}, "other/.openclaw/openclaw.json"),
    ],
)
def test_openclaws_own_variables_say_where_it_lives(
    person: Person, variables: dict[str, str], file: str
) -> None:
    person.variables = variables
    place = person.home / file
    place.parent.mkdir(parents=True)
    place.write_text(COMMENTED)
    assert person.states("install", "openclaw")[file] == "merged"
    (loaded,) = [path for path in merged(place.read_text())["plugins"]["load"]["paths"] if path[0] != "~"]
    assert (Path(loaded) / "index.ts").is_file()
    person.variables = {}
    assert person.states("uninstall", "openclaw")[file] == "put_back", "the receipt knows where it was"
    assert place.read_text() == COMMENTED


def test_a_former_configuration_is_found(tmp_path: Path) -> None:
    former = tmp_path / ".clawdbot"
    former.mkdir()
    (former / "clawdbot.json").write_text("{}")
    assert configuration({"HOME": str(tmp_path)}) == former / "clawdbot.json"
    (former / "openclaw.json").write_text("{}")
    assert configuration({"HOME": str(tmp_path)}) == former / "openclaw.json"
