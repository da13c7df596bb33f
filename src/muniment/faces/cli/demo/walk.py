"""Faces, command line: the demo's chapter of all four protocols on one report, lost and found again."""

from __future__ import annotations

import hashlib
import shutil
import sys

from muniment.faces.cli.demo.job import can_run
from muniment.faces.cli.demo.stage import Stage
from muniment.message import say

_READS = "".join(f"@read{number}\nACGTACGTAC\n+\nIIIIIIIIII\n" for number in range(1, 13))

_FLOW = """cwlVersion: v1.2
class: CommandLineTool
label: count reads
baseCommand: [sh, -c, 'printf "reads: "; grep -c "^@" "$0"']
inputs:
  reads: {type: File, inputBinding: {position: 1}}
outputs:
  report: {type: stdout}
stdout: report.txt
"""

_WORKER = """import json, os, shutil, subprocess, sys, time

handoff = json.load(sys.stdin)["packet"]["handoff_id"]


def muniment(*words, **within):
    context = json.dumps({"handoff_id": handoff, **within})
    return subprocess.run(
        [sys.executable, "-m", "muniment", *words, "--json"],
        check=True, stdout=subprocess.PIPE, env={**os.environ, "MUNIMENT_CONTEXT": context},
    ).stdout


muniment("job", "init", "counts", "--objective", "count the reads")
plan = json.loads(muniment("job", "plan", "counts", "--flow", "flow.cwl", "--input", "reads"))["plan_sha256"]
muniment("job", "confirm", "counts", "--yes", "--plan", plan)
muniment("job", "submit", "counts")
ended = os.path.join(JOBS, "counts", "engine", "openclaw-counts", "ended.json")
for _ in range(600):
    if os.path.exists(ended):
        break
    time.sleep(0.1)
muniment("job", "poll", "counts")
job = json.loads(muniment("job", "finalize", "counts"))
shutil.copy(job["registry"]["execution"]["downstream"]["outputs"][0]["path"], "counts-report.txt")
muniment("archive", "counts-report.txt", job_id="counts")
done = "Counted the reads of the sample by a workflow, and archived its report: there are twelve."
muniment("handoff", "record", "--target", "employee_worklog", "--text", done)
muniment("handoff", "return", "--conclusion", done, "--artifact", "counts-report.txt")
"""

_REASON = "One small job; nobody else works on it."


def walk_chapter(stage: Stage) -> None:
    """A job's output is archived inside a handoff, saved, lost, restored, and proved once more."""
    if not can_run():
        stage.leave_out(
            "walk",
            say(
                "The chapter of all four protocols is left out, for it runs a job, and cwltool is not "
                "installed: pip install 'muniment[cwl]'"
            ),
        )
        return
    stage.move_to("walk")
    _prepare(stage)
    stage.tell(
        say(
            "All four protocols on one report: a worker runs a job, archives its output and returns; the "
            "parent reads back the job's report in the archive and the worker's entry."
        )
    )
    unneeded = ("employee_memory", "team_journal", "central_board")
    stage.run(
        "handoff", "run", "--to", "fay",
        "--goal", "Count the reads.",
        "--accept", "The report says how many there are.",
        "--owe", "employee_worklog=agents/fay/WORKLOG.md",
        *(word for name in unneeded for word in ("--not-owed", f"{name}={_REASON}")),
        "--", sys.executable, "worker.py",
    )  # fmt: skip

    stage.tell(say("Two snapshots of the workspace are taken, with a note written between them."))
    stage.ask("backup", "rules", "default")
    for note in ("The sample has twelve reads.\n", "The sample has twelve reads; ask for a second one.\n"):
        stage.write("memory/MEMORY.md", note)
        stage.run("backup", "create", "--plan", stage.ask("backup", "plan")["plan_id"], "--yes")
    kept = stage.ask("archive", "verify")["verified"][0]
    stage.run("verify", "--all")

    stage.tell(say("Then somebody empties the workspace: rm -rf *"))
    for path in stage.workspace.iterdir():
        if path.name != ".muniment":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    stage.run("verify", "--all", expect=4)

    stage.tell(say("The newest snapshot brings it back, and everything is read once more."))
    newest = stage.ask("backup", "list")["backups"][0]["backup_id"]
    stage.run("backup", "restore", newest, "--apply", "--yes")
    stage.run("verify", "--all")

    stage.tell(say("The whole story of the report, by nothing but its digest:"))
    report = (stage.workspace / kept["path"]).read_bytes()
    stage.as_told &= report == b"reads: 12\n"
    stage.run("find", f"sha256:{hashlib.sha256(report).hexdigest()}")
    stage.run("timeline", "--count", "12")


def _prepare(stage: Stage) -> None:
    """What a person has decided before: where jobs lie, and what an agent's yes suffices for."""
    stage.ask("init")
    jobs = stage.place / "jobs"
    allowed = f'[job]\nroot = "{jobs}"\n[confirm]\nrelayed = ["plan", "submit", "create", "restore"]\n'
    (stage.workspace / ".muniment" / "config.toml").write_text(allowed, encoding="utf-8")
    stage.write("flow.cwl", _FLOW)
    stage.write("reads/sample.fastq", _READS)
    stage.write("worker.py", f"JOBS = {str(jobs)!r}\n\n{_WORKER}")
