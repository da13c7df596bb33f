"""Faces, command line: `muniment install` and `uninstall`: what hosts are given, put there or taken away."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from muniment.canonical import Json
from muniment.faces.cli.call import Call
from muniment.faces.cli.frame import argument, command, option
from muniment.faces.cli.usage import wrong
from muniment.faces.cli.values import Word
from muniment.faces.scripts.surroundings import surroundings
from muniment.hosts.installation import State
from muniment.hosts.setup import Outcome
from muniment.message import Message, say
from muniment.path import printable

HOSTS = ("claude", "codex", "cursor", "openclaw", "starchild")

_STATES = {
    State.NEW: say("new"),
    State.REPLACED: say("replaced; what stood there is kept"),
    State.UNCHANGED: say("unchanged"),
    State.REMOVED: say("removed"),
    State.PUT_BACK: say("put back as it was before"),
    State.KEPT: say("changed since, so it stays"),
    State.GONE: say("gone already"),
    State.MERGED: say("entries added; the rest is untouched"),
    State.TAKEN_OUT: say("entries taken out; the rest is untouched"),
    State.TAKEN: say("somebody else's, so it stays as it is"),
}


@command(
    more=(
        say(
            "claude, codex, cursor: the server of the tools, the hooks, the four skills and the slash words, "
            "in the host's own folders of your home. Entries are put into its configuration files, a copy of "
            "each stands beside, and everything else in them stays byte for byte."
        ),
        say(
            "openclaw: its plugin, with the tool `archive` and the four skills, in a folder beside "
            "openclaw.json, and the entries there that load it; OPENCLAW_STATE_DIR and OPENCLAW_CONFIG_PATH "
            "count."
        ),
        say(
            "starchild: the backup skill and the eight original scripts, read-only, in skills/backup of its "
            "workspace (/data/workspace, or as DATA_DIR and WORKSPACE_DIR say)."
        ),
    ),
    examples=(
        "muniment install claude --dry-run",
        "muniment install codex",
        "muniment install starchild --uninstall",
        "muniment install --bundle muniment-plugin",
    ),
)
@option("--uninstall", is_flag=True, about=say("Take it away, and put back what it replaced."))
@option(
    "--bundle", metavar="FOLDER", about=say("Make a folder that these hosts install as a plugin, instead.")
)
@argument("host", type=Word(*HOSTS), required=False, about=say("The host."))
def install(call: Call, host: str | None, uninstall: bool, bundle: str | None) -> None:
    """Give a host's agents what they need of Muniment."""
    if (host is None) == (bundle is None):
        raise wrong(say("name a host, or a folder with --bundle"))
    if bundle is not None:
        _bundle(call, bundle)
        return
    assert host is not None
    dry = call.options.dry_run
    if uninstall:
        found = _taken_away(call, host)
    elif host == "starchild":
        _find_starchild(call)
        installation = call.house.installation(host)
        changes = installation.plan() if dry else installation.install()
        found = [Outcome(one.path.posix, one.state) for one in changes]
    else:
        setup = call.house.host_setup(host)
        found = setup.plan() if dry else setup.install()
    call.terminal.result(_told(call, host, found), lambda: _show(call, found))
    if not uninstall:
        _advise(call, host)


@command(
    more=(say("Without a host: everything that was installed for this user, and in this workspace."),),
    examples=("muniment uninstall --dry-run", "muniment uninstall claude codex"),
)
@argument("hosts", type=Word(*HOSTS), nargs=-1, about=say("Only these hosts."))
def uninstall(call: Call, hosts: tuple[str, ...]) -> None:
    """Take away what was installed; what was kept is never touched."""
    chosen = hosts or call.house.installed_hosts()
    found = {host: _taken_away(call, host) for host in dict.fromkeys(chosen)}
    value: dict[str, Json] = {
        "done": not call.options.dry_run,
        "hosts": [_told(call, host, outcomes) for host, outcomes in found.items()],
        "stays": ["archives", "ledgers", "settings", "snapshots"],
    }
    call.terminal.result(value, lambda: _show_all(call, found))
    if not found:
        call.terminal.note(say("Nothing was installed."))
    call.terminal.note(
        say("Archives, ledgers, settings and snapshots are none of this; they stay where they are.")
    )


def _taken_away(call: Call, host: str) -> list[Outcome]:
    if host == "starchild":
        _find_starchild(call)
        installation = call.house.installation(host)
        changes = installation.removal() if call.options.dry_run else installation.uninstall()
        return [Outcome(one.path.posix, one.state) for one in changes]
    return call.house.host_removal(host, act=not call.options.dry_run)


def _find_starchild(call: Call) -> None:
    if call.options.workspace is None:
        call.take("workspace", surroundings(call.environment)["WORKSPACE_DIR"])


def _bundle(call: Call, folder: str) -> None:
    from muniment.hosts import plugin

    content = plugin.files()
    if not call.options.dry_run:
        plugin.write(Path(folder), content)
    places = [place.posix for place in content]
    call.terminal.result(
        {"folder": folder, "done": not call.options.dry_run, "files": list(places)},
        lambda: call.terminal.table([say("file")], [(place,) for place in places]),
    )


def _told(call: Call, host: str, found: Sequence[Outcome]) -> dict[str, Json]:
    files: list[Json] = []
    for one in found:
        told: dict[str, Json] = {"path": one.place, "state": one.state.value}
        if one.left:
            told["left"] = list(one.left)
        if one.backup:
            told["backup"] = one.backup
        files.append(told)
    return {"host": host, "done": not call.options.dry_run, "files": files}


def _show(call: Call, found: Sequence[Outcome]) -> None:
    call.terminal.table(
        [say("file"), say("what becomes of it")],
        [(printable(one.place), _STATES[one.state]) for one in found],
    )
    for one in found:
        if one.left:
            call.terminal.note(
                say(
                    "{entries} in {path} is somebody else's and stays.",
                    entries=one.left,
                    path=printable(one.place),
                )
            )
        if one.backup:
            call.terminal.note(
                say("A copy stands beside {path}: {name}", path=printable(one.place), name=one.backup)
            )


def _show_all(call: Call, found: dict[str, list[Outcome]]) -> None:
    for host, outcomes in found.items():
        call.terminal.print(host)
        _show(call, outcomes)


_ADVICE: dict[str, Message] = {
    "claude": say("Start Claude Code anew; `/hooks` and `/mcp` show what it took up."),
    "codex": say("Start Codex anew and look at the hooks with `/hooks`: it runs none before you trust them."),
    "cursor": say("Start Cursor anew; its settings show the server, the hooks and the skills."),
    "openclaw": say(
        "A running gateway takes it up by itself; `openclaw plugins inspect muniment --runtime` shows it."
    ),
}


def _advise(call: Call, host: str) -> None:
    if host not in _ADVICE or call.options.dry_run:
        return
    call.terminal.note(_ADVICE[host])
    if host != "openclaw" and find_spec("mcp") is None:
        call.terminal.note(
            say("The tools need one more part: `pip install 'muniment[mcp]'`. Hooks and skills work without.")
        )
