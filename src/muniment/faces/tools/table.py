"""Faces, tools: every tool of every room, by its name."""

from __future__ import annotations

from muniment.faces.tools import archive, backup, desk, handoff, job, team
from muniment.faces.tools.tool import Tool

TOOLS: dict[str, Tool] = {
    tool.shape.name: tool for room in (archive, handoff, team, job, backup, desk) for tool in room.TOOLS
}
"""In the order in which clients see them."""
