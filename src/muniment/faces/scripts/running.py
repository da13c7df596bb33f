"""Faces, scripts: one call of a script, from its arguments to its exit code."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from importlib import import_module
from typing import TextIO

from muniment.errors import ExitCode, MunimentError
from muniment.faces.cli.call import Call
from muniment.faces.cli.options import Options
from muniment.faces.cli.streams import ReaderGone, Streams
from muniment.faces.errors import named
from muniment.faces.house import BuildHouse
from muniment.faces.scripts.parsing import Parser
from muniment.faces.scripts.surroundings import surroundings
from muniment.path import printable

FAILED = int(ExitCode.UNEXPECTED)
"""The one exit code of all that goes wrong, but for what a script tells by another."""


@dataclass(frozen=True, slots=True)
class Script:
    """A script: its arguments, its one call, whether it answers in JSON, and which errors have an exit
    code of their own.

    The call gives back what was wrong with an outcome that is told all the same.
    """

    parser: Parser
    act: Callable[[Call, argparse.Namespace], MunimentError | None]
    json: Callable[[argparse.Namespace], bool] = lambda given: True
    codes: Mapping[type[MunimentError], int] | None = None


def run(
    name: str,
    arguments: Sequence[str],
    build_house: BuildHouse,
    environment: Mapping[str, str],
    stdin: TextIO | None,
    stdout: TextIO | None,
    stderr: TextIO | None,
) -> int:
    """Run one script and give its exit code; every failure is `ERROR: …` on standard error."""
    streams = Streams(stdin, stdout, stderr)
    script: Script = import_module(f"muniment.faces.scripts.{name}").SCRIPT
    try:
        try:
            given = script.parser.parse_args(arguments)
        except SystemExit as end:  # after the help page
            streams.flush()
            return int(end.code or 0)
        around = surroundings(
            environment, getattr(given, "workspace_dir", None), getattr(given, "data_dir", None)
        )
        call = Call(streams, around, build_house, Options(lang="en"))
        call.options = Options(lang="en", json=script.json(given), workspace=around["WORKSPACE_DIR"])
        call.begin()
        with closing(call):
            wrong = script.act(call, given)
            call.terminal.finish()
        return 0 if wrong is None else _fail(streams, script, wrong)
    except ReaderGone:
        streams.abandon()
        return FAILED
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - the last door: everything becomes one error
        return _fail(streams, script, error)


def _fail(streams: Streams, script: Script, error: BaseException) -> int:
    from muniment.faces.cli.usage import understood

    found = understood(error) if isinstance(error, KeyboardInterrupt) else named(error)
    streams.err(f"ERROR: {printable(str(found))}\n  {printable(str(found.next_step))}\n")
    for kind, code in (script.codes or {}).items():
        if isinstance(found, kind):
            return code
    return FAILED
