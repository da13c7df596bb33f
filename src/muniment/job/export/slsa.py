"""Room `job`: a job as an in-toto Statement v1 with SLSA provenance v1.  Pure.

A job that is complete attests its outputs.  Any other attests its registry and its logs and not one
output: whoever looks an output up finds no statement about it.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from muniment.job.export.facts import JOURNAL_FILE, REGISTRY_FILE, Facts, TimedRun, Verdict, hex_of
from muniment.job.export.tes import image_of
from muniment.job.model import Artifact
from muniment.job.shape import plain

STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = "https://slsa.dev/provenance/v1"
BUILD_TYPE = "urn:muniment:job:v1"
PAYLOAD = "application/vnd.in-toto+json"


def document(facts: Facts) -> dict[str, Any]:
    """The statement; a job that is complete and made nothing attests its registry too."""
    last = facts.runs[-1] if facts.runs else None
    complete = facts.verdict() is Verdict.COMPLETE
    outputs, logs = _made(facts, last)
    record = [_record(facts, REGISTRY_FILE)]
    subject = [_named(facts, one) for one in outputs] if complete and outputs else [
        *record, *(_named(facts, one) for one in logs)
    ]  # fmt: skip
    rest = [*record, *(_named(facts, one) for one in logs)] if complete and outputs else []
    return {
        "_type": STATEMENT,
        "subject": subject,
        "predicateType": PREDICATE,
        "predicate": {
            "buildDefinition": {
                "buildType": BUILD_TYPE,
                "externalParameters": _asked(facts, last),
                "internalParameters": _ended(facts, last),
                "resolvedDependencies": _needed(facts, last),
            },
            "runDetails": {
                "builder": _builder(facts, last),
                "metadata": _times(facts, last),
                "byproducts": [*rest, _record(facts, JOURNAL_FILE)],
            },
        },
    }


def _made(facts: Facts, last: TimedRun | None) -> tuple[tuple[Artifact, ...], tuple[Artifact, ...]]:
    outputs, logs = facts.outputs_of_flow(), facts.logs_of_flow()
    if last is None:
        return outputs, logs
    return (*outputs, *last.run.outputs), (*logs, *last.run.logs)


def _named(facts: Facts, artifact: Artifact) -> dict[str, Any]:
    """A file by its path in the job's folder, or by its whole path where it lies elsewhere."""
    return {"name": facts.inner(artifact.path) or artifact.path, "digest": {"sha256": artifact.sha256}}


def _record(facts: Facts, name: str) -> dict[str, Any]:
    held = facts.registry_file if name == REGISTRY_FILE else facts.journal_file
    found: dict[str, Any] = {"name": name, "digest": {"sha256": held.sha256}}
    if name == JOURNAL_FILE:
        found["annotations"] = {"head": facts.history.head, "events": facts.history.count}
    return found


def _asked(facts: Facts, last: TimedRun | None) -> dict[str, Any]:
    registry = facts.registry
    bioline, tool = registry.execution.bioline, registry.execution.downstream.tool
    return {
        "job": facts.job,
        "objective": registry.workflow.objective,
        "engine": facts.history.engine,
        "flow": plain(bioline.flow),
        "bindings": [
            {"port": one.port, "file": one.filename, "id": one.file_id} for one in facts.flow_inputs()
        ],
        "tool": tool.reference,
        "arguments": list(last.run.argv) if last is not None else [],
    }


def _ended(facts: Facts, last: TimedRun | None) -> dict[str, Any]:
    found: dict[str, Any] = {
        "phase": facts.registry.workflow.phase.value,
        "status": facts.registry.workflow.status.value,
        "verdict": facts.verdict().value,
    }
    if last is not None:
        run = last.run
        found["outcome"] = run.outcome.value
        if run.exit_code is not None:
            found["exitCode"] = run.exit_code
        found["limits"] = plain(run.limits)
        found["network"] = plain(run.network) if run.network is not None else None
        if run.image.id:
            found["imageId"] = run.image.id
    return found


def _needed(facts: Facts, last: TimedRun | None) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    digits = hex_of(facts.registry.execution.bioline.flow.version_id)
    if digits is not None:
        found.append({"name": f"flow-{digits}.json", "digest": {"sha256": digits}})
    for one in facts.flow_inputs():
        if one.sha256 is not None:
            found.append(
                {"name": one.port, "uri": f"file://{quote(one.filename)}", "digest": {"sha256": one.sha256}}
            )
    if last is not None:
        image = last.run.image
        digest = image.manifest_digest.removeprefix("sha256:")
        found.append(
            {
                "name": "image",
                "uri": f"docker://{image_of(image)}",
                **({"digest": {"sha256": digest}} if digest else {}),
                **({"mediaType": image.media_type} if image.media_type else {}),
            }
        )
        found += [_named(facts, one) for one in (*last.run.inputs, *last.run.scripts)]
    return found


def _builder(facts: Facts, last: TimedRun | None) -> dict[str, Any]:
    if last is None:
        return {"id": f"urn:muniment:engine:{facts.history.engine}"}
    run = last.run
    version = {"version": {run.engine.value: run.engine_version}} if run.engine_version else {}
    return {"id": f"urn:muniment:engine:{run.engine.value}", **version}


def _times(facts: Facts, last: TimedRun | None) -> dict[str, Any]:
    started = last.run.started_at if last is not None else facts.submitted_at
    ended = last.run.ended_at if last is not None else facts.ended_at
    return {
        "invocationId": f"{facts.reference}/{last.run.run}" if last is not None else facts.reference,
        **({"startedOn": started} if started else {}),
        **({"finishedOn": ended} if ended else {}),
    }
