"""Faces, command line: wrong calls, in our own words instead of the parser's."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import click

from muniment.errors import Interrupted, MunimentError, UsageError
from muniment.faces.cli.values import BadValue
from muniment.faces.errors import named
from muniment.message import Message, say, say_count


def wrong(why: Message, context: click.Context | None = None) -> UsageError:
    """A usage error found in a command."""
    return UsageError(where=context.command_path if context is not None else "muniment", why=why)


def understood(error: BaseException) -> MunimentError:
    """The error of ours for anything that can come out of parsing or running a command."""
    if isinstance(error, click.ClickException):
        return wrong(_why(error), getattr(error, "ctx", None))
    if isinstance(error, KeyboardInterrupt | click.Abort):
        return Interrupted()
    return named(error)


def _why(error: click.ClickException) -> Message:
    context = getattr(error, "ctx", None)
    match error:
        case click.NoSuchOption():
            return near(
                say("there is no option {name}", name=error.option_name),
                error.option_name,
                _option_names(context),
            )
        case BadValue(finding=finding, param=param) if param is not None:
            return say("{parameter}: {finding}", parameter=parameter_name(param), finding=finding)
        case click.MissingParameter(param=param) if param is not None:
            return say("{parameter} is missing", parameter=parameter_name(param))
        case click.BadParameter(param=param) if param is not None:
            return say("{parameter} can not have this value", parameter=parameter_name(param))
        case click.BadOptionUsage(option_name=name):
            return _bad_option_use(name, context)
        case _:
            return say("its arguments do not fit together")


def _bad_option_use(name: str, context: click.Context | None) -> Message:
    for parameter in context.command.get_params(context) if context is not None else ():
        if isinstance(parameter, click.Option) and name in (*parameter.opts, *parameter.secondary_opts):
            if parameter.is_flag or parameter.count:
                return say("{name} takes no value", name=name)
            return say_count(
                "{name} needs a value", "{name} needs {count} values", parameter.nargs, name=name
            )
    return say("{name} is used in a way that does not fit", name=name)


def parameter_name(parameter: click.Parameter) -> str:
    """What a person calls it: the longest spelling of an option, the capitals of an argument."""
    if isinstance(parameter, click.Option):
        return max(parameter.opts, key=len)
    return parameter.human_readable_name


def _option_names(context: click.Context | None) -> list[str]:
    if context is None:
        return []
    parameters = context.command.get_params(context)
    return [name for parameter in parameters for name in parameter.opts if name.startswith("--")]


def near(finding: Message, wrote: str, known: Iterable[str]) -> Message:
    """A finding, with the known names that look like what was written."""
    from difflib import get_close_matches

    close = get_close_matches(wrote, list(known), n=3, cutoff=0.7)
    if not close:
        return finding
    return say("{finding}; did you mean {names}?", finding=finding, names=tuple(close))


def strict_json(text: str | bytes) -> Any:
    """A value that a person gave as JSON; a wrong call where it is none."""
    from muniment.canonical import NotJson, read_json  # not every command needs it

    try:
        return read_json(text)
    except NotJson as error:
        why = say("this is not strict JSON: {finding}", finding=error)
        raise wrong(why, click.get_current_context()) from error
