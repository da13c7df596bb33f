"""Faces, command line: `muniment install`: what a host's agents find, put in its place or taken away."""

from __future__ import annotations

from muniment.faces.cli.call import Call
from muniment.faces.cli.frame import argument, command, option
from muniment.faces.cli.values import Word
from muniment.faces.scripts.surroundings import surroundings
from muniment.hosts.installation import Change, State
from muniment.message import say
from muniment.path import printable

_STATES = {
    State.NEW: say("new"),
    State.REPLACED: say("replaced; what stood there is kept"),
    State.UNCHANGED: say("unchanged"),
    State.REMOVED: say("removed"),
    State.PUT_BACK: say("put back as it was before"),
    State.KEPT: say("changed since, so it stays"),
    State.GONE: say("gone already"),
}


@command(
    more=(
        say(
            "starchild: the backup skill and the eight original scripts, read-only, in skills/backup of its "
            "workspace (/data/workspace, or as DATA_DIR and WORKSPACE_DIR say)."
        ),
    ),
    examples=("muniment install starchild --dry-run", "muniment install starchild --uninstall"),
)
@option("--uninstall", is_flag=True, about=say("Take it away, and put back what it replaced."))
@argument("host", type=Word("starchild"), about=say("The host: starchild."))
def install(call: Call, host: str, uninstall: bool) -> None:
    """Give a host's agents what they need of Muniment."""
    if call.options.workspace is None:
        call.take("workspace", surroundings(call.environment)["WORKSPACE_DIR"])
    installation = call.house.installation(host)
    if call.options.dry_run:
        changes = installation.removal() if uninstall else installation.plan()
    else:
        changes = installation.uninstall() if uninstall else installation.install()
    call.terminal.result(
        {
            "host": host,
            "done": not call.options.dry_run,
            "files": [{"path": one.path.posix, "state": one.state.value} for one in changes],
        },
        lambda: _show(call, changes),
    )


def _show(call: Call, changes: list[Change]) -> None:
    call.terminal.table(
        [say("file"), say("what becomes of it")],
        [(printable(one.path.posix), _STATES[one.state]) for one in changes],
    )
