"""Faces, command line: the help page of a command, in the reader's language."""

from __future__ import annotations

from collections.abc import Sequence

import click

from muniment.faces.cli.frame import Argument, Command, Group, Option
from muniment.faces.cli.layout import definitions, wrap
from muniment.faces.i18n.translate import Translator
from muniment.message import Message, say

_WIDEST = 100


def help_page(command: Command | Group, context: click.Context, translator: Translator, width: int) -> str:
    """Usage, what the command does, its arguments, commands and options, and examples."""
    width = min(width, _WIDEST)
    blocks = [_usage(command, context, translator, width)]
    blocks += [
        ["  " + line for line in wrap(translator.text(paragraph), width - 2)] for paragraph in command.story
    ]
    arguments = [one for one in command.params if isinstance(one, Argument)]
    options = [one for one in command.params if isinstance(one, Option) and not one.hidden]
    blocks.append(
        _section(
            say("Arguments:"),
            [(one.make_metavar(context), translator.text(one.about)) for one in arguments],
            translator,
            width,
        )
    )
    if isinstance(command, Group):
        rows = [(name, translator.text(entry.about)) for name, entry in command.table.items()]
        blocks.append(_section(say("Commands:"), rows, translator, width))
    blocks.append(_section(say("Options:"), _rows(options, context, translator), translator, width))
    common = _rows(command.common_options(context), context, translator)
    blocks.append(_section(say("Options of every command:"), common, translator, width))
    if command.examples:
        blocks.append([translator.text(say("Examples:")), *(f"  {line}" for line in command.examples)])
    return "\n\n".join("\n".join(block) for block in blocks if block)


def _usage(command: Command, context: click.Context, translator: Translator, width: int) -> list[str]:
    pieces = [f"[{translator.text(say('OPTIONS'))}]"]
    pieces += [one.make_metavar(context) for one in command.params if isinstance(one, Argument)]
    if isinstance(command, Group):
        pieces.append(translator.text(say("COMMAND [ARGUMENTS]…")))
        if command.default is not None:
            pieces[-1] = f"[{pieces[-1]}]"
    line = translator.text(
        say("Usage: {command} {pieces}", command=context.command_path, pieces=" ".join(pieces))
    )
    first, *rest = wrap(line, width)
    return [first, *("    " + more for more in rest)]


def _section(
    title: Message, rows: Sequence[tuple[str, str]], translator: Translator, width: int
) -> list[str]:
    return [translator.text(title), *definitions(rows, width)] if rows else []


def _rows(options: Sequence[Option], context: click.Context, translator: Translator) -> list[tuple[str, str]]:
    return [(one.get_help_spec(context), translator.text(one.about)) for one in options]
