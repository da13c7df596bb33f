"""The command line as a real process: signals, pipes, full disks, locales, closed streams."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

import pytest

PROJECT = Path(__file__).parents[2]
REAL = [sys.executable, "-m", "muniment"]
TESTED = [sys.executable, "-m", "tests.faces.program"]


def environment(home: Path, **more: str) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / "config"),
        "PYTHONPATH": f"{PROJECT / 'src'}{os.pathsep}{PROJECT}",
        "PYTHONDONTWRITEBYTECODE": "1",
        **more,
    }


def process(
    command: Sequence[str | bytes],
    home: Path,
    more: Mapping[str, str] | None = None,
    out: IO[bytes] | int = subprocess.PIPE,
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        command,
        env=environment(home, **(more or {})),
        stdin=subprocess.DEVNULL,
        stdout=out,
        stderr=subprocess.PIPE,
        check=False,
    )


def test_the_real_program_speaks(tmp_path: Path) -> None:
    done = process([*REAL, "--help"], tmp_path)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.startswith(b"Usage: muniment ")
    chinese = process([*REAL, "--help"], tmp_path, {"LANG": "zh_CN.UTF-8"})
    assert chinese.stdout.decode().startswith("用法：muniment ")


def test_settings_come_from_the_user_s_file(tmp_path: Path) -> None:
    file = tmp_path / "config" / "muniment" / "config.toml"
    file.parent.mkdir(parents=True)

    def refused() -> None:
        done = process([*REAL, "settings", "--json"], tmp_path)
        told = json.loads(done.stdout)
        assert done.returncode == told["exit_code"] == 2
        assert told["error"] == "BAD_SETTING"
        assert told["where"] == str(file)

    for content in (b"no.such = 1\n", b"not toml", b"\xff", b"archive.format = 1\n", b"#" * ((1 << 20) + 1)):
        file.write_bytes(content)
        refused()
    file.unlink()
    os.mkfifo(file)
    refused()
    file.unlink()
    file.mkdir()
    refused()


def test_a_user_s_file_may_be_a_link_to_where_it_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "config" / "muniment" / "config.toml"
    file.parent.mkdir(parents=True)
    kept = tmp_path / "dotfiles" / "muniment.toml"
    kept.parent.mkdir()
    kept.write_text('archive.format = "card"\n')
    file.symlink_to(kept)
    done = process([*REAL, "settings", "archive.format", "--json"], tmp_path)
    (one,) = json.loads(done.stdout)["settings"]
    assert (one["value"], one["origin"]) == ("card", str(kept))


def test_a_hook_goes_its_own_way_and_loads_nothing(tmp_path: Path) -> None:
    watch = (
        "import sys, muniment.__main__ as entrance\n"
        "sys.argv = ['muniment', 'hook', 'no\\x1bsuch']\n"
        "code = entrance.main()\n"
        "heavy = {'click', 'rich', 'json', 'gettext', 'muniment.app', 'muniment.errors'} & set(sys.modules)\n"
        "print(code, sorted(heavy))\n"
    )
    done = process([sys.executable, "-c", watch], tmp_path)
    assert done.stdout == b"1 []\n"
    assert b"NO_SUCH_HOOK" in done.stderr and b"\x1b" not in done.stderr


def test_help_loads_neither_rich_nor_any_command(tmp_path: Path) -> None:
    watch = (
        "import sys\n"
        "sys.argv = ['muniment', '--help']\n"
        "from muniment.__main__ import main\n"
        "main()\n"
        "names = {'rich', 'pydantic', 'sqlalchemy', 'asyncio', 'muniment.faces.cli.settings', 'tomllib'}\n"
        "print(sorted(names & set(sys.modules)), file=sys.stderr)\n"
    )
    assert process([sys.executable, "-c", watch], tmp_path).stderr == b"[]\n"


def test_settings_are_known_without_the_rooms(tmp_path: Path) -> None:
    """Every command reads the settings of all rooms, and few need more of most rooms."""
    watch = (
        "import sys\n"
        "sys.argv = ['muniment', 'settings', '--json']\n"
        "from muniment.__main__ import main\n"
        "main()\n"
        "rooms = [f'muniment.{one}.model' for one in ('archive', 'job', 'handoff', 'backup')]\n"
        "rooms += ['muniment.job.tool_run', 'muniment.vault.store']\n"
        "print([name for name in rooms if name in sys.modules], file=sys.stderr)\n"
    )
    assert process([sys.executable, "-c", watch], tmp_path).stderr == b"[]\n"


def test_a_reader_that_leaves_is_no_error_to_talk_about(tmp_path: Path) -> None:
    with subprocess.Popen(
        [*TESTED, "flood"],
        env=environment(tmp_path),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as running:
        assert running.stdout is not None and running.stderr is not None
        running.stdout.readline()
        running.stdout.close()
        assert running.stderr.read() == b""
        assert running.wait() == 1


def test_a_failure_keeps_its_exit_code_though_nobody_reads(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as gone:
        done = process([*TESTED, "found", "--json"], tmp_path, out=gone)
    assert done.returncode == 4
    assert b"NOT_VERIFIED" in done.stderr and b"Exception ignored" not in done.stderr


def test_a_full_disk_behind_standard_output_is_said(tmp_path: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        done = process([*TESTED, "echo", "a"], tmp_path, out=full)
    assert done.returncode == 1
    assert b"no space is left on the device (ENOSPC)" in done.stderr
    assert b"Exception ignored" not in done.stderr


def test_ctrl_c_is_said_and_gives_130(tmp_path: Path) -> None:
    with subprocess.Popen(
        [*TESTED, "wait", "--json"],
        env=environment(tmp_path),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # whoever runs the tests in the background has the signal ignored, and that is inherited
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as running:
        assert running.stdout is not None and running.stderr is not None
        assert running.stderr.readline() == b"waiting\n"
        running.send_signal(signal.SIGINT)
        assert running.wait() == 130
        assert json.loads(running.stdout.read())["error"] == "INTERRUPTED"
        assert running.stderr.read().startswith(b"muniment: Stopped. (INTERRUPTED)\n")


@pytest.mark.parametrize("language", ["en", "zh-CN"])
def test_a_terminal_that_knows_only_ascii_gets_an_answer(tmp_path: Path, language: str) -> None:
    ascii_only = {"PYTHONIOENCODING": "ascii:strict", "PYTHONUTF8": "0"}
    words = [*TESTED, "echo", "--lang", language, "--note", "归档"]
    names: list[str | bytes] = ["--", "归档é😀", b"\xff"]
    done = process([*words, *names], tmp_path, ascii_only)
    assert done.returncode == 0, done.stderr
    assert (done.stdout + done.stderr).isascii()
    as_object = process([*words, "--json", *names], tmp_path, ascii_only)
    assert as_object.stdout.isascii()
    assert json.loads(as_object.stdout)["texts"] == ["归档é😀", "\\xff"]
    refused = process([*TESTED, b"\xff\xe9", "--lang", language, "--json"], tmp_path, ascii_only)
    assert json.loads(refused.stdout)["exit_code"] == refused.returncode == 2


def test_the_c_locale_gets_an_answer(tmp_path: Path) -> None:
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = process([*TESTED, "echo", "--json", "归档", b"\xff"], tmp_path, plain)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["texts"][1] == "\\xff"


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_are_no_reason_to_crash(tmp_path: Path, closed: str) -> None:
    script = f'"$0" -m tests.faces.program echo a --note b {closed}'
    done = process(["sh", "-c", script, sys.executable], tmp_path)
    assert done.returncode == 0
    assert b"Traceback" not in done.stderr


def test_what_is_piped_in_may_be_nothing_and_no_stream_at_all(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "a.md").write_text("a\n")
    script = f'"$0" -m muniment archive a.md -w {tmp_path}/work --session-status - --json '
    for how in ("<&-", "</dev/null", "<<< nonsense", "<<< 'Session: agent:main:abc'"):
        done = process(["bash", "-c", script + how, sys.executable], tmp_path)
        told = json.loads(done.stdout)
        assert (done.returncode, told["error"], told["message"]) == (
            3,
            "INVALID_SESSION",
            "invalid Session",
        ), how
    assert (tmp_path / "work" / "a.md").exists()
    told_by_the_host = "<<< '🧵 Session: agent:main:abc123 • updated just now'"
    done = process(["bash", "-c", script + told_by_the_host, sys.executable], tmp_path)
    (receipt,) = json.loads(done.stdout)["receipts"]
    assert (receipt["archive_id"], receipt["archive_id_source"]) == ("abc123", "session_status")


def test_the_shell_s_completion_script_works_in_a_real_bash(tmp_path: Path) -> None:
    program = tmp_path / "muniment"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m muniment "$@"\n')
    program.chmod(0o755)
    script = (
        'eval "$(muniment completion bash)"; COMP_WORDS=(muniment sett); COMP_CWORD=1; '
        '_muniment_completion muniment; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = process(["bash", "-c", script], tmp_path, {"PATH": f"{tmp_path}:{os.environ['PATH']}"})
    assert (done.stdout, done.stderr) == (b"settings\n", b"")
