"""Faces, tools: what can be set about the tools over HTTP."""

from __future__ import annotations

from muniment.settings import Setting, words
from muniment.vault.serve_settings import LOCAL_USER

USERS: Setting[tuple[str, ...]] = Setting(
    "mcp.users",
    (LOCAL_USER,),
    words,
    "The users whose tokens may call tools over HTTP; whoever may has the rights of the server's own user.",
    personal=True,
)
HOSTS: Setting[tuple[str, ...]] = Setting(
    "mcp.hosts",
    (),
    words,
    "Names under which tools may be called over HTTP, beside the address that the server listens at.",
    personal=True,
)

SETTINGS = (USERS, HOSTS)
