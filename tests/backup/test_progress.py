"""The progress of `backup create`, through a pseudo-terminal and without one, with the real command."""

from __future__ import annotations

import fcntl
import os
import pty
import random
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest
from tests.backup.world import put

from muniment.faces.cli.layout import screen_width

COLUMNS = 72
HOSTILE = "\x1b]0;evil\x07\x1b[2J" + "归档" * 20 + ".bin"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    found = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.pathsep.join(sys.path),
        "HOME": str(tmp_path),
        "TMPDIR": str(tmp_path),
        "LC_ALL": "C.UTF-8",
        "TERM": "xterm",
        "MUNIMENT_WORKSPACE": str(tmp_path / "workspace"),
        "MUNIMENT_VAULT_URL": (tmp_path / "vault").as_uri(),
        "MUNIMENT_LANG": "en",
    }
    # Incompressible, so that more than one line is shown on any machine.
    noise = random.Random(7)
    for number in range(24):
        put(tmp_path / "workspace" / "many" / f"{number}.bin", noise.randbytes(1 << 20))
    put(tmp_path / "workspace" / "one" / HOSTILE, noise.randbytes(3 << 20))
    done = subprocess.run([*COMMAND, "rules", "default"], env=found, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    return found


COMMAND = [sys.executable, "-m", "muniment", "backup"]


def through_a_terminal(arguments: list[str], environment: dict[str, str]) -> tuple[int, str]:
    """The exit code, and everything that a terminal of so many columns was given."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
    with subprocess.Popen(
        [*COMMAND, *arguments], stdin=theirs, stdout=theirs, stderr=theirs, env=environment
    ) as process:
        os.close(theirs)
        seen = b""
        while True:
            try:
                part = os.read(ours, 1 << 16)
            except OSError:  # the last of the other end is closed
                break
            if not part:
                break
            seen += part
    os.close(ours)
    return process.returncode, seen.decode()


def progress_lines(seen: str) -> list[str]:
    return re.findall(r"\r([^\r\n\x1b]*saving: [^\r\n\x1b]*)\x1b\[K", seen)


def test_bytes_files_and_the_path_are_shown_in_one_line_and_wiped(environment: dict[str, str]) -> None:
    code, seen = through_a_terminal(["create", "--yes"], environment)
    assert code == 0, seen
    lines = progress_lines(seen)
    assert len(lines) >= 2
    assert all(screen_width(line) < COLUMNS for line in lines)
    assert any(re.match(r"saving: \d+ %, \d+\.\d MiB / 27\.0 MiB, \d+ files?  ", line) for line in lines)
    assert any("workspace/many/" in line for line in lines)
    last = re.match(r"saving: 100 %, 27.0 MiB / 27.0 MiB, (\d+) files", lines[-1])
    assert last is not None and int(last[1]) >= 24 + 1, lines[-1]
    wiped = seen[seen.rindex(lines[-1]) :]
    assert "\r\x1b[K" in wiped, "the line is gone before the result is told"


def test_a_hostile_name_stays_a_name(environment: dict[str, str]) -> None:
    code, seen = through_a_terminal(["create", "--yes"], environment)
    assert code == 0
    assert "\x1b]0;" not in seen and "\x1b[2J" not in seen


@pytest.mark.parametrize("how", [["-q"], ["--json", "-q"]])
def test_quiet_shows_none(environment: dict[str, str], how: list[str]) -> None:
    code, seen = through_a_terminal(["create", "--yes", *how], environment)
    assert code == 0, seen
    assert "saving" not in seen


def test_off_a_terminal_there_is_none(environment: dict[str, str]) -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*COMMAND, *arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    plan = re.search(r'"plan_id": ?"([0-9a-f]{64})"', run("plan", "--json").stdout)
    assert plan is not None
    done = run("create", "--plan", plan.group(1), "--yes")
    assert done.returncode == 0, done.stderr
    assert "saving" not in done.stderr + done.stdout
