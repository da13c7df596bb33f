"""Faces, tools: the rooms for agents, over MCP."""
