"""Faces, tools: the tools of jobs as clients see them (spec 2, surface)."""

from __future__ import annotations

from muniment.faces.tools.shape import (
    DIGEST,
    FLAG,
    WHOLE,
    Schema,
    Shape,
    closed,
    flag,
    items,
    maybe,
    path,
    table,
    text,
    word,
)
from muniment.job.model import Registry
from muniment.job.reader import LARGEST_FILE
from muniment.job.shape import json_schema
from muniment.job.tool_run import Intent, Pull, ToolRun
from muniment.record.consent import WitnessKind

SUMMARY_MAX = 16 << 20
"""Characters of a tool's summary."""

_JOB = text("The job's id.", minLength=1, maxLength=255)
_ENGINE = word("What runs it; none: the setting job.engine.", "cwl", "wes", "fkit")
_LINE = text(maxLength=4096)
_WORD = text(maxLength=65536)

VIEW = closed(
    {
        "job": text(),
        "reference": text(),
        "engine": text(),
        "created": text(),
        "changed": {**FLAG, "description": "Whether this call changed anything."},
        "plan_sha256": DIGEST,
        "confirmed": maybe(
            closed(
                {
                    "plan_sha256": DIGEST,
                    "witness": {"enum": [kind.value for kind in WitnessKind]},
                    "at": text(),
                }
            )
        ),
        "submission_open": {**FLAG, "description": "A submission was begun and its answer is not known."},
        "registry": json_schema(Registry),
        "tool": closed(
            {
                "pull": maybe(json_schema(Pull)),
                "open_run": maybe(json_schema(Intent)),
                "runs": items(json_schema(ToolRun)),
            }
        ),
        "complete": {**FLAG, "description": "The job is at its end, and so is its tool, if it has one."},
        "next": text("What comes next."),
    }
)

_ROW = closed({"job": text(), "phase": text(), "status": text(), "objective": text(), "fault": text()})
_CHECK = closed({"name": text(), "good": FLAG, "finding": text(), "details": items(text())})


def _act(
    word: str, title: str, about: str, takes: Schema, optional: str = "", *, destructive: bool = False,
    idempotent: bool = True, reaches_out: bool = False,
) -> Shape:  # fmt: skip
    """A tool that changes a job and gives it as it stands then."""
    return Shape(
        f"job_{word}",
        title,
        about,
        closed({"job": _JOB, **takes}, optional),
        VIEW,
        reads_only=False,
        destructive=destructive,
        idempotent=idempotent,
        reaches_out=reaches_out,
    )


INIT = _act(
    "init",
    "Begin a job",
    "Begin a job: one run of one workflow, with a record of its own. Without an id it gets a new one.",
    {
        "objective": text("What it is for.", maxLength=4096),
        "project": text("The project at the engine.", maxLength=4096),
        "engine": _ENGINE,
    },
    "job objective project engine",
    idempotent=False,
)

DOCS = _act(
    "docs",
    "Record which documents it rests on",
    "Record the ids of the documents that were read for this job, and when.",
    {"documents": items(_LINE, "Ids of documents that were read.")},
)

PLAN = _act(
    "plan",
    "Bind files to a flow",
    "Bind a file to each port of a workflow; the job then waits until the person confirms exactly this plan. "
    "Each port gets the file that bind names, else the one that fits without doubt, else the flow's default. "
    "Show the bindings to the person, then call job_confirm.",
    {
        "flow": path("A CWL file, or the id of the engine's flow."),
        "input": path("The folder in which the inputs lie."),
        "bind": table(items(path("")), "For a port, as port or task.port, its files."),
        "default": items(_LINE, "Ports that use the flow's default."),
        "noDefault": items(_LINE, "Ports that never use it."),
        "select": items(_LINE, "The results that are wanted; none: all."),
        "objective": text("What it is for.", maxLength=4096),
        "project": text("The project at the engine.", maxLength=4096),
    },
    "input bind default noDefault select objective project",
    reaches_out=True,
)

CONFIRM = _act(
    "confirm",
    "Confirm exactly the plan that was shown",
    "Have the person confirm the plan. Where the client can ask the person, it does, and their answer "
    "counts. Elsewhere the first call, without plan, gives the plan to be shown; after the person's yes the "
    "second names it. That is recorded as relayed, and is not enough to submit unless the setting "
    "confirm.relayed says so. Never call it with plan before the person has said yes.",
    {"plan": text("The plan that was shown, by plan_sha256.", pattern="^(sha256:)?[0-9a-f]{64}$")},
    "plan",
    idempotent=False,
)

REVISE = _act(
    "revise",
    "Take the plan back",
    "Take the plan back to change it; a confirmation of it is void.",
    {},
    destructive=True,
)

SUBMIT = _act(
    "submit",
    "Hand the confirmed plan to its engine",
    "Hand the confirmed plan to its engine, once. When an answer was lost, the job is looked up first.",
    {
        "found": text("A person looked: the engine has it, under this id.", minLength=1, maxLength=4096),
        "absent": flag("A person looked: the engine does not have it."),
    },
    "found absent",
    destructive=True,
    reaches_out=True,
)

POLL = _act(
    "poll",
    "Ask the engine how it is",
    "Ask the engine how the job is; every 10 to 20 minutes is enough. The result is an error when it failed.",
    {},
    reaches_out=True,
)

FINALIZE = _act(
    "finalize",
    "Take in the results",
    "Take in the results of a job that ran to its end, each with its size and SHA-256. The result is an "
    "error when a document is missing.",
    {
        "tool": text("Look up this tool, as NAME:VERSION.", maxLength=4096),
        "summary": text(
            "The tool's summary, a JSON object, where the engine has none.", maxLength=SUMMARY_MAX
        ),
    },
    "tool summary",
    reaches_out=True,
)

GAP = _act(
    "gap",
    "Stop at what the documents do not say",
    "Stop the job because the documents do not say what is needed. Nothing is guessed instead.",
    {
        "topic": text("What it is about.", minLength=1),
        "reason": text("Why nothing can go on without it.", minLength=1),
        "attempted": items(_LINE, "Documents that were tried."),
        "missing": items(text(), "What is missing."),
    },
    "attempted missing",
)

RESOLVE_GAP = _act(
    "resolve_gap",
    "Go on where the gap was met",
    "What was missing has been found in a document: the job goes on where it stopped.",
    {},
)

PULL = _act(
    "pull",
    "Fetch the image of its tool",
    "Fetch the container image of the job's tool from its registry, and record which image was here before "
    "and which is here now. A tag that names another image than before is reported as moved.",
    {},
    reaches_out=True,
)

RUN = _act(
    "run",
    "Run its tool",
    "Run the job's tool in a container without a network, once. It reads the results of the job in /inputs "
    "and scripts in /scripts, and writes into /outputs. The result is an error unless it exited with 0 and "
    "what it left was taken in.",
    {
        "argv": items(_WORD, "The program and its arguments."),
        "inputs": items(path("A file."), "Files that it is given instead of the results."),
        "scripts": items(path("A file."), "Scripts that are kept and given."),
    },
    "inputs scripts",
    idempotent=False,
)

CANCEL = _act(
    "cancel",
    "Stop a job",
    "Stop a job, at its engine and on record.",
    {},
    destructive=True,
    reaches_out=True,
)

SHOW = Shape(
    "job_show",
    "Show one job",
    "Show one job as it stands, and what comes next.",
    closed({"job": _JOB}),
    VIEW,
)

LIST = Shape(
    "job_list",
    "List all jobs",
    "List all jobs with their phase and status; one that can not be read is listed with its fault.",
    closed({}),
    closed({"total": WHOLE, "jobs": items(_ROW)}),
)

VERIFY = Shape(
    "job_verify",
    "Read a job again and compare",
    "Read everything of a job again and compare it with its record. The result is an error "
    "when anything differs.",
    closed({"job": _JOB}),
    closed({"job": text(), "verified": FLAG, "complete": FLAG, "checks": items(_CHECK)}),
)

IMPORT = _act(
    "import",
    "Take in a registry written as YAML",
    "Take in a registry that a person wrote as YAML, as a new job. One that says it was submitted needs the "
    "person's confirmation of its plan, by a client that can ask them.",
    {"yaml": text("The registry, as block YAML.", minLength=1, maxLength=LARGEST_FILE), "engine": _ENGINE},
    "engine",
    idempotent=False,
)

ADOPT = _act(
    "adopt",
    "Accept a registry that somebody else wrote",
    "Accept a registry that was written around the record, with the reason kept.",
    {"reason": text("Who wrote it, and why it is right.", minLength=1, maxLength=4096)},
    destructive=True,
    idempotent=False,
)
