"""Faces, command line: the demo's chapter of the job: planned, confirmed, run, verified, found out."""

from __future__ import annotations

import importlib.util
import time
from pathlib import Path

from muniment.faces.cli.demo.container import tool_chapter
from muniment.faces.cli.demo.stage import Stage
from muniment.message import say

_READS = "".join(f"@read{number}\nACGTACGTAC\n+\nIIIIIIIIII\n" for number in range(1, 13))

_FLOW = """cwlVersion: v1.2
class: Workflow
label: count reads
inputs:
  reads: File
outputs:
  report: {type: File, outputSource: describe/report}
steps:
  count: {run: count.cwl, in: {reads: reads}, out: [count]}
  describe: {run: describe.cwl, in: {count: count/count}, out: [report]}
"""

_COUNT = """cwlVersion: v1.2
class: CommandLineTool
baseCommand: [sh, -c, 'grep -c "^@" "$0"']
inputs:
  reads: {type: File, inputBinding: {position: 1}}
outputs:
  count: {type: stdout}
stdout: count.txt
"""

_DESCRIBE = """cwlVersion: v1.2
class: CommandLineTool
baseCommand: [sh, -c, 'printf "reads: "; cat "$0"']
inputs:
  count: {type: File, inputBinding: {position: 1}}
outputs:
  report: {type: stdout}
stdout: report.txt
"""

_PATIENCE = 120
"""Seconds that the run may take before the chapter counts as not gone as told."""


def can_run() -> bool:
    """Whether workflows can run here."""
    return importlib.util.find_spec("cwltool") is not None


def job_chapter(stage: Stage) -> None:
    """A two-step workflow over reads made on the spot, from its plan to a tampered result."""
    if not can_run():
        stage.leave_out(
            "job",
            say(
                "The chapter of the job is left out, for cwltool, which runs its workflow, is not installed: "
                "pip install 'muniment[cwl]'"
            ),
        )
        return
    jobs = stage.place / "jobs"
    stage.run("init")
    settings = stage.workspace / ".muniment" / "config.toml"
    settings.write_text(f'[job]\nroot = "{jobs}"\n', encoding="utf-8")

    stage.tell(say("Twelve reads and a workflow of two steps are made on the spot."))
    for name, text in (("flow.cwl", _FLOW), ("count.cwl", _COUNT), ("describe.cwl", _DESCRIBE)):
        stage.write(name, text)
    stage.write("reads/sample.fastq", _READS)
    stage.run("job", "init", "demo", "--objective", "count the reads")
    flow, reads = str(stage.workspace / "flow.cwl"), str(stage.workspace / "reads")
    stage.run("job", "plan", "demo", "--flow", flow, "--input", reads)

    stage.tell(say("Nobody has confirmed the plan, so it is not submitted, whatever the agent says."))
    stage.run("job", "submit", "demo", expect=3)
    plan = stage.ask("job", "show", "demo")["plan_sha256"]
    stage.run("job", "confirm", "demo", "--yes", "--plan", plan)
    stage.tell(say("A yes that an agent passes on is recorded as that, and does not suffice either."))
    stage.run("job", "submit", "demo", expect=3)

    stage.tell(say("In this folder the person allows it for good. Now the plan runs, on this machine."))
    with settings.open("a", encoding="utf-8") as stream:
        stream.write('[confirm]\nrelayed = ["plan", "submit"]\n')
    stage.run("job", "confirm", "demo", "--yes", "--plan", plan)
    stage.run("job", "submit", "demo")
    stage.as_told &= _ran(stage)
    stage.run("job", "finalize", "demo")
    stage.run("job", "verify", "demo")
    tool_chapter(stage)

    stage.tell(say("Somebody turns twelve reads into thirteen behind everyone's back."))
    output = Path(
        stage.ask("job", "show", "demo")["registry"]["execution"]["downstream"]["outputs"][0]["path"]
    )
    stage.as_told &= output.read_text(encoding="utf-8") == "reads: 12\n"
    output.write_text("reads: 13\n", encoding="utf-8")
    stage.run("job", "verify", "demo", expect=4)


def _ran(stage: Stage) -> bool:
    """Ask until the engine says that it is over."""
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        if (stage.place / "jobs" / "demo" / "engine" / "openclaw-demo" / "ended.json").exists():
            stage.run("job", "poll", "demo")
            return True
        time.sleep(0.3)
    return False
