"""Notices: their form, and a program that does not listen, does not end, or says too much."""

from __future__ import annotations

import json
import os
import select
import sys
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest
from tests.backup.test_commands import Desk
from tests.backup.world import put

from muniment.backup.errors import Partial, RulesMissing, ScheduleStopped
from muniment.backup.notices import LIMIT, SCHEMA, Happened, Notice, notice_of, tell
from muniment.errors import MunimentError
from muniment.hosts.launch import attend
from muniment.message import say
from muniment.vault.errors import QuotaExceeded

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


def notice(error: BaseException, **more: object) -> Notice:
    return notice_of(error, at=NOW, workspace="/w", root_id="01J", **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("error", "event"),
    [
        (ScheduleStopped(), Happened.STOPPED),
        (Partial(id="bk", count=1), Happened.PARTIAL),
        (QuotaExceeded(limit=5), Happened.FULL),
        (RulesMissing(), Happened.FAILED),
        (MunimentError(), Happened.FAILED),
        (RuntimeError("secret"), Happened.FAILED),
    ],
)
def test_what_it_is_about(error: BaseException, event: Happened) -> None:
    assert notice(error).event is event


def test_its_form() -> None:
    """The fields that docs/protocols/backup.md promises, and no more."""
    told = notice(QuotaExceeded(limit=5, where="vault", why=say("full")), backup_id="bk_1").to_json()
    assert told == {
        "schema": SCHEMA,
        "event": "slots_full",
        "at": "2026-11-30T12:00:00.000000Z",
        "workspace": "/w",
        "root_id": "01J",
        "code": "QUOTA_EXCEEDED",
        "exit_code": 5,
        "message": "No place is left; 5 is the most that may be kept.",
        "where": "vault",
        "why": "full",
        "next": "Delete one, or name the one that the new snapshot shall replace.",
        "backup_id": "bk_1",
    }


def test_an_error_nobody_foresaw_tells_no_more_than_its_kind() -> None:
    told = notice(RuntimeError("secret")).to_json()
    assert told["where"] == "RuntimeError"
    assert "secret" not in json.dumps(told)


def test_it_fits_into_a_pipe() -> None:
    long = notice(ScheduleStopped(where="w" * 100_000, why=say("{x}", x="x" * 100_000)))
    assert len(json.dumps(long.to_json())) < 6 * LIMIT + 1000 < 65536


def program(place: Path, text: str) -> tuple[str, ...]:
    put(place / "told.py", text)
    return (sys.executable, str(place / "told.py"), str(place / "out"))


@pytest.mark.parametrize(
    "text",
    [
        "pass",  # reads nothing
        "import sys; sys.stdin.close()",
        "print('x' * 10_000_000)",  # what it says is dropped
        "import sys; print('x' * 10_000_000, file=sys.stderr)",
        "import os; os.close(0)",
    ],
)
def test_a_program_that_hardly_listens_was_told(tmp_path: Path, text: str) -> None:
    assert tell(program(tmp_path, text), notice(RulesMissing()), partial(attend, keep=False)) is None


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (("/no/such/program",), "No such file"),
        ((sys.executable, "-c", "import sys; sys.exit(9)"), "exit code 9"),
        ((sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"), "exit code -9"),
        (("a\0b",), "null byte"),
    ],
)
def test_one_that_fails_is_a_sentence(command: tuple[str, ...], why: str) -> None:
    told = tell(command, notice(RulesMissing()), partial(attend, keep=False))
    assert why in str(told)


def test_one_that_does_not_end_is_ended_with_all_it_started(tmp_path: Path) -> None:
    """Both hold a pipe open, which ends when the last of them is gone."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        command = ("sh", "-c", 'exec > "$0"; echo begun; sleep 600 & wait', str(pipe))
        told = tell(command, notice(RulesMissing()), partial(attend, keep=False, time_out_s=2.0))
        assert "not done within 2 s" in str(told)
        said = b""
        # A kill takes effect in the kernel's time.
        while select.select([reader], [], [], 60)[0] and (part := os.read(reader, 64)):
            said += part
        assert said in (b"begun\n", b""), "nothing, where the machine was too busy to begin it"
        assert os.read(reader, 64) == b"", "nobody holds it any more"
    finally:
        os.close(reader)


def test_no_shell_reads_it(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    told = tell(("echo", f"; touch {mark}"), notice(RulesMissing()), partial(attend, keep=False))
    assert told is None
    assert not mark.exists()


def test_damage_that_verify_finds_is_told(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.call("rules", "default")
    planned = desk.call("plan", "--json").object["plan_id"]
    stored = desk.call("create", "--plan", planned, "--yes", "--json").object["backup_id"]
    for pack in (tmp_path / "vault").glob("packs/*/*"):
        os.chmod(pack, 0o600)
        data = bytearray(pack.read_bytes())
        middle = len(data) // 2
        # More than one bit: some bits of a deflated stream can be another and still give the same bytes.
        data[middle - 32 : middle + 32] = bytes(64)
        pack.write_bytes(data)
    command = ",".join(program(tmp_path, "import sys; open(sys.argv[1], 'a').write(sys.stdin.read())"))
    ended = desk.call("verify", stored, "--json", MUNIMENT_NOTIFY_COMMAND=command)
    assert ended.code == 4
    assert ended.object["result"]["notified"] == {"told": True, "why": None}
    told = json.loads((tmp_path / "out").read_text())
    assert (told["event"], told["backup_id"], told["exit_code"]) == ("damage_found", stored, 4)
