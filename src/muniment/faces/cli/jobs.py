"""Faces, command line: `muniment job list, show, verify, gap, import, adopt`: jobs that there are."""

from __future__ import annotations

from muniment.canonical import Json
from muniment.digest import Digest
from muniment.errors import ExitCode
from muniment.faces.cli.call import Call
from muniment.faces.cli.frame import argument, command, option
from muniment.faces.cli.job import read_file, show, the_job
from muniment.faces.cli.values import JobName, Word
from muniment.job.errors import NotConfirmed
from muniment.job.reader import LARGEST_FILE
from muniment.job.verify import Report
from muniment.message import say
from muniment.record.consent import WitnessKind


@command()
def list_jobs(call: Call) -> None:
    """List all jobs with their phase and status."""
    rows = list(call.house.jobs.list())
    value: list[Json] = [one.to_json() for one in rows]

    def show_them() -> None:
        if not rows:
            call.terminal.say(say("There is no job yet."))
            return
        columns = [say("job"), say("phase"), say("status"), say("objective")]
        cells = [[one.job, one.phase or one.fault, one.status, one.objective] for one in rows]
        call.terminal.table(columns, cells)

    call.terminal.result({"jobs": value}, show_them)


@command()
@the_job
def show_job(call: Call, job: str) -> None:
    """Show one job as it stands, and what comes next."""
    show(call, call.house.jobs.show(job))


@command()
@the_job
def verify(call: Call, job: str) -> ExitCode | None:
    """Read everything of a job again and compare it with what is on record."""
    report = call.house.jobs.verify(job)
    call.terminal.result(report.to_json(), lambda: _report(call, report))
    return None if report.good else ExitCode.NOT_VERIFIED


def _report(call: Call, report: Report) -> None:
    for one in report.checks:
        mark = "✓" if one.good else "✗"
        call.terminal.say(say("{mark} {name}: {finding}", mark=mark, name=one.name, finding=one.finding))
        for detail in one.details:
            call.terminal.say(say("    {detail}", detail=detail))
    if report.good and not report.complete:
        call.terminal.say(say("The record is true. What it says: the job is not complete."))


@command(rehearses=False)
@the_job
@option("--topic", metavar="WORDS", required=True, about=say("What the gap is about."))
@option("--reason", metavar="WORDS", required=True, about=say("Why nothing can go on without it."))
@option("--attempted", metavar="ID", multiple=True, about=say("A document that was tried."))
@option("--missing", metavar="WORDS", multiple=True, about=say("What is missing."))
def gap(
    call: Call, job: str, topic: str, reason: str, attempted: tuple[str, ...], missing: tuple[str, ...]
) -> None:
    """Stop at what the documents do not say; nothing is guessed instead."""
    jobs = call.house.jobs
    show(call, jobs.gap(job, topic=topic, reason=reason, attempted=attempted, missing=missing))


@command(rehearses=False)
@the_job
def resolve_gap(call: Call, job: str) -> None:
    """What was missing has been found: go on where the gap was met."""
    show(call, call.house.jobs.resolve_gap(job))


@command(
    rehearses=False,
    more=(
        say(
            "Plain block YAML only: no anchors, aliases, tags, and each key once. A registry that says it "
            "was submitted needs a person's confirmation of its plan."
        ),
    ),
)
@argument("job", type=JobName(), about=say("The id that the job gets here."))
@argument("file", about=say("The YAML file."))
@option("--engine", type=Word("cwl", "wes", "fkit"), about=say("What runs it; none: the setting job.engine."))
def import_job(call: Call, job: str, file: str, engine: str | None) -> None:
    """Take in a registry that a person wrote as YAML."""
    jobs, data = call.house.jobs, read_file(file, LARGEST_FILE) or b""
    try:
        view = jobs.import_yaml(job, data, where=file, engine=engine)
    except NotConfirmed as missing:
        plan = missing.facts["digest"]
        if not call.terminal.can_ask:
            raise
        question = say("It says that plan {digest} was submitted. Do you confirm it?", digest=plan)
        if not call.options.yes and not call.terminal.ask(question):
            raise
        assert isinstance(plan, Digest)
        confirmed = (plan, WitnessKind.TERMINAL)
        view = jobs.import_yaml(job, data, where=file, engine=engine, confirmed=confirmed)
    show(call, view)


@command(rehearses=False)
@the_job
@option("--reason", metavar="WORDS", required=True, about=say("Who wrote it, and why it is right."))
def adopt(call: Call, job: str, reason: str) -> None:
    """Accept a registry that somebody else wrote, with the reason on record."""
    show(call, call.house.jobs.adopt(job, reason))
