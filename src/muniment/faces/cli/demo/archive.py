"""Faces, command line: the demo's chapter of the archive: kept, verified, tampered with, found out."""

from __future__ import annotations

from muniment.faces.cli.demo.stage import Stage
from muniment.message import say

_REPORT = """# Report

Three of the four sensors drifted in November; the fourth was replaced on the 12th.

| sensor | drift in mK |
|---|---|
| A | 12 |
| B | 7 |
| C | 19 |
"""


def archive_chapter(stage: Stage) -> None:
    """A report is archived, verified, altered by one byte, and the alteration is shown."""
    stage.tell(say("An agent has written a report in its workspace."))
    report = stage.write("report.md", _REPORT)
    stage.run("init")

    stage.tell(
        say("It is archived: moved, made durable, and read back at its new place before anything is said.")
    )
    stage.run("archive", "report.md")
    kept = stage.ask("archive", "verify")["verified"][0]
    stage.as_told &= not report.exists()

    stage.tell(say("An empty file is no deliverable, whatever the agent says of it."))
    stage.write("summary.md", "")
    stage.run("archive", "summary.md", expect=3)

    stage.tell(say("Any time later, the bytes are read again where they lie."))
    stage.run("archive", "verify", "--all")

    stage.tell(say("Now somebody changes a single byte behind everyone's back: 19 mK become 10."))
    place = stage.workspace / kept["path"]
    place.write_bytes(place.read_bytes().replace(b"| C | 19 |", b"| C | 10 |"))
    stage.run("archive", "verify", "--all", expect=4)

    stage.tell(say("The ledger tells what was kept, and its own chain still holds."))
    stage.run("ledger", "tail")
    stage.run("ledger", "verify")
    stage.run("ledger", "locate", "report.md", expect=4)
