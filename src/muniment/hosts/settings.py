"""Floor 2, `hosts`: what can be set about hosts."""

from __future__ import annotations

import shlex

from muniment.message import say
from muniment.settings import Setting


def argv(value: object) -> tuple[str, ...]:
    """A command with its arguments: a TOML array, or one line as a shell would split it.

    >>> argv("ask-host --for 'a b'")
    ('ask-host', '--for', 'a b')
    """
    words = shlex.split(value) if isinstance(value, str) else value
    if isinstance(words, list | tuple) and all(isinstance(word, str) and "\0" not in word for word in words):
        return tuple(words)
    raise ValueError(say("a command with its arguments was expected, found {value}", value=repr(value)))


SESSION_COMMAND: Setting[tuple[str, ...]] = Setting(
    "archive.session_command",
    (),
    argv,
    "A command that tells the host's session; never taken from the workspace's own file.",
    personal=True,
)

SETTINGS = (SESSION_COMMAND,)
