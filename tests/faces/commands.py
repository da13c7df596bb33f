"""Commands that only the tests have: each shows one thing that a command may do."""

from __future__ import annotations

import os
from pathlib import Path

from muniment.canonical import Json
from muniment.errors import ExitCode, NotVerified
from muniment.faces.cli.call import Call
from muniment.faces.cli.frame import Entry, Group, argument, command, option
from muniment.faces.cli.values import Whole, Word
from muniment.message import say


class Thrown:
    """What `fail` raises next; a test puts it here."""

    error: BaseException = RuntimeError("nothing was put here")


@command()
def fail(call: Call) -> None:
    """Raise what the test wants."""
    raise Thrown.error


@command(more=(say("Below it."),), examples=("muniment echo a --times 2",))
@argument("texts", nargs=-1, about=say("What to show."))
@option("--times", type=Whole(1, 9), default=1, metavar="N", about=say("How often."))
@option("--as", "form", type=Word("plain", "loud"), about=say("In which form."))
@option("--note", metavar="TEXT", about=say("Said beside it."))
def echo(call: Call, texts: tuple[str, ...], times: int, form: str | None, note: str | None) -> None:
    """Give back what it got."""
    if note is not None:
        call.terminal.note(say("{note}", note=note))
    call.terminal.detail(say("{count} texts", count=len(texts)))
    value: dict[str, Json] = {
        "texts": list(texts),
        "times": times,
        "form": form,
        "note": note,
        "dry_run": call.options.dry_run,
        "yes": call.options.yes,
        "workspace": call.options.workspace,
    }

    def show() -> None:
        for _ in range(times):
            call.terminal.say(say("{texts}", texts=texts))

    call.terminal.result(value, show)


@command()
@argument("one", about=say("The one."))
def one(call: Call, one: str) -> None:
    """Take exactly one argument."""
    call.terminal.result({"one": one}, lambda: call.terminal.say(say("{one}", one=one)))


@command()
def mute(call: Call) -> None:
    """Say nothing at all."""


@command()
def partly(call: Call) -> ExitCode:
    """Give a result that is not good."""
    call.terminal.result({"bad": 1}, lambda: call.terminal.say(say("1 is bad")))
    return ExitCode.NOT_VERIFIED


@command()
def found(call: Call) -> None:
    """Give a result, then fail."""
    call.terminal.result({"bad": 1})
    raise NotVerified(where="arc_1")


@command(rehearses=False)
def act(call: Call) -> None:
    """Act, always."""
    call.terminal.result({"acted": True})


@command()
def ask(call: Call) -> None:
    """Ask first."""
    call.terminal.result({"answer": call.terminal.ask(say("Really?"))})


@command()
def odd(call: Call) -> None:
    """Give a result that JSON does not have."""
    call.terminal.result(Path("x"))  # type: ignore[arg-type]


@command()
def twice(call: Call) -> None:
    """Give two results, which no command may."""
    call.terminal.result({"n": 1})
    call.terminal.result({"n": 2})


@command()
def table(call: Call) -> None:
    """Show a table with hostile cells."""
    rows = [["[bold]a[/bold]", "\x1b[2J"], ["归档" * 30, os.fsdecode(b"\xff")]]
    call.terminal.table([say("name"), say("value")], rows)


@command()
def work(call: Call) -> None:
    """Work with a progress line."""
    with call.terminal.progress(say("Reading"), 200) as advance:
        advance(100)
        advance(100)
    call.terminal.result({"done": True})


@command()
def wait(call: Call) -> None:
    """Wait for the end of standard input, and say so first."""
    call.terminal.note(say("waiting"))
    call.terminal.streams.stdin.read()


@command()
def flood(call: Call) -> None:
    """Write more than any pipe holds."""
    for _ in range(20_000):
        call.terminal.say(say("a line of text that nobody reads to its end"))


@command()
def house(call: Call) -> None:
    """Use the house."""
    call.terminal.result({"settings": len(call.house.settings().explain())})


_HERE = "tests.faces.commands"

NEST = Group(table={"echo": Entry(f"{_HERE}:echo", say("Give it back."))})

_NAMES = "fail echo one mute partly found act ask odd twice table work wait flood house"

TESTED = Group(
    "muniment",
    default="echo",
    table={
        "nest": Entry(f"{_HERE}:NEST", say("Commands below.")),
        **{name: Entry(f"{_HERE}:{name}", say("A command of the tests.")) for name in _NAMES.split()},
    },
)
