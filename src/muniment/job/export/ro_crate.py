"""Room `job`: a job as an RO-Crate 1.1 with the profile Process Run Crate 0.5.  Pure.

The workflow and each run of the tool are actions of their own.  Files of the job's folder lie below
`job/` under their own paths, inputs from elsewhere below `inputs/` under their sha256.  What was
bound and is not there as a file, is a value with its id (spec 2, export).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from muniment.canonical import canonical
from muniment.job.export.facts import (
    JOURNAL_FILE,
    REGISTRY_FILE,
    Bound,
    Facts,
    Held,
    Party,
    TimedRun,
    Verdict,
    hex_of,
    moment_of,
)
from muniment.job.image_name import names_registry
from muniment.job.model import KNOWLEDGE_SOURCE, Artifact
from muniment.job.tool_run import Image, RunOutcome

METADATA = "ro-crate-metadata.json"
JOB, INPUTS = "job", "inputs"
CRATE = "https://w3id.org/ro/crate/1.1"
PROFILE = "https://w3id.org/ro/wfrun/process/0.5"
RUN_TERMS = "https://w3id.org/ro/terms/workflow-run#"
TERMS = {
    name: RUN_TERMS + name for name in ("ContainerImage", "DockerImage", "containerImage", "registry", "tag")
} | {"sha256": RUN_TERMS + "sha256"}
"""Terms that the crate's own context lacks, named where they are used so that no reader fetches them."""

COMPLETED = "http://schema.org/CompletedActionStatus"
FAILED = "http://schema.org/FailedActionStatus"
NO_LICENCE = "http://spdx.org/rdf/terms#noassertion"

Entity = dict[str, Any]

# Fixed, since the tables of systems differ and a document has to come out the same everywhere.
_TYPES = {
    "json": "application/json", "jsonl": "application/jsonl", "yaml": "application/yaml",
    "yml": "application/yaml", "txt": "text/plain", "log": "text/plain", "csv": "text/csv",
    "tsv": "text/tab-separated-values", "html": "text/html", "md": "text/markdown", "pdf": "application/pdf",
    "png": "image/png", "svg": "image/svg+xml", "gz": "application/gzip", "zip": "application/zip",
    "sh": "text/x-shellscript", "py": "text/x-python", "fastq": "text/plain", "fasta": "text/plain",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Part:
    """A file of the crate: where it lies there and where it came from, with what is on record of it.

    `optional` marks inputs from outside the job's folder, which may have gone since; their `source`
    is an absolute path, any other's one of that folder.  `size` is None where only the sha256 is on
    record.
    """

    crate_path: str
    source: str
    role: str
    sha256: str
    size: int | None = None
    optional: bool = False


def media_type(path: str) -> str:
    """The media type of a file by its name.

    >>> media_type("a/report.TXT"), media_type("reads.bam")
    ('text/plain', 'application/octet-stream')
    """
    return _TYPES.get(path.rpartition(".")[2].lower(), "application/octet-stream")


def identifier(path: str) -> str:
    """A path of the crate as an `@id`.

    >>> identifier("job/outputs/a b.txt")
    'job/outputs/a%20b.txt'
    """
    return quote(path, safe="/")


def parts(facts: Facts) -> list[Part]:
    """Every file that belongs into the crate, each once; the journal and the registry come first."""
    registry, journal = facts.registry_file, facts.journal_file
    found = {
        f"{JOB}/{REGISTRY_FILE}": Part(
            f"{JOB}/{REGISTRY_FILE}", REGISTRY_FILE, "registry", registry.sha256, registry.size
        ),
        f"{JOB}/{JOURNAL_FILE}": Part(
            f"{JOB}/{JOURNAL_FILE}", JOURNAL_FILE, "journal", journal.sha256, journal.size
        ),
    }
    flow = _flow_document(facts)
    if flow is not None:
        found[flow.crate_path] = flow
    for one in facts.flow_inputs():
        if one.sha256 is not None:
            part = _part(facts, one.filename, f"input {one.port}", one.sha256, None)
            found.setdefault(part.crate_path, part)
    for artifact in (*facts.outputs_of_flow(), *facts.logs_of_flow()):
        _add(facts, found, artifact)
    for each in facts.runs:
        run = each.run
        left = run.outputs if facts.verdict_of(run) is Verdict.COMPLETE else ()
        for artifact in (*run.inputs, *run.scripts, *left, *run.logs):
            _add(facts, found, artifact)
    return list(found.values())


def in_folder(facts: Facts) -> list[Part]:
    """The files of the job's folder that an export tells of, beside registry and journal."""
    papers = (REGISTRY_FILE, JOURNAL_FILE)
    return [part for part in parts(facts) if not part.optional and part.source not in papers]


def _add(facts: Facts, found: dict[str, Part], artifact: Artifact) -> None:
    part = _part(facts, artifact.path, artifact.role, artifact.sha256, artifact.size)
    known = found.get(part.crate_path)
    if known is None or known.size is None:
        found[part.crate_path] = part


def _part(facts: Facts, path: str, role: str, digest: str, size: int | None) -> Part:
    inner = facts.inner(path)
    if inner is not None:
        return Part(f"{JOB}/{inner}", inner, role, digest, size)
    name = path.rpartition("/")[2]
    return Part(f"{INPUTS}/{digest}/{name if name.strip('.') else 'input'}", path, role, digest, size, True)


def _flow_document(facts: Facts) -> Part | None:
    digits = hex_of(facts.registry.execution.bioline.flow.version_id)
    if digits is None:
        return None
    name = f"flow-{digits}.json"
    return Part(f"{JOB}/{name}", name, "workflow", digits)


def document(facts: Facts, held: Mapping[str, Held]) -> dict[str, Any]:
    """The metadata of the crate; `held` are the files in it, by their paths there."""
    graph = [
        {
            "@id": METADATA,
            "@type": "CreativeWork",
            "conformsTo": {"@id": CRATE},
            "about": {"@id": "./"},
        },
        *_graph(facts, [part for part in parts(facts) if part.crate_path in held or not part.optional], held),
    ]
    return {"@context": [f"{CRATE}/context", dict(TERMS)], "@graph": graph}


def _graph(facts: Facts, here: Sequence[Part], held: Mapping[str, Held]) -> Iterator[Entity]:
    request = facts.request
    there = {part.crate_path for part in here}
    actions = [_flow_action(facts, there), *(_run_action(facts, each, there) for each in facts.runs)]
    agents = _ids([one for one in (request.author or request.publisher,) if one])
    licence = request.licence or NO_LICENCE
    yield {
        "@id": "./",
        "@type": "Dataset",
        "identifier": facts.reference,
        "name": f"Job {facts.job}",
        "description": _description(facts),
        "creativeWorkStatus": facts.registry.workflow.status.value,
        "datePublished": _when(facts.asked_at),
        "conformsTo": {"@id": PROFILE},
        "license": {"@id": licence},
        **_maybe("author", agents),
        **_maybe("publisher", _ids([request.publisher] if request.publisher else [])),
        **_maybe("hasPart", [{"@id": identifier(part.crate_path)} for part in here]),
        **_maybe("mentions", [{"@id": one["@id"]} for one in actions]),
    }
    yield {"@id": PROFILE, "@type": "CreativeWork", "name": "Process Run Crate", "version": "0.5"}
    yield _licence(licence, stated=bool(request.licence))
    yield from _parties(request.author, request.publisher)
    yield _workflow(facts)
    for action in actions:
        yield {**action, **_maybe("agent", agents)}
    yield from _values(facts, there)
    for each in facts.runs:
        yield from _run_entities(facts, each)
    for part in here:
        size = held[part.crate_path].size if part.size is None and part.crate_path in held else part.size
        yield _file(part, size)


def _description(facts: Facts) -> str:
    objective = facts.registry.workflow.objective
    said = {
        Verdict.COMPLETE: "It is complete.",
        Verdict.FAILED: "It failed.",
        Verdict.STOPPED: "It was stopped.",
        Verdict.NEVER_STARTED: "Its tool never started.",
    }[facts.verdict()]
    return (
        f"The record of one execution: {objective}. {said}"
        if objective
        else f"The record of one execution. {said}"
    )


def _licence(address: str, *, stated: bool) -> Entity:
    about = "The licence under which this is published." if stated else "Nobody has stated a licence."
    name = address if stated else "No licence stated"
    return {"@id": address, "@type": "CreativeWork", "name": name, "url": address, "description": about}


def _parties(author: Party | None, publisher: Party | None) -> Iterator[Entity]:
    if publisher is not None:
        yield {"@id": publisher.url, "@type": "Organization", "name": publisher.name, "url": publisher.url}
    if author is not None and (publisher is None or author.url != publisher.url):
        person: Entity = {"@id": author.url, "@type": "Person", "name": author.name, "url": author.url}
        if publisher is not None:
            person["affiliation"] = {"@id": publisher.url}
        yield person


def _flow_id(facts: Facts) -> str:
    """The workflow's address: that of the source which the record names, with the record's own id.

    The profile wants one of the web; nothing has to be served there.
    """
    flow = facts.registry.execution.bioline.flow
    own = flow.version_id if _flow_document(facts) is not None else f"{flow.id}@{flow.version_id}"
    return f"{KNOWLEDGE_SOURCE}#{quote(own, safe='')}"


def _workflow(facts: Facts) -> Entity:
    flow, part = facts.registry.execution.bioline.flow, _flow_document(facts)
    named = {"@id": _flow_id(facts), "name": flow.keyword or flow.id, "identifier": flow.id}
    if part is None:
        kind = {"@type": "SoftwareApplication", "softwareVersion": flow.version_id}
        return {**named, **kind, "url": KNOWLEDGE_SOURCE}
    url = f"file://{quote(flow.id)}" if flow.id.startswith("/") else KNOWLEDGE_SOURCE
    encoding = {"@id": identifier(part.crate_path)}
    kind = {"@type": "SoftwareSourceCode", "version": flow.version_id}
    return {**named, **kind, "url": url, "encoding": encoding}


def _flow_action(facts: Facts, there: set[str]) -> Entity:
    verdict = facts.flow_verdict()
    artifacts = (*facts.outputs_of_flow(), *facts.logs_of_flow())
    results = _references(facts, artifacts) if verdict is Verdict.COMPLETE else []
    bioline = facts.registry.execution.bioline
    given = []
    for number, one in enumerate(facts.flow_inputs()):
        path = _bound_path(facts, one)
        given.append({"@id": identifier(path) if path in there else f"#input-{number}"})
    action: Entity = {
        "@id": "#workflow",
        "@type": "CreateAction",
        "name": f"Workflow {bioline.flow.keyword or bioline.flow.id or facts.job}",
        "description": f"Run by the engine {facts.history.engine} as {bioline.job.id}.",
        "identifier": bioline.job.id,
        "instrument": {"@id": _flow_id(facts)},
        "actionStatus": COMPLETED if verdict is Verdict.COMPLETE else FAILED,
        **_maybe("object", given),
        **_maybe("result", results),
    }
    if facts.submitted_at:
        action["startTime"] = _when(facts.submitted_at)
    if facts.ended_at:
        action["endTime"] = _when(facts.ended_at)
    if verdict is not Verdict.COMPLETE:
        stopped = "It was stopped." if verdict is Verdict.STOPPED else "It failed."
        action["error"] = f"{stopped} {facts.detail}".strip()
    return action


def _values(facts: Facts, there: set[str]) -> Iterator[Entity]:
    """What was bound and is no file of the crate."""
    for number, one in enumerate(facts.flow_inputs()):
        if _bound_path(facts, one) not in there:
            yield {
                "@id": f"#input-{number}",
                "@type": "PropertyValue",
                "name": one.port,
                "value": one.filename,
                **({"identifier": one.file_id} if one.file_id else {}),
            }
    for each in facts.runs:
        for number, artifact in enumerate((*each.run.inputs, *each.run.scripts)):
            if _crate_path(facts, artifact) not in there:
                yield {
                    "@id": f"#run-{each.run.run}-input-{number}",
                    "@type": "PropertyValue",
                    "name": artifact.role,
                    "value": artifact.path,
                    "identifier": f"sha256:{artifact.sha256}",
                }


def _run_action(facts: Facts, each: TimedRun, there: set[str]) -> Entity:
    run, verdict = each.run, facts.verdict_of(each.run)
    left = (*run.outputs, *run.logs) if verdict is Verdict.COMPLETE else run.logs
    given = []
    for number, artifact in enumerate((*run.inputs, *run.scripts)):
        path = _crate_path(facts, artifact)
        given.append({"@id": identifier(path) if path in there else f"#run-{run.run}-input-{number}"})
    action: Entity = {
        "@id": f"#run-{run.run}",
        "@type": "CreateAction",
        "name": f"Tool {facts.registry.execution.downstream.tool.reference}",
        "description": _how(each, verdict),
        "identifier": run.run,
        "instrument": {"@id": _tool_id(facts)},
        "containerImage": {"@id": f"#run-{run.run}-image"},
        "actionStatus": COMPLETED if verdict is Verdict.COMPLETE else FAILED,
        "endTime": _when(run.ended_at or each.at),
        "additionalProperty": [{"@id": one["@id"]} for one in _facts_of_run(each)],
        **_maybe("object", given),
        **_maybe("result", _references(facts, left)),
    }
    if run.started_at:
        action["startTime"] = _when(run.started_at)
    if verdict is not Verdict.COMPLETE:
        action["error"] = _error(each, verdict)
    return action


def _how(each: TimedRun, verdict: Verdict) -> str:
    run = each.run
    if verdict is Verdict.NEVER_STARTED:
        return f"{run.engine.value} was to run it, and it never started."
    return f"Run by {run.engine.value} {run.engine_version}, without network."


def _error(each: TimedRun, verdict: Verdict) -> str:
    run = each.run
    said = {
        RunOutcome.EXITED: f"It exited with code {run.exit_code}.",
        RunOutcome.TIMED_OUT: "It was stopped at its deadline.",
        RunOutcome.OOM: "It wanted more memory than it may have.",
        RunOutcome.KILLED: "It was killed.",
        RunOutcome.START_FAILED: "It never started: the container could not be started.",
        RunOutcome.PULL_FAILED: "It never started: the image could not be fetched.",
    }[run.outcome]
    if run.succeeded:
        said += " The job was stopped." if verdict is Verdict.STOPPED else " The job is not complete."
    elif run.exit_code == 0:
        said += " What it made was not taken."
    return f"{said} {run.why}".strip()


def _run_entities(facts: Facts, each: TimedRun) -> Iterator[Entity]:
    run, tool = each.run, facts.registry.execution.downstream.tool
    if each is facts.runs[0]:
        yield {
            "@id": _tool_id(facts),
            "@type": "SoftwareApplication",
            "name": tool.name,
            "identifier": tool.reference,
            "softwareVersion": str(tool.version),
            "url": KNOWLEDGE_SOURCE,
        }
    yield _image(f"#run-{run.run}-image", run.image)
    yield from _facts_of_run(each)


def _facts_of_run(each: TimedRun) -> list[Entity]:
    """What no term stands for, each as a named value."""
    run = each.run
    rows: list[tuple[str, str, Any]] = [("outcome", "outcome", run.outcome.value)]
    if run.exit_code is not None:
        rows.append(("exit-code", "exit code", run.exit_code))
    rows.append(("arguments", "arguments", canonical(list(run.argv)).decode()))
    for name in run.limits.__dataclass_fields__:
        rows.append((name.replace("_", "-"), f"limit {name}", getattr(run.limits, name)))
    if run.network is not None:
        rows.append(("interfaces", "network interfaces", " ".join(run.network.interfaces)))
        rows.append(("network-proof", "how the network was looked at", run.network.proof.value))
    return [
        {"@id": f"#run-{run.run}-{word}", "@type": "PropertyValue", "name": name, "value": value}
        for word, name, value in rows
    ]


def split_reference(reference: str) -> tuple[str, str, str]:
    """Registry, name and tag of an image's reference; what it does not say is empty.

    >>> split_reference("127.0.0.1:5000/lab/fastqc:3")
    ('127.0.0.1:5000', 'lab/fastqc', '3')
    >>> split_reference("fastqc")
    ('', 'fastqc', '')
    """
    host, _, rest = reference.partition("/") if names_registry(reference) else ("", "", reference)
    rest = rest.partition("@")[0]
    name, colon, tag = rest.rpartition(":")
    return (host, name, tag) if colon and "/" not in tag else (host, rest, "")


def _image(at: str, image: Image) -> Entity:
    registry, name, tag = split_reference(image.reference)
    digest = image.manifest_digest.removeprefix("sha256:")
    return {
        "@id": at,
        "@type": "ContainerImage",
        "additionalType": {"@id": RUN_TERMS + "DockerImage"},
        "name": name,
        "alternateName": image.reference,
        **({"registry": registry} if registry else {}),
        **({"tag": tag} if tag else {}),
        **({"sha256": digest} if digest else {}),
        **({"identifier": image.id} if image.id else {}),
        **({"encodingFormat": image.media_type} if image.media_type else {}),
        **({"runtimePlatform": image.platform} if image.platform else {}),
    }


def _tool_id(facts: Facts) -> str:
    return f"{KNOWLEDGE_SOURCE}#{quote(facts.registry.execution.downstream.tool.reference, safe='')}"


def _file(part: Part, size: int | None) -> Entity:
    return {
        "@id": identifier(part.crate_path),
        "@type": "File",
        "name": part.crate_path.partition("/")[2],
        **({"description": part.role} if part.role else {}),
        "encodingFormat": media_type(part.crate_path),
        **({"contentSize": str(size)} if size is not None else {}),
        "sha256": part.sha256,
    }


def _bound_path(facts: Facts, one: Bound) -> str:
    """Where the file of a port lies in a crate; empty where it is none of this machine."""
    return _part(facts, one.filename, "", one.sha256, None).crate_path if one.sha256 else ""


def _crate_path(facts: Facts, artifact: Artifact) -> str:
    return _part(facts, artifact.path, "", artifact.sha256, None).crate_path


def _references(facts: Facts, artifacts: Sequence[Artifact]) -> list[Entity]:
    return [{"@id": one} for one in dict.fromkeys(identifier(_crate_path(facts, one)) for one in artifacts)]


def _ids(parties: Sequence[Party]) -> list[Entity]:
    return [{"@id": one.url} for one in parties]


def _maybe(name: str, references: Sequence[Entity]) -> Entity:
    """A property of references, each once, unless there are none; one stands without a list."""
    unique = list({one["@id"]: one for one in references}.values())
    return {name: unique[0] if len(unique) == 1 else unique} if unique else {}


def _when(instant: str) -> str:
    """An instant as the profile wants it: UTC with an offset and milliseconds.

    >>> _when("2026-11-30T11:00:00.123456+08:00")
    '2026-11-30T03:00:00.123+00:00'
    """
    return moment_of(instant).isoformat(timespec="milliseconds")
