"""Faces, command line: `muniment archive status, sweep, identity, session`: what is not archived yet."""

from __future__ import annotations

from muniment.archive.identity import Proof, prove_identity
from muniment.archive.model import Request
from muniment.archive.sweep import Gathered, gather
from muniment.canonical import Json, canonical
from muniment.errors import ExitCode, MunimentError
from muniment.faces.cli.archive import dialect, keep_all, tell_blocked
from muniment.faces.cli.call import Call
from muniment.faces.cli.confirm import confirmed
from muniment.faces.cli.frame import argument, command, option
from muniment.faces.cli.values import Word
from muniment.message import Message, say, say_count
from muniment.record.locate import path_text


@command(rehearses=True)
@option("--check", "strict", is_flag=True, about=say("End with exit code 3 while anything is left."))
def status(call: Call, strict: bool) -> ExitCode | None:
    """Show what was made in the workspace and is not archived."""
    loose = call.house.loose()

    def show_them() -> None:
        if not loose:
            call.terminal.say(say("Everything is archived."))
            return
        call.terminal.say(
            say_count("{count} path is not archived:", "{count} paths are not archived:", len(loose))
        )
        for path in loose:
            call.terminal.say(say("  {path}", path=path.posix))
        call.terminal.next_step("muniment archive sweep")

    call.terminal.result({"not_archived": [path.posix for path in loose]}, show_them)
    return ExitCode.BLOCKED if strict and loose else None


@command()
def sweep(call: Call) -> None:
    """Archive everything that is not archived, after showing it."""
    house, terminal = call.house, call.terminal
    gathered = gather(house.root, house.loose())
    sources = gathered.sources
    shown: dict[str, Json] = {
        "act": "sweep",
        "sources": [path_text(path) for path in sources],
        "empty": [path_text(path) for path in gathered.empty],
        "links": [path_text(path) for path in gathered.links],
    }
    _show_sweep(call, gathered)
    if not sources or call.options.dry_run:
        terminal.result({**shown, "receipts": []})
        return
    confirmed(call, "sweep", canonical(shown), say("Archive all of this?"))
    style = dialect(call)
    try:
        keep_all(call, house.archive({}), [Request(source) for source in sources], style, shown)
    except MunimentError as error:
        tell_blocked(call, error, style)
        raise


def _show_sweep(call: Call, gathered: Gathered) -> None:
    if not (gathered.sources or gathered.empty or gathered.links):
        call.terminal.note(say("Everything is archived."))
    for path in gathered.sources:
        call.terminal.note(say("  ✓ {path}", path=path.posix))
    for path in gathered.empty:
        call.terminal.note(say("  ✗ {path} (empty: nothing to archive)", path=path.posix))
    for path in gathered.links:
        call.terminal.note(say("  ✗ {path} (a link: not archived)", path=path.posix))


@command()
def identity(call: Call) -> ExitCode | None:
    """Read SOUL.md and IDENTITY.md, only these, and prove it."""
    proofs = prove_identity(call.house.root)

    def show_them() -> None:
        for proof in proofs:
            call.terminal.say(_proof(proof))

    call.terminal.result({"identity": [proof.to_json() for proof in proofs]}, show_them)
    return None if any(proof.digest for proof in proofs) else ExitCode.NOT_FOUND


def _proof(proof: Proof) -> Message:
    if proof.digest is None:
        return say("{path}: NOT read: {why}", path=proof.path, why=proof.why)
    return say(
        "{path}: read, {size} bytes, {digest}", path=proof.path, size=proof.size, digest=str(proof.digest)
    )


@command(rehearses=False)
@argument("act", type=Word("show", "end"), default="show", required=False, about=say("Show it, or end it."))
def session(call: Call, act: str) -> None:
    """The working session, whose id a plan and its results share where no host tells one."""
    sessions = call.house.working_session
    if act == "end":
        ended = sessions.end()
        call.terminal.result(
            {"ended": ended},
            lambda: call.terminal.say(
                say("The session is ended.") if ended else say("There was no session.")
            ),
        )
        return
    current = sessions.current()
    call.terminal.result(
        {"archive_id": current.archive_id if current else None},
        lambda: call.terminal.say(
            say("{id}", id=current.archive_id)
            if current
            else say("No session goes on; archiving begins one.")
        ),
    )
