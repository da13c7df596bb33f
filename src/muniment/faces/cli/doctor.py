"""Faces, command line: `muniment doctor`: what is wrong with the workspace, and what could be mended."""

from __future__ import annotations

from muniment.desk.doctor import Level, examine
from muniment.errors import ExitCode
from muniment.faces.cli.call import Call
from muniment.faces.cli.frame import command
from muniment.message import say

_MARKS = {Level.GOOD: "✓", Level.MENDED: "✓", Level.WARNING: "⚠", Level.WRONG: "✗"}
_LEVELS = {
    Level.GOOD: say("good"),
    Level.MENDED: say("mended"),
    Level.WARNING: say("warning"),
    Level.WRONG: say("wrong"),
}
_SUBJECTS = {
    "half-done acts": say("half-done acts"),
    "unfinished files": say("unfinished files"),
    "permissions": say("permissions"),
    "file system": say("file system"),
    "ledger": say("ledger"),
}
"""What `doctor` looks at; any other subject is the id of an act."""


@command(more=(say("With -n it looks and mends nothing."),))
def doctor(call: Call) -> ExitCode | None:
    """Look for what is wrong, and mend what is safe to mend."""
    findings = examine(call.house.workspace, mend=not call.options.dry_run)

    def show_them() -> None:
        columns = [say("state"), say("subject"), say("finding")]
        rows = [
            [
                say("{mark} {level}", mark=_MARKS[one.level], level=_LEVELS[one.level]),
                _SUBJECTS.get(one.subject, one.subject),
                one.message,
            ]
            for one in findings
        ]
        call.terminal.table(columns, rows)

    call.terminal.result({"findings": [one.to_json() for one in findings]}, show_them)
    return ExitCode.NOT_VERIFIED if any(one.level is Level.WRONG for one in findings) else None
