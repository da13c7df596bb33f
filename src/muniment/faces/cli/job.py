"""Faces, command line: `muniment job`: one execution from its plan to its results."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from muniment.digest import Digest
from muniment.disk.root import Root, real_folder
from muniment.errors import ExitCode, Interrupted
from muniment.faces.cli.call import Call
from muniment.faces.cli.frame import Entry, Group, argument, command, option
from muniment.faces.cli.usage import wrong
from muniment.faces.cli.values import JobName, Word
from muniment.job.history import History
from muniment.job.planning import PlanRequest
from muniment.job.service import View
from muniment.job.tool_run import Pull, PullOutcome
from muniment.message import Message, say
from muniment.path import RelPath
from muniment.record.consent import WitnessKind

_SUMMARY_LIMIT = 16 << 20
the_job = argument("job", type=JobName(), about=say("The job's id."))
"""The argument of every command about one job: its id, or its reference."""


@command(rehearses=False, examples=("muniment job init rna-7 --objective 'align 48 samples'",))
@argument(
    "job",
    type=JobName(),
    required=False,
    about=say("The job's id, which also names its folder; none: a new one."),
)
@option("--objective", metavar="WORDS", default="", about=say("What the job is for."))
@option("--project", metavar="ID", default="", about=say("The project at the engine."))
@option("--engine", type=Word("cwl", "wes", "fkit"), about=say("What runs it; none: the setting job.engine."))
def init(call: Call, job: str | None, objective: str, project: str, engine: str | None) -> None:
    """Begin a job."""
    show(call, call.house.jobs.init(job, objective=objective, project_id=project, engine=engine))


@command(rehearses=False)
@the_job
@argument("documents", nargs=-1, required=True, about=say("Ids of documents that were read."))
def docs(call: Call, job: str, documents: tuple[str, ...]) -> None:
    """Record which documents the job rests on."""
    show(call, call.house.jobs.docs(job, documents))


@command(
    more=(
        say(
            "Each port gets the file that --bind names, else the one file that fits without doubt, else the "
            "flow's default. The table is shown and, at a terminal, confirmed."
        ),
    ),
    examples=("muniment job plan rna-7 --flow align.cwl --input reads/ --bind index=/ref/h.fa",),
)
@the_job
@option("--flow", metavar="FLOW", required=True, about=say("A CWL file, or the id of the engine's flow."))
@option("--input", "place", metavar="PATH", default="", about=say("The folder in which the inputs lie."))
@option("--bind", "binds", metavar="PORT=PATH", multiple=True, about=say("Give this port this file."))
@option(
    "--default", "forced", metavar="PORT", multiple=True, about=say("Use the flow's default for this port.")
)
@option(
    "--no-default",
    "denied",
    metavar="PORT",
    multiple=True,
    about=say("Never use the flow's default for this port."),
)
@option(
    "--select",
    "wanted",
    metavar="RESULT",
    multiple=True,
    about=say("A result that is wanted; none: all of them."),
)
@option("--objective", metavar="WORDS", about=say("What the job is for."))
@option("--project", metavar="ID", about=say("The project at the engine."))
def plan(
    call: Call,
    job: str,
    flow: str,
    place: str,
    binds: tuple[str, ...],
    forced: tuple[str, ...],
    denied: tuple[str, ...],
    wanted: tuple[str, ...],
    objective: str | None,
    project: str | None,
) -> None:
    """Bind files to the ports of a flow, show the table, and ask."""
    jobs = call.house.jobs
    local = jobs.show(job).history.engine != "fkit"
    routing: dict[str, list[str]] = {}
    for each in binds:
        port, mark, file = each.partition("=")
        if not (mark and port and file):
            raise wrong(say("--bind takes PORT=PATH, found {value}", value=each), click.get_current_context())
        routing.setdefault(port, []).append(str(Path(file).absolute()) if local else file)
    request = PlanRequest(
        flow=str(Path(flow).absolute()) if local else flow,
        input_path=str(Path(place).resolve()) if local and place else place,
        routing=routing,
        force_default=frozenset(forced),
        no_default=frozenset(denied),
        select=wanted,
        objective=objective,
        project_id=project,
    )
    if call.options.dry_run:
        show(call, jobs.preview(job, request), suggest=False)
        return
    view = jobs.plan(job, request)
    if not call.terminal.can_ask:
        show(call, view)
        return
    _table(call, view)
    if call.options.yes or call.terminal.ask(_question(view)):
        view = jobs.confirm(job, view.plan, WitnessKind.TERMINAL)
    _answer(call, view)


@command(
    rehearses=False,
    more=(
        say(
            "At a terminal the table is shown and the person is asked. An agent that passes a yes on names "
            "the plan that it showed: --yes --plan SHA256; that is recorded as relayed."
        ),
    ),
)
@the_job
@option("--plan", "digest", metavar="SHA256", about=say("The plan that was shown, by its digest."))
def confirm(call: Call, job: str, digest: str | None) -> None:
    """Confirm exactly the plan that was shown."""
    jobs = call.house.jobs
    view = jobs.show(job)
    plan_shown = view.plan if digest is None else _digest(digest)
    if call.terminal.can_ask:
        _table(call, view)
        if not call.options.yes and not call.terminal.ask(_question(view)):
            raise Interrupted(where=job)
        witness = WitnessKind.TERMINAL
    else:
        if not call.options.yes:
            call.terminal.ask(_question(view))
        if digest is None:
            raise wrong(say("off a terminal, --yes goes with --plan"), click.get_current_context())
        witness = WitnessKind.RELAYED
    _answer(call, jobs.confirm(job, plan_shown, witness))


@command(rehearses=False)
@the_job
def revise(call: Call, job: str) -> None:
    """Take the plan back; a confirmation of it is void."""
    show(call, call.house.jobs.revise(job))


@command(
    rehearses=False,
    more=(say("When an answer was lost, the job is looked up first; nothing is submitted twice."),),
)
@the_job
@option("--found", metavar="ID", about=say("The engine has it, under this id: a person looked."))
@option("--absent", is_flag=True, about=say("The engine does not have it: a person looked."))
def submit(call: Call, job: str, found: str | None, absent: bool) -> None:
    """Hand the confirmed plan to its engine, once."""
    if found and absent:
        raise wrong(say("--found and --absent exclude each other"), click.get_current_context())
    show(call, call.house.jobs.submit(job, found=found, absent=absent))


@command(rehearses=False)
@the_job
def poll(call: Call, job: str) -> ExitCode | None:
    """Ask the engine how the job is."""
    view = call.house.jobs.poll(job)
    show(call, view)
    return ExitCode.NOT_VERIFIED if view.registry.workflow.status == "failed" else None


@command(rehearses=False, examples=("muniment job finalize rna-7 --tool FastQC:3 --summary fastqc.json",))
@the_job
@option("--tool", metavar="NAME:VERSION", about=say("Choose this tool, by its exact version."))
@option("--summary", metavar="FILE", about=say("The tool's summary, where the engine has none."))
def finalize(call: Call, job: str, tool: str | None, summary: str | None) -> ExitCode | None:
    """Take in the results of a job that ran to its end."""
    if summary is not None and tool is None:
        raise wrong(say("--summary goes with --tool"), click.get_current_context())
    view = call.house.jobs.finalize(job, tool=tool, summary=read_file(summary, _SUMMARY_LIMIT))
    show(call, view)
    return ExitCode.BLOCKED if view.registry.document_gap.detected else None


@command(rehearses=False)
@the_job
def cancel(call: Call, job: str) -> None:
    """Stop a job, at its engine and on record."""
    show(call, call.house.jobs.cancel(job))


def show(call: Call, view: View, *, suggest: bool = True) -> None:
    """A job as the outcome of a command."""
    call.terminal.result(view.to_json(), lambda: _lines(call, view))
    if suggest:
        call.terminal.note(view.next)


def tool_rows(history: History) -> list[tuple[Message, object]]:
    """What became of the tool: its image, and each run of it in one line."""
    rows: list[tuple[Message, object]] = []
    pull = history.pull
    if pull is not None:
        rows.append((say("image"), _image(pull)))
        if pull.moved:
            rows.append((say("moved tag"), say("before it was {id}", id=pull.pre_image_id)))
    for one in history.runs:
        code = "" if one.exit_code is None else f" {one.exit_code}"
        found = say("{outcome}{code}: {why}", outcome=one.outcome.value, code=code, why=one.why)
        rows.append((say("run"), say("succeeded") if one.succeeded else found))
    if history.run_intent is not None:
        rows.append((say("run"), say("going on as {name}", name=history.run_intent.container)))
    return rows


def _image(pull: Pull) -> Message:
    if pull.failed:
        return say("{image} could not be fetched: {why}", image=pull.reference, why=pull.why)
    if pull.outcome is PullOutcome.PRESENT:
        return say("{image} was here already: {id}", image=pull.reference, id=pull.post_image_id)
    return say("{image} was fetched: {id}", image=pull.reference, id=pull.post_image_id)


def _answer(call: Call, view: View) -> None:
    """The outcome where the table was shown already."""
    call.terminal.result(view.to_json())
    call.terminal.note(view.next)


def _lines(call: Call, view: View) -> None:
    workflow, bioline = view.registry.workflow, view.registry.execution.bioline
    rows: list[tuple[Message, object]] = [
        (say("job"), view.job),
        (say("phase"), f"{workflow.phase.value} ({workflow.status.value})"),
        (say("engine"), view.history.engine),
    ]
    if workflow.objective:
        rows.append((say("objective"), workflow.objective))
    if bioline.flow.id:
        rows.append((say("flow"), f"{bioline.flow.id} {bioline.flow.version_id}"))
    if bioline.job.id:
        rows.append((say("engine's id"), bioline.job.id))
    if view.history.polled:
        rows.append((say("engine says"), view.history.polled))
    yes = view.history.confirmed
    if yes is not None:
        rows.append((say("confirmed"), say("{at} by {witness}", at=yes.at, witness=yes.witness)))
    gap = view.registry.document_gap
    if gap.detected:
        rows += [(say("gap"), gap.topic), (say("because"), gap.blocking_reason)]
        rows += [(say("missing"), one) for one in gap.missing_information]
    rows += [
        (say("output"), f"{one.path} ({one.role}, {one.size} B, {one.sha256[:12]})")
        for one in view.registry.execution.downstream.outputs
    ]
    rows += tool_rows(view.history)
    call.terminal.lines(rows)
    if view.bindings and workflow.phase in ("planned", "awaiting_plan_confirmation"):
        _table(call, view)


def _table(call: Call, view: View) -> None:
    """The plan as the person confirms it."""
    rows: list[Sequence[object]] = [
        (
            f"{one.task}.{one.port}" if one.task else one.port,
            one.type.value,
            say("required") if one.required else say("optional"),
            one.source.value if one.source else "-",
            one.filename or "-",
            _short(one.fileId),
        )
        for one in view.bindings
    ]
    columns = (say("port"), say("type"), say("needed"), say("bound by"), say("file"), say("content"))
    call.terminal.print()
    call.terminal.table(columns, rows)
    flow = view.registry.execution.bioline.flow
    call.terminal.lines(
        [
            (say("flow"), f"{flow.id} {flow.version_id}"),
            (say("engine"), view.history.engine),
            (say("the plan"), view.plan.hex),
        ]
    )


def _short(file_id: str) -> str:
    """A digest as a screen has room for it: the plan's own digest binds all of it."""
    return f"{file_id[:19]}…" if file_id.startswith("sha256:") else file_id or "-"


def _question(view: View) -> Message:
    return say("Submit exactly this plan of {job}?", job=view.job)


def _digest(text: str) -> Digest:
    try:
        return Digest(text.removeprefix("sha256:"))
    except ValueError as error:
        raise wrong(say("{value} is no sha256", value=text), click.get_current_context()) from error


def read_file(file: str | None, limit: int) -> bytes | None:
    """The bytes of a file that a person named, or None when none was."""
    if file is None:
        return None
    path = Path(file)
    with Root.open(real_folder(path.parent)) as root:
        return root.read(RelPath((path.name,)), limit=limit)


JOB = Group(
    more=(say("A job is one run of one workflow: its record says what was asked, confirmed, run and made."),),
    table={
        "init": Entry("muniment.faces.cli.job:init", say("Begin a job.")),
        "docs": Entry("muniment.faces.cli.job:docs", say("Record which documents it rests on.")),
        "plan": Entry("muniment.faces.cli.job:plan", say("Bind files to a flow, show the table, and ask.")),
        "confirm": Entry("muniment.faces.cli.job:confirm", say("Confirm exactly the plan that was shown.")),
        "revise": Entry("muniment.faces.cli.job:revise", say("Take the plan back.")),
        "submit": Entry("muniment.faces.cli.job:submit", say("Hand the confirmed plan to its engine, once.")),
        "poll": Entry("muniment.faces.cli.job:poll", say("Ask the engine how it is.")),
        "finalize": Entry("muniment.faces.cli.job:finalize", say("Take in the results.")),
        "gap": Entry("muniment.faces.cli.jobs:gap", say("Stop at what the documents do not say.")),
        "resolve-gap": Entry("muniment.faces.cli.jobs:resolve_gap", say("Go on where the gap was met.")),
        "pull": Entry("muniment.faces.cli.job_tool:pull", say("Fetch the image of its tool.")),
        "run": Entry("muniment.faces.cli.job_tool:run", say("Run its tool, without a network.")),
        "cancel": Entry("muniment.faces.cli.job:cancel", say("Stop it, at its engine and on record.")),
        "show": Entry("muniment.faces.cli.jobs:show_job", say("Show one job as it stands.")),
        "list": Entry("muniment.faces.cli.jobs:list_jobs", say("List all jobs.")),
        "verify": Entry("muniment.faces.cli.jobs:verify", say("Read a job again and compare.")),
        "import": Entry("muniment.faces.cli.jobs:import_job", say("Take in a registry written as YAML.")),
        "export": Entry(
            "muniment.faces.cli.exported:export", say("Write its record as a crate, a task or a statement.")
        ),
        "adopt": Entry("muniment.faces.cli.jobs:adopt", say("Accept a registry that somebody else wrote.")),
    },
    examples=("muniment job init rna-7", "muniment job plan rna-7 --flow align.cwl --input reads/"),
)
