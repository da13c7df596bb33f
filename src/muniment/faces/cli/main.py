"""Faces, command line: one call from its arguments to its exit code.

Whatever happens inside ends here as one clear error, in the reader's language, with the exit
code of its family; nothing escapes as a traceback.
"""

from __future__ import annotations

import traceback
from collections.abc import Mapping, Sequence
from typing import TextIO

import click

from muniment.errors import ExitCode
from muniment.faces.cli.call import Call
from muniment.faces.cli.frame import Group
from muniment.faces.cli.options import glance
from muniment.faces.cli.root import ROOT
from muniment.faces.cli.streams import ReaderGone, Streams
from muniment.faces.cli.usage import understood
from muniment.faces.house import BuildHouse
from muniment.path import printable

_COMPLETION_VARIABLE = "_MUNIMENT_COMPLETE"


def run(
    arguments: Sequence[str],
    build_house: BuildHouse,
    environment: Mapping[str, str],
    stdin: TextIO | None,
    stdout: TextIO | None,
    stderr: TextIO | None,
    *,
    host_language: str | None = None,
    root: Group = ROOT,
) -> int:
    """Run one call and give its exit code.

    `arguments` are those after the program's name; a stream that is None counts as closed.
    `host_language` is the language that the agent's host is set to, if it says so.
    """
    streams = Streams(stdin, stdout, stderr)
    call = Call(streams, environment, build_house, glance(arguments), host_language)
    try:
        try:
            if _COMPLETION_VARIABLE in environment:
                from muniment.faces.cli.completion import answer

                return answer(environment[_COMPLETION_VARIABLE], call, root, streams)
            code = _act(call, root, list(arguments))
            call.terminal.finish()
            return code
        except ReaderGone:
            raise
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - the last door: everything becomes one error
            return _fail(call, error)
    except ReaderGone:
        # what we had to say was not taken, so this is no success; but nobody listens either
        streams.abandon()
        return int(ExitCode.UNEXPECTED)
    except KeyboardInterrupt:
        return int(ExitCode.INTERRUPTED)
    finally:
        call.close()


def _act(call: Call, root: Group, arguments: list[str]) -> int:
    try:
        with root.make_context("muniment", arguments, obj=call) as context:
            outcome = root.invoke(context)
    except click.exceptions.Exit as end:  # after a help page
        return end.exit_code
    return int(outcome) if isinstance(outcome, int) else int(ExitCode.DONE)


def _fail(call: Call, error: BaseException) -> int:
    """Show an error and give its exit code, even when standard output is what failed."""
    trace = "".join(traceback.format_exception(error)).rstrip("\n")
    found = understood(error)
    call.terminal.error(found, "\n".join(printable(line) for line in trace.split("\n")))
    try:
        call.terminal.finish()
    except (OSError, ReaderGone):
        # standard output takes nothing more; the exit code still tells what happened
        call.terminal.streams.abandon()
    return int(found.exit_code)
