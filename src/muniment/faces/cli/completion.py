"""Faces, command line: `muniment completion`, and the answers that its script asks for."""

from __future__ import annotations

import click
from click.shell_completion import ShellComplete, get_completion_class

from muniment.faces.cli.call import Call
from muniment.faces.cli.frame import argument, command
from muniment.faces.cli.streams import Streams
from muniment.faces.cli.values import Word
from muniment.message import say

VARIABLE = "_MUNIMENT_COMPLETE"
"""How the script tells the program that a shell asks, not a person."""

_SHELLS = ("bash", "zsh", "fish")


@command(examples=('eval "$(muniment completion bash)"', "muniment completion fish | source"))
@argument("shell", type=Word(*_SHELLS), about=say("The shell it is for."))
def completion(call: Call, shell: str) -> None:
    """Print the completion script of a shell."""
    # the template itself: `source()` would first start a bash to look at its version
    asked = _complete(shell, call)
    script = asked.source_template % asked.source_vars()
    # fish's template cuts the sentence beside a completion at its first comma
    script = script.replace('string split ","', 'string split --max 1 ","')
    call.terminal.result({"shell": shell, "script": script}, lambda: call.terminal.print(script))


def answer(instruction: str, call: Call, root: click.Command, streams: Streams) -> int:
    """Answer a shell that asks, such as `bash_complete`; one that we do not know gets nothing."""
    shell, _, what = instruction.partition("_")
    if shell not in _SHELLS or what != "complete":
        return 1
    streams.out(_complete(shell, call, root).complete() + "\n")
    streams.flush()
    return 0


def _complete(shell: str, call: Call, root: click.Command | None = None) -> ShellComplete:
    made = get_completion_class(shell)
    assert made is not None
    return made(root or click.Command("muniment"), {"obj": call}, "muniment", VARIABLE)
