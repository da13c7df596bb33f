"""Faces, command line: the demo's chapter of dispatch: real workers, the journal, the board, the inbox."""

from __future__ import annotations

import sys

from muniment.faces.cli.demo.stage import Stage
from muniment.message import say

_WORKER = """import json, os, subprocess, sys

view = json.load(sys.stdin)
handoff = view["packet"]["handoff_id"]
assert handoff == json.loads(os.environ["MUNIMENT_CONTEXT"])["handoff_id"]


def muniment(*words):
    subprocess.run([sys.executable, "-m", "muniment", *words], check=True, stdout=subprocess.DEVNULL)


found = "Sensor C drifts by 0.4 degrees a month; the three others hold within 0.1 degrees."
muniment("handoff", "record", "--target", "employee_memory", "--text", found)
muniment("handoff", "record", "--target", "employee_worklog", "--text", "Compared all four sensors. " + found)
muniment("journal", "append", "--handoff", handoff, "--text", found)
muniment("board", "propose", "--handoff", handoff, "--heading", "Sensors", "--text", found)
muniment("handoff", "return", "--conclusion", found)
"""
_FAILING = "echo 'All four sensors are compared and the report is written.'; exit 3"


def dispatch_chapter(stage: Stage) -> None:
    """One worker does its work as a process of its own; another one only says so."""
    stage.tell(
        say(
            "Work goes out to a process of its own. It begins only when its receipt is durable, and lives on "
            "when its parent ends."
        )
    )
    stage.write("worker.py", _WORKER)
    owed = {
        "employee_memory": "agents/dan/MEMORY.md",
        "employee_worklog": "agents/dan/WORKLOG.md",
        "team_journal": "team/journal",
        "central_board": "team/BOARD.md",
    }
    targets = [word for name, path in owed.items() for word in ("--owe", f"{name}={path}")]
    goal = ("--goal", "Compare the sensors.", "--accept", "Each sensor has its drift.")
    worker = (sys.executable, "worker.py")
    stage.run("handoff", "run", "--to", "dan", *goal, *targets, "--", *worker, expect=4)
    stage.tell(
        say("Three of four: the board has one writer, and that is not the worker. It applies the proposal.")
    )
    handoff = stage.ask("handoff", "list")["handoffs"][0]["handoff_id"]
    stage.run("board", "apply", "--handoff", handoff)
    stage.run("board", "apply", "--handoff", handoff)
    stage.run("handoff", "check", handoff)
    stage.run("journal", "verify")

    stage.tell(say("The next worker says that it is done, and ends with an error."))
    stage.run("handoff", "run", "--to", "eve", *goal, "--", "sh", "-c", _FAILING, expect=4)

    stage.tell(say("Word for somebody is given out until it is acknowledged, once."))
    stage.run("inbox", "send", "--to", "dan", "--text", "Sensor C was replaced in November.")
    stage.run("inbox", "read", "--for", "dan")
    waiting = stage.ask("inbox", "read", "--for", "dan")["messages"]
    stage.run("inbox", "ack", waiting[0]["message_id"], "--for", "dan")
    stage.run("inbox", "read", "--for", "dan")
