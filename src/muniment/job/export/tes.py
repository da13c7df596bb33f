"""Room `job`: a run of the tool as a task of GA4GH TES 1.1.  Pure.

A run that never started has no executor's log, since the log's exit code would have to be made up.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from muniment.job.container_argv import INPUTS, OUTPUTS, SCRIPTS
from muniment.job.export.facts import Facts, TimedRun, Verdict
from muniment.job.export.ro_crate import split_reference
from muniment.job.model import Artifact
from muniment.job.tool_run import Image, RunOutcome


def document(facts: Facts) -> dict[str, Any]:
    """The last run of the tool as a task; the facts have one."""
    each = facts.runs[-1]
    run, verdict = each.run, facts.verdict_of(each.run)
    tool, objective = facts.registry.execution.downstream.tool, facts.registry.workflow.objective
    outputs = run.outputs if verdict is Verdict.COMPLETE else ()
    return {
        "id": run.run,
        "state": _state(each, verdict),
        "name": tool.reference,
        **({"description": objective} if objective else {}),
        "inputs": [
            *(_file(one, _input_path(facts, one)) for one in run.inputs),
            *(_file(one, f"{SCRIPTS}/{_name(one)}") for one in run.scripts),
        ],
        "outputs": [_file(one, _output_path(facts, one)) for one in outputs],
        "resources": {
            "cpu_cores": run.limits.cpus,
            "ram_gb": run.limits.memory_bytes / 1e9,
            "disk_gb": run.limits.output_bytes / 1e9,
        },
        "executors": [{"image": image_of(run.image), "command": list(run.argv)}],
        "tags": _tags(facts, each),
        "logs": [_log(facts, each, outputs)],
        "creation_time": run.started_at or each.at,
    }


def _state(each: TimedRun, verdict: Verdict) -> str:
    if verdict is Verdict.COMPLETE:
        return "COMPLETE"
    if verdict is Verdict.STOPPED:
        return "CANCELED"
    run = each.run
    own = run.outcome is RunOutcome.OOM or (run.outcome is RunOutcome.EXITED and run.exit_code != 0)
    return "EXECUTOR_ERROR" if own else "SYSTEM_ERROR"


def image_of(image: Image) -> str:
    """The image by its manifest where that is known, else as it was asked for.

    >>> image_of(Image("localhost:5000/seqtk:1", None, "sha256:" + "a" * 64))[:28]
    'localhost:5000/seqtk@sha256:'
    """
    if not image.manifest_digest:
        return image.reference
    registry, name, _ = split_reference(image.reference)
    return f"{registry}/{name}@{image.manifest_digest}" if registry else f"{name}@{image.manifest_digest}"


def _file(artifact: Artifact, path: str) -> dict[str, Any]:
    return {"name": artifact.role, "url": _url(artifact.path), "path": path, "type": "FILE"}


def _name(artifact: Artifact) -> str:
    return artifact.path.rpartition("/")[2]


def _input_path(facts: Facts, artifact: Artifact) -> str:
    """Where the container saw an input: a result of the workflow under its path there, any other
    under its name (`muniment.job.tool_inputs`)."""
    inner = facts.inner(artifact.path)
    if artifact.role != "input" and inner is not None and inner.startswith("outputs/"):
        return f"{INPUTS}/{inner.removeprefix('outputs/')}"
    return f"{INPUTS}/{_name(artifact)}"


def _output_path(facts: Facts, artifact: Artifact) -> str:
    """Where the container left an output: below the one folder that it could write."""
    inner = facts.inner(artifact.path) or _name(artifact)
    return f"{OUTPUTS}/{inner.partition('/outputs/')[2] or _name(artifact)}"


def _tags(facts: Facts, each: TimedRun) -> dict[str, str]:
    """Texts only, as TES wants it: whose task it is, and which record it was made from."""
    run = each.run
    return {
        "muniment.job": facts.job,
        "muniment.status": facts.registry.workflow.status.value,
        "muniment.registry_sha256": facts.registry_file.sha256,
        "muniment.journal_head": facts.history.head,
        "muniment.outcome": run.outcome.value,
        **({"muniment.image_id": run.image.id} if run.image.id else {}),
    }


def _log(facts: Facts, each: TimedRun, outputs: tuple[Artifact, ...]) -> dict[str, Any]:
    run = each.run
    executed: list[dict[str, Any]] = []
    if run.started and run.exit_code is not None:
        executed.append({"start_time": run.started_at, "end_time": run.ended_at, "exit_code": run.exit_code})
    digests = {f"sha256 {one.path}": one.sha256 for one in (*run.inputs, *run.scripts, *outputs, *run.logs)}
    notes = [run.why] if run.why else []
    return {
        "logs": executed,
        "metadata": {
            "engine": f"{run.engine.value} {run.engine_version}".strip(),
            "outcome": run.outcome.value,
            **digests,
        },
        **({"start_time": run.started_at, "end_time": run.ended_at} if run.started else {}),
        "outputs": [
            {"url": _url(one.path), "path": _output_path(facts, one), "size_bytes": str(one.size)}
            for one in outputs
        ],
        **({"system_logs": notes} if notes else {}),
    }


def _url(path: str) -> str:
    return f"file://{quote(path)}"
