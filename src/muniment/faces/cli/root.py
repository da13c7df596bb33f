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
        "status": Entry(
            "muniment.faces.cli.status:status",
            say("Show the workspace, the session, the ledger and what is still open."),
        ),
        "init": Entry(
            "muniment.faces.cli.status:init", say("Open the record of a workspace and show what is there.")
        ),
        "archive": Entry(
            "muniment.faces.cli.archive:ARCHIVE", say("Keep what was made, and check what was kept.")
        ),
        "handoff": Entry(
            "muniment.faces.cli.handoff:HANDOFF", say("Delegate work, and read back what came of it.")
        ),
        "journal": Entry("muniment.faces.cli.journal:JOURNAL", say("Write the team's journal, and read it.")),
        "board": Entry(
            "muniment.faces.cli.board:BOARD", say("Propose changes of the central board, and apply them.")
        ),
        "inbox": Entry(
            "muniment.faces.cli.inbox:INBOX", say("Leave word for somebody, and read what was left.")
        ),
        "job": Entry("muniment.faces.cli.job:JOB", say("Plan, run and record one execution.")),
        "backup": Entry("muniment.faces.cli.backup:BACKUP", say("Save the whole agent.")),
        "vault": Entry(
            "muniment.faces.cli.vault:VAULT", say("Look after the place where snapshots are kept.")
        ),
        "serve": Entry(
            "muniment.faces.cli.serve:serve",
            say("Keep snapshots for many users, over HTTP."),
            extra="serve",
        ),
        "install": Entry(
            "muniment.faces.cli.install:install",
            say("Give a host's agents what they need of Muniment, or take it away."),
        ),
        "uninstall": Entry(
            "muniment.faces.cli.install:uninstall",
            say("Take away what was installed for hosts; what was kept stays."),
        ),
        "ledger": Entry(
            "muniment.faces.cli.ledger:LEDGER", say("See what was recorded, and whether the record is whole.")
        ),
        "show": Entry("muniment.faces.cli.desk:show", say("Show one thing of any room, by its reference.")),
        "find": Entry(
            "muniment.faces.cli.desk:find",
            say("Find a text, a digest or a reference in every room and in the snapshots."),
        ),
        "verify": Entry(
            "muniment.faces.cli.desk:verify",
            say("Read things again and compare them with their record: one, several, or everything."),
        ),
        "timeline": Entry(
            "muniment.faces.cli.desk:timeline",
            say("Show what was recorded, and which claims were proved."),
        ),
        "doctor": Entry(
            "muniment.faces.cli.doctor:doctor", say("Look for what is wrong, and mend what is safe to mend.")
        ),
        "mcp": Entry(
            "muniment.faces.cli.mcp:mcp", say("Serve the rooms as tools to an agent, over MCP."), extra="mcp"
        ),
        "tool": Entry(
            "muniment.faces.cli.tool:tool", say("Answer one call of a tool, as a host's plugin makes it.")
        ),
        "demo": Entry(
            "muniment.faces.cli.demo:demo", say("Show all of it at work, on a report made on the spot.")
        ),
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
