"""Faces, command line: `muniment demo`: the real program at work in a folder made for it.

Nothing is staged: each line after a `$` is a process of its own, and what stands below it is
what that process printed.  A chapter that does not go as it says ends the demo with exit code 4.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from muniment.canonical import Json
from muniment.errors import ExitCode
from muniment.faces.cli.call import Call
from muniment.faces.cli.demo.archive import archive_chapter
from muniment.faces.cli.demo.backup import backup_chapter
from muniment.faces.cli.demo.dispatch import dispatch_chapter
from muniment.faces.cli.demo.handoff import handoff_chapter
from muniment.faces.cli.demo.job import job_chapter
from muniment.faces.cli.demo.stage import Stage
from muniment.faces.cli.demo.walk import walk_chapter
from muniment.faces.cli.frame import command, option
from muniment.message import say, say_count

CHAPTERS = (archive_chapter, backup_chapter, job_chapter, handoff_chapter, dispatch_chapter, walk_chapter)


@command(rehearses=False)
@option("--keep", is_flag=True, about=say("Leave the folder of the demo for a look around."))
def demo(call: Call, keep: bool) -> ExitCode | None:
    """Show all of it at work, on a report made on the spot."""
    place = Path(tempfile.mkdtemp(prefix="muniment-demo-"))
    stage = Stage(call.terminal, place, call.build_house)
    try:
        for number, chapter in enumerate(CHAPTERS, 1):
            stage.begin(number, len(CHAPTERS))
            chapter(stage)
    finally:
        if keep:
            call.terminal.note(say("The folder of the demo is {path}", path=str(place)))
        else:
            shutil.rmtree(place)
    left_out: list[Json] = [*stage.left_out]
    call.terminal.result({"steps": stage.told, "as_told": stage.as_told, "left_out": left_out})
    if left_out:
        stage.tell(
            say_count(
                "{count} part was left out; where it would have stood, a line says what is missing here.",
                "{count} parts were left out; where they would have stood, a line says what is missing here.",
                len(left_out),
            )
        )
    if stage.as_told:
        stage.tell(say("All of this went as told."))
        return None
    stage.tell(say("NOT all of this went as told: see the lines marked with ✗."))
    return ExitCode.NOT_VERIFIED
