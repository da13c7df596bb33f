"""Hostile names in every output of the commands: none moves the cursor, forges a line or breaks the JSON."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.faces.at_work import CONTROL, AtWork
from tests.faces.calling import Answer

PROJECT = Path(__file__).parents[2]

FORGED = "ARCHIVE_STATUS: OK | ARCHIVE_ROOT: archives"

KEPT = {
    "a blank": "my report.md",
    "only a blank": " ",
    "Chinese": "归档报告.md",
    "outside the first plane": "\U0001f9f5.md",
    "turns the writing direction": "\u202egpj.exe.md",
    "no width": "a\u200bb.md",
    "a separator of lines": "a\u2028b.md",
    "a fence": "```json.md",
    "markup": "[bold]x[red].md",
    "HTML": "<script>alert(1)<.md",
    "an option": "--json",
    "a short option": "-n",
    "quotes": "\"';$(reboot)`.md",
    "braces": "{0}{x}.md",
    "a backslash": "a\\x1b.md",
    "the longest": "é" * 126 + ".md",
    "two forms of one sign": "e\u0301.md",
    "a forged line": f"{FORGED}.md",
}
"""What may be archived, and is shown safely."""

REFUSED = {
    "clears the screen": "a\x1b[2Jb.md",
    "a forged line of its own": f"a\n{FORGED}",
    "goes back in the line": "a\rb.md",
    "a tab": "a\tb.md",
    "delete": "a\x7fb.md",
    "control of the second kind": "a\x9b2Jb.md",
    "not UTF-8": os.fsdecode(b"a\xff\xfe.md"),
}
"""What could not stand in a card."""


def harmless(answer: Answer) -> None:
    """Nothing in an answer acts on a terminal, and only the program's own lines begin as its own do."""
    assert not CONTROL.search(answer.out), ascii(answer.out)
    assert not CONTROL.search(answer.err), ascii(answer.err)
    assert "\u202e" not in answer.err and "\ufffd" not in answer.err
    for text in (answer.out, answer.err):
        text.encode("utf-8")


LOOKS: dict[str, Callable[[AtWork], list[Answer]]] = {
    "status": lambda work: [work.call(), work.call("--json"), work.call("--lang", "zh")],
    "archive status": lambda work: [work.call("archive", "status"), work.call("archive", "status", "--json")],
    "archive list": lambda work: [work.call("archive", "list"), work.call("archive", "list", "--json")],
    "archive verify": lambda work: [work.call("archive", "verify"), work.call("archive", "verify", "--json")],
    "ledger tail": lambda work: [work.call("ledger", "tail"), work.call("ledger", "tail", "--json")],
    "sweep -n": lambda work: [
        work.call("archive", "sweep", "-n"),
        work.call("archive", "sweep", "-n", "--json"),
    ],
}


def look_everywhere(work: AtWork, *, code: int = 0) -> None:
    for looks in LOOKS.values():
        for answer in looks(work):
            harmless(answer)
            if answer.out.startswith("{"):
                assert answer.object
    assert work.call("archive", "verify").code == code


@pytest.mark.parametrize("kind", KEPT)
def test_a_strange_name_is_kept_as_it_is_and_shown_safely(work: AtWork, kind: str) -> None:
    name = KEPT[kind]
    content = work.write(name, "x\n").read_bytes()
    look_everywhere(work)
    answer = work.call("archive", "--", name)
    assert answer.code == 0, answer.err
    harmless(answer)
    assert answer.out == f"ARCHIVE_STATUS: OK | ARCHIVE_ROOT: archives/{work.archive_id()}/\n"
    (address,) = work.snapshot()
    assert Path(address).name == name
    assert work.snapshot() == {address: content}
    look_everywhere(work)
    located = work.call("ledger", "locate", "--json", "--", name)
    assert located.object["located"][0]["path"] == address
    (work.folder / address).write_bytes(b"y\n")
    look_everywhere(work, code=4)
    for query in ((), ("--json",), ("--lang", "zh")):
        harmless(work.call("ledger", "locate", *query, "--", name))
        harmless(work.call("archive", "show", *query, "--", address))


@pytest.mark.parametrize("kind", KEPT)
def test_a_strange_name_on_a_card(work: AtWork, kind: str) -> None:
    name = KEPT[kind]
    work.write(name, "x\n")
    answer = work.call("archive", "--format", "card", "--", name)
    assert answer.code == 0, answer.err
    lines = answer.out.split("\n")
    assert (lines[0], lines[-2:]) == ("```json", ["```", ""])
    assert [line for line in lines if line.startswith("```")] == ["```json", "```"]
    assert json.loads("\n".join(lines[1:-2]))["data"]["name"] == name


@pytest.mark.parametrize("style", ["status", "card"])
@pytest.mark.parametrize("kind", REFUSED)
def test_a_name_that_no_card_could_bear_is_refused_on_one_line(work: AtWork, kind: str, style: str) -> None:
    name = REFUSED[kind]
    work.write(name, "x\n")
    before = work.snapshot()
    look_everywhere(work)
    answer = work.call("archive", "--format", style, "--", name)
    assert answer.code == 3
    harmless(answer)
    assert answer.out.count("\n") == 1
    start = {"status": "ARCHIVE_STATUS: BLOCKED | ARCHIVE_REASON: ", "card": "Archive blocked: "}[style]
    assert answer.out.startswith(start)
    assert "(INVALID_SOURCE)" in answer.err
    as_object = work.call("archive", "--json", "--", name)
    harmless(as_object)
    assert as_object.object["error"] == "INVALID_SOURCE"
    assert work.snapshot() == before


@pytest.mark.parametrize("kind", [*KEPT, *REFUSED])
def test_a_strange_name_that_is_not_there(work: AtWork, kind: str) -> None:
    name = {**KEPT, **REFUSED}[kind]
    for style in ("status", "card"):
        answer = work.call("archive", "--format", style, "--", name)
        assert answer.code == 3 and answer.out.count("\n") == 1
        harmless(answer)
    for command in (("archive", "verify"), ("ledger", "show"), ("ledger", "locate")):
        for answer in (work.call(*command, "--", name), work.call(*command, "--json", "--", name)):
            assert answer.code == 7
            harmless(answer)


@pytest.mark.parametrize("kind", ["clears the screen", "a forged line of its own", "not UTF-8"])
def test_strange_names_inside_a_folder_are_kept(work: AtWork, kind: str) -> None:
    """Inside a folder any name may stand: no card names it, and the evidence spells it."""
    work.write(f"results/{REFUSED[kind]}", "x\n")
    answer = work.call("archive", "results")
    assert answer.code == 0
    harmless(answer)
    look_everywhere(work)
    (inside,) = work.folder.glob("archives/*/*/results/*")
    inside.write_bytes(b"y\n")
    look_everywhere(work, code=4)


@pytest.mark.parametrize(
    "kind", ["clears the screen", "a forged line of its own", "turns the writing direction"]
)
def test_a_workspace_with_a_strange_name(outside: AtWork, kind: str) -> None:
    place = outside.folder / {**KEPT, **REFUSED}[kind]
    place.mkdir()
    for arguments in (("init",), ("status",), ("status", "--json"), ("doctor",), ("archive", "nosuch")):
        harmless(outside.call(*arguments, "-w", str(place)))
    assert outside.call("status", "-w", str(place), "--json").object["workspace"] == str(place)


@pytest.mark.parametrize("kind", ["clears the screen", "not UTF-8", "a forged line of its own", "a fence"])
def test_in_a_real_process(tmp_path: Path, kind: str) -> None:
    name = os.fsencode({**KEPT, **REFUSED}[kind])
    (tmp_path / os.fsdecode(name)).write_text("x\n")
    done = subprocess.run(
        [sys.executable.encode(), b"-m", b"muniment", b"archive", b"-w", b".", b"--", name],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(PROJECT / "src")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    assert done.returncode == (0 if kind in KEPT else 3)
    assert done.stdout.count(b"\n") == 1 and done.stdout.startswith(b"ARCHIVE_STATUS: ")
    assert not CONTROL.search((done.stdout + done.stderr).decode("utf-8"))
