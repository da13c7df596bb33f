"""Floor 0: settings as values: what can be set, and where each value came from.

Order: flag, environment, the workspace's file, the user's file, default (spec 0).  Rooms declare
their `Setting`s; the wiring reads the files and puts the layers together; `Settings` answers
and explains.  A name that nobody declared is an error, never ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

from muniment.errors import UsageError
from muniment.message import Message, say

T = TypeVar("T")


class BadSetting(UsageError):
    """A setting has an unknown name or a value it can not have."""

    code = "BAD_SETTING"
    what = "The setting {name} can not be used."
    guidance = "Correct it where it stands; `muniment settings --explain` lists every setting."


@dataclass(frozen=True, slots=True)
class Setting(Generic[T]):
    """One thing that can be set.

    `name` is its dotted name in TOML; `read` turns a TOML value or an environment text into the
    value and raises `ValueError` with a sentence when it can not; `about` is for people.  A
    `personal` one decides what is run or where something is sent, and is never taken from a file of
    the workspace, since whoever wrote the workspace would decide it.  The value of a `secret` one is
    never shown.
    """

    name: str
    default: T
    read: Callable[[object], T]
    about: str
    aliases: tuple[str, ...] = ()
    personal: bool = False
    secret: bool = False

    @property
    def variables(self) -> tuple[str, ...]:
        """Environment variables that set it, the first one found wins.

        >>> Setting("confirm.relayed", "", text, "x").variables
        ('MUNIMENT_CONFIRM_RELAYED',)
        """
        return ("MUNIMENT_" + self.name.upper().replace(".", "_"), *self.aliases)


@dataclass(frozen=True, slots=True)
class Layer:
    """Values from one place, by dotted name; `origin` names the place for people.

    One `of_workspace` was written by whoever wrote the workspace.
    """

    origin: str
    values: Mapping[str, object]
    of_workspace: bool = False


@dataclass(frozen=True, slots=True)
class Explained:
    """A setting's value and the place it came from (`default` when from nowhere)."""

    setting: Setting[Any]
    value: object
    origin: str


class Settings:
    """Answers for a set of declared settings over layers, strongest first.

    >>> names = Setting("archive.names", "kept", choice("kept", "kweaver"), "How names are kept.")
    >>> Settings([names], [Layer("env", {"archive.names": "kweaver"})]).get(names)
    'kweaver'
    """

    def __init__(self, declared: Sequence[Setting[Any]], layers: Sequence[Layer] = ()) -> None:
        self._declared = {setting.name: setting for setting in declared}
        self._layers = tuple(layers)
        for layer in self._layers:
            for name in layer.values:
                if name not in self._declared:
                    raise BadSetting(name=name, where=layer.origin, why=say("no setting has this name"))

    def get(self, setting: Setting[T]) -> T:
        """The value in force."""
        return cast(T, self.find(setting).value)

    def explain(self) -> list[Explained]:
        """Every setting with its value and origin, by name."""
        return [self.find(self._declared[name]) for name in sorted(self._declared)]

    def find(self, setting: Setting[Any]) -> Explained:
        """The value in force with the place it came from.

        A personal one that the workspace sets is a `BadSetting`, not passed over: what people do not
        see refused they take for set.
        """
        for layer in self._layers:
            if setting.name in layer.values:
                if setting.personal and layer.of_workspace:
                    why = say("a workspace may not set this; your own file, or the environment, may")
                    raise BadSetting(name=setting.name, where=layer.origin, why=why)
                try:
                    return Explained(setting, setting.read(layer.values[setting.name]), layer.origin)
                except ValueError as error:
                    raise BadSetting(name=setting.name, where=layer.origin, why=_why(error)) from error
        return Explained(setting, setting.default, "default")


def _why(error: ValueError) -> Message:
    first = error.args[0] if error.args else ""
    return first if isinstance(first, Message) else say("{finding}", finding=error)


def environment_layer(declared: Sequence[Setting[Any]], environment: Mapping[str, str]) -> Layer:
    """The layer of the environment variables that are set and not empty."""
    values: dict[str, object] = {}
    for setting in declared:
        for variable in setting.variables:
            if environment.get(variable):
                values[setting.name] = environment[variable]
                break
    return Layer("environment", values)


def flatten(table: Mapping[str, object], declared: Sequence[Setting[Any]]) -> dict[str, object]:
    """Dotted names from nested TOML tables; a declared name keeps its table whole.

    >>> flatten({"archive": {"names": "kweaver"}}, [])
    {'archive.names': 'kweaver'}
    """
    known = {setting.name for setting in declared}
    found: dict[str, object] = {}
    todo: list[tuple[str, Mapping[str, object]]] = [("", table)]
    while todo:
        prefix, value = todo.pop()
        for key, item in value.items():
            name = f"{prefix}{key}"
            if isinstance(item, Mapping) and name not in known:
                todo.append((f"{name}.", item))
            else:
                found[name] = item
    return found


def text(value: object) -> str:
    """Any text."""
    if not isinstance(value, str):
        raise ValueError(say("a text was expected, found {value}", value=repr(value)))
    return value


def choice(*words: str) -> Callable[[object], str]:
    """One of a closed list of words."""

    def read(value: object) -> str:
        if value not in words:
            raise ValueError(
                say("one of {words} was expected, found {value}", words=words, value=repr(value))
            )
        return str(value)

    return read


def flag(value: object) -> bool:
    """A yes or no: a TOML boolean, or `1`, `0`, `true`, `false`, `yes`, `no` in the environment."""
    known = {True: True, False: False, "1": True, "0": False, "true": True, "false": False}
    known |= {"yes": True, "no": False}
    spelled = value.lower() if isinstance(value, str) else value
    if isinstance(spelled, (bool, str)) and spelled in known:
        return known[spelled]
    raise ValueError(say("true or false was expected, found {value}", value=repr(value)))


def words(value: object) -> tuple[str, ...]:
    """A list of words: a TOML array, or a comma list in the environment."""
    items = value.split(",") if isinstance(value, str) else value
    if isinstance(items, list | tuple) and all(isinstance(item, str) for item in items):
        return tuple(item.strip() for item in items if item.strip())
    raise ValueError(say("a list of words was expected, found {value}", value=repr(value)))


def integer(least: int, most: int) -> Callable[[object], int]:
    """A whole number within bounds."""

    def read(value: object) -> int:
        try:
            number = int(value) if isinstance(value, str) else value
        except ValueError:
            number = None
        if isinstance(number, int) and not isinstance(number, bool) and least <= number <= most:
            return number
        raise ValueError(
            say(
                "a whole number from {least} to {most} was expected, found {value}",
                least=least,
                most=most,
                value=repr(value),
            )
        )

    return read
