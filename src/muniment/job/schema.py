"""Room `job`: the JSON Schema of a registry, made from the same shapes that read it.

Besides the closed shapes it says those rules between fields that JSON Schema can say; equality of
two fields it can not.  `python -m muniment.job.schema` prints it; `docs/schemas/job/` holds it.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from muniment.canonical import Json
from muniment.job.model import Downstream, Registry
from muniment.job.shape import json_schema, plain

_BEFORE = ["initialize", "planned", "awaiting_plan_confirmation"]


def _inside(path: str, schema: Json) -> dict[str, Json]:
    """A schema for one field of a nested object."""
    value: Json = schema
    for name in reversed(path.split(".")):
        value = {"properties": {name: value}}
    assert isinstance(value, dict)
    return value


def _when(path: str, condition: Json, then: list[dict[str, Json]]) -> dict[str, Json]:
    return {"if": _inside(path, condition), "then": {"allOf": list(then)}}


def _rules() -> list[dict[str, Json]]:
    empty, filled = {"maxLength": 0}, {"minLength": 1}
    none = {"maxItems": 0}
    gap = "document_gap"
    phase = "workflow.phase"
    tool = "execution.downstream.tool"
    pull = "execution.downstream.pull_ledger"
    bare = _inside("execution.downstream", {"const": plain(Downstream())})
    no_gap = [
        _inside(f"{gap}.detected", {"const": False}),
        _inside(f"{gap}.blocking_reason", empty),
        _inside(f"{gap}.topic", empty),
        _inside(f"{gap}.attempted_document_ids", none),
        _inside(f"{gap}.missing_information", none),
    ]
    in_gap = [_inside(f"{gap}.detected", {"const": True}), _inside(f"{gap}.blocking_reason", filled)]
    job_id, job_dir = "execution.bioline.job.id", "execution.bioline.job.output_dir"
    return [
        _when(phase, {"const": "document_gap"}, in_gap),
        _when(phase, {"not": {"const": "document_gap"}}, no_gap),
        _when(phase, {"enum": _BEFORE}, [_inside(job_id, empty), _inside(job_dir, empty)]),
        _when(phase, {"enum": ["submitted", "finalize"]}, [_inside(job_id, filled)]),
        _when(phase, {"enum": [*_BEFORE, "submitted"]}, [bare]),
        _when(job_id, empty, [bare]),
        _when(
            phase,
            {"not": {"const": "finalize"}},
            [_inside("workflow.status", {"not": {"const": "complete"}})],
        ),
        _when(
            phase,
            {"enum": ["awaiting_plan_confirmation", "submitted", "finalize"]},
            [_inside("execution.bindings", {"items": _required_is_bound()})],
        ),
        _inside("execution.bindings", {"items": {"allOf": _binding_rules()}}),
        _when(
            f"{tool}.name",
            empty,
            [
                _inside(f"{tool}.reference", empty),
                _inside(f"{tool}.version", {"const": 1}),
                _inside(f"{tool}.summary_sha256", empty),
                _inside("execution.downstream.image_tag", empty),
            ],
        ),
        _when(f"{tool}.name", filled, [_inside(f"{tool}.summary_sha256", filled)]),
        _when(f"{pull}.pre_image_id", {"type": "null"}, [_inside(f"{pull}.preexisting", {"const": False})]),
        _when(
            f"{pull}.pre_image_id",
            {"type": "string"},
            [
                _inside(f"{pull}.preexisting", {"const": True}),
                _inside(f"{pull}.post_image_id", {"type": "string"}),
            ],
        ),
        _when(f"{pull}.post_image_id", {"type": "null"}, [_inside(f"{pull}.pulled_at", empty)]),
        _when(f"{pull}.post_image_id", {"type": "string"}, [_inside(f"{pull}.pulled_at", filled)]),
    ]


def _required_is_bound() -> Json:
    return {
        "if": {"properties": {"required": {"const": True}}},
        "then": {"properties": {"source": {"not": {"type": "null"}}}},
    }


def _binding_rules() -> list[Json]:
    empty: Json = {"maxLength": 0}
    return [
        {
            "if": {"properties": {"source": {"type": "null"}}},
            "then": {"properties": {"fileId": empty, "filename": empty}},
            "else": {"properties": {"filename": {"minLength": 1}}},
        },
        {
            "if": {"properties": {"no_default": {"const": True}}},
            "then": {
                "properties": {"source": {"not": {"const": "default"}}, "force_default": {"const": False}}
            },
        },
        {
            "if": {"properties": {"source": {"enum": ["routing", "heuristic"]}}},
            "then": {"properties": {"force_default": {"const": False}}},
        },
    ]


SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Muniment job registry 1.0",
    **json_schema(Registry),
    "allOf": _rules(),
}
"""The whole schema, draft 2020-12."""

if __name__ == "__main__":
    sys.stdout.write(json.dumps(SCHEMA, indent=2, ensure_ascii=False) + "\n")
