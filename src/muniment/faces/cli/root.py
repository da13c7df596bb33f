"""Faces, command line: the table of all commands, in the order in which help shows them."""

from __future__ import annotations

from muniment.faces.cli.frame import Entry, Group
from muniment.message import say

ROOT = Group(
    "muniment",
    default="status",
    more=(
        say(
            "Muniment is the record room of AI agents: it keeps what an agent made, ran, handed over and "
            "remembers, and reads it back before it says so."
        ),
    ),
    table={
        "settings": Entry(
            "muniment.faces.cli.settings:settings",
            say("Show every setting, its value and where it came from."),
        ),
        "completion": Entry(
            "muniment.faces.cli.completion:completion",
            say("Print the script that completes commands in a shell."),
        ),
    },
)
