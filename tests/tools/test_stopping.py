"""Tools: an act that is cancelled or killed ends whole or not at all (issue 2, must show 4)."""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
from pathlib import Path
from typing import Any, cast

import anyio
import pytest
from mcp import Client
from tests.faults.stage import refuse_or_skip
from tests.tools.server import ERAS, PATIENCE_S, Era, Pipes, command, piped, variables

from muniment.archive.model import Receipt, Request
from muniment.disk.root import Root
from muniment.disk.tree import Progress
from muniment.errors import Interrupted
from muniment.faces.house import House
from muniment.faces.tools.server import build_server

PARTS, PART = 60, 1 << 20


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return with_folder(tmp_path, PARTS, PART)


def with_folder(place: Path, parts: int, size: int) -> Path:
    """A workspace with a folder of so many parts of this size."""
    folder = place / "workspace" / "big"
    folder.mkdir(parents=True)
    for number in range(parts):
        (folder / f"{number}.bin").write_bytes(bytes([number]) * size)
    return folder.parent


def muniment(workspace: Path, *arguments: str) -> Any:
    """What the command line says, as JSON."""
    program = [*command()[:-1], *arguments, "--json", "-w", str(workspace)]
    done = subprocess.run(program, capture_output=True, env=variables(workspace), cwd=workspace, check=False)
    return done.returncode, json.loads(done.stdout)


def check_nothing_is_half_done(workspace: Path, parts: int = PARTS, size: int = PART) -> str:
    """The folder lies whole at one of its two places, and the record agrees; which it is."""
    places = [place for place in (workspace / "big", *workspace.glob("archives/*/*/big")) if place.exists()]
    assert len(places) == 1
    assert {path.name: path.read_bytes() for path in places[0].iterdir()} == {
        f"{number}.bin": bytes([number]) * size for number in range(parts)
    }
    assert not list((workspace / ".muniment" / "journal").glob("*.json"))
    code, verified = muniment(workspace, "archive", "verify", "--all")
    assert code == 0, verified
    assert muniment(workspace, "ledger", "verify")[0] == 0
    kept = [one["path"] for one in verified["verified"]]
    if places[0] == workspace / "big":
        assert kept == []
        return "source"
    assert kept == [places[0].relative_to(workspace).as_posix()]
    return "target"


class Endless:
    """A stand-in for the archive: reads for ever, and tells of it, until it is stopped."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.ended = threading.Event()
        self.stopped_by: BaseException | None = None

    def keep(self, requests: list[Request], *, card_root: str, progress: Progress) -> list[Receipt]:
        try:
            while True:
                progress(0, 1)
                self.begun.set()
        except BaseException as error:
            self.stopped_by = error
            raise
        finally:
            self.ended.set()


class EndlessHouse:
    """A stand-in for the rooms around it."""

    def __init__(self, root: Root, archive: Endless) -> None:
        self.root = root
        self._archive = archive
        self.closed = False

    def use_session(self, **_: object) -> None:
        """Nothing is told."""

    def card_root(self) -> str:
        return "/archives"

    def archive(self, _: object) -> Endless:
        return self._archive

    def close(self) -> None:
        self.closed = True


@pytest.mark.parametrize("era", ERAS)
def test_a_cancelled_act_stops_at_its_next_step(tmp_path: Path, era: Era) -> None:
    archive = Endless()
    with Root.open(tmp_path) as root:
        house = EndlessHouse(root, archive)

        async def whole_talk() -> None:
            server = build_server(lambda *_: cast(House, house))
            async with Client(server, mode=era) as client, anyio.create_task_group() as group:

                async def ask() -> None:
                    await client.call_tool("archive", {"kind": "file", "sourcePath": "report.md"})

                group.start_soon(ask)
                await anyio.to_thread.run_sync(archive.begun.wait)
                group.cancel_scope.cancel()

        anyio.run(whole_talk)
        assert archive.ended.wait(PATIENCE_S)
    assert isinstance(archive.stopped_by, Interrupted), "an error of ours, so that all is put back"


def first_notice(pipes: Pipes) -> int:
    """Begin to archive the folder and wait for the first notice that it is read."""
    number = pipes.call("archive", {"kind": "file", "sourcePath": "big"}, progressToken="p")
    while pipes.read().get("method") != "notifications/progress":
        pass
    return number


def test_cancelling_leaves_nothing_half_done(workspace: Path) -> None:
    with piped(workspace) as pipes:
        pipes.begin()
        number = first_notice(pipes)
        pipes.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}})
        # the server lives on, and the next act finds the room free
        status = pipes.answer(pipes.call("archive_status", {}))
        assert status["result"]["isError"] is False
        pipes.end()
        assert pipes.process.returncode == 0
    check_nothing_is_half_done(workspace)


def test_a_client_that_leaves_in_the_middle_leaves_nothing_half_done(workspace: Path) -> None:
    with piped(workspace) as pipes:
        pipes.begin()
        first_notice(pipes)
        pipes.end()
    check_nothing_is_half_done(workspace)


POINTS = [*(("renameat2", number) for number in (1, 2, 3, 5)), ("fsync", 2), ("syncfs", 1), ("unlinkat", 1)]
"""Where the server is killed: before the n-th of a system call in the thread that acts."""


def test_a_killed_server_leaves_nothing_half_done(tmp_path: Path) -> None:
    if shutil.which("strace") is None:
        refuse_or_skip("strace")
    killed, found = [], set()
    for call, number in POINTS:
        workspace = with_folder(tmp_path / f"{call}-{number}", 3, 1 << 10)
        inject = f"inject={call}:signal=KILL:when={number}"
        program = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={call}", "-e", inject, *command()]
        with piped(workspace, program=program) as pipes:
            pipes.begin()
            pipes.call("archive", {"kind": "file", "sourcePath": "big"})
            assert pipes.process.stdout is not None
            if not pipes.process.stdout.readline():
                killed.append((call, number))
        assert muniment(workspace, "doctor")[0] == 0
        found.add(check_nothing_is_half_done(workspace, 3, 1 << 10))
    assert found == {"source", "target"}, "kills before and after the move were both tried"
    assert len(killed) >= 5
