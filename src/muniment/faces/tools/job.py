"""Faces, tools: jobs: one call of the room each; a yes is the person's only when the client asked them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from muniment.canonical import Json
from muniment.digest import Digest
from muniment.faces.errors import InvalidArgument
from muniment.faces.house import House
from muniment.faces.tools import job_shapes as shapes
from muniment.faces.tools.tool import LISTED, Act, Answer, Client, Question, Tool, answered
from muniment.job.errors import NotConfirmed
from muniment.job.export.facts import Format
from muniment.job.export.writing import default_name
from muniment.job.planning import PlanRequest
from muniment.job.service import View
from muniment.message import Message, say
from muniment.path import printable
from muniment.record.consent import WitnessKind
from muniment.record.reference import job_named
from muniment.record.state import FOLDER


def _shown(view: View, *, failed: bool = False) -> Answer:
    return answered(view.to_json(), failed=failed)


def _init(house: House, given: Mapping[str, Any], _: Client) -> Answer:
    return _shown(
        house.jobs.init(
            given.get("job"),
            objective=given.get("objective", ""),
            project_id=given.get("project", ""),
            engine=given.get("engine"),
        )
    )


def _docs(house: House, given: Mapping[str, Any], _: Client) -> Answer:
    return _shown(house.jobs.docs(given["job"], given["documents"]))


def _plan(house: House, given: Mapping[str, Any], _: Client) -> Answer:
    jobs, job, top = house.jobs, given["job"], house.root.path
    local = jobs.show(job).history.engine != "fkit"
    place, flow = given.get("input", ""), given["flow"]
    routing = {
        port: [str(Path(top, file)) if local else file for file in files]
        for port, files in given.get("bind", {}).items()
    }
    request = PlanRequest(
        flow=str(Path(top, flow)) if local else flow,
        input_path=str(Path(top, place).resolve()) if local and place else place,
        routing=routing,
        force_default=frozenset(given.get("default", ())),
        no_default=frozenset(given.get("noDefault", ())),
        select=tuple(given.get("select", ())),
        objective=given.get("objective"),
        project_id=given.get("project"),
    )
    return _shown(jobs.plan(job, request))


def _confirm(house: House, given: Mapping[str, Any], client: Client) -> Answer | Question:
    jobs, job = house.jobs, given["job"]
    named = Digest(given["plan"].removeprefix("sha256:")) if "plan" in given else None
    view = jobs.awaiting(job)
    if client.can_ask and named in (None, view.plan):
        reply = client.reply_about(view.plan)
        if reply is None:
            return Question(_question(view), view.plan)
        if not reply.yes:
            raise NotConfirmed(where=job, why=_NO, digest=view.plan, job=job)
        return _shown(jobs.confirm(job, view.plan, WitnessKind.ELICITATION))
    if named is None:
        show_it = say(
            "Show the plan to the person; after their yes call job_confirm with plan {plan}.",
            plan=view.plan.hex,
        )
        return answered({**view.to_json(), "next": str(show_it)})
    return _shown(jobs.confirm(job, named, WitnessKind.RELAYED))


_NO = say("the person did not say yes")


def _question(view: View) -> str:
    """The plan as the person confirms it: every line of the table, nothing cut."""
    flow = view.registry.execution.bioline.flow
    lines: list[Message | str] = [
        say("Submit exactly this plan of {job}?", job=printable(view.job)),
        "",
        say("flow: {flow}", flow=printable(f"{flow.id} {flow.version_id}".strip())),
        say("engine: {engine}", engine=view.history.engine),
    ]
    for one in view.bindings:
        port = printable(f"{one.task}.{one.port}" if one.task else one.port)
        file = printable(one.filename) or "-"
        source = one.source.value if one.source else "-"
        lines.append(
            say(
                "{port}: {file} ({source}, {content})",
                port=port,
                file=file,
                source=source,
                content=printable(one.fileId) or "-",
            )
        )
    lines.append(say("plan: {plan}", plan=view.plan.hex))
    return "\n".join(map(str, lines))


def _revise(house: House, given: Mapping[str, Any], _: Client) -> Answer:
    return _shown(house.jobs.revise(given["job"]))


def _submit(house: House, given: Mapping[str, Any], _: Client) -> Answer:
    found, absent = given.get("found"), given.get("absent", False)
    if found and absent:
        raise InvalidArgument(where="found", why=say("found and absent exclude each other"))
    return _shown(house.jobs.submit(given["job"], found=found, absent=absent))


def _poll(house: House, given: Mapping[str, Any], _: Client) -> Answer:
    view = house.jobs.poll(given["job"])
    return _shown(view, failed=view.registry.workflow.status == "failed")


def _finalize(house: House, given: Mapping[str, Any], _: Client) -> Answer:
    tool, summary = given.get("tool"), given.get("summary")
    if summary is not None and tool is None:
        raise InvalidArgument(where="summary", why=say("summary goes with tool"))
    data = summary.encode("utf-8") if summary is not None else None
    view = house.jobs.finalize(given["job"], tool=tool, summary=data)
    return _shown(view, failed=view.registry.document_gap.detected)


def _gap(house: House, given: Mapping[str, Any], _: Client) -> Answer:
    return _shown(
        house.jobs.gap(
            given["job"],
            topic=given["topic"],
            reason=given["reason"],
            attempted=given.get("attempted", ()),
            missing=given.get("missing", ()),
        )
    )


def _resolve_gap(house: House, given: Mapping[str, Any], _: Client) -> Answer:
    return _shown(house.jobs.resolve_gap(given["job"]))


def _pull(house: House, given: Mapping[str, Any], _: Client) -> Answer:
    return _shown(house.jobs.pull(given["job"]))


def _run(house: House, given: Mapping[str, Any], _: Client) -> Answer:
    top = house.root.path
    view = house.jobs.run(
        given["job"],
        given["argv"],
        inputs=[str(Path(top, one)) for one in given.get("inputs", ())],
        scripts=[str(Path(top, one)) for one in given.get("scripts", ())],
    )
    return _shown(view, failed=not view.history.runs[-1].succeeded)


def _cancel(house: House, given: Mapping[str, Any], _: Client) -> Answer:
    return _shown(house.jobs.cancel(given["job"]))


def _show(house: House, given: Mapping[str, Any], _: Client) -> Answer:
    return _shown(house.jobs.show(given["job"]))


def _list(house: House, _: Mapping[str, Any], __: Client) -> Answer:
    rows: list[Json] = [one.to_json() for one in house.jobs.list()]
    return answered({"total": len(rows), "jobs": rows[:LISTED]})


def _verify(house: House, given: Mapping[str, Any], _: Client) -> Answer:
    report = house.jobs.verify(given["job"])
    return answered(report.to_json(), failed=not report.good)


def _import(house: House, given: Mapping[str, Any], client: Client) -> Answer | Question:
    jobs, job, engine = house.jobs, given["job"], given.get("engine")
    data = given["yaml"].encode("utf-8")
    try:
        return _shown(jobs.import_yaml(job, data, where="yaml", engine=engine))
    except NotConfirmed as missing:
        plan = missing.facts["digest"]
        if not client.can_ask or not isinstance(plan, Digest):
            raise
        reply = client.reply_about(plan)
        if reply is None:
            asked = say("It says that plan {digest} was submitted. Do you confirm it?", digest=plan.hex)
            return Question(str(asked), plan)
        if not reply.yes:
            raise
    confirmed = (plan, WitnessKind.ELICITATION)
    return _shown(jobs.import_yaml(job, data, where="yaml", engine=engine, confirmed=confirmed))


def _export(house: House, given: Mapping[str, Any], _: Client) -> Answer:
    format, job = Format(given["format"]), given["job"]
    rel = house.root.relative(given.get("output") or default_name(job, format))
    if not rel.parts or rel.parts[: len(FOLDER.parts)] == FOLDER.parts:
        why = say("a path in the workspace was expected, outside {own}", own=FOLDER.posix)
        raise InvalidArgument(where="output", why=why)
    with house.root.below(rel.parent):  # no link on the way leads out of the workspace
        done = house.jobs.export(job, format, Path(house.root.path, *rel.parts))
    return answered({**done.to_json(), "path": rel.posix})


def _adopt(house: House, given: Mapping[str, Any], _: Client) -> Answer:
    return _shown(house.jobs.adopt(given["job"], given["reason"]))


def _by_name(act: Act) -> Act:
    """A job may be given by its id or by its reference."""

    def named(house: House, given: Mapping[str, Any], client: Client) -> Answer | Question:
        name = {"job": job_named(given["job"])} if "job" in given else {}
        return act(house, {**given, **name}, client)

    return named


TOOLS = (
    Tool(shapes.INIT, _by_name(_init)),
    Tool(shapes.DOCS, _by_name(_docs)),
    Tool(shapes.PLAN, _by_name(_plan)),
    Tool(shapes.CONFIRM, _by_name(_confirm)),
    Tool(shapes.REVISE, _by_name(_revise)),
    Tool(shapes.SUBMIT, _by_name(_submit)),
    Tool(shapes.POLL, _by_name(_poll)),
    Tool(shapes.FINALIZE, _by_name(_finalize)),
    Tool(shapes.GAP, _by_name(_gap)),
    Tool(shapes.RESOLVE_GAP, _by_name(_resolve_gap)),
    Tool(shapes.PULL, _by_name(_pull)),
    Tool(shapes.RUN, _by_name(_run)),
    Tool(shapes.CANCEL, _by_name(_cancel)),
    Tool(shapes.SHOW, _by_name(_show)),
    Tool(shapes.LIST, _by_name(_list)),
    Tool(shapes.VERIFY, _by_name(_verify)),
    Tool(shapes.IMPORT, _by_name(_import)),
    Tool(shapes.EXPORT, _by_name(_export)),
    Tool(shapes.ADOPT, _by_name(_adopt)),
)
