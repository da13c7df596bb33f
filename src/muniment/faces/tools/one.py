"""Faces, tools: one tool by its name, without loading the rooms behind which it does not stand."""

from __future__ import annotations

from importlib import import_module

from muniment.faces.tools.tool import Tool

ROOMS = ("archive", "handoff", "team", "job", "backup", "desk")
"""The modules with tools, in the order in which clients see them."""


def tool_named(name: str) -> Tool | None:
    """The tool of this name; None when there is none.

    >>> tool_named("archive").shape.name
    'archive'
    >>> tool_named("nothing") is None
    True
    """
    for room in ROOMS:
        tools: tuple[Tool, ...] = import_module(f"muniment.faces.tools.{room}").TOOLS
        found = next((tool for tool in tools if tool.shape.name == name), None)
        if found is not None:
            return found
    return None
