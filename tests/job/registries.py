"""Job: registries to test with, written out from the schema in the specification, not from the code."""

from __future__ import annotations

import copy
from typing import Any

TEMPLATE: dict[str, Any] = {
    "schema_version": "1.0",
    "knowledge": {
        "source": "https://www.bioline.cloud/ai/commandLineAndFkit/",
        "language": "ch",
        "document_ids": [],
        "retrieved_at": "",
        "skill_fallback_allowed": False,
    },
    "workflow": {"lane": "execution", "objective": "", "phase": "initialize", "status": "active"},
    "execution": {
        "bioline": {
            "input_path": "",
            "project_id": "",
            "flow": {"id": "", "version_id": "", "keyword": ""},
            "job": {"id": "", "output_dir": ""},
        },
        "bindings": [],
        "defaults_used": [],
        "selected_artifacts": [],
        "downstream": {
            "tool": {"reference": "", "name": "", "version": 1, "summary_sha256": ""},
            "pull_ledger": {
                "preexisting": False,
                "pre_image_id": None,
                "post_image_id": None,
                "pulled_at": "",
            },
            "image_tag": "",
            "generated_scripts": [],
            "outputs": [],
            "logs": [],
        },
    },
    "document_gap": {
        "detected": False,
        "topic": "",
        "attempted_document_ids": [],
        "missing_information": [],
        "blocking_reason": "",
    },
}
"""Schema 1.0 with every empty value (spec 2, schema)."""

BINDING = {
    "task": "align",
    "port": "reads",
    "type": "FILE",
    "required": True,
    "source": "routing",
    "fileId": "f-1",
    "filename": "/data/input/a.fastq",
    "force_default": False,
    "no_default": False,
}
DEFAULT_BINDING = {
    **BINDING,
    "port": "index",
    "type": "DIR",
    "source": "default",
    "filename": "hg38",
    "fileId": "",
}
UNBOUND = {**BINDING, "port": "extra", "required": False, "source": None, "fileId": "", "filename": ""}
DEFAULT_USED = {"task": "align", "port": "index", "filename": "hg38"}
SELECTED = {"task": "align", "port": "bam", "path": "", "role": "alignment"}
ARTIFACT = {"path": "/data/output/j/outputs/a.bam", "size": 7, "sha256": "ab" * 32, "role": "bam"}
IMAGE = "sha256:" + "0c" * 32


def template() -> dict[str, Any]:
    """A registry as it begins."""
    return copy.deepcopy(TEMPLATE)


def awaiting() -> dict[str, Any]:
    """A planned job that waits for a yes."""
    value = template()
    value["knowledge"].update(document_ids=["doc-1", "doc-2"], retrieved_at="2026-11-30T10:00:00Z")
    value["workflow"].update(objective="align", phase="awaiting_plan_confirmation")
    bioline = value["execution"]["bioline"]
    bioline.update(input_path="/data/input", project_id="p-1")
    bioline["flow"].update(id="flow-1", version_id="v-9", keyword="rna")
    value["execution"].update(
        bindings=[dict(BINDING), dict(DEFAULT_BINDING), dict(UNBOUND)],
        defaults_used=[dict(DEFAULT_USED)],
        selected_artifacts=[dict(SELECTED)],
    )
    return value


def submitted() -> dict[str, Any]:
    """A job that an engine has taken."""
    value = awaiting()
    value["workflow"]["phase"] = "submitted"
    value["execution"]["bioline"]["job"].update(id="p_77", output_dir="/data/results/77")
    return value


def finished() -> dict[str, Any]:
    """A job with its tool run: every field of the schema holds something."""
    value = submitted()
    value["workflow"].update(phase="finalize", status="complete")
    value["execution"]["downstream"] = {
        "tool": {"reference": "FastQC:3", "name": "FastQC", "version": 3, "summary_sha256": "cd" * 32},
        "pull_ledger": {
            "preexisting": True,
            "pre_image_id": IMAGE,
            "post_image_id": IMAGE,
            "pulled_at": "2026-11-30T11:00:00.123456+08:00",
        },
        "image_tag": "fastqc:3",
        "generated_scripts": [{**ARTIFACT, "path": "/data/output/j/run.sh", "role": "script"}],
        "outputs": [dict(ARTIFACT), {**ARTIFACT, "path": "/data/output/j/outputs/b.bam", "size": 0}],
        "logs": [{**ARTIFACT, "path": "/data/output/j/log.txt", "role": "log"}],
    }
    return value


def in_gap() -> dict[str, Any]:
    """A planned job that lacks a document."""
    value = awaiting()
    value["workflow"].update(phase="document_gap", status="blocked")
    value["document_gap"] = {
        "detected": True,
        "topic": "strandedness",
        "attempted_document_ids": ["doc-2"],
        "missing_information": ["the library kit"],
        "blocking_reason": "the flow needs it",
    }
    return value


VALID = {
    "template": template,
    "awaiting": awaiting,
    "submitted": submitted,
    "finished": finished,
    "in_gap": in_gap,
}
"""Valid registries by name, each made anew."""
