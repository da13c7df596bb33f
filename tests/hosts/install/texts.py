"""Hosts: configurations as people keep them: comments, other servers, other hooks, any form of line."""

from __future__ import annotations

SETTINGS = """\
{
  "model": "opus",
  "permissions": { "allow": ["Bash(ls:*)"] },
  "hooks": {
    "PreToolUse": [
      {
        "matcher": "Bash",
        "hooks": [ { "type": "command", "command": "my-own-check" } ]
      }
    ],
    "Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]
  },
  "env": {"A": "\\u00e9 / 归档"}
}
"""

SERVERS = """\
{"numStartups": 12, "mcpServers": {"other": {"command": "other-server", "args": []}}, "projects": {}}"""

CODEX = """\
# How I like it
model = "gpt-5"   # the good one
approval_policy = "on-request"

[mcp_servers.other]   # do not touch
command = "other-server"
args = [
  "--fast", # yes
]

[profiles.quick]
model = "small"
"""

HOOKS = """\
{
\t"hooks": {
\t\t"Stop": [
\t\t\t{"hooks": [{"type": "command", "command": "mine"}]}
\t\t]
\t}
}
"""

CURSOR = """\
{
  // servers of mine
  "mcpServers": {
    "other": { "url": "http://127.0.0.1:7/mcp" }, /* slow */
  },
}
"""

CURSOR_HOOKS = """\
{ "version": 1, "hooks": { "stop": [ { "command": "mine" } ] } }
"""

ALL = {
    "claude": {".claude/settings.json": SETTINGS, ".claude.json": SERVERS},
    "codex": {".codex/config.toml": CODEX, ".codex/hooks.json": HOOKS},
    "cursor": {".cursor/mcp.json": CURSOR, ".cursor/hooks.json": CURSOR_HOOKS},
}
"""By host: the files that an installation changes, and what stands in them."""


def crlf(text: str) -> bytes:
    return text.replace("\n", "\r\n").encode()


def marked(text: str) -> bytes:
    return b"\xef\xbb\xbf" + text.encode()


def unended(text: str) -> bytes:
    return text.rstrip("\n").encode()


def tabbed(text: str) -> bytes:
    return text.replace("  ", "\t").encode()


def narrow(text: str) -> bytes:
    return text.replace("  ", " ").encode()


FORMS = {
    "plain": lambda text: text.encode(),
    "CRLF": crlf,
    "BOM": marked,
    "no final newline": unended,
    "tabs": tabbed,
    "one space": narrow,
}
"""The same text in the forms in which editors leave it."""
