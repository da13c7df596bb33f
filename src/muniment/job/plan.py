"""Room `job`: the plan as one value, and the digest that a confirmation binds to.  Pure."""

from __future__ import annotations

from muniment.canonical import Json, canonical_digest
from muniment.digest import Digest
from muniment.job.model import Registry
from muniment.job.shape import plain


def plan_of(job: str, engine: str, registry: Registry) -> dict[str, Json]:
    """All that will happen when the job is submitted, and nothing else.

    The flow's `version_id` pins the workflow and each `fileId` pins an input, so that neither
    can be exchanged behind a yes.
    """
    execution = registry.execution
    return {
        "job": job,
        "engine": engine,
        "objective": registry.workflow.objective,
        "input_path": execution.bioline.input_path,
        "project_id": execution.bioline.project_id,
        "flow": plain(execution.bioline.flow),
        "bindings": plain(execution.bindings),
        "defaults_used": plain(execution.defaults_used),
        "selected_artifacts": plain(execution.selected_artifacts),
    }


def plan_digest(job: str, engine: str, registry: Registry) -> Digest:
    """The sha256 of the plan's RFC 8785 form (spec 2, phases).

    >>> plan_digest("a", "cwl", Registry()) == plan_digest("a", "wes", Registry())
    False
    """
    return canonical_digest(plan_of(job, engine, registry))
