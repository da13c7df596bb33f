"""`muniment install` and `uninstall` as processes: what they say, several at once, the plugin folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.hosts.install.conftest import SOURCE, Home
from tests.hosts.install.texts import ALL

HOSTS = sorted(ALL)


@pytest.mark.parametrize("host", HOSTS)
def test_a_rehearsal_writes_nothing(home: Home, host: str) -> None:
    before = home.fill(host)
    code, told, _ = home.muniment("install", host, "--dry-run")
    assert code == 0 and told["done"] is False
    assert {one["state"] for one in told["files"]} == {"new", "merged"}
    assert home.files() == before and not home.store.exists()
    home.muniment("install", host)
    after = home.files()
    code, told, _ = home.muniment("uninstall", host, "--dry-run")
    assert code == 0 and {one["state"] for one in told["hosts"][0]["files"]} == {"put_back", "removed"}
    assert home.files() == after


def test_all_that_was_installed_goes_at_once_and_what_stays_is_said(home: Home) -> None:
    before = {**home.fill("claude"), **home.fill("codex"), **home.fill("cursor")}
    for host in HOSTS:
        code, told, said = home.muniment("install", host)
        assert code == 0 and told["host"] == host
        assert "/hooks" in said or host == "cursor"
    code, told, said = home.muniment("uninstall")
    assert code == 0 and [one["host"] for one in told["hosts"]] == HOSTS
    assert "Archives, ledgers, settings and snapshots" in said
    assert home.files() == before
    code, told, said = home.muniment("uninstall")
    assert code == 0 and told["hosts"] == [] and "Nothing was installed" in said


def test_the_program_is_called_by_its_own_path_and_not_from_where_the_host_works(home: Home) -> None:
    home.muniment("install", "codex")
    hooks = json.loads((home.path / ".codex/hooks.json").read_bytes())["hooks"]
    command = hooks["PreToolUse"][0]["hooks"][0]["command"]
    assert command == f"{sys.executable} -P -m muniment hook pre-tool-use"
    (home.path / "json.py").write_text("raise SystemExit('taken over')\n")
    done = subprocess.run(
        command,
        shell=True,
        input=b'{"hook_event_name": "PreToolUse"}',
        cwd=home.path,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_broken_file_is_named_with_line_and_column(home: Home) -> None:
    before = home.fill("claude")
    broken = home.write(".claude/settings.json", b'{\n  "model": "opus",\n  "hooks": {,}\n}\n')
    code, told, _ = home.muniment("install", "claude")
    assert code == 3 and told["error"] == "CONFIGURATION_BROKEN"
    assert f"{broken}:3:13" in json.dumps(told)
    assert home.files() == {**before, ".claude/settings.json": broken.read_bytes()}


def test_a_host_or_a_folder_has_to_be_named(home: Home) -> None:
    assert home.muniment("install")[0] == 2
    assert home.muniment("install", "claude", "--bundle", "x")[0] == 2
    assert home.muniment("install", "emacs")[0] == 2


def test_many_at_once_end_as_one(home: Home) -> None:
    """Six processes install and take away; whatever the order, in the end it is one or the other."""
    before = home.fill("claude")
    script = (
        "import sys; from pathlib import Path; from muniment.hosts.claude.setup import setup;"
        "from muniment.hosts.setup import uninstall; home = Path(sys.argv[1]); store = Path(sys.argv[2]);"
        "[setup(home, {}, ('/opt/m',), store).install() if n % 2 == int(sys.argv[3]) % 2"
        " else uninstall(store, 'claude') for n in range(6)]"
    )
    running = [
        subprocess.Popen(
            [sys.executable, "-P", "-c", script, str(home.path), str(home.store), str(number)],
            env={"PYTHONPATH": str(SOURCE), "PATH": os.environ["PATH"]},
            stderr=subprocess.PIPE,
        )
        for number in range(4)
    ]
    assert [process.communicate()[1] for process in running] == [b""] * 4
    home.uninstall("claude")
    assert home.files() == before


def test_the_bundle_is_whole_or_not_there(home: Home) -> None:
    code, told, _ = home.muniment("install", "--bundle", "plugin", "--dry-run")
    assert code == 0 and not (home.path / "plugin").exists()
    code, told, _ = home.muniment("install", "--bundle", "plugin")
    assert code == 0 and told["done"] is True
    made = {path.relative_to(home.path / "plugin").as_posix() for path in (home.path / "plugin").rglob("*.*")}
    assert set(told["files"]) <= made
    code, told, _ = home.muniment("install", "--bundle", "plugin")
    assert code == 5 and told["error"] == "ALREADY_THERE"


def test_a_shell_finds_what_was_quoted(home: Home, tmp_path: Path) -> None:
    program = tmp_path / "my 'own' tools" / "muniment"
    home.setup("claude", (str(program),)).install()
    said = json.loads((home.path / ".claude/settings.json").read_bytes())
    command = said["hooks"]["Stop"][0]["hooks"][0]["command"]
    program.parent.mkdir()
    program.write_text('#!/bin/sh\necho "$@"\n')
    program.chmod(0o755)
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert done.stdout == "hook stop\n"
