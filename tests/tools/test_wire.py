"""Tools: the server on bare pipes: every line is the protocol's, whatever happens inside it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from tests.tools.server import SOURCE, piped

from muniment.faces.tools.table import TOOLS


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    place = tmp_path / "workspace"
    place.mkdir()
    (place / "report.md").write_text("# Report\n")
    return place


NOISY = """
import os, subprocess, sys
import muniment.archive.service as service
real = service.Archive.keep
def keep(*arguments, **named):
    print("a print")
    sys.stdout.write("a write"); sys.stdout.flush()
    os.write(1, b"a raw write")
    subprocess.run(["echo", "a child"])
    return real(*arguments, **named)
service.Archive.keep = keep
from muniment.app import main
sys.argv[1:] = ["mcp"]
sys.exit(main())
"""
"""The real server, in which an act prints in every way that there is."""


@pytest.mark.parametrize("program", [None, [sys.executable, "-c", NOISY]], ids=["quiet", "noisy"])
def test_nothing_foreign_reaches_the_client(workspace: Path, program: list[str] | None) -> None:
    with piped(workspace, program=program) as pipes:
        pipes.begin()
        pipes.raw(b"this is no JSON\n")
        pipes.raw(b'{"jsonrpc": "2.0", "id": 900, "method": "no/such/method"}\n')
        pipes.raw(b"\xff\xfe\n")
        kept = pipes.answer(pipes.call("archive", {"kind": "file", "sourcePath": "report.md"}))
        assert kept["result"]["isError"] is False
        refused = pipes.answer(pipes.call("archive", {"kind": "file", "sourcePath": "\x1b[2J\nreport.md"}))
        assert refused["result"]["isError"] is True
        assert "\n" not in refused["result"]["content"][0]["text"]
        assert "\x1b" not in refused["result"]["content"][0]["text"]
        listed = pipes.answer(pipes.ask("tools/list", {}))
        assert {tool["name"] for tool in listed["result"]["tools"]} == set(TOOLS)
        rest = pipes.end()
    assert pipes.process.returncode == 0
    for line in [*pipes.lines, *rest.splitlines()]:
        message = json.loads(line)
        assert message["jsonrpc"] == "2.0" and {"result", "error", "method"} & set(message), line


def asking(arguments: bytes) -> bytes:
    """A call of `archive` as bytes on the wire, with arguments that no client would write."""
    about = b'{"jsonrpc":"2.0","id":700,"method":"tools/call","params":{"name":"archive","arguments":'
    return about + arguments + b"}}\n"


HOSTILE = {
    "doubled": b'{"kind":"file","sourcePath":"b.md","sourcePath":"report.md","sessionKey":"agent:main:x"}',
    "NUL": b'{"kind":"file","sourcePath":"a\\u0000b"}',
    "too long": b'{"kind":"file","sourcePath":"' + b"x/" * 3000 + b'y"}',
    "a long name": b'{"' + b"k" * 100_000 + b'":"file"}',
    "many": b"{" + b",".join(b'"k%d":1' % number for number in range(10_000)) + b"}",
    "a list": b'["file","report.md"]',
    "deep": b'{"kind":' + b"[" * 100 + b"]" * 100 + b',"sourcePath":"report.md"}',
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_arguments_are_refused_and_not_repeated(workspace: Path, case: str) -> None:
    with piped(workspace) as pipes:
        pipes.begin()
        pipes.raw(asking(HOSTILE[case]))
        told = pipes.answer(700)
        assert "error" in told or told["result"]["isError"] is True
        assert len(json.dumps(told)) < 1000
    assert (workspace / "report.md").read_text() == "# Report\n"
    assert not (workspace / "archives").exists()


def test_a_line_that_is_no_message_is_passed_over(workspace: Path) -> None:
    with piped(workspace) as pipes:
        pipes.begin()
        for line in (
            asking(b'{"kind":"file","sourcePath":"\\ud800"}'),
            b"[" * 100_000 + b"\n",
            b"\n",
            b"\0\n",
        ):
            pipes.raw(line)
        pipes.answer(pipes.ask("ping", {}))
    assert not (workspace / "archives").exists()


def test_a_client_that_leaves_ends_the_server(workspace: Path) -> None:
    with piped(workspace) as pipes:
        assert pipes.end() == b""
        assert pipes.process.returncode == 0
    with piped(workspace) as pipes:
        pipes.begin()
        assert pipes.end() == b""
        assert pipes.process.returncode == 0


def test_the_server_touches_nothing_before_it_is_asked(workspace: Path) -> None:
    with piped(workspace) as pipes:
        pipes.begin()
        pipes.answer(pipes.ask("tools/list", {}))
        pipes.end()
    assert sorted(path.name for path in workspace.iterdir()) == ["report.md"]


def test_the_source_under_test_is_this_one() -> None:
    assert (SOURCE / "muniment" / "faces" / "tools" / "server.py").is_file()
