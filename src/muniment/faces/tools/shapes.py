"""Faces, tools: what the tools are called, what they take and what they give, as JSON schemas.

The schemas are closed: a member that stands in none of them is an error (spec 1, surface).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from muniment.archive.model import Standing, Track
from muniment.hosts.session import SessionSource

Schema = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Shape:
    """A tool as clients see it; the hints are MCP's annotations."""

    name: str
    title: str
    about: str
    takes: Schema
    gives: Schema
    reads_only: bool = True
    destructive: bool = False
    idempotent: bool = True
    required: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "required", tuple(self.takes["required"]))


def _object(properties: Schema, optional: frozenset[str] = frozenset()) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
    }


def _text(about: str = "", **more: Any) -> Schema:
    return {"type": "string", **({"description": about} if about else {}), **more}


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


_WHOLE: Schema = {"type": "integer", "minimum": 0}
_FLAG: Schema = {"type": "boolean"}
_DIGEST: Schema = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
_REFERENCE: Schema = {"type": "string", "pattern": "^arc_[0-9A-Z]{26}$"}
_KIND: Schema = {"enum": ["file", "directory"]}

_CARD = _object(
    {
        "type": {"const": "archive_grid"},
        "data": _object({"type": _KIND, "archive_root": _text(), "subpath": _text(), "name": _text()}),
    }
)

_READ_BACK = _object(
    {
        "exists": _FLAG,
        "path_right": _FLAG,
        "not_empty": _FLAG,
        "key_fields": _text(),
        "content_identical": _FLAG,
        "task": _text(),
    }
)

_EVIDENCE = _object(
    {
        "reference": _REFERENCE,
        "event_id": _text(),
        "from": _text("Where it was, below the workspace."),
        "to": _text("Where it lies now, below the workspace."),
        "archive_id": _text(),
        "archive_id_source": {"enum": [source.value for source in SessionSource]},
        "workspace_rule": _text(),
        "at": _text("When, in UTC."),
        "sha256": _DIGEST,
        "files": _WHOLE,
        "bytes": _WHOLE,
        "copied": _FLAG,
        "read_back": _READ_BACK,
        "warnings": _list(_text()),
        "mirrored_archive_root": _text("Where a scheduled job's copy lies."),
        "mirrored_subpath": _text(),
    },
    optional=frozenset({"mirrored_archive_root", "mirrored_subpath"}),
)

_ENTRY = _object(
    {
        "reference": _REFERENCE,
        "from": _text(),
        "path": _text(),
        "archive_id": _text(),
        "name": _text(),
        "track": {"enum": [track.value for track in Track]},
        "kind": _KIND,
        "sha256": _DIGEST,
        "files": _WHOLE,
        "bytes": _WHOLE,
        "at": _text(),
        "undone": _FLAG,
        "sealed": _FLAG,
    }
)

_CHECKED = _object(
    {
        "reference": _REFERENCE,
        "path": _text(),
        "standing": {"enum": [standing.value for standing in Standing]},
        "recorded_sha256": _DIGEST,
        "found_sha256": {"anyOf": [_DIGEST, {"type": "null"}]},
        "differs": _text("The first path that differs; empty when none does."),
    }
)

ARCHIVE = Shape(
    "archive",
    "Archive a deliverable",
    "Move a file or folder of the workspace into its archive, read it back there, and give its card. "
    "The source is gone afterwards. On “Archive blocked” nothing was moved: stop, quote the reason and wait; "
    "do not write the file or a receipt by hand.",
    _object(
        {
            "kind": {
                "enum": [track.value for track in Track],
                "description": "plan: a file named PLAN.md. file: anything else, a folder too.",
            },
            "sourcePath": _text(
                "The path inside the workspace: from its top, or absolute. No empty segment, no “.” or “..”.",
                minLength=1,
                maxLength=4096,
            ),
            "displayName": _text("The name shown on the card.", minLength=1, maxLength=255),
        },
        optional=frozenset({"displayName"}),
    ),
    _object({"cards": _list(_CARD), "evidence": _list(_EVIDENCE)}),
    reads_only=False,
    destructive=True,
    idempotent=False,
)

LIST = Shape(
    "archive_list",
    "List what was archived",
    "List what was archived in this workspace, newest first, from its ledger. Nothing is read again; "
    "archive_verify does that.",
    _object({"archiveId": _text("Only what this archive id holds.")}, optional=frozenset({"archiveId"})),
    _object({"total": _WHOLE, "archived": _list(_ENTRY)}),
)

VERIFY = Shape(
    "archive_verify",
    "Verify what was archived",
    "Read archived deliverables again where they lie and compare every byte with the record. The result is "
    "an error when anything is changed, missing or unknown.",
    _object(
        {"reference": _text("A reference (arc_…) or an address below archives/; without it, all.")},
        optional=frozenset({"reference"}),
    ),
    _object({"intact": _FLAG, "verified": _list(_CHECKED)}),
)

STATUS = Shape(
    "archive_status",
    "What is not archived yet",
    "List what was made in this workspace and is not archived. A task that writes files ends when the list "
    "is empty.",
    _object({}),
    _object({"not_archived": _list(_text())}),
)

SHAPES = (ARCHIVE, LIST, VERIFY, STATUS)
