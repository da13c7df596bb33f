"""Faces, command line: `muniment doctor`: what is wrong with the workspace, and what could be mended."""

from __future__ import annotations

from muniment.desk.doctor import examine
from muniment.desk.finding import Level
from muniment.desk.vault import KeptVault
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
    "empty addresses": say("empty addresses"),
    "permissions": say("permissions"),
    "file system": say("file system"),
    "ledger": say("ledger"),
    "clock": say("clock"),
    "session": say("session"),
    "containers": say("containers"),
    "schedule": say("schedule"),
    "vault": say("vault"),
    "vault's device": say("vault's device"),
    "damaged snapshots": say("damaged snapshots"),
    "vault's last check": say("vault's last check"),
    "vault's leftovers": say("vault's leftovers"),
}
"""What `doctor` looks at; any other subject is the id of an act, or a reference."""


@command(more=(say("With -n it looks and mends nothing."),))
def doctor(call: Call) -> ExitCode | None:
    """Look for what is wrong, and mend what is safe to mend."""
    house = call.house
    workspace = house.workspace
    kept = KeptVault(house.whereabouts, house.any_vault)
    findings = examine(
        workspace,
        mend=not call.options.dry_run,
        subjects=house.subjects(),
        vault=kept,
        containers=house.containers.runtime,
        session=house.current_session,
        schedule=house.scheduled,
    )

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
