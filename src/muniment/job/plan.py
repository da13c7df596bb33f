"""Room `job`: the plan as one value, and the digest that a confirmation binds to.  Pure."""

from __future__ import annotations

import re

from muniment.canonical import Json, canonical_digest
from muniment.digest import Digest
from muniment.job.model import Registry
from muniment.job.shape import plain

# The reference of an OCI image as registries take it: an optional host, lower-case names.
_NAMES = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_HOST = r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::[0-9]{1,5})?"
_IMAGE = re.compile(rf"(?:{_HOST}/)?{_NAMES}(?:/{_NAMES})*")
_LONGEST_IMAGE = 255


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


def image_tag_of(name: str, version: int) -> str | None:
    """The image that carries a tool, `name.lower():version`; None where no registry takes it.

    >>> image_tag_of("FastQC", 3), image_tag_of("a b", 1)
    ('fastqc:3', None)
    """
    lower = name.lower()
    if len(lower) > _LONGEST_IMAGE or not _IMAGE.fullmatch(lower):
        return None
    return f"{lower}:{version}"


def names_registry(image: str) -> bool:
    """Whether the first part of an image's name is a host, as OCI's tools tell it.

    >>> names_registry("localhost/a:1"), names_registry("a.b/c:1"), names_registry("tools/c:1")
    (True, True, False)
    """
    first, slash, _ = image.partition("/")
    return bool(slash) and (first == "localhost" or "." in first or ":" in first)
