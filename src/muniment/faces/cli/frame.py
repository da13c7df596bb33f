"""Faces, command line: what commands are made of, on top of click.

A command module holds functions under `@command`; a `Group` names, in a table, where each of
its commands lies and what it does in one line, and loads a module only when it is called.
Every word that a person reads is a `Message` of ours; click parses and stays silent.

    @command(examples=("muniment settings --explain",))
    @argument("name", required=False, about=say("Only this setting."))
    @option("--explain", is_flag=True, about=say("Say where each value came from."))
    def settings(call: Call, name: str | None, explain: bool) -> None: ...
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Concatenate, NoReturn, ParamSpec, TypeVar

import click
from click.shell_completion import CompletionItem

from muniment import __version__
from muniment.errors import ExitCode
from muniment.faces.cli.call import Call
from muniment.faces.cli.usage import near, wrong
from muniment.faces.cli.values import LanguageCode, Word, unknown_language
from muniment.faces.errors import ExtraMissing, NoRehearsal
from muniment.faces.i18n.language import read_language
from muniment.message import Message, say, say_count

P = ParamSpec("P")
F = TypeVar("F", bound=Callable[..., Any])
Act = Callable[Concatenate[Call, P], ExitCode | None]


class Option(click.Option):
    """An option with its sentence; one that takes a value names it by `metavar`, or by `Word`s."""

    def __init__(self, names: Sequence[str], *, about: Message, **attributes: Any) -> None:
        super().__init__(names, **attributes)
        self.about = about
        takes_value = not (self.is_flag or self.count)
        if takes_value and self.metavar is None and not isinstance(self.type, Word):
            raise TypeError(f"{names}: an option with a value needs a metavar")

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Values that fit; where a path is taken, the shell is told to look itself."""
        return super().shell_complete(ctx, incomplete) or _paths(self.metavar, incomplete)


class Argument(click.Argument):
    """An argument with its sentence."""

    def __init__(self, names: Sequence[str], *, about: Message, **attributes: Any) -> None:
        super().__init__(names, **attributes)
        self.about = about

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Values that fit; where a path is taken, the shell is told to look itself."""
        return super().shell_complete(ctx, incomplete) or _paths(self.name, incomplete)


_FILES = {"PATH", "FILE", "path", "paths", "file", "target", "reference", "references"}
_FOLDERS = {"FOLDER", "folder"}


def _paths(taken: str | None, incomplete: str) -> list[CompletionItem]:
    kind = "file" if taken in _FILES else "dir" if taken in _FOLDERS else None
    return [CompletionItem(incomplete, type=kind)] if kind else []


def option(*names: str, about: Message, **attributes: Any) -> Callable[[F], F]:
    """Gives a command an option; the attributes are click's."""
    return click.option(*names, cls=Option, about=about, **attributes)


def argument(name: str, *, about: Message, **attributes: Any) -> Callable[[F], F]:
    """Gives a command an argument; the attributes are click's."""
    return click.argument(name, cls=Argument, about=about, **attributes)


def _keep(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    if value and isinstance(context.obj, Call):
        context.obj.take(parameter.name, value)


def _show_help(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value and not context.resilient_parsing:
        from muniment.faces.cli.help import help_page

        terminal = _terminal_for_page(context)
        command = context.command
        assert isinstance(command, Command)
        page = help_page(command, context, terminal.translator, terminal.width)
        terminal.result({"help": page}, lambda: terminal.print(page))
        context.exit()


def _show_version(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value and not context.resilient_parsing:
        terminal = _terminal_for_page(context)
        terminal.result({"version": __version__}, lambda: terminal.print(f"muniment {__version__}"))
        context.exit()


def _terminal_for_page(context: click.Context) -> Any:
    """Pages come before the rest is parsed, so that a wrong `--lang` has to be refused here."""
    call: Call = context.obj
    code = call.glanced.lang
    if code is not None and read_language(code) is None:
        raise wrong(
            say("{parameter}: {finding}", parameter="--lang", finding=unknown_language(code)), context
        )
    return call.terminal


def _common(*names: str, about: Message, **attributes: Any) -> Option:
    settings: dict[str, Any] = {"expose_value": False, "callback": _keep, **attributes}
    return Option(names, about=about, **settings)


_EVERYWHERE = (
    _common("--json", is_flag=True, about=say("Give one JSON object for a program; people read stderr.")),
    _common("-n", "--dry-run", is_flag=True, about=say("Show what would be done and do nothing.")),
    _common("--yes", is_flag=True, about=say("Confirm without being asked.")),
    _common("-q", "--quiet", is_flag=True, about=say("Tell only results and errors.")),
    _common("-v", "--verbose", is_flag=True, about=say("Tell more, and show where an error arose.")),
    _common("--lang", metavar="LANG", type=LanguageCode(), about=say("Speak this language: en, zh-CN.")),
    _common(
        "-w",
        "--workspace",
        metavar="PATH",
        about=say("Work in this workspace instead of the one found from here."),
    ),
    _common(
        "-h", "--help", is_flag=True, is_eager=True, callback=_show_help, about=say("Show this page and end.")
    ),
)

_VERSION = _common(
    "--version", is_flag=True, is_eager=True, callback=_show_version, about=say("Show the version and end.")
)


class Command(click.Command):
    """A command: its story for the help page, its own options, and those of every command.

    `about` is its line in the table it stands in, set when it is loaded; `more` are the
    paragraphs below it.  `rehearses=False` says that `-n` can not be honoured and is refused.
    """

    def __init__(
        self,
        name: str | None = None,
        *,
        more: Sequence[Message] = (),
        examples: Sequence[str] = (),
        rehearses: bool = True,
        **attributes: Any,
    ) -> None:
        attributes.pop("help", None)  # click would show the docstring
        super().__init__(name, add_help_option=False, **attributes)
        self.about: Message | None = None
        self.more = tuple(more)
        self.examples = tuple(examples)
        self.rehearses = rehearses
        taken = {spelling for common in (*_EVERYWHERE, _VERSION) for spelling in common.opts}
        for parameter in self.params:
            if not isinstance(parameter, Option | Argument):
                raise TypeError(f"{parameter!r}: not made with `option` or `argument` of the frame")
            if taken.intersection(parameter.opts) and isinstance(parameter, Option):
                raise TypeError(f"{parameter.opts} belong to every command")

    @property
    def story(self) -> tuple[Message, ...]:
        """The paragraphs of the help page."""
        return (*((self.about,) if self.about is not None else ()), *self.more)

    def common_options(self, context: click.Context) -> list[Option]:
        """The options of every command; the root has the version too."""
        return [*_EVERYWHERE, *((_VERSION,) if context.parent is None else ())]

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Its own parameters and the common ones (called by click)."""
        return [*self.params, *self.common_options(ctx)]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse, and refuse what is left over (called by click)."""
        ctx.allow_extra_args = True
        try:
            rest = super().parse_args(ctx, args)
        except click.UsageError as error:
            error.ctx = error.ctx or ctx  # the parser does not always say where it was
            raise
        if rest and not isinstance(self, Group) and not ctx.resilient_parsing:
            raise wrong(
                say_count(
                    "one argument too many: {arguments}",
                    "{count} arguments too many: {arguments}",
                    len(rest),
                    arguments=tuple(rest),
                ),
                ctx,
            )
        return rest

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command (called by click once everything is parsed)."""
        call: Call = ctx.obj
        call.begin()
        if call.options.dry_run and not self.rehearses:
            raise NoRehearsal(command=ctx.command_path)
        return super().invoke(ctx)

    def get_short_help_str(self, limit: int = 45) -> str:
        """Its line in the table, for shells that show it beside a completion."""
        return "" if self.about is None else _in_context(self.about)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Options that fit what was typed, each with its sentence."""
        items = super().shell_complete(ctx, incomplete)
        about = {
            spelling: parameter.about
            for parameter in self.get_params(ctx)
            if isinstance(parameter, Option)
            for spelling in parameter.opts
        }
        for item in items:
            if item.value in about:
                item.help = _in_context(about[item.value])
        return items


def _in_context(message: Message) -> str:
    context = click.get_current_context(silent=True)
    call = context.obj if context is not None else None
    return call.terminal.text(message) if isinstance(call, Call) else str(message)


def command(
    *, more: Sequence[Message] = (), examples: Sequence[str] = (), rehearses: bool = True
) -> Callable[[Act[P]], Command]:
    """Makes a function a command; it gets the `Call` first, then its parameters by name.

    It may return an `ExitCode` other than done, when its result says what was not right.
    """

    def make(act: Act[P]) -> Command:
        decorate = click.command(cls=Command, more=more, examples=examples, rehearses=rehearses)
        return decorate(click.pass_obj(act))

    return make


@dataclass(frozen=True, slots=True)
class Entry:
    """Where a command lies, as `module:name`, and what it does in one line.

    `extra` is the optional part of the distribution whose libraries its module imports.
    """

    place: str
    about: Message
    extra: str | None = None


class Group(Command, click.Group):
    """Commands under one name; `default` is the one that runs when none is named."""

    def __init__(
        self,
        name: str | None = None,
        *,
        table: Mapping[str, Entry],
        default: str | None = None,
        more: Sequence[Message] = (),
        examples: Sequence[str] = (),
    ) -> None:
        super().__init__(
            name,
            more=more,
            examples=examples,
            invoke_without_command=True,
            callback=self._without_name,
            no_args_is_help=False,
        )
        self.table = dict(table)
        self.default = default

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names in the order of the table."""
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> Command | None:
        """The command of that name, loaded now."""
        entry = self.table.get(cmd_name)
        return None if entry is None else load(cmd_name, entry)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is called, and what is left for it (called by click)."""
        name = args[0]
        found = self.get_command(ctx, name)
        if found is None and not ctx.resilient_parsing:
            raise wrong(near(say("there is no command {name}", name=name), name, self.table), ctx)
        return (name if found is not None else None), found, args[1:]

    def invoke(self, ctx: click.Context) -> Any:
        """Go on to the command that is called; the call begins there, not here."""
        return click.Group.invoke(self, ctx)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Names that fit what was typed, without loading any command."""
        names = [
            CompletionItem(name, help=_in_context(entry.about))
            for name, entry in self.table.items()
            if name.startswith(incomplete)
        ]
        return [*names, *Command.shell_complete(self, ctx, incomplete)] if incomplete[:1] == "-" else names

    def _without_name(self) -> Any:
        context = click.get_current_context()
        if context.invoked_subcommand is not None:
            return None
        if self.default is None:
            self._name_one(context)
        _, found, _ = self.resolve_command(context, [self.default])
        assert found is not None
        with found.make_context(self.default, [], parent=context) as inner:
            return found.invoke(inner)

    def _name_one(self, context: click.Context) -> NoReturn:
        raise wrong(say("name one of its commands: {names}", names=tuple(self.table)), context)


def load(name: str, entry: Entry) -> Command:
    """Import the command that an entry names, and give it its name and line."""
    module, _, attribute = entry.place.partition(":")
    try:
        found = getattr(import_module(module), attribute)
    except ModuleNotFoundError as error:
        ours = (error.name or "").partition(".")[0] == "muniment"
        if entry.extra is None or ours:
            raise
        raise ExtraMissing(feature=f"muniment {name}", extra=entry.extra, where=error.name or "") from error
    if not isinstance(found, Command):
        raise TypeError(f"{entry.place} is not a command")
    found.name, found.about = name, entry.about
    return found
