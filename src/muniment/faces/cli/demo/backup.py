"""Faces, command line: the demo's chapter of the backup: planned, confirmed, kept, and not deleted."""

from __future__ import annotations

from muniment.faces.cli.demo.stage import Stage
from muniment.message import say


def backup_chapter(stage: Stage) -> None:
    """A snapshot needs rules, a plan and a yes; a second one holds the day's changes."""
    stage.run("init")
    note = stage.write("memory/MEMORY.md", "The third sensor is the one that drifts.\n")
    stage.tell(say("Without rules nothing is saved: what goes in is somebody's decision, never a guess."))
    stage.run("backup", "plan", expect=3)
    stage.run("backup", "rules", "default")
    stage.run("backup", "plan")

    stage.tell(say("A plan that nobody has agreed to is not carried out."))
    plan = stage.ask("backup", "plan")["plan_id"]
    stage.run("backup", "create", "--plan", plan, expect=3)
    stage.tell(say("Here an agent passes the yes on; it is recorded as just that."))
    stage.run("backup", "create", "--plan", plan, "--yes")

    stage.tell(say("A day later one line is another. The second snapshot sends only what changed."))
    note.write_text("The fourth sensor is the one that drifts.\n", encoding="utf-8")
    plan = stage.ask("backup", "plan")["plan_id"]
    stage.run("backup", "create", "--plan", plan, "--yes")
    newer, older = (one["backup_id"] for one in stage.ask("backup", "list")["backups"])
    stage.run("backup", "diff", older, newer)
    stage.run("backup", "cat", older, "workspace/memory/MEMORY.md")

    stage.tell(
        say("The note is lost. A plan says what a restore would do; --apply does it, and undo takes it back.")
    )
    note.unlink()
    stage.run("backup", "restore", older)
    stage.run("backup", "restore", older, "--apply", "--yes")
    stage.run("backup", "undo", "--yes")
    stage.tell(say("Over what is there an agent's yes is not enough; it would have to be the person's."))
    note.write_text("Something else altogether.\n", encoding="utf-8")
    stage.run("backup", "restore", newer, "--apply", "--overwrite", "--yes", expect=3)

    stage.tell(say("An agent can not delete a snapshot by itself: only a person can, by typing its id."))
    stage.run("backup", "delete", older, "--confirm", older, expect=3)
    stage.run("backup", "list")
