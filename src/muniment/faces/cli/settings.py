"""Faces, command line: `muniment settings`, what can be set and where each value came from (spec 0)."""

from __future__ import annotations

from muniment.canonical import Json
from muniment.faces.cli.call import Call
from muniment.faces.cli.frame import argument, command, option
from muniment.faces.cli.usage import near
from muniment.message import Message, say
from muniment.settings import BadSetting, Explained

_ORIGINS = {
    "default": say("default"),
    "environment": say("environment"),
    "flag": say("option of this call"),
}


@command(
    more=(
        say(
            "A value is taken from the first place that has one: an option of the call, an environment "
            "variable, the workspace's config.toml, your own config.toml, the default."
        ),
    ),
    examples=("muniment settings --explain",),
)
@option("--explain", is_flag=True, about=say("Say where each value came from and what it is for."))
@argument("name", required=False, about=say("Only this setting."))
def settings(call: Call, name: str | None, explain: bool) -> None:
    """Show the settings in force."""
    found = call.house.settings().explain()
    if name is not None:
        known = [one.setting.name for one in found]
        found = [one for one in found if one.setting.name == name]
        if not found:
            raise BadSetting(name=name, why=near(say("no setting has this name"), name, known))

    def show() -> None:
        if not found:
            call.terminal.say(say("There is nothing to set yet."))
        elif explain:
            columns = [say("setting"), say("value"), say("from"), say("what it is for")]
            rows = [
                [one.setting.name, _shown(one), _origin(one), Message(one.setting.about)] for one in found
            ]
            call.terminal.table(columns, rows)
        else:
            call.terminal.table(
                [say("setting"), say("value")], [[one.setting.name, _shown(one)] for one in found]
            )

    call.terminal.result({"settings": [_row(one) for one in found]}, show)


def _row(one: Explained) -> Json:
    return {
        "name": one.setting.name,
        "value": None if _hidden(one) else _value(one.value),
        "origin": one.origin,
        "about": one.setting.about,
        "variables": list(one.setting.variables),
    }


def _value(value: object) -> Json:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [_value(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _value(item) for key, item in value.items()}
    return str(value)


def _hidden(one: Explained) -> bool:
    """Whether it is a secret that is set: what is shown here may be read by anybody, an agent too."""
    return one.setting.secret and one.value != one.setting.default


def _shown(one: Explained) -> object:
    """A value as one would write it; lists are written with commas, as in the environment."""
    value = one.value
    if _hidden(one):
        return say("(set, and not shown)")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return ",".join(str(item) for item in value)
    return value


def _origin(one: Explained) -> object:
    return _ORIGINS.get(one.origin, one.origin)
